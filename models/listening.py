"""Hear PostgreSQL's notifications on a connection of its own, for a pooled one must carry no state."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import asyncpg

from models.pool import DatabaseSettings

Notified: TypeAlias = Callable[[str], Awaitable[object] | object]
AfterGap: TypeAlias = Callable[[], Awaitable[object] | object]

FIRST_PAUSE = 0.1
LONGEST_PAUSE = 5.0
# A connection that died without a word (a lost route, a paused machine) is found out by this.
CHECK_EVERY = 30.0
CHECK_WITHIN = 5.0

logger = logging.getLogger("vitrine.database")


class Listener:
    """Keep one listening connection for all channels, and make it anew when it is lost."""

    def __init__(self, settings: DatabaseSettings, role: str | None) -> None:
        self._settings = settings
        self._role = role
        self._channels: dict[str, list[Notified]] = {}
        self._after_gap: list[AfterGap] = []
        self._task: asyncio.Task[None] | None = None
        self._called: set[asyncio.Future[Any]] = set()
        self._changed = asyncio.Event()
        self._listening: dict[str, asyncio.Event] = {}

    async def listen(self, channel: str, callback: Notified, after_gap: AfterGap | None) -> None:
        """Begin to listen; returns when the server has confirmed."""
        self._channels.setdefault(channel, []).append(callback)
        if after_gap is not None:
            self._after_gap.append(after_gap)
        confirmed = self._listening.setdefault(channel, asyncio.Event())
        self._changed.set()
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._keep_listening())
        await confirmed.wait()

    async def close(self) -> None:
        """Stop listening."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        for called in list(self._called):
            called.cancel()
        await asyncio.gather(*self._called, return_exceptions=True)

    async def _keep_listening(self) -> None:
        pause = FIRST_PAUSE
        is_first = True
        while True:
            try:
                connection = await self._connect()
                try:
                    known: set[str] = set()
                    await self._catch_up(connection, known)
                    if not is_first:
                        for after_gap in self._after_gap:
                            self._call(after_gap)
                    is_first, pause = False, FIRST_PAUSE
                    await self._stay(connection, known)
                finally:
                    connection.terminate()
            except asyncio.CancelledError:
                raise
            except Exception as error:
                logger.warning("the listening connection was lost: %r; next try in %.1f s", error, pause)
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)

    async def _connect(self) -> asyncpg.Connection:
        server_settings = self._settings.server_settings(self._role)
        server_settings["application_name"] += " (listening)"
        return await asyncpg.connect(
            self._settings.url, timeout=self._settings.acquire_seconds, server_settings=server_settings
        )

    async def _stay(self, connection: asyncpg.Connection, known: set[str]) -> None:
        """Add channels as they are asked for and look now and then whether the server is there; raise when it is not."""
        connection.add_termination_listener(lambda _: self._changed.set())
        while not connection.is_closed():
            try:
                async with asyncio.timeout(CHECK_EVERY):
                    await self._changed.wait()
            except TimeoutError:
                await connection.execute("select 1", timeout=CHECK_WITHIN)
            self._changed.clear()
            if not connection.is_closed():
                await self._catch_up(connection, known)
        raise asyncpg.ConnectionDoesNotExistError("the server closed the connection")

    async def _catch_up(self, connection: asyncpg.Connection, known: set[str]) -> None:
        for channel in set(self._channels) - known:
            await connection.add_listener(channel, self._heard)
            known.add(channel)
            self._listening[channel].set()

    def _heard(self, _connection: object, _pid: int, channel: str, payload: object) -> None:
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
            self._called.add(future)
            future.add_done_callback(self._answered)

    def _answered(self, future: asyncio.Future[Any]) -> None:
        self._called.discard(future)
        if not future.cancelled() and (failure := future.exception()) is not None:
            logger.error("a callback of a notification failed", exc_info=failure)
