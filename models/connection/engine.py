"""Tortoise backend (`"engine": "models.connection.engine"`) with our pool, transactions and errors.

Tortoise's own transaction leaks its connection when it is cancelled during BEGIN, and its pool is asyncpg's. Here one client looks up the
task's open transaction at every statement, so ORM and `models.connection.database` share transactions.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, TypeVar

import asyncpg
from tortoise.backends.asyncpg.client import AsyncpgDBClient
from tortoise.backends.asyncpg.executor import AsyncpgExecutor
from tortoise.backends.base.client import TransactionContext
from tortoise.exceptions import OperationalError

from models.connection.connections import StoreConnection
from models.connection.database_errors import translated_error
from models.connection.pool import DatabaseSettings, StorePool, current_store_id, open_pool
from models.connection.transactions import OpenTransaction, Transaction, is_write, open_transaction, record_statement

T = TypeVar("T")


class StoreExecutor(AsyncpgExecutor):
    """Insert rows with ids that the program chose: Tortoise would pass values for the generated columns as well."""

    def _prepare_insert_columns(self, include_generated: bool = False) -> tuple[list[str], list[str]]:
        names, columns = super()._prepare_insert_columns()
        meta = self.model._meta
        if include_generated and meta.pk_attr not in names:
            names, columns = [meta.pk_attr, *names], [meta.db_pk_column, *columns]
        return names, columns


class StoreClient(AsyncpgDBClient):
    """Run Tortoise's statements in the open transaction, else on connections bound to the store in scope."""

    executor_class = StoreExecutor

    def __init__(self, settings: DatabaseSettings, role: str | None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._settings = settings
        self._role = role

    async def create_connection(self, with_db: bool) -> None:
        """Open the pool; Tortoise calls this at first use."""
        if not with_db:
            raise OperationalError("databases are created by the operator, not by Tortoise")
        settings = self._settings
        self._pool = await open_pool(settings, self._role, min_size=settings.min_size, max_size=settings.max_size)
        await self._post_connect()

    async def pool(self) -> StorePool:
        """Return the pool; open it at first use."""
        if self._pool is None:
            async with self._pool_init_lock:
                if self._pool is None:
                    await self.create_connection(with_db=True)
        assert isinstance(self._pool, StorePool)
        return self._pool

    def acquire_connection(self) -> Any:
        """Acquire the open transaction's connection, else a pooled one, for one statement."""
        transaction = open_transaction()
        return _PooledConnection(self) if transaction is None else _TransactionConnection(transaction)

    def _in_transaction(self) -> TransactionContext:
        transaction = open_transaction()
        return StoreTransaction(self) if transaction is None else _Savepoint(self, transaction)

    async def execute_insert(self, query: str, values: list[Any]) -> Any:
        """Insert a row and return its generated columns."""
        inserted = await super().execute_insert(query, values)
        _record_write(query)
        return inserted

    async def execute_query(self, query: str, values: list[Any] | None = None) -> Any:
        """Run a statement and return the number of its rows and the rows."""
        result = await super().execute_query(query, values)
        _record_write(query)
        return result

    async def execute_many(self, query: str, values: list[Any]) -> None:
        """Run one statement for each row of values, atomically."""

        # Not as in the parent, whose own transaction can't nest in ours: asyncpg sends them before one Sync message.
        async def run() -> None:
            async with self.acquire_connection() as connection:
                await connection.executemany(query, values)

        await _translate_driver_errors(run)
        _record_write(query)

    async def _translate_exceptions(self, func: Any, *args: Any, **kwargs: Any) -> Any:
        return await _translate_driver_errors(lambda: func(self, *args, **kwargs))


def _record_write(query: str) -> None:
    if open_transaction() is None and is_write(query):
        record_statement(current_store_id())


class _PooledConnection:
    """A pooled connection for one statement."""

    __slots__ = ("_client", "_connection", "_pool")

    def __init__(self, client: StoreClient) -> None:
        self._client = client

    async def __aenter__(self) -> StoreConnection:
        self._pool = await self._client.pool()
        self._connection = await self._pool.acquire_for_store(current_store_id())
        return self._connection

    async def __aexit__(self, *_: object) -> None:
        await self._pool.release_connection(self._connection)


class _TransactionConnection:
    """The transaction's connection for one statement."""

    __slots__ = ("_transaction",)

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    async def __aenter__(self) -> StoreConnection:
        return await self._transaction.acquire()

    async def __aexit__(self, *_: object) -> None:
        self._transaction.release()


class StoreTransaction(TransactionContext):
    """Tortoise's context manager of a transaction for the store in scope."""

    __slots__ = ("_client", "_transaction")

    def __init__(self, client: StoreClient) -> None:
        self._client = client

    async def __aenter__(self) -> StoreClient:  # type: ignore[override]  # Tortoise's own transactional client is another class
        self._transaction = OpenTransaction(await self._client.pool(), current_store_id())
        await self._transaction.__aenter__()
        return self._client

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._transaction.__aexit__(kind, error, trace)


class _Savepoint(TransactionContext):
    """A nested Tortoise transaction."""

    __slots__ = ("_client", "_savepoint")

    def __init__(self, client: StoreClient, transaction: Transaction) -> None:
        self._client = client
        self._savepoint = transaction.savepoint()

    async def __aenter__(self) -> StoreClient:  # type: ignore[override]
        await self._savepoint.__aenter__()
        return self._client

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._savepoint.__aexit__(kind, error, trace)


async def _translate_driver_errors(run: Callable[[], Awaitable[T]]) -> T:
    try:
        return await run()
    except Exception as error:
        translated = translated_error(error)
        if translated is not None:
            raise translated from error
        if isinstance(error, asyncpg.SyntaxOrAccessError | asyncpg.DataError):
            raise OperationalError(error) from error  # as Tortoise's own backend does
        raise


client_class = StoreClient
