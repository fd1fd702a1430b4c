"""Measure the longest pause of the event loop as CPU time of its thread, compared with a unit of work.

Pauses are never compared with seconds: other processes, and slower machines, take part in those. The CPU time of a thread has no part
of other processes, and a unit of work measured in the same run has the machine's speed.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any


class LoopPauses:
    """Measure each round of the event loop in a `with` block; `longest` is in CPU seconds of the thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        self._loop: Any = loop or asyncio.get_running_loop()
        self.longest = 0.0

    def __enter__(self) -> LoopPauses:
        run_once = self._loop._run_once

        def timed() -> None:
            started = time.thread_time()
            try:
                run_once()
            finally:
                self.longest = max(self.longest, time.thread_time() - started)

        self._loop._run_once = timed
        return self

    def __exit__(self, *_: object) -> None:
        del self._loop._run_once


def unit_of_work() -> float:
    """Return the CPU seconds of a fixed piece of work like the application's: 10 ms on the machine of docs/security.md."""
    return min(_work() for _ in range(3))


def _work() -> float:
    started = time.thread_time()
    records = [{"id": str(number), "name": f"n{number}", "position": number} for number in range(UNIT_RECORDS)]
    assert sum(len(record["name"]) for record in records if isinstance(record["name"], str)) > UNIT_RECORDS
    return time.thread_time() - started


UNIT_RECORDS = 15_000
