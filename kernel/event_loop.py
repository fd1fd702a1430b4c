"""Divide long work on the event loop, so that other requests are served in between."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import TypeVar

from kernel import metrics

T = TypeVar("T")

PART_SIZE = 1_000
TEXT_AT_ONCE = 100_000
WATCH_SECONDS = 0.05
_PAUSES = metrics.histogram(
    "vitrine_event_loop_pause_seconds", "How much later than planned the event loop ran a timer, 20 times a second."
)


def lost_terminal() -> tuple[signal.Signals, ...]:
    """Return the signal of a lost terminal, unless it is ignored, as by nohup."""
    return () if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN else (signal.SIGHUP,)


async def in_parts(items: Sequence[T], size: int = PART_SIZE) -> AsyncIterator[Sequence[T]]:
    """Yield the items in parts of at most `size`; other requests get their turn between two parts."""
    for start in range(0, len(items), size):
        if start:
            await asyncio.sleep(0)
        yield items[start : start + size]


async def off_loop(size: int, work: Callable[[], T]) -> T:
    """Return what `work` does with texts of `size` characters in all; in a thread if it takes so long that other requests would notice."""
    return work() if size <= TEXT_AT_ONCE else await asyncio.to_thread(work)


async def convert_texts(convert: Callable[[str], T], texts: Sequence[str]) -> list[T]:
    """Return what `convert` makes of each text; one after another in threads if that takes long, as `off_loop`."""
    size = total_length(texts)
    return [await off_loop(size, partial(convert, text)) for text in texts]


def total_length(texts: Iterable[str]) -> int:
    """Return the number of characters of all texts."""
    return sum(map(len, texts))


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
