"""Run `vitrine` with a profiler: SIGUSR1 starts it, SIGUSR2 stops it and writes the profile to the file BENCH_PROFILE.

Only the main thread with the event loop is profiled, not the threads that hash passwords.
"""

from __future__ import annotations

import cProfile
import os
import signal
import sys
import time
from typing import Any

from server import cli

# CPU time of the thread, unaffected by other load on the machine.
_profile = cProfile.Profile(time.thread_time)


def _begin(_number: int, _frame: Any) -> None:
    _profile.clear()
    _profile.enable()


def _end(_number: int, _frame: Any) -> None:
    _profile.disable()
    path = os.environ["BENCH_PROFILE"]
    _profile.dump_stats(f"{path}.new")
    os.replace(f"{path}.new", path)


if __name__ == "__main__":
    signal.signal(signal.SIGUSR1, _begin)
    signal.signal(signal.SIGUSR2, _end)
    sys.exit(cli.main())
