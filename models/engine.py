"""Give Tortoise our pool, our transactions and our errors: the backend it finds by `"engine": "models.engine"`.

Tortoise's own transaction loses its connection when it is cancelled during BEGIN, and its pool is asyncpg's. Here both are
ours, and the ORM takes part in whatever transaction `models.database` has opened, and the other way round.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import Token
from types import TracebackType
from typing import Any, TypeVar

import asyncpg
from tortoise.backends.asyncpg.client import AsyncpgDBClient, TransactionWrapper
from tortoise.backends.base.client import TransactionContext
from tortoise.connection import ConnectionToken, get_connections
from tortoise.exceptions import OperationalError, TransactionManagementError

from models.failures import translation_of
from models.pool import DatabaseSettings, StoreConnection, StorePool, open_pool, store_of_task
from models.transactions import Transaction, enter, leave

T = TypeVar("T")


class StoreClient(AsyncpgDBClient):
    """Run Tortoise's statements on connections bound to the store in scope."""

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
        """Lend a connection for one statement."""
        return _Lent(self)

    def _in_transaction(self) -> TransactionContext:
        return OpenTransaction(self)

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


class TransactionClient(TransactionWrapper):
    """Run Tortoise's statements in an open transaction."""

    def __init__(self, client: StoreClient, transaction: Transaction) -> None:
        self._parent = client
        self.log = client.log
        self.connection_name = client.connection_name
        self.ours = transaction
        self._finalized = False

    def acquire_connection(self) -> Any:
        """Reserve the transaction's connection for one statement."""
        return _Reserved(self.ours)

    def _in_transaction(self) -> TransactionContext:
        return _Savepoint(self)

    async def _translate_exceptions(self, func: Any, *args: Any, **kwargs: Any) -> Any:
        return await _with_our_errors(lambda: func(self, *args, **kwargs))

    def _not_by_hand(self, *_: object) -> Any:
        raise TransactionManagementError("a transaction ends where its `async with` ends")

    begin = savepoint = commit = rollback = release_savepoint = savepoint_rollback = _not_by_hand


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
    """Begin a transaction for the store in scope, show it to Tortoise and to `models.database`, and end it."""

    __slots__ = ("_client", "_ours", "_pool", "_theirs", "_transaction")

    def __init__(self, client: StoreClient, pool: StorePool | None = None) -> None:
        self._client = client
        self._pool = pool
        self._ours: Token[Transaction | None]
        self._theirs: ConnectionToken
        self._transaction: Transaction

    async def __aenter__(self) -> TransactionClient:
        transaction = Transaction(self._pool or await self._client.pool(), store_of_task())
        await _with_our_errors(transaction.begin)
        # From here to the return nothing awaits, so no cancellation can come between.
        self._transaction = transaction
        client = TransactionClient(self._client, transaction)
        self._ours = enter(transaction)
        self._theirs = get_connections().set(self._client.connection_name, client)
        return client

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Left first: what runs after the commit is outside of the transaction.
        get_connections().reset(self._theirs)
        leave(self._ours)
        try:
            await self._transaction.end(commit=kind is None)
        except Exception:
            if error is None:
                raise
            # The rollback failed as well, most likely because the connection is lost: what happened first is what counts.


class _Savepoint(TransactionContext):
    """Nest Tortoise's transaction in ours."""

    __slots__ = ("_client", "_savepoint")

    def __init__(self, client: TransactionClient) -> None:
        self._client = client
        self._savepoint = client.ours.savepoint()

    async def __aenter__(self) -> TransactionClient:
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
