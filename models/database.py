"""Reach the database: the one small interface that all code above the models uses.

    async with transaction(scope):          begin, commit or roll back; nested: a savepoint
        await rows("select … where tenant_id = $1", scope.store.id)
        on_commit(callback)                  after the outermost commit, dropped on rollback

Statements are literal text with `$n` parameters: row-level security keyed by a setting guards against mistakes, not against SQL
made from what somebody sent. They run in the open transaction, else on a connection lent for the one statement, and see the rows
of the store in scope only. `across_stores` is the one named door for work over all stores.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, asynccontextmanager
from types import TracebackType
from typing import Any

import asyncpg
from tortoise.context import TortoiseContext

from kernel.scope import Scope, entered
from models import MODEL_MODULES
from models.base import WrongStore as WrongStore
from models.connections import NO_STORE, StoreConnection, touched
from models.connections import StatementCount as StatementCount
from models.connections import counting as counting
from models.engine import OpenTransaction, StoreClient
from models.failures import CheckViolation as CheckViolation
from models.failures import ConstraintViolation as ConstraintViolation
from models.failures import ReferenceViolation as ReferenceViolation
from models.failures import UniqueViolation as UniqueViolation
from models.failures import constraint_of as constraint_of
from models.failures import translated as translated
from models.failures import translation_of
from models.listening import Listener, Notified
from models.pool import DatabaseSettings as DatabaseSettings
from models.pool import StorePool, close_pool, open_pool, store_of_task
from models.roles import MAY_BECOME
from models.transactions import AfterCommit, Transaction, open_transaction
from models.transactions import TransactionOver as TransactionOver

logger = logging.getLogger("vitrine.database")


class NotConnected(RuntimeError):
    """Report a programming error: the database is used before `connect` or after `close`."""


class UnsafeRole(RuntimeError):
    """Say that the serving role would see every store's rows whatever the policies say."""


class _Database:
    """Hold what belongs to the connected database of this process."""

    def __init__(self, settings: DatabaseSettings, role: str | None, worker_role: str | None) -> None:
        self.settings = settings
        self.role = role
        self.worker_role = worker_role
        self.context = TortoiseContext()
        self.listener = Listener(settings, role)
        self._worker: StorePool | None = None
        self._spare: StorePool | None = None

    async def open(self) -> None:
        with self.context:  # Tortoise looks for its current context while it makes one
            await self.context.init(
                config={
                    "connections": {
                        "default": {
                            "engine": "models.engine",
                            "credentials": {"settings": self.settings, "role": self.role},
                        }
                    },
                    "apps": {"models": {"models": MODEL_MODULES, "migrations": "models.migrations"}},
                },
                _enable_global_fallback=True,
            )
        try:
            client = self.context.db()
            assert isinstance(client, StoreClient)
            self.client = client
            self.pool = await client.pool()
        except BaseException:
            await self.context.close_connections()
            raise

    async def worker(self) -> StorePool:
        """Give the pool of connections that act across stores, opened at first use."""
        if self._worker is None:
            self._worker = await self._extra_pool(self.worker_role, self.settings.worker_size, across=True)
        return self._worker

    async def spare(self) -> StorePool:
        """Give the pool for second connections of tasks that hold one already.

        Were both to come from one pool, as many tasks as it has connections could each hold one and wait for another for ever.
        """
        if self._spare is None:
            self._spare = await self._extra_pool(self.role, self.settings.spare_size)
        return self._spare

    async def _extra_pool(self, role: str | None, size: int, *, across: bool = False) -> StorePool:
        # With min_size 0 nothing is connected yet, so this does not suspend and two tasks can't both make one.
        return await open_pool(self.settings, role, min_size=0, max_size=size, across=across)

    async def close(self) -> None:
        await self.listener.close()
        for pool in (self._worker, self._spare):
            if pool is not None:
                await close_pool(pool)
        await self.context.close_connections()


_database: _Database | None = None


def _connected() -> _Database:
    if _database is None:
        raise NotConnected("models.database.connect() has not been called")
    return _database


async def connect(settings: DatabaseSettings) -> None:
    """Open the pool and Tortoise for this process.

    Connections act as `settings.role` where the log-in may become it. Where roles could not be made they stay the log-in's
    own, and FORCE ROW LEVEL SECURITY holds against it.
    """
    global _database
    if _database is not None:
        raise RuntimeError("the database is connected already")
    with translated():
        usable = await _usable_roles(settings)
        database = _Database(
            settings,
            settings.role if settings.role in usable else None,
            settings.worker_role if settings.worker_role in usable else None,
        )
        await database.open()
    _database = database
    if settings.role is not None and database.role is None:
        logger.warning("the log-in can't become %s: serving as itself", settings.role)


async def close() -> None:
    """Close every connection of this process."""
    global _database
    database, _database = _database, None
    if database is not None:
        await database.close()


async def _usable_roles(settings: DatabaseSettings) -> set[str]:
    wanted = [role for role in (settings.role, settings.worker_role) if role is not None]
    connection = await asyncpg.connect(settings.url, timeout=settings.acquire_seconds)
    try:
        found = await connection.fetch(
            f"select rolname from pg_roles where rolname = any($1::text[]) and pg_has_role(oid, {MAY_BECOME})",
            wanted,
        )
    finally:
        await connection.close()
    return {record["rolname"] for record in found}


async def check_role() -> None:
    """Refuse to serve as a role that row-level security does not bind; raises `UnsafeRole`."""
    found = await row(
        "select rolname, rolsuper, rolbypassrls from pg_catalog.pg_roles where rolname = current_user"
    )
    if found is None or found["rolsuper"] or found["rolbypassrls"]:
        name = found["rolname"] if found else "(unknown)"
        raise UnsafeRole(
            f"the database role {name} is a superuser or has BYPASSRLS, so stores would not be kept apart; "
            "use a log-in that owns the database and may create roles, or an ordinary one"
        )


