"""Keep the files of a test run in memory, where there is enough of it: the data of a dozen PostgreSQL servers, copied again and again.

On a disk each page of a copied file costs more CPU than what PostgreSQL does with it, and is written although it is soon removed.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

MEMORY = Path("/dev/shm")
# A run needs 3 GB at most; the rest is for its processes and another run.
_BYTES = 8 * 1024**3


def use_memory() -> None:
    """Let this process and its children create temporary files in memory, unless `TMPDIR` says where."""
    if "TMPDIR" not in os.environ and _allows_programs(MEMORY) and min(_free_bytes(), default=0) >= _BYTES:
        os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)


def _allows_programs(folder: Path) -> bool:
    return os.access(folder, os.W_OK | os.X_OK) and not os.statvfs(folder).f_flag & os.ST_NOEXEC


def _free_bytes() -> Iterator[int]:
    """Yield what the folder, the machine and the container have left, as far as they have a limit."""
    status = os.statvfs(MEMORY)
    yield status.f_bavail * status.f_frsize
    for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
        if line.startswith("MemAvailable:"):
            yield int(line.split()[1]) * 1024
    group = Path("/sys/fs/cgroup")
    with contextlib.suppress(OSError, ValueError):  # no such file, or "max"
        limit, used = [int((group / f"memory.{name}").read_text(encoding="ascii")) for name in ("max", "current")]
        yield limit - used
