"""Run `vitrine` so that it can be profiled: SIGUSR1 begins, SIGUSR2 ends and writes to the file named by BENCH_PROFILE.

Only the main thread is seen: the event loop, where a request's time goes, but not the threads that hash passwords.
"""

from __future__ import annotations

import cProfile
import os
import signal
import sys
import time
from typing import Any

from server import cli

# By the thread's own processor time: what others do on the machine meanwhile is not seen.
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
