"""Run a program on one core: `python -m bench.pinned CORE PROGRAM ARGUMENT…`. Threads and children stay there too."""

import os
import sys

if __name__ == "__main__":
    os.sched_setaffinity(0, {int(sys.argv[1])})
    os.execvp(sys.argv[2], sys.argv[2:])
