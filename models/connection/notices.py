"""Notifications between processes: who writes says which stores, and caches of other processes follow.

`WriteNotices` sends at most one notification in NOTICE_SECONDS, not as part of the writing transactions: NOTIFY makes their commits wait
for each other, in the whole database. `Listener` holds the one connection that listens, because a pooled one must not have session state.
Notifications keep caches true, so a lost one must not leave a cache stale for longer than STALE_SECONDS: the connection is checked every
CHECK_INTERVAL_SECONDS, also for whether its session listens at all, and what depends on notifications is called when it is lost, after each
failed attempt to reconnect, and once more when the new connection listens.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable
from contextvars import Context
from time import monotonic
from typing import Any, TypeAlias

import asyncpg

from kernel.outages import Outage
from models.connection.pool import DatabaseSettings

NotificationCallback: TypeAlias = Callable[[str], Awaitable[object] | object]
ReconnectCallback: TypeAlias = Callable[[], Awaitable[object] | object]

STALE_SECONDS = 5.0
"""How long after a change a cache may contain what preceded it when the notification is lost."""

MIN_BACKOFF_SECONDS = 0.1
MAX_BACKOFF_SECONDS = 1.0
CONNECT_TIMEOUT_SECONDS = 3.0
# Detects a connection that was lost without a TCP reset: a lost route, a suspended machine.
CHECK_INTERVAL_SECONDS = 2.0
CHECK_TIMEOUT_SECONDS = 2.0
# A pooler may have given the session to another client: then the server answers, but no notification arrives.
_CHECK = "select count(*) from pg_listening_channels() as c (name) where name = any($1::text[])"

NOTICE_SECONDS = 0.03

logger = logging.getLogger("vitrine.database")


class Listener:
    """One listening connection for all channels, which reconnects when it is lost."""

    def __init__(self, settings: DatabaseSettings, role: str | None) -> None:
        self._settings = settings
        self._role = role
        self._channels: dict[str, list[NotificationCallback]] = {}
        self._on_missed: list[ReconnectCallback] = []
        self._task: asyncio.Task[None] | None = None
        self._pending_callbacks: set[asyncio.Future[Any]] = set()
        self._changed = asyncio.Event()
        self._listening: dict[str, asyncio.Event] = {}
        self._is_listening = False

    async def listen(self, channel: str, callback: NotificationCallback, on_missed: ReconnectCallback | None) -> None:
        """Register a callback and wait until the server has confirmed LISTEN.

        `on_missed` is called whenever notifications may have been missed.
        """
        self._channels.setdefault(channel, []).append(callback)
        if on_missed is not None:
            self._on_missed.append(on_missed)
        confirmed = self._listening.setdefault(channel, asyncio.Event())
        self._changed.set()
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run())
        await confirmed.wait()

    def set_role(self, role: str) -> None:
        """Act as the role from the next connection on; a session that only listens needs no other."""
        self._role = role

    @property
    def is_listening(self) -> bool:
        """Return whether notifications arrive."""
        return self._is_listening

    async def close(self) -> None:
        """Stop listening."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        for callback in list(self._pending_callbacks):
            callback.cancel()
        await asyncio.gather(*self._pending_callbacks, return_exceptions=True)

    async def _run(self) -> None:
        backoff = MIN_BACKOFF_SECONDS
        is_first = True
        outage = Outage()
        while True:
            try:
                connection = await self._connect()
                try:
                    subscribed: set[str] = set()
                    await self._subscribe(connection, subscribed)
                    if not is_first:
                        self._report_missed()
                    is_first, backoff = False, MIN_BACKOFF_SECONDS
                    self._is_listening = True
                    if (seconds := outage.end()) is not None:
                        logger.info("notifications arrive again after %.1f s", seconds)
                    await self._monitor(connection, subscribed)
                finally:
                    self._is_listening = False
                    connection.terminate()
            except asyncio.CancelledError:
                raise
            except Exception as error:
                if outage.is_due():
                    logger.warning("the listening connection was lost: %r; retrying in %.1f s", error, backoff)
            self._report_missed()
            await asyncio.sleep(backoff)
            backoff = min(backoff * 2, MAX_BACKOFF_SECONDS)

    async def _connect(self) -> asyncpg.Connection:
        server_settings = self._settings.server_settings(self._role)
        server_settings["application_name"] += " (listening)"
        return await asyncpg.connect(
            self._settings.url,
            timeout=min(self._settings.acquire_seconds, CONNECT_TIMEOUT_SECONDS),
            command_timeout=CHECK_TIMEOUT_SECONDS,
            server_settings=server_settings,
        )

    def _report_missed(self) -> None:
        for callback in self._on_missed:
            self._call(callback)

    async def _monitor(self, connection: asyncpg.Connection, subscribed: set[str]) -> None:
        """Subscribe to new channels and check the connection periodically; raise when it is lost."""
        connection.add_termination_listener(lambda _: self._changed.set())
        while not connection.is_closed():
            try:
                async with asyncio.timeout(CHECK_INTERVAL_SECONDS):
                    await self._changed.wait()
            except TimeoutError:
                listening = await connection.fetchval(_CHECK, list(subscribed))
                if listening != len(subscribed):
                    raise asyncpg.InterfaceError("the session does not listen") from None
            self._changed.clear()
            if not connection.is_closed():
                await self._subscribe(connection, subscribed)
        raise asyncpg.ConnectionDoesNotExistError("the server closed the connection")

    async def _subscribe(self, connection: asyncpg.Connection, subscribed: set[str]) -> None:
        for channel in set(self._channels) - subscribed:
            await connection.add_listener(channel, self._on_notification)
            subscribed.add(channel)
            self._listening[channel].set()

    def _on_notification(self, _connection: object, _pid: int, channel: str, payload: object) -> None:
        for callback in self._channels.get(channel, ()):
            self._call(callback, str(payload))

    def _call(self, callback: Callable[..., Awaitable[object] | object], *args: str) -> None:
        try:
            result = callback(*args)
        except Exception:
            logger.exception("a callback of a notification failed")
            return
        if inspect.isawaitable(result):
            future = asyncio.ensure_future(result)
            self._pending_callbacks.add(future)
            future.add_done_callback(self._on_callback_done)

    def _on_callback_done(self, future: asyncio.Future[Any]) -> None:
        self._pending_callbacks.discard(future)
        if not future.cancelled() and (failure := future.exception()) is not None:
            logger.error("a callback of a notification failed", exc_info=failure)


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
