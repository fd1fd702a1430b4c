"""Memory of password hashes is returned to the system, in a process of its own."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

# The threads hash at the same time, and end before the memory is read.
_PROGRAM = """
import re, sys, threading
from auth.passwords import _hasher
from kernel.large_allocations import return_large_allocations

def resident_mb():
    return int(re.search(r"VmRSS:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024

def hash_in_turn():
    for _ in range(3):
        together.wait()
        _hasher.hash("x" * 20)

if sys.argv[1] == "returned":
    return_large_allocations()
together = threading.Barrier(4)
threads = [threading.Thread(target=hash_in_turn) for _ in range(4)]
before = resident_mb()
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(resident_mb() - before)
"""


def _growth(how: str) -> float:
    result = subprocess.run([sys.executable, "-c", _PROGRAM, how], capture_output=True, text=True, check=True)
    return float(result.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="glibc only")
def test_the_memory_of_hashes_is_returned() -> None:
    kept, returned = _growth("kept"), _growth("returned")
    assert kept > 30
    assert returned < 10
