"""Measure the longest pause of the event loop as CPU time of its thread, compared with a unit of work.

Pauses are never compared with seconds: other processes, and slower machines, take part in those. The CPU time of a thread has no part
of other processes, and a unit of work measured in the same run has the machine's speed.
"""

from __future__ import annotations

import asyncio
import time

# Between rounds, or the measured loop, which never waits for events, would leave no CPU to other threads.
IDLE_SECONDS = 0.0002


class LoopPauses:
    """Measure each round of the event loop in a `with` block; `longest` is in CPU seconds of the thread."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.longest = 0.0

    def __enter__(self) -> LoopPauses:
        self._begin_round()
        return self

    def _begin_round(self) -> None:
        self._started = time.thread_time()
        # A callback that is added in a round runs in the next one.
        self._next = self._loop.call_soon(self._end_round)

    def _end_round(self) -> None:
        self.longest = max(self.longest, time.thread_time() - self._started)
        time.sleep(IDLE_SECONDS)
        self._begin_round()

    def __exit__(self, *_: object) -> None:
        self._next.cancel()


def unit_of_work() -> float:
    """Return the CPU seconds of a fixed piece of work like the application's: 10 ms on the machine of docs/security.md."""
    return min(_work() for _ in range(3))


def _work() -> float:
    started = time.thread_time()
    records = [{"id": str(number), "name": f"n{number}", "position": number} for number in range(UNIT_RECORDS)]
    assert sum(len(record["name"]) for record in records if isinstance(record["name"], str)) > UNIT_RECORDS
    return time.thread_time() - started


UNIT_RECORDS = 15_000
