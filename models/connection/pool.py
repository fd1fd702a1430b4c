"""Connection pool: a connection is acquired for one store, to which it binds each of its transactions (`models.connection.binding`).
Tenant isolation by PostgreSQL depends on that.

A store has at most half of the connections at a time, and the stores that wait for one take turns.

asyncpg's own pool runs four reset statements in a new task at each release (0.2 ms a query). This one releases without a reset. That is
safe because a pooled connection has no session state, every acquisition goes through `StorePool.acquire_for_store`, and a connection that
may be in a transaction or have an unread response is reset before it returns to the pool.

It uses private parts of asyncpg (`_holders`, `_queue`, `PoolConnectionHolder`), so the version is pinned and
`tests/models/test_pool_stress.py` cancels tasks and terminates backends at random. `max_queries` and the inactivity timer are off: both
would close connections without the pool's knowledge.
"""

from __future__ import annotations

import asyncio
import logging
import math
from bisect import insort
from collections import Counter, OrderedDict, deque
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from time import monotonic, perf_counter
from typing import Any

import asyncpg
from asyncpg.pool import Pool, PoolConnectionHolder, _PoolConnectionHolderQueue

from kernel.request_parts import record_connection_wait
from kernel.shares import most_for_store
from models.connection.binding import NO_STORE, NO_TARGET, BindingTarget, StoreBinding
from models.connection.connections import StoreConnection
from models.connection.pooler import choose_statement_names
from models.connection.separate_binding import SeparatelyBoundConnection

RESET_SECONDS = 5.0
CLOSE_SECONDS = 5.0
RECONNECT_PAUSE_SECONDS = 0.05
# There is no server at the address at the moment, or it starts or stops.
_AWAY = (ConnectionError, FileNotFoundError, asyncpg.CannotConnectNowError, asyncpg.ConnectionDoesNotExistError)

logger = logging.getLogger("vitrine.database")


@dataclass(frozen=True, slots=True)
class PoolUsage:
    """The connections of a pool, and the tasks that wait for one."""

    used: int
    idle: int
    limit: int
    waiting: int


