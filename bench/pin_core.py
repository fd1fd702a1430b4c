"""Run a program on one core: `python -m bench.pin_core CORE PROGRAM ARGUMENT…`. Threads and child processes stay there.

It receives SIGTERM when its parent process ends (Linux, prctl(2)).
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1

if __name__ == "__main__":
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    os.sched_setaffinity(0, {int(sys.argv[1])})
    os.execvp(sys.argv[2], sys.argv[2:])
