"""Say which stores were written to: to this process at once, to the others by at most one notification in NOTICE_SECONDS.

The notification is not part of the writing transactions: NOTIFY makes their commits wait for each other, in the whole database.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextvars import Context
from time import monotonic

NOTICE_SECONDS = 0.03

logger = logging.getLogger("vitrine.database")


class WriteNotices:
    """Collect the stores that this process writes to; `send` notifies the other processes."""

    def __init__(self, send: Callable[[list[int]], Awaitable[object]]) -> None:
        self._send = send
        self._pending: set[int] = set()
        self._task: asyncio.Task[None] | None = None
        self._sent_at = 0.0

    def add(self, store: int) -> None:
        """Notify the others of a write: at once after a pause, and within NOTICE_SECONDS of the last notification."""
        self._pending.add(store)
        if self._task is None:
            # Without the context of the writer: its transaction has ended.
            self._task = asyncio.get_running_loop().create_task(self._send_later(), context=Context())

    async def close(self) -> None:
        """Notify at once of what is pending."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        await self._send_pending()

    async def _send_later(self) -> None:
        await asyncio.sleep(max(0.0, self._sent_at + NOTICE_SECONDS - monotonic()))
        self._task, self._sent_at = None, monotonic()
        await self._send_pending()

    async def _send_pending(self) -> None:
        pending, self._pending = self._pending, set()
        if not pending:
            return
        try:
            await self._send(sorted(pending))
        except Exception as error:
            logger.warning("other processes were not notified of a write, and see it within seconds: %r", error)


_observers: list[Callable[[int], None]] = []


def observe(observer: Callable[[int], None]) -> None:
    """Call the observer with the store of each write of this process, once it is committed."""
    _observers.append(observer)


def stop_observing(observer: Callable[[int], None]) -> None:
    """Don't call the observer any longer."""
    _observers.remove(observer)


def record_write(store: int) -> None:
    """Report a committed write to a store."""
    for observer in _observers:
        observer(store)
