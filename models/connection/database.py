"""Database access: the interface that all layers above the models use.

    async with transaction(scope):          begin, commit or roll back; nested: a savepoint
        await fetch("select … where tenant_id = $1", scope.store.id)
        on_commit(callback)                 after the outermost commit, dropped on rollback

Statements are literal text with `$n` parameters: row-level security based on a setting protects against mistakes, not against SQL
injection. They run in the open transaction, else on a pooled connection, and see only the rows of the store in scope.
`cross_store_connection` is the only way to work on all stores.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from types import TracebackType
from typing import Any

import asyncpg
import orjson

from kernel.errors import OperatorError
from kernel.scope import Scope, active_scope, current_scope
from models.connection import notices, replicas
from models.connection.binding import NO_STORE, binding_target
from models.connection.binding import Plans as Plans
from models.connection.capacity import connections_allowed as connections_allowed
from models.connection.connections import StatementCount as StatementCount
from models.connection.connections import affected_rows
from models.connection.connections import count_statements as count_statements
from models.connection.cross_store import CrossStoreConnection as CrossStoreConnection
from models.connection.database_errors import CheckViolation as CheckViolation
from models.connection.database_errors import ConstraintViolation as ConstraintViolation
from models.connection.database_errors import ReferenceViolation as ReferenceViolation
from models.connection.database_errors import UniqueViolation as UniqueViolation
from models.connection.database_errors import WrongStore as WrongStore
from models.connection.database_errors import raise_translated
from models.connection.database_errors import translate_errors as translate_errors
from models.connection.database_errors import translated_error as translated_error
from models.connection.database_errors import violated_constraint as violated_constraint
from models.connection.notices import Listener, NotificationCallback, WriteNotices
from models.connection.pool import DatabaseSettings as DatabaseSettings
from models.connection.pool import PoolUsage, StorePool, close_pool, open_pool
from models.connection.pooler import OWN_PRIVILEGES, check_login
from models.connection.pooler import UnsafePooler as UnsafePooler
from models.connection.pooler import check_pooling as check_pooling
from models.connection.pooler import check_serving_database as check_serving_database
from models.connection.replicas import NOT_READ, Replicas, current_read
from models.connection.roles import SET_ROLE_PRIVILEGE, usable_roles
from models.connection.transactions import CONFLICTS as CONFLICTS
from models.connection.transactions import CallInTransaction as CallInTransaction
from models.connection.transactions import (
    CommitCallback,
    Transaction,
    is_write,
    open_transaction,
    record_statement,
)
from models.connection.transactions import NeedsPreparation as NeedsPreparation
from models.connection.transactions import TransactionEnded as TransactionEnded
from models.connection.transactions import check_no_transaction as check_no_transaction
from models.connection.transactions import record_effect as record_effect
from models.connection.transactions import retry_conflicts as retry_conflicts

logger = logging.getLogger("vitrine.database")

WRITES_CHANNEL = "vitrine_writes"
"""Names a store soon after a process wrote to it (`models.connection.notices`)."""


class NotConnected(RuntimeError):
    """A programming error: the database was used before `connect` or after `close`."""


class UnsafeRole(OperatorError):
    """The role of a session bypasses row-level security, or is not the serving role."""


class _Database:
    """The connected database of this process: pools, replicas and listener."""

    def __init__(self, settings: DatabaseSettings, role: str | None, worker_role: str | None) -> None:
        self.settings = settings
        self.role = role
        self.worker_role = worker_role
        self.listener = Listener(settings, role)
        self.notices = WriteNotices(_notify_of_writes)
        self.replicas: Replicas | None = None
        self._worker: StorePool | None = None
        self._spare: StorePool | None = None

    @property
    def lacks_role(self) -> bool:
        """Return whether a session acts as the login role in place of a configured role."""
        return (self.role, self.worker_role) != (self.settings.role, self.settings.worker_role)

    def adopt(self, usable: set[str]) -> None:
        """Let connections act as their configured role if it is usable."""
        if self.role is None and self.settings.role in usable:
            self.role = self.settings.role
            self.listener.set_role(self.role)
            for pool in (self.pool, self._spare):
                if pool is not None:
                    pool.set_role(self.settings, self.role)
            for replica in self.replicas.replicas if self.replicas is not None else ():
                replica.fail("the serving role has changed")  # and connects again
        if self.worker_role is None and self.settings.worker_role in usable:
            self.worker_role = self.settings.worker_role
            if self._worker is not None:
                self._worker.set_role(self.settings, self.worker_role)

    async def open(self) -> None:
        settings = self.settings
        self.pool = await open_pool(settings, self.role, min_size=settings.min_size, max_size=settings.max_size)
        notices.observe(self._observe_write)

    def _observe_write(self, store: int) -> None:
        if store != NO_STORE:
            self.notices.add(store)

    def pools(self) -> dict[str, StorePool]:
        """Return the open pools by name."""
        pools = {"requests": self.pool, "worker": self._worker, "second": self._spare}
        return {name: pool for name, pool in pools.items() if pool is not None}

    async def worker(self) -> StorePool:
        """Return the pool of cross-store connections, opened at first use."""
        if self._worker is None:
            self._worker = await self._extra_pool(self.worker_role, self.settings.worker_size, all_stores=True)
        return self._worker

    async def spare(self) -> StorePool:
        """Return the pool for a second connection of the same task: with one pool, tasks holding all its connections would deadlock."""
        if self._spare is None:
            self._spare = await self._extra_pool(self.role, self.settings.spare_size)
        return self._spare

    async def _extra_pool(self, role: str | None, size: int, *, all_stores: bool = False) -> StorePool:
        # With min_size 0 it does not connect and so does not suspend: two tasks can't both open a pool.
        return await open_pool(self.settings, role, min_size=0, max_size=size, all_stores=all_stores)

    async def close(self) -> None:
        notices.stop_observing(self._observe_write)
        if self.replicas is not None:
            notices.stop_observing(self.replicas.record_write)
            replicas.use(None)
            await self.replicas.close()
        await self.listener.close()
        # Together: where the database hangs each waits until its connections are given up.
        await asyncio.gather(*map(close_pool, self.pools().values()))


_database: _Database | None = None


async def use_replicas(urls: Sequence[str]) -> None:
    """Let the compiled reads of this process use streaming replicas (`models.connection.replicas`) until `close`."""
    database = _connected()
    watched = [replicas.Replica(url, database.settings, lambda: database.role) for url in urls]
    opened = Replicas(watched, _primary_position, lambda: database.listener.is_listening)
    database.replicas = opened
    notices.observe(opened.record_write)
    await listen_for_writes(opened.record_write, on_missed=opened.forget)
    opened.start()
    replicas.use(opened)


async def _primary_position() -> int:
    position: int = await fetchval(f"select {replicas.POSITION}")
    return position


def _connected() -> _Database:
    if _database is None:
        raise NotConnected("models.connection.database.connect() has not been called")
    return _database


async def connect(settings: DatabaseSettings) -> None:
    """Open the pool of this process.

    Connections act as `settings.role` where the login role may SET ROLE to it; else as the login role, which FORCE ROW LEVEL SECURITY
    restricts as well.
    """
    global _database
    if _database is not None:
        raise RuntimeError("the database is already connected")
    with translate_errors():
        usable = await usable_roles(settings)
        database = _Database(
            settings,
            settings.role if settings.role in usable else None,
            settings.worker_role if settings.worker_role in usable else None,
        )
        await database.open()
    _database = database
    if settings.role is not None and database.role is None:
        logger.warning("the login role may not SET ROLE to %s: serving as itself", settings.role)


async def close() -> None:
    """Close every connection of this process."""
    global _database
    if _database is not None:
        await _database.notices.close()
    database, _database = _database, None
    if database is not None:
        await database.close()


def pool_usage() -> dict[str, PoolUsage]:
    """Return how the open pools of this process are used, by name."""
    return {} if _database is None else {name: pool.usage for name, pool in _database.pools().items()}


async def check_role() -> None:
    """Raise `UnsafeRole` when the current role bypasses row-level security, or is not the serving role although that is usable.

    Raise `UnsafePooler` when the login role of the pooler has privileges of its own.
    """
    settings = _connected().settings
    serving_role = settings.role
    role = await fetchrow(
        f"""
        select rolname, rolsuper, rolbypassrls, rolname <> $1 and exists (
            select from pg_catalog.pg_roles where rolname = $1 and pg_has_role(session_user, oid, {SET_ROLE_PRIVILEGE})
        ) as is_other_role
        from pg_catalog.pg_roles where rolname = current_user
        """,
        serving_role,
    )
    if role is None or role["rolsuper"] or role["rolbypassrls"]:
        name = role["rolname"] if role else "(unknown)"
        raise UnsafeRole(
            f"the database role {name} is a superuser or has BYPASSRLS, so stores would not be isolated; "
            "use a login role that owns the database and may create roles, or an ordinary one"
        )
    if role["is_other_role"]:
        raise UnsafeRole(
            f"the database session acts as {role['rolname']}, expected {serving_role}: a connection pooler between must pass on "
            "the startup parameter role"
        )
    if settings.pooler_url is not None:
        check_login(await fetchrow(OWN_PRIVILEGES))


async def adopt_roles() -> bool:
    """Switch to the roles that became usable since `connect`, when the first migration created them; return whether none is missing.

    Open connections are replaced before their next statement outside of a transaction.
    """
    database = _connected()
    if not database.lacks_role:
        return True
    with translate_errors():
        database.adopt(await usable_roles(database.settings))
    return not database.lacks_role


class transaction:  # noqa: N801  # it is used as a function; a class costs less than a generator
    """Transaction in a scope: `async with transaction(scope):`. `plans` says how its statements are planned.

    Inside a transaction of the same store it is a savepoint; inside one of another store it raises `WrongStore`. A block can't be repeated
    from here: callers whose whole operation it is repeat it after a `TransactionConflict` (`retry_conflicts`).
    """

    __slots__ = ("_entered", "_inner", "_plans", "_scope")

    def __init__(self, scope: Scope, plans: Plans = Plans.AUTOMATIC) -> None:
        self._scope = scope
        self._plans = plans

    async def __aenter__(self) -> None:
        outer = open_transaction()
        if outer is not None and outer.store != self._scope.store.id:
            raise WrongStore(f"a transaction of store {outer.store} is open, not of {self._scope.store.id}")
        self._inner = (
            Transaction(_connected().pool, self._scope.store.id, self._plans) if outer is None else outer.savepoint()
        )
        self._entered: AbstractContextManager[Scope] = active_scope(self._scope)
        self._entered.__enter__()
        try:
            await self._inner.__aenter__()
        except BaseException:
            self._entered.__exit__(None, None, None)
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self._inner.__aexit__(kind, error, trace)
        finally:
            self._entered.__exit__(None, None, None)


async def fetch_separately(scope: Scope, sql: str, *args: Any) -> list[asyncpg.Record]:
    """Run one statement that commits at once, on another connection than the open transaction's, and return its rows.

    It is not an effect (`models.connection.transactions`): only for what may happen again when the operation is repeated, such as taking a
    number.
    """
    database = _connected()
    pool = database.pool if open_transaction() is None else await database.spare()
    with translate_errors():
        connection = await pool.acquire_for_store(scope.store.id)
        try:
            records: list[asyncpg.Record] = await connection.run(sql, args)
            return records
        finally:
            await pool.release_connection(connection)


@asynccontextmanager
async def separate_transaction(scope: Scope) -> AsyncIterator[None]:
    """Open an independent transaction on another connection, for changes that must survive a rollback of the open one.

    It does not see the open transaction's changes and would wait for its row locks: write other rows.
    """
    database = _connected()
    pool = database.pool if open_transaction() is None else await database.spare()
    with active_scope(scope):
        async with Transaction(pool, scope.store.id):
            yield


def on_commit(callback: CommitCallback) -> None:
    """Run the callback, sync or async, after the outermost commit, not after a rollback; raise RuntimeError outside of a transaction."""
    current = open_transaction()
    if current is None:
        raise RuntimeError("no transaction is open")
    current.on_commit(callback)


async def after_commit(callback: CommitCallback) -> None:
    """Run the callback after the outermost commit, or at once when no transaction is open."""
    current = open_transaction()
    if current is not None:
        current.on_commit(callback)
        return
    result = callback()
    if inspect.isawaitable(result):
        await result


def in_transaction() -> bool:
    """Return whether a transaction is open in the current task."""
    return open_transaction() is not None


def fetch(sql: str, *args: Any, plans: Plans = Plans.AUTOMATIC) -> Coroutine[Any, Any, list[asyncpg.Record]]:
    """Run a statement and return its rows. In an open transaction `plans` has no effect: those of its binding are used."""
    return _run(sql, args, plans=plans)


async def fetchrow(sql: str, *args: Any) -> asyncpg.Record | None:
    """Run a statement and return its first row, or None."""
    records = await _run(sql, args, 1)
    return records[0] if records else None


async def fetchval(sql: str, *args: Any, plans: Plans = Plans.AUTOMATIC) -> Any:
    """Run a statement and return the first column of its first row, or None; `plans` as in `fetch`."""
    records = await _run(sql, args, 1, plans=plans)
    return records[0][0] if records else None


def json_value(value: Any) -> Any:
    """Return the value of a column of JSON, which asyncpg returns as text, or of one that is parsed already."""
    return orjson.loads(value) if isinstance(value, str | bytes) else value


async def execute(sql: str, *args: Any) -> int:
    """Run a statement and return the number of rows it affected."""
    return affected_rows(await _run(sql, args, return_status=True))


async def _run(
    sql: str,
    args: Sequence[Any],
    limit: int = 0,
    *,
    return_status: bool = False,
    plans: Plans = Plans.AUTOMATIC,
) -> Any:
    """Run one statement on the open transaction's connection, else on a pooled one."""
    current = open_transaction()
    try:
        if current is not None:
            connection = await current.acquire()
            try:
                return await connection.run(sql, args, limit, return_status=return_status)
            finally:
                current.release()
        scope = current_scope()
        target = binding_target(NO_STORE if scope is None else scope.store.id, plans)
        if (read := current_read()) is not None:
            result = await read.run(target, sql, args, limit=limit, return_status=return_status)
            if result is not NOT_READ:
                return result
        pool = (_database or _connected()).pool
        connection = pool.acquire_at_once(target) or await pool.acquire_for(target)
        try:
            result = await connection.run(sql, args, limit, return_status=return_status)
        finally:
            if not pool.release_at_once(connection):
                await pool.release_connection(connection)
        if is_write(sql):
            record_statement(target.store)
        return result
    except Exception as error:
        raise_translated(error)


