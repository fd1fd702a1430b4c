"""Keep the files of a test run in memory, where there is enough of it: the data of a dozen PostgreSQL servers, copied again and again.

On a disk each page of a copied file costs more CPU than what PostgreSQL does with it, and is written although it is soon removed.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

MEMORY = Path("/dev/shm")
# What a run needs at most, twice.
_BYTES = 8 * 1024**3


def use_memory() -> None:
    """Let this process and its children create temporary files in memory, unless `TMPDIR` says where."""
    if "TMPDIR" not in os.environ and _is_suitable():
        os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)


def _is_suitable() -> bool:
    """Return whether programs can run in the folder, and whether folder and machine have room enough."""
    try:
        status = os.statvfs(MEMORY)
        available = next(line for line in Path("/proc/meminfo").read_text().splitlines() if "MemAvailable" in line)
    except (OSError, StopIteration):
        return False
    room = min(status.f_bavail * status.f_frsize, int(available.split()[1]) * 1024)
    return os.access(MEMORY, os.W_OK) and not status.f_flag & os.ST_NOEXEC and room >= _BYTES
