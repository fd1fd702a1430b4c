"""Give Tortoise our pool, our transactions and our errors: the backend it finds by `"engine": "models.engine"`.

Tortoise's own transaction loses its connection when it is cancelled during BEGIN, and its pool is asyncpg's. Here both are
ours. The one client looks for the task's open transaction at every statement, so the ORM takes part in whatever
`models.database` has opened, and the other way round, and Tortoise needs no second client to tell it of a transaction.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import Token
from types import TracebackType
from typing import Any, TypeVar

import asyncpg
from tortoise.backends.asyncpg.client import AsyncpgDBClient
from tortoise.backends.base.client import TransactionContext
from tortoise.exceptions import OperationalError

from models.connections import StoreConnection
from models.failures import translation_of
from models.pool import DatabaseSettings, StorePool, open_pool, store_of_task
from models.transactions import Transaction, enter, leave, open_transaction

T = TypeVar("T")


class StoreClient(AsyncpgDBClient):
    """Run Tortoise's statements in the open transaction, else on connections bound to the store in scope."""

    def __init__(self, settings: DatabaseSettings, role: str | None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._settings = settings
        self._role = role

    async def create_connection(self, with_db: bool) -> None:
        """Open the pool; Tortoise asks for it at first use."""
        if not with_db:
            raise OperationalError("databases are made by whoever runs the server, not by Tortoise")
        settings = self._settings
        self._pool = await open_pool(
            settings, self._role, min_size=settings.min_size, max_size=settings.max_size
        )
        await self._post_connect()

    async def pool(self) -> StorePool:
        """Give the pool, opened if it is not."""
        if self._pool is None:
            async with self._pool_init_lock:
                if self._pool is None:
                    await self.create_connection(with_db=True)
        assert isinstance(self._pool, StorePool)
        return self._pool

    def acquire_connection(self) -> Any:
        """Reserve the open transaction's connection, or lend one, for one statement."""
        transaction = open_transaction()
        return _Lent(self) if transaction is None else _Reserved(transaction)

    def _in_transaction(self) -> TransactionContext:
        transaction = open_transaction()
        return OpenTransaction(self) if transaction is None else _Savepoint(self, transaction)

    async def execute_many(self, query: str, values: list[Any]) -> None:
        """Run one statement for each row of values; all of them or none."""

        # Not as in the parent, whose own transaction can't nest in ours: asyncpg sends them between two synchronisation points.
        async def work() -> None:
            async with self.acquire_connection() as connection:
                await connection.executemany(query, values)

        await _with_our_errors(work)

    async def _translate_exceptions(self, func: Any, *args: Any, **kwargs: Any) -> Any:
        return await _with_our_errors(lambda: func(self, *args, **kwargs))


class _Lent:
    """Hold a pooled connection for one statement."""

    __slots__ = ("_client", "_connection", "_pool")

    def __init__(self, client: StoreClient) -> None:
        self._client = client

    async def __aenter__(self) -> StoreConnection:
        self._pool = await self._client.pool()
        self._connection = await self._pool.lend(store_of_task())
        return self._connection

    async def __aexit__(self, *_: object) -> None:
        await self._pool.give_back(self._connection)


class _Reserved:
    """Hold the transaction's connection for one statement."""

    __slots__ = ("_transaction",)

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    async def __aenter__(self) -> StoreConnection:
        return await self._transaction.use()

    async def __aexit__(self, *_: object) -> None:
        self._transaction.done()


class OpenTransaction(TransactionContext):
    """Begin a transaction for the store in scope and end it."""

    __slots__ = ("_client", "_pool", "_token", "_transaction")

    def __init__(self, client: StoreClient, pool: StorePool | None = None) -> None:
        self._client = client
        self._pool = pool
        self._transaction: Transaction
        self._token: Token[Transaction | None]

    async def __aenter__(self) -> StoreClient:  # type: ignore[override]  # Tortoise's own transactional client is another class
        transaction = Transaction(self._pool or await self._client.pool(), store_of_task())
        await _with_our_errors(transaction.begin)
        # From here to the return nothing awaits, so no cancellation can come between.
        self._transaction = transaction
        self._token = enter(transaction)
        return self._client

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        leave(self._token)  # first: what runs after the commit is outside of the transaction
        try:
            await self._transaction.end(commit=kind is None)
        except Exception:
            if error is None:
                raise
            # The rollback failed as well, most likely because the connection is lost: what happened first is what counts.


class _Savepoint(TransactionContext):
    """Nest Tortoise's transaction in ours."""

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


async def _with_our_errors(work: Callable[[], Awaitable[T]]) -> T:
    try:
        return await work()
    except Exception as error:
        ours = translation_of(error)
        if ours is not None:
            raise ours from error
        if isinstance(error, asyncpg.SyntaxOrAccessError | asyncpg.DataError):
            raise OperationalError(error) from error  # as Tortoise's own backend does
        raise


client_class = StoreClient