async def execute_later(sql: str, *args: Any) -> None:
    """Run a statement that returns no rows, in the open transaction together with the next one, or with COMMIT, which raise its errors."""
    current = open_transaction()
    if current is not None:
        connection = await current.acquire()
        try:
            if connection.defer(sql, args):
                return
        finally:
            current.release()
    await execute(sql, *args)


async def notify(channel: str, payload: str = "") -> None:
    """Send a PostgreSQL notification when the open transaction commits (at once when none is open)."""
    await execute("select pg_notify($1, $2)", channel, payload)


async def _notify_of_writes(stores: list[int]) -> None:
    await execute(
        "select pg_notify($1, store) from unnest($2::text[]) as store", WRITES_CHANNEL, [str(store) for store in stores]
    )


async def listen(channel: str, callback: NotificationCallback, *, on_missed: CommitCallback | None = None) -> None:
    """Call the callback with the payload of each notification.

    `on_missed` is called to invalidate caches when notifications may have been missed: while the listening connection is lost, and after.
    """
    await _connected().listener.listen(channel, callback, on_missed)


async def listen_for_writes(callback: Callable[[int], object], *, on_missed: CommitCallback) -> None:
    """Call the callback with the id of each store that a process wrote to, this one included; `on_missed` as in `listen`."""
    await listen(WRITES_CHANNEL, lambda store: callback(int(store)), on_missed=on_missed)


@asynccontextmanager
async def cross_store_connection() -> AsyncIterator[CrossStoreConnection]:
    """Acquire a connection for cross-store work: claiming due rows, and the platform's own tables.

    The role has no BYPASSRLS, only policies on the tables it needs (`models/role_privileges.py`). Each claimed row is processed in its
    store's scope.
    """
    pool = await _connected().worker()
    with translate_errors():
        connection = await pool.acquire_for_store(NO_STORE)
    try:
        yield CrossStoreConnection(connection)
    finally:
        record_effect()
        await pool.release_connection(connection)