@dataclass(frozen=True)
class DatabaseSettings:
    """Database settings; units are in the field names.

    Connections act as `role` (None: as the login role). With `pooler_url`, a pooler in transaction mode, transactions go through it.
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
    restart_seconds: float = 2.0  # that a server or pooler may be away before requests stop to wait for it
    application_name: str = "vitrine"
    pipelined_binding: bool = True
    pooler_url: str | None = None

    def server_settings(self, role: str | None) -> dict[str, str]:
        """Return the startup parameters of a direct connection."""
        # The role is a startup parameter rather than SET ROLE, so that RESET ROLE returns to this role and not to the owner.
        return self._session_settings() | self.transaction_settings(role)

    def pooled_server_settings(self) -> dict[str, str]:
        """Return the startup parameters of a connection through a pooler: those that PgBouncer keeps track of."""
        return self._session_settings()

    def transaction_settings(self, role: str | None) -> dict[str, str]:
        """Return what a connection through a pooler sets in each transaction."""
        settings = {
            "statement_timeout": str(self.statement_timeout_ms),
            "lock_timeout": str(self.lock_timeout_ms),
            "idle_in_transaction_session_timeout": str(self.idle_in_transaction_ms),
            # JIT compilation costs more than it saves on statements of a few rows.
            "jit": "off",
            # Data is in memory or on SSDs: with the default of 4 the planner prefers sequential scans.
            "random_page_cost": "1.1",
        }
        return settings if role is None else settings | {"role": role}

    def _session_settings(self) -> dict[str, str]:
        return {"application_name": self.application_name, "timezone": "UTC"}


class _FairHolderQueue(_PoolConnectionHolderQueue):  # type: ignore[misc]  # asyncpg is not typed
    """Queue of idle holders that divides them by store and ranks them: idle connections of high ranks are used first.

    Of one store the waiters are served in FIFO order, while asyncio's queue wakes a waiter but lets another task take the item first: a
    task that runs many statements would starve it. And if the connection released last were the next, all would take turns under little
    load, and each would prepare and plan the same statements.
    """

    def __init__(self, maxsize: int, holders: Sequence[PoolConnectionHolder]) -> None:
        super().__init__(maxsize=maxsize)
        self.waiters: OrderedDict[int, deque[asyncio.Future[PoolConnectionHolder]]] = OrderedDict()
        """By store, the one whose turn is next first; while holders are idle only stores that have their share."""
        self._ranks = {holder: rank for rank, holder in enumerate(holders)}
        self._queue = list(holders)
        self._share = most_for_store(maxsize)
        self._taken: Counter[int] = Counter()
        self._stores: dict[PoolConnectionHolder, int] = {}

    def has_full_share(self, store: int) -> bool:
        """Return whether the store has all the holders that it may have; what is done for no store has no limit."""
        return self._taken.get(store, 0) >= self._share and store != NO_STORE

    def assign(self, holder: PoolConnectionHolder, store: int) -> None:
        """Count the holder for the store until it is put back."""
        self._stores[holder] = store
        self._taken[store] = self._taken.get(store, 0) + 1

    def put_nowait(self, holder: PoolConnectionHolder) -> None:
        """Pass the holder to the first waiter of the store whose turn is next, else put it in the queue."""
        self._unassign(holder)
        while (store := next((each for each in self.waiters if not self.has_full_share(each)), None)) is not None:
            waiter = self._next_waiter(store)
            if not waiter.done():
                self.assign(holder, store)
                waiter.set_result(holder)
                return
        idle, ranks = self._queue, self._ranks
        if not idle or ranks[idle[-1]] < ranks[holder]:
            idle.append(holder)
        else:
            insort(idle, holder, key=ranks.__getitem__)

    def _unassign(self, holder: PoolConnectionHolder) -> None:
        store = self._stores.pop(holder, None)
        if store is not None:
            if self._taken[store] > 1:
                self._taken[store] -= 1
            else:
                del self._taken[store]

    def _next_waiter(self, store: int) -> asyncio.Future[PoolConnectionHolder]:
        waiting = self.waiters[store]
        waiter = waiting.popleft()
        if waiting:
            self.waiters.move_to_end(store)
        else:
            del self.waiters[store]
        return waiter

    def take_connected(self) -> PoolConnectionHolder | None:
        """Take the first holder that is connected; those before it, which have lost their connections, become the last ones."""
        idle = self._queue
        for index in range(len(idle) - 1, -1, -1):
            if idle[index].is_connected():
                holder, disconnected = idle[index], idle[index + 1 :]
                last = min(self._ranks.values())
                self._ranks |= {other: last - number for number, other in enumerate(disconnected, 1)}
                idle[:] = [*reversed(disconnected), *idle[:index]]
                return holder
        return None

    async def wait_for(self, store: int) -> PoolConnectionHolder:
        """Wait for a holder, after all existing waiters of the store; it is assigned to the store."""
        waiter: asyncio.Future[PoolConnectionHolder] = asyncio.get_running_loop().create_future()
        self.waiters.setdefault(store, deque()).append(waiter)
        try:
            return await waiter
        except BaseException:
            if waiter.done() and not waiter.cancelled():
                self.put_nowait(waiter.result())  # cancelled after the holder was assigned
            else:
                self._forget(store, waiter)
            raise

    def _forget(self, store: int, waiter: asyncio.Future[PoolConnectionHolder]) -> None:
        waiting = self.waiters.get(store, deque())
        if waiter in waiting:
            waiting.remove(waiter)
            if not waiting:
                del self.waiters[store]


class StorePool(Pool):  # type: ignore[misc]  # asyncpg is not typed
    """A pool of connections that are acquired for one store."""

    __slots__ = ("_acquire_seconds", "_away_since", "_resetting", "_restart_seconds", "binding")

    def __init__(
        self, *args: Any, acquire_seconds: float, restart_seconds: float, binding: StoreBinding, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self._acquire_seconds = acquire_seconds
        self._restart_seconds = restart_seconds
        self._away_since: float | None = None
        self.binding = binding
        self._resetting: set[asyncio.Task[None]] = set()

    def acquire_for_store(self, store: int) -> Coroutine[Any, Any, StoreConnection]:
        """Acquire a connection for the store, an idle one without suspending; the caller calls `release_connection` in a `finally`."""
        return self.acquire_for(BindingTarget(store))

    def acquire_at_once(self, target: BindingTarget) -> StoreConnection | None:
        """Acquire the first idle connection for a target; None where `acquire_for` has more to do. Most statements need no more."""
        queue: _FairHolderQueue = self._queue
        idle: list[PoolConnectionHolder] = queue._queue
        if not idle or self._closing or self._closed or queue.has_full_share(target.store):
            return None
        holder = idle[-1]
        connection: StoreConnection | None = holder._con
        if connection is None or connection.is_closed() or holder._generation != self._generation:
            return None
        idle.pop()
        queue.assign(holder, target.store)
        holder._in_use = self._loop.create_future()
        if connection.binding is not self.binding:
            connection.bind_with(self.binding)
        connection.target = target
        return connection

    async def acquire_for(self, target: BindingTarget) -> StoreConnection:
        """Acquire a connection for a target, as `acquire_for_store`."""
        if (idle := self.acquire_at_once(target)) is not None:
            return idle
        if self._closing or self._closed:
            raise asyncpg.InterfaceError("pool is closing")
        holder = self._take_idle_holder(target.store) or await self._wait_for_holder(target.store)
        try:
            connection: StoreConnection | None = holder._con
            if connection is None or connection.is_closed() or holder._generation != self._generation:
                if connection is not None:
                    connection.terminate()  # asyncpg would close it later, and free the holder then
                started = perf_counter()
                await self._connect_holder(holder)
                record_connection_wait(perf_counter() - started)
                connection = holder._con
            else:
                holder._in_use = self._loop.create_future()
        except BaseException:
            self._queue.put_nowait(holder)
            self._schedule_min_size_maintenance()
            raise
        assert connection is not None
        connection.bind_with(self.binding)
        connection.target = target
        return connection

    async def acquire_idle(self, target: BindingTarget) -> StoreConnection | None:
        """Acquire a connection for the target, or return None when all, or the store's share of them, are in use."""
        return (
            None if self._queue.empty() or self._queue.has_full_share(target.store) else await self.acquire_for(target)
        )

    def release_at_once(self, connection: StoreConnection) -> bool:
        """Release an idle connection; return False for another, which `release_connection` has to reset."""
        holder = connection._pool_holder and connection._pool_holder()
        if holder is None or holder._con is not connection or holder._in_use is None:
            return True  # the connection was lost, which has freed its holder
        connection.target = NO_TARGET
        if not self._is_idle(connection) or holder._generation != self._generation:
            return False
        connection._pool_release_ctr += 1  # invalidates statements and cursors of the caller
        holder._release()
        return True

    async def release_connection(self, connection: StoreConnection) -> None:
        """Release a connection: at once when it is idle, else after reading its last response and rolling back its transaction."""
        if self.release_at_once(connection):
            return
        task = self._loop.create_task(self._reset_connection(connection, connection._pool_holder()))
        self._resetting.add(task)
        task.add_done_callback(self._resetting.discard)
        # The reset goes on if the caller is cancelled.
        await asyncio.shield(task)

    @property
    def usage(self) -> PoolUsage:
        """Return how the pool is used at this moment."""
        idle, queue = self.get_idle_size(), self._queue
        waiting = sum(not waiter.done() for waiters in queue.waiters.values() for waiter in waiters)
        return PoolUsage(self.get_size() - idle, idle, self.get_max_size(), waiting)

    def set_role(self, settings: DatabaseSettings, role: str) -> None:
        """Let connections act as the role; those open are closed instead of used again."""
        if settings.pooler_url is None:
            self._connect_kwargs["server_settings"] = settings.server_settings(role)
        else:
            self.binding = StoreBinding(settings.transaction_settings(role))
        self._generation += 1  # closes a used connection when it is released
        for holder in self._holders:
            if holder.is_idle() and holder._con is not None:
                holder._con.terminate()

    async def _initialize(self) -> None:
        await super()._initialize()
        self._queue = _FairHolderQueue(self._maxsize, self._holders)  # type: ignore[misc]  # a slot of asyncpg

    def _take_idle_holder(self, store: int) -> PoolConnectionHolder | None:
        """Take the first idle holder that is connected, which has the most statements prepared, else one not connected yet.

        None without an idle one, and for a store that has its share.
        """
        queue: _FairHolderQueue = self._queue
        if queue.has_full_share(store):
            return None
        holder = queue.take_connected() or (queue._queue.pop() if queue._queue else None)
        if holder is not None:
            queue.assign(holder, store)
        return holder

    async def _wait_for_holder(self, store: int) -> PoolConnectionHolder:
        started = perf_counter()
        try:
            async with asyncio.timeout(self._acquire_seconds):
                holder: PoolConnectionHolder = await self._queue.wait_for(store)
                return holder
        finally:
            record_connection_wait(perf_counter() - started)

    async def _connect_holder(self, holder: PoolConnectionHolder) -> None:
        """Connect; wait for a server that restarts, unless it has been away for longer: then fail at once."""
        while True:
            try:
                await holder.acquire()
            except _AWAY:
                self._away_since = self._away_since or monotonic()
                if monotonic() - self._away_since >= self._restart_seconds:
                    raise
                await asyncio.sleep(RECONNECT_PAUSE_SECONDS)
            else:
                self._away_since = None
                return

    @staticmethod
    def _is_idle(connection: StoreConnection) -> bool:
        protocol = connection._protocol
        return (
            protocol is not None
            and protocol.is_connected()
            and not protocol._is_cancelling()
            and not protocol.is_in_transaction()
            and not protocol.output.awaits_sync
            and not connection._stmt_exclusive_section._acquired
            and connection._top_xact is None
        )

    async def _reset_connection(self, connection: StoreConnection, holder: PoolConnectionHolder) -> None:
        try:
            async with asyncio.timeout(RESET_SECONDS):
                if connection.is_closed() or holder._generation != self._generation:
                    raise asyncpg.InterfaceError("the connection is closed")
                if connection._protocol._is_cancelling():
                    await connection._protocol._wait_for_cancellation(RESET_SECONDS)
                connection._top_xact = None
                if connection._protocol.is_in_transaction():
                    await connection.execute("rollback")
                elif connection._protocol.output.awaits_sync:
                    await connection.execute("select 1")  # its Sync ends that transaction
                if not self._is_idle(connection):
                    raise asyncpg.InterfaceError("the connection is still busy")
        except BaseException as error:
            logger.debug("a connection was closed instead of returned to the pool: %r", error)
            connection.terminate()  # frees the holder through _release_on_close
            if not isinstance(error, Exception):
                raise
        else:
            connection._pool_release_ctr += 1
            holder._release()


