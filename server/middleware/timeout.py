"""Cut off requests that take too long (decisions section 2, Route time-out).

All requests have the same time, so they are due in the order in which they began, and one timer serves them all: it wakes at the
first one's end. `asyncio.timeout` sets and cancels a timer for each, which costs as much as the rest of the middleware.
"""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any


class Deadlines:
    """Know which tasks are due when, and cancel those that are still at work."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._due: dict[asyncio.Task[Any], float] = {}
        self._cut_off: set[asyncio.Task[Any]] = set()
        self._timer_is_set = False

    def limit(self) -> _Limited:
        """Give a context that raises TimeoutError out of what takes too long; a task enters one at a time."""
        task = asyncio.current_task()
        assert task is not None
        return _Limited(self, task)

    def begin(self, task: asyncio.Task[Any]) -> None:
        """Start the task's time."""
        loop = task.get_loop()
        self._due[task] = loop.time() + self._seconds
        if not self._timer_is_set:
            self._timer_is_set = True
            loop.call_later(self._seconds, self._cut, loop)

    def end(self, task: asyncio.Task[Any]) -> bool:
        """Stop the task's time, and say whether it was cut off."""
        if self._due.pop(task, None) is not None:
            return False
        self._cut_off.discard(task)
        return True

    def _cut(self, loop: asyncio.AbstractEventLoop) -> None:
        """Cancel what is due, and wake again when the next one is."""
        now = loop.time()
        for task, due in list(self._due.items()):
            if due > now:
                loop.call_at(due, self._cut, loop)
                return
            del self._due[task]
            self._cut_off.add(task)
            task.cancel()
        self._timer_is_set = False


class _Limited:
    """Tell a cancellation of ours from somebody else's, as `asyncio.timeout` does."""

    __slots__ = ("_cancelling", "_deadlines", "_task")

    def __init__(self, deadlines: Deadlines, task: asyncio.Task[Any]) -> None:
        self._deadlines = deadlines
        self._task = task

    def __enter__(self) -> None:
        self._cancelling = self._task.cancelling()
        self._deadlines.begin(self._task)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._deadlines.end(self._task):
            return
        # The count goes down even when the work ended in time to ignore the cancellation.
        is_only_ours = self._task.uncancel() <= self._cancelling
        if is_only_ours and kind is not None and issubclass(kind, asyncio.CancelledError):
            raise TimeoutError from error
