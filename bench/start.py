"""Measure the start of `vitrine serve` on an existing database, and the memory of the idle process."""

from __future__ import annotations

import statistics
import time

from bench import launchers
from bench.bars import Bar, start_bars
from bench.database import BenchDatabase

_STARTS = 5
_IDLE_SECONDS = 3.0


def measure(database: BenchDatabase) -> list[Bar]:
    """Start the server five times; return the bars of the medians."""
    seconds, memory = [], []
    for _ in range(_STARTS):
        started_at = time.monotonic()
        with launchers.vitrine(database) as server:
            seconds.append(time.monotonic() - started_at)
            time.sleep(_IDLE_SECONDS)
            memory.append(server.memory_mb)
    return start_bars(statistics.median(seconds), statistics.median(memory))
