"""Run a program on one core: `python -m bench.pinned CORE PROGRAM ARGUMENT…`. Threads and children stay there too.

It is told to stop when the process that started it ends, however that ends (Linux, prctl(2)).
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
