"""Keep the newest events of each store with streams in memory, read once for all streams of the process.

A tail reads when this process writes to its store, when another process says that it did (`models.connection.notices`), and every
POLL_SECONDS, because that notice may be lost. A stream has nothing but its position: one that falls behind the tail's events reads from the
database until it has caught up, so that a slow client takes no memory here.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from contextvars import Context
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import orjson
from aiohttp import web

from domain import event_feed, event_types
from domain.event_feed import FeedEvent, encode_cursor
from kernel import logging
from kernel.clock import now
from kernel.event_loop import wait_at_most
from kernel.ids import uuid7
from kernel.scope import SYSTEM, Scope, Store, active_scope
from models.connection import database, notices

MAX_EVENTS = 1_000
MAX_BYTES = 4 * 1024 * 1024
"""What a tail keeps of its store; the newest page of the feed may exceed it."""
POLL_SECONDS = 5.0
# Writes that follow each other closely are read together.
_MIN_INTERVAL = 0.02
_PAUSE_AFTER_FAILURE = 1.0
# Streams that read from the database at the same time: the others wait for their turn, not for a connection.
_MAX_READERS = 4
_PAGE_SIZE = 200


class TailEvent:
    """An event in memory, with its forms that all streams share."""

    def __init__(self, store: Store, event: FeedEvent) -> None:
        self.event = event
        self.results: dict[Any, bytes] = {}
        """What subscriptions show of the event, by their document (`server.http.graphql_streams`)."""
        self._store = store

    @cached_property
    def cursor(self) -> str:
        """The cursor of the event."""
        return encode_cursor(self._store, self.event.position)

    @cached_property
    def json(self) -> bytes:
        """The record of the event."""
        return orjson.dumps(self.event.record(self._store))


@dataclass(frozen=True, slots=True)
class Reading:
    """Events after a position, and how far was read."""

    events: Sequence[TailEvent]
    end: int


class StoreTail:
    """The newest events of a store: all of those after the position `start`."""

    def __init__(self, store: Store, start: int) -> None:
        self.store = store
        self.start = self.end = start
        self._events: list[TailEvent] = []
        self._bytes = 0
        self._wake = asyncio.Event()
        self._changed = asyncio.Event()

    def wake(self) -> None:
        """Read soon: there may be new events."""
        self._wake.set()

    def read(self, position: int, names: Collection[str], limit: int) -> Reading | None:
        """Return the events of these names after a position, at most `limit`; None when some are not in memory any longer."""
        if position < self.start:
            return None
        selected: list[TailEvent] = []
        for index in range(bisect_right(self._events, position, key=_position), len(self._events)):
            event = self._events[index]
            if event.event.name in names:
                selected.append(event)
                if len(selected) == limit:
                    return Reading(selected, event.event.position)
        return Reading(selected, max(position, self.end))

    async def wait(self, position: int, seconds: float) -> None:
        """Wait until there are events after a position, the tail is notified, or the time has passed."""
        if self.end <= position:
            await wait_at_most(self._changed, seconds)

    def notify(self) -> None:
        """Let every stream look at its position, or at whether it is to end."""
        self._changed.set()
        self._changed = asyncio.Event()

    async def follow(self) -> None:
        """Read new events until cancelled; database errors are logged and retried."""
        while True:
            self._wake.clear()
            try:
                await self._read_new()
                pause = _MIN_INTERVAL
            except Exception as error:
                logging.failure("event streams delayed", error, store=str(self.store.public_id))
                pause = _PAUSE_AFTER_FAILURE
            await asyncio.sleep(pause)
            await wait_at_most(self._wake, POLL_SECONDS)

    async def _read_new(self) -> None:
        scope = Scope(store=self.store, actor=SYSTEM, request_id=f"tail-{uuid7()}", now=now())
        while True:
            with active_scope(scope):
                page = await event_feed.read_page(scope, self.end, event_types.NAMES, _PAGE_SIZE)
            if page.end > self.end:
                self._append([TailEvent(self.store, event) for event in page.events], page.end)
            if not page.has_more:
                return

    def _append(self, added: list[TailEvent], end: int) -> None:
        self._events += added
        self._bytes += sum(event.event.size for event in added)
        self.end = end
        excess = 0
        while len(self._events) - excess > MAX_EVENTS or (self._bytes > MAX_BYTES and excess < len(self._events)):
            self._bytes -= self._events[excess].event.size
            self.start = self._events[excess].event.position
            excess += 1
        del self._events[:excess]
        self.notify()


def _position(event: TailEvent) -> int:
    return event.event.position


class EventTails:
    """The tails of this process, one for each store with a stream."""

    def __init__(self) -> None:
        self._tails: dict[int, tuple[StoreTail, asyncio.Task[None]]] = {}
        self._users: dict[int, int] = {}
        self._opening = asyncio.Lock()
        self._readers = asyncio.Semaphore(_MAX_READERS)
        self._listening: asyncio.Task[None] | None = None
        self.is_stopping = False
        self._on_stop: set[Callable[[], None]] = set()

    @asynccontextmanager
    async def open(self, scope: Scope) -> AsyncIterator[StoreTail]:
        """Follow the scope's store meanwhile; its tail begins at the newest event."""
        key = scope.store.id
        self._users[key] = self._users.get(key, 0) + 1
        try:
            async with self._opening:
                if key not in self._tails:
                    await self._start(scope)
                tail = self._tails[key][0]
            yield tail
        finally:
            self._users[key] -= 1
            if not self._users[key]:
                del self._users[key]
                if key in self._tails:
                    self._tails.pop(key)[1].cancel()

    async def read(self, scope: Scope, position: int, names: Sequence[str]) -> Reading:
        """Read a page from the database, in turn with the other streams; raises the errors of `event_feed.read_page`."""
        async with self._readers:
            page = await event_feed.read_page(scope, position, names, _PAGE_SIZE)
        return Reading([TailEvent(scope.store, event) for event in page.events], page.end)

    def stop(self) -> None:
        """Let all streams end, because the process stops."""
        self.is_stopping = True
        for tail, _ in self._tails.values():
            tail.notify()
        for callback in list(self._on_stop):
            callback()

    @contextmanager
    def stopping(self, callback: Callable[[], None]) -> Iterator[None]:
        """Call the callback if the process stops meanwhile."""
        self._on_stop.add(callback)
        try:
            yield
        finally:
            self._on_stop.discard(callback)

    async def close(self) -> None:
        """Stop following."""
        tasks = [task for _, task in self._tails.values()]
        if self._listening is not None:
            notices.stop_observing(self._on_write)
            tasks.append(self._listening)
            self._listening = None
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._tails.clear()

    async def _start(self, scope: Scope) -> None:
        if self._listening is None:
            notices.observe(self._on_write)
            # In the background: the first stream doesn't wait for the listening connection.
            listening = database.listen_for_writes(self._on_write, on_missed=self._wake_all)
            self._listening = asyncio.get_running_loop().create_task(listening, context=Context())
        start = await event_feed.start_position(scope, event_feed.LATEST)
        assert start is not None
        tail = StoreTail(scope.store, start)
        task = asyncio.get_running_loop().create_task(tail.follow(), context=Context())
        self._tails[scope.store.id] = (tail, task)

    def _on_write(self, store: int) -> None:
        if store in self._tails:
            self._tails[store][0].wake()

    def _wake_all(self) -> None:
        for tail, _ in self._tails.values():
            tail.wake()


EVENT_TAILS = web.AppKey("event_tails", EventTails)
