"""Lend connections that see one store: what row-level security reads is set before the borrower's statement, and remembered.

asyncpg's own pool resets a connection with four statements at each release and makes a task for it: 0.2 ms a query. This one
keeps the connection as it is. That is safe because nobody sets session state on a pooled connection except the store, because
every way in goes through `StorePool.lend`, and because a connection that may be in a transaction or in mid-answer is never
taken back before it is settled.

It uses private parts of asyncpg (`_holders`, `_queue`, `PoolConnectionHolder`), so the version is pinned and
`tests/models/test_pool_under_fire.py` cancels and kills at random. `max_queries` and the inactivity timer are off: both
would close connections behind the back of the cheap release.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections import deque
from dataclasses import dataclass
from typing import Any

import asyncpg
from asyncpg.pool import Pool, PoolConnectionHolder, PoolConnectionProxy, _PoolConnectionHolderQueue

from kernel.scope import current_scope
from models.connections import NO_STORE, StoreConnection

SETTLE_SECONDS = 5.0
CLOSE_SECONDS = 10.0

logger = logging.getLogger("vitrine.database")


@dataclass(frozen=True)
class DatabaseSettings:
    """Say which database serves and how; `role` is what connections become after the log-in, None to stay the log-in's own.

    Times are in milliseconds for the server's limits and in seconds for our own waiting.
    """

    url: str
    role: str | None = "vitrine_app"
    worker_role: str | None = "vitrine_worker"
    min_size: int = 2
    max_size: int = 10
    worker_size: int = 2
    spare_size: int = 2
    statement_timeout_ms: int = 25_000
    lock_timeout_ms: int = 10_000
    idle_in_transaction_ms: int = 30_000
    acquire_seconds: float = 10.0
    application_name: str = "vitrine"

    def server_settings(self, role: str | None) -> dict[str, str]:
        """Give the session settings each connection starts with."""
        settings = {
            "application_name": self.application_name,
            "statement_timeout": str(self.statement_timeout_ms),
            "lock_timeout": str(self.lock_timeout_ms),
            "idle_in_transaction_session_timeout": str(self.idle_in_transaction_ms),
            # Compiling costs more than it saves on statements of a few rows.
            "jit": "off",
            # What is read often is in memory, and disks have no arms any more: the default of 4 makes whole tables look cheap.
            "random_page_cost": "1.1",
            "timezone": "UTC",
        }
        if role is not None:
            # Part of the log-in rather than a statement after it, so RESET ROLE leads back here and not to the owner.
            settings["role"] = role
        return settings


def store_of_task() -> int:
    """Give the id of the store in scope, or `NO_STORE`, which sees nothing."""
    scope = current_scope()
    return NO_STORE if scope is None else scope.store.id


class _Line(_PoolConnectionHolderQueue):  # type: ignore[misc]  # asyncpg is not typed
    """Keep the free places of a pool, and give one that comes back to whoever has waited longest.

    asyncio's queue wakes the one who waits, but lets anybody who comes by in the meantime take the place: a task that runs one
    statement after the other would always be first.
    """

    def __init__(self, maxsize: int) -> None:
        super().__init__(maxsize=maxsize)
        self.waiting: deque[asyncio.Future[PoolConnectionHolder]] = deque()

    def put_nowait(self, holder: PoolConnectionHolder) -> None:
        """Take a place back."""
        while self.waiting:
            first = self.waiting.popleft()
            if not first.done():
                first.set_result(holder)
                return
        self._queue.append(holder)

    async def get(self) -> PoolConnectionHolder:
        """Wait for a place behind all who wait already."""
        mine: asyncio.Future[PoolConnectionHolder] = asyncio.get_running_loop().create_future()
        self.waiting.append(mine)
        try:
            return await mine
        except BaseException:
            if mine.done() and not mine.cancelled():
                self.put_nowait(mine.result())  # it came together with the cancellation
            raise


class StorePool(Pool):  # type: ignore[misc]  # asyncpg is not typed
    """A pool whose connections are bound to a store when they are handed out."""

    __slots__ = ("_acquire_seconds", "_settling")

    def __init__(self, *args: Any, acquire_seconds: float, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._acquire_seconds = acquire_seconds
        self._settling: set[asyncio.Task[None]] = set()

    async def lend(self, store: int, *, one_statement: bool = False) -> StoreConnection:
        """Hand out a connection bound to the store; without waiting when an idle one is bound to it already.

        Who will run just `one_statement` gets one that is bound together with it, in one round trip. The borrower gives the connection
        back with `give_back` in a `finally`, whatever happened, and never keeps it.
        """
        if self._closing or self._closed:
            raise asyncpg.InterfaceError("pool is closing")
        holder = self._free_holder(store) or await self._wait_for_holder()
        try:
            connection: StoreConnection | None = holder._con
            if connection is None or connection.is_closed() or holder._generation != self._generation:
                await holder.acquire()  # asyncpg's own way: it connects
                connection = holder._con
            else:
                holder._in_use = self._loop.create_future()
        except BaseException:
            self._queue.put_nowait(holder)
            self._schedule_min_size_maintenance()
            raise
        assert connection is not None
        if connection.store == store:
            return connection
        if one_statement:
            connection.due = store
            return connection
        try:
            await connection.bind(store)
        except BaseException:
            await self.give_back(connection)
            raise
        return connection

    async def give_back(self, connection: StoreConnection) -> None:
        """Take a connection back, at once when it is idle; else when its last answer came and its transaction is undone."""
        holder = connection._pool_holder and connection._pool_holder()
        if holder is None or holder._con is not connection or holder._in_use is None:
            return  # it was lost meanwhile and its place is free already
        connection.due = None
        if self._is_at_rest(connection) and holder._generation == self._generation:
            connection._pool_release_ctr += 1  # statements and cursors of the borrower end here
            holder._release()
            return
        connection.store = None
        task = self._loop.create_task(self._settle(connection, holder))
        self._settling.add(task)
        task.add_done_callback(self._settling.discard)
        # The borrower may be cancelled: the settling goes on without it.
        await asyncio.shield(task)

    async def _initialize(self) -> None:
        await super()._initialize()
        line = _Line(self._maxsize)
        line._queue = self._queue._queue  # type: ignore[has-type]  # asyncpg's slots
        self._queue = line  # type: ignore[misc]

    def _free_holder(self, store: int) -> PoolConnectionHolder | None:
        """Take an idle connection, best one that is bound to the store, next best the one unused for longest, else a new one's place.

        The one used last is most likely to be wanted again by its own store: for the next level of a list, say. While others wait
        nothing is free: what comes back is handed to them.
        """
        free: list[PoolConnectionHolder] = self._queue._queue
        if not free:
            return None
        chosen = -1
        for index in range(len(free) - 1, -1, -1):
            connection = free[index]._con
            if connection is None or connection.is_closed():
                continue
            if connection.store == store:
                return free.pop(index)
            chosen = index
        return free.pop(chosen)

    async def _wait_for_holder(self) -> PoolConnectionHolder:
        async with asyncio.timeout(self._acquire_seconds):
            holder: PoolConnectionHolder = await self._queue.get()
            return holder

    @staticmethod
    def _is_at_rest(connection: StoreConnection) -> bool:
        protocol = connection._protocol
        return (
            protocol is not None
            and protocol.is_connected()
            and not protocol._is_cancelling()
            and not protocol.is_in_transaction()
            and not connection._stmt_exclusive_section._acquired
            and connection._top_xact is None
        )

    async def _settle(self, connection: StoreConnection, holder: PoolConnectionHolder) -> None:
        try:
            async with asyncio.timeout(SETTLE_SECONDS):
                if connection.is_closed() or holder._generation != self._generation:
                    raise asyncpg.InterfaceError("the connection is closed")
                if connection._protocol._is_cancelling():
                    await connection._protocol._wait_for_cancellation(SETTLE_SECONDS)
                connection._top_xact = None
                if connection._protocol.is_in_transaction():
                    await connection.execute("rollback")
                if not self._is_at_rest(connection):
                    raise asyncpg.InterfaceError("the connection is still busy")
        except BaseException as error:
            logger.debug("a connection was dropped instead of taken back: %r", error)
            connection.terminate()  # frees its place through _release_on_close
            if not isinstance(error, Exception):
                raise
        else:
            connection._pool_release_ctr += 1
            holder._release()

    # --- The stock interface, so that no other way in leads past the binding. ---

    async def _acquire(self, timeout: float | None) -> PoolConnectionProxy:
        async with asyncio.timeout(timeout):
            connection = await self.lend(store_of_task())
        holder = connection._pool_holder()
        holder._timeout = timeout
        holder._proxy = PoolConnectionProxy(holder, connection)
        return holder._proxy

    async def release(self, connection: PoolConnectionProxy, *, timeout: float | None = None) -> None:
        """Take back what `acquire` handed out."""
        if connection._con is not None:
            await self.give_back(connection._con)


async def open_pool(
    settings: DatabaseSettings, role: str | None, *, min_size: int, max_size: int, across: bool = False
) -> StorePool:
    """Open a pool of connections that act as the role; `across` for the one whose work is over all stores."""
    server_settings = settings.server_settings(role)
    if across and role is None:
        # Where roles can't be made, the worker's policies look at this instead (models/roles.py).
        server_settings["vitrine.across"] = "on"
    pool = StorePool(
        settings.url,
        acquire_seconds=settings.acquire_seconds,
        min_size=min_size,
        max_size=max_size,
        max_queries=math.inf,
        max_inactive_connection_lifetime=0.0,
        loop=asyncio.get_running_loop(),
        connection_class=StoreConnection,
        record_class=asyncpg.Record,
        server_settings=server_settings,
        timeout=settings.acquire_seconds,
        # The server ends statements itself; this catches a server that answers nothing any more.
        command_timeout=settings.statement_timeout_ms / 1000 + 5,
        statement_cache_size=1000,
        max_cached_statement_lifetime=0,
        max_cacheable_statement_size=64 * 1024,
    )
    await pool
    return pool


async def close_pool(pool: StorePool) -> None:
    """Close a pool; after ten seconds with connections still in use, cut them off."""
    try:
        async with asyncio.timeout(CLOSE_SECONDS):
            await pool.close()
    except TimeoutError:
        logger.warning("connections were still in use and have been cut off")
