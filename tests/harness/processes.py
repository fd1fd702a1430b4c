"""Start processes whose signals don't depend on how the tests were started."""

import signal


def restore_sigint() -> None:
    """Restore the default handling of SIGINT; for `preexec_fn`.

    Shells without job control start background commands, such as `make test &`, with SIGINT ignored, and children inherit that.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)
