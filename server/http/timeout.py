"""Cancel requests that exceed the request timeout (docs/reference/shared.md#timeouts).

All requests have the same timeout, so they expire in the order they began and one timer serves them all. `asyncio.timeout` sets and
cancels a timer for each, which costs as much as the rest of the middleware.
"""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any


class RequestTimeouts:
    """Track the deadlines of tasks and cancel those that exceed them."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._deadlines: dict[asyncio.Task[Any], float] = {}
        self._timed_out: set[asyncio.Task[Any]] = set()
        self._unlimited: set[asyncio.Task[Any]] = set()
        self._timer_is_set = False

    def begin(self, task: asyncio.Task[Any], loop: asyncio.AbstractEventLoop) -> None:
        """Start the task's timeout."""
        self._deadlines[task] = loop.time() + self.seconds
        if not self._timer_is_set:
            self._timer_is_set = True
            loop.call_later(self.seconds, self._cancel_expired, loop)

    def restart(self) -> None:
        """Start the current task's timeout again: a response sent in pieces has the whole time for each."""
        task = asyncio.current_task()
        if task is not None and self._deadlines.pop(task, None) is not None:
            self._deadlines[task] = task.get_loop().time() + self.seconds

    def lift(self) -> None:
        """Let the current task take as long as it needs: a stream ends with its client or credential."""
        task = asyncio.current_task()
        if task is not None and self._deadlines.pop(task, None) is not None:
            self._unlimited.add(task)

    def end(self, task: asyncio.Task[Any]) -> bool:
        """Stop the task's timeout and return whether it had expired."""
        if self._deadlines.pop(task, None) is not None:
            return False
        if task in self._unlimited:
            self._unlimited.discard(task)
            return False
        self._timed_out.discard(task)
        return True

    def _cancel_expired(self, loop: asyncio.AbstractEventLoop) -> None:
        """Cancel expired tasks and set the timer for the next deadline."""
        now = loop.time()
        for task, deadline in list(self._deadlines.items()):
            if deadline > now:
                loop.call_at(deadline, self._cancel_expired, loop)
                return
            del self._deadlines[task]
            self._timed_out.add(task)
            task.cancel()
        self._timer_is_set = False


class RequestTimeout:
    """A context manager that raises TimeoutError on expiry; a task may enter only one at a time.

    It distinguishes our cancellation from others, as `asyncio.timeout` does.
    """

    __slots__ = ("_cancelling", "_loop", "_task", "_timeouts")

    def __init__(self, timeouts: RequestTimeouts, loop: asyncio.AbstractEventLoop) -> None:
        self._timeouts = timeouts
        self._loop = loop

    def __enter__(self) -> None:
        task = asyncio.current_task(self._loop)
        assert task is not None
        self._task, self._cancelling = task, task.cancelling()
        self._timeouts.begin(task, self._loop)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._timeouts.end(self._task):
            return
        # Uncancel even when the work finished before the cancellation was delivered.
        is_only_ours = self._task.uncancel() <= self._cancelling
        if is_only_ours and kind is not None and issubclass(kind, asyncio.CancelledError):
            raise TimeoutError from error