async def open_pool(
    settings: DatabaseSettings,
    role: str | None,
    *,
    min_size: int,
    max_size: int,
    all_stores: bool = False,
    binding: StoreBinding | None = None,
) -> StorePool:
    """Open a pool whose connections act as the role; `all_stores` for the pool of cross-store work, `binding` for a replica's."""
    pooler = settings.pooler_url
    server_settings = settings.server_settings(role) if pooler is None else settings.pooled_server_settings()
    if all_stores and role is None:
        # Without roles the worker's policies check this setting instead (models/role_privileges.py).
        server_settings["vitrine.across"] = "on"
    pool = StorePool(
        pooler or settings.url,
        acquire_seconds=settings.acquire_seconds,
        restart_seconds=settings.restart_seconds,
        binding=binding or StoreBinding({} if pooler is None else settings.transaction_settings(role)),
        init=None if pooler is None else choose_statement_names,
        min_size=min_size,
        max_size=max_size,
        max_queries=math.inf,
        max_inactive_connection_lifetime=0.0,
        loop=asyncio.get_running_loop(),
        connection_class=StoreConnection if settings.pipelined_binding else SeparatelyBoundConnection,
        record_class=asyncpg.Record,
        server_settings=server_settings,
        timeout=settings.acquire_seconds,
        # The server enforces statement_timeout; this one is for a server that does not respond.
        command_timeout=settings.statement_timeout_ms / 1000 + 5,
        statement_cache_size=1000,
        max_cached_statement_lifetime=0,
        max_cacheable_statement_size=64 * 1024,
    )
    await pool
    return pool


async def close_pool(pool: StorePool) -> None:
    """Close a pool; after five seconds, terminate the connections still in use."""
    try:
        async with asyncio.timeout(CLOSE_SECONDS):
            await pool.close()
    except TimeoutError:
        logger.warning("connections were still in use and have been terminated")
