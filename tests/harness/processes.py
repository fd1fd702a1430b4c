"""Settings of test processes."""

import re
import signal


def restore_sigint() -> None:
    """Restore the default handling of SIGINT; for `preexec_fn`.

    Shells without job control start background commands, such as `make test &`, with SIGINT ignored, and children inherit that.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def keep_compiled_patterns() -> None:
    """Let `re` cache the patterns of all routes, so that only the first application of a process, or of its parent, compiles them."""
    if hasattr(re, "_MAXCACHE"):
        re._MAXCACHE = 8192
