"""Divide long work on the event loop, so that other requests are served in between."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TypeVar

from kernel import metrics

T = TypeVar("T")

PART_SIZE = 1_000
WATCH_SECONDS = 0.05
_PAUSES = metrics.histogram(
    "vitrine_event_loop_pause_seconds", "How much later than planned the event loop ran a timer, 20 times a second."
)


async def in_parts(items: Sequence[T], size: int = PART_SIZE) -> AsyncIterator[Sequence[T]]:
    """Yield the items in parts of at most `size`; other requests get their turn between two parts."""
    for start in range(0, len(items), size):
        if start:
            await asyncio.sleep(0)
        yield items[start : start + size]


async def wait_at_most(event: asyncio.Event, seconds: float) -> None:
    """Wait for the event, but no longer than this.

    Before Python 3.12 `asyncio.wait_for` loses a cancellation that comes together with the event.
    """
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()


async def end_tasks(tasks: Collection[asyncio.Task[None]], seconds: float) -> None:
    """Wait for tasks, at most so long; cancel the others, and wait for those too."""
    if tasks:
        _, late = await asyncio.wait(tasks, timeout=seconds)
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late)


@contextmanager
def measured_pauses() -> Iterator[None]:
    """Measure the pauses of the running event loop meanwhile."""
    loop, pauses = asyncio.get_running_loop(), _PAUSES.child()
    timer: asyncio.TimerHandle

    def watch(planned_at: float) -> None:
        nonlocal timer
        now = loop.time()
        _PAUSES.observe(pauses, now - planned_at)
        timer = loop.call_later(WATCH_SECONDS, watch, now + WATCH_SECONDS)

    timer = loop.call_later(WATCH_SECONDS, watch, loop.time() + WATCH_SECONDS)
    try:
        yield
    finally:
        timer.cancel()
