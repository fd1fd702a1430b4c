"""The machine of a measurement, and the assignment of cores."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path

_CORES = sorted(os.sched_getaffinity(0))
# The database and the load share the first core; the server has the last one.
LOAD_CORE, SERVER_CORE = _CORES[0], _CORES[-1]
_ROOT = Path(__file__).resolve().parents[1]


def pin_to_load_core() -> None:
    """Pin this process and its child processes, such as the database."""
    os.sched_setaffinity(0, {LOAD_CORE})


def description() -> dict[str, str]:
    """Return the commit and the machine."""
    return {
        "commit": _git("rev-parse", "--short=12", "HEAD") + ("+changes" if _has_changes() else ""),
        "machine": f"{_processor()}, {len(_CORES)} cores, {_memory_gb()} GB",
        "system": f"{platform.system()} {platform.release()}, Python {platform.python_version()}",
        "load before": " ".join(f"{value:.2f}" for value in os.getloadavg()),
    }


def _has_changes() -> bool:
    """Return whether anything except the results differs from the commit."""
    return bool(_git("status", "--porcelain", "--", ".", ":!bench/results"))


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(["git", "-C", str(_ROOT), *arguments], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return done.stdout.strip()


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _memory_gb() -> int:
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)