class transaction:  # noqa: N801  # it is used as a function; a class costs less than a generator
    """Work in the scope and in a transaction: `async with transaction(scope):`.

    Inside another transaction of the same store it is a savepoint; raises `WrongStore` inside one of another store.
    """

    __slots__ = ("_entered", "_inner", "_scope")

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    async def __aenter__(self) -> None:
        outer = open_transaction()
        if outer is not None and outer.store != self._scope.store.id:
            raise WrongStore(f"a transaction of store {outer.store} is open, not of {self._scope.store.id}")
        self._inner = OpenTransaction(_connected().client) if outer is None else outer.savepoint()
        self._entered: AbstractContextManager[Scope] = entered(self._scope)
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


@asynccontextmanager
async def separate_transaction(scope: Scope) -> AsyncIterator[None]:
    """Work in a transaction of its own, on another connection, although one is open: for what must survive a refusal.

    It does not see what the open one has changed, and waits for the rows that one has locked: touch others.
    """
    database = _connected()
    pool = database.pool if open_transaction() is None else await database.spare()
    with entered(scope):
        async with OpenTransaction(database.client, pool):
            yield


def on_commit(callback: AfterCommit) -> None:
    """Run the callback, plain or async, after the outermost commit; never when it is rolled back. Needs a transaction."""
    _needed_transaction().on_commit(callback)


async def after_commit(callback: AfterCommit) -> None:
    """Run the callback after the outermost commit, or at once where no transaction is open."""
    current = open_transaction()
    if current is not None:
        current.on_commit(callback)
        return
    result = callback()
    if inspect.isawaitable(result):
        await result


def _needed_transaction() -> Transaction:
    current = open_transaction()
    if current is None:
        raise RuntimeError("no transaction is open")
    return current


def in_transaction() -> bool:
    """Say whether the task works in a transaction."""
    return open_transaction() is not None


async def rows(sql: str, *args: Any) -> list[asyncpg.Record]:
    """Run a statement and give its rows."""
    found: list[asyncpg.Record] = await _run(sql, args)
    return found


async def row(sql: str, *args: Any) -> asyncpg.Record | None:
    """Run a statement and give its first row, or None."""
    found = await _run(sql, args, 1)
    return found[0] if found else None


async def value(sql: str, *args: Any) -> Any:
    """Run a statement and give the first column of its first row, or None."""
    found = await _run(sql, args, 1)
    return found[0][0] if found else None


async def execute(sql: str, *args: Any) -> int:
    """Run a statement and give how many rows it touched."""
    return touched(await _run(sql, args, return_status=True))


async def _run(sql: str, args: tuple[Any, ...], limit: int = 0, *, return_status: bool = False) -> Any:
    """Run one statement on the open transaction's connection, else on one lent for it."""
    current = open_transaction()
    try:
        if current is not None:
            connection = await current.use()
            try:
                return await connection.run(sql, args, limit, return_status=return_status)
            finally:
                current.done()
        pool = _connected().pool
        connection = await pool.lend(store_of_task(), one_statement=True)
        try:
            return await connection.run(sql, args, limit, return_status=return_status)
        finally:
            await pool.give_back(connection)
    except Exception as error:
        ours = translation_of(error)
        if ours is None:
            raise
        raise ours from error


async def notify(channel: str, payload: str = "") -> None:
    """Tell every process that listens, when the open transaction commits (at once where none is open)."""
    await execute("select pg_notify($1, $2)", channel, payload)


async def listen(channel: str, callback: Notified, *, after_gap: AfterCommit | None = None) -> None:
    """Call back with the payload of each notification, on a connection of its own that is made anew when lost.

    What was sent while it was lost is gone: `after_gap` is called once the connection stands again, to forget what is remembered.
    """
    await _connected().listener.listen(channel, callback, after_gap)


class AcrossStores:
    """One connection of the worker's role, which sees the few tables it has policies for in every store."""

    __slots__ = ("_connection",)

    def __init__(self, connection: StoreConnection) -> None:
        self._connection = connection

    async def rows(self, sql: str, *args: Any) -> list[asyncpg.Record]:
        """Run a statement and give its rows."""
        with translated():
            found: list[asyncpg.Record] = await self._connection.fetch(sql, *args)
            return found

    async def row(self, sql: str, *args: Any) -> asyncpg.Record | None:
        """Run a statement and give its first row, or None."""
        with translated():
            return await self._connection.fetchrow(sql, *args)

    async def value(self, sql: str, *args: Any) -> Any:
        """Run a statement and give the first column of its first row, or None."""
        with translated():
            return await self._connection.fetchval(sql, *args)

    async def execute(self, sql: str, *args: Any) -> int:
        """Run a statement and give how many rows it touched."""
        with translated():
            # Not Connection.execute, which sends a statement without arguments as text, to be parsed each time.
            return touched(await self._connection.run(sql, args, return_status=True))

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        """Commit what happens inside together or not at all."""
        await self.execute("begin")
        try:
            yield
        except Exception:
            await self.execute("rollback")
            raise
        # A cancellation leaves the transaction open: giving the connection back undoes it.
        await self.execute("commit")


@asynccontextmanager
async def across_stores() -> AsyncIterator[AcrossStores]:
    """Open the one door for work over all stores: claiming what is due, and the platform's own tables.

    The role has no BYPASSRLS, only policies on the tables it needs (`models/roles.py`). The work on each row it
    finds is done in that row's own scope.
    """
    pool = await _connected().worker()
    with translated():
        connection = await pool.lend(NO_STORE)
    try:
        yield AcrossStores(connection)
    finally:
        await pool.give_back(connection)
