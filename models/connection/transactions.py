"""Transactions and savepoints that always release their connection, whenever the task is cancelled.

A transaction belongs to one store and is stored in a context variable: statements of the task and of its child tasks run on its connection
one after the other. A child task that outlives the transaction gets an error, because the connection may already serve another store.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from contextvars import ContextVar, Token
from typing import Any, TypeAlias

import asyncpg

from models.connection.conflicts import record_effect
from models.connection.connections import StoreConnection
from models.connection.database_errors import translate_errors
from models.connection.pool import StorePool, current_store_id
from models.connection.store_binding import BindingTarget, Plans
from models.connection.write_notices import record_write
from models.tables.base import WrongStore

CommitCallback: TypeAlias = Callable[[], Awaitable[object] | object]

logger = logging.getLogger("vitrine.database")


class TransactionEnded(RuntimeError):
    """A programming error: a task used a transaction that had ended."""


class CommitFailed(RuntimeError):
    """A programming error: a statement failed, its error was suppressed, and the server rolled back instead of committing."""


class Transaction:
    """One transaction on one connection, for one store; `begin` first, then exactly one `end`. BEGIN is sent with the first statement."""

    __slots__ = (
        "_callbacks",
        "_connection",
        "_is_committed",
        "_lock",
        "_plans",
        "_pool",
        "_savepoints",
        "is_ended",
        "store",
    )

    def __init__(self, pool: StorePool, store: int, plans: Plans = Plans.AUTOMATIC) -> None:
        self._pool = pool
        self.store = store
        self._plans = plans
        self._connection: StoreConnection | None = None
        # Tasks of one gather share the connection, which runs one statement at a time.
        self._lock = asyncio.Lock()
        self._callbacks: list[CommitCallback] = []
        self._savepoints = 0
        self.is_ended = False
        self._is_committed = False

    async def begin(self) -> None:
        """Acquire the connection."""
        self._connection = await self._pool.acquire_for(BindingTarget(self.store, self._plans, begins=True))

    async def acquire(self) -> StoreConnection:
        """Lock the connection until `release`; raise WrongStore in another store's scope, TransactionEnded after the end."""
        if self.store != current_store_id():
            raise WrongStore(f"the open transaction is of store {self.store}, the scope of store {current_store_id()}")
        await self._lock.acquire()
        if self.is_ended or self._connection is None:
            self._lock.release()
            raise TransactionEnded("the transaction has ended: wait for the tasks started inside it")
        return self._connection

    def release(self) -> None:
        """Unlock the connection for the next task."""
        self._lock.release()

    def on_commit(self, callback: CommitCallback) -> None:
        """Register a callback to run after the commit."""
        self._callbacks.append(callback)

    async def end(self, *, commit: bool) -> None:
        """Commit or roll back and release the connection, even when cancelled; then run the commit callbacks."""
        # The outcome of a cancelled COMMIT is unknown, so it is shielded when there are callbacks; so is waiting for a child task that
        # uses the connection, which would otherwise not be released. The extra task costs 10 µs.
        try:
            if self._lock.locked() or (commit and self._callbacks):
                await _run_shielded(self._finish(commit))
            else:
                with translate_errors():
                    await self._finish(commit)
        finally:
            if self._is_committed:
                await _run_callbacks(self._callbacks)

    async def _finish(self, commit: bool) -> None:
        async with self._lock:
            self.is_ended = True
            connection = self._connection
            if connection is None:
                return
            self._connection = None
            try:
                if connection.is_closed():
                    if commit:
                        raise asyncpg.ConnectionDoesNotExistError("the connection was lost before the commit")
                    return  # the server rolls back
                if not connection.is_in_transaction() and not (commit and connection.has_deferred):
                    connection.drop_deferred()
                    self._is_committed = commit  # it has run nothing
                    return
                tag = await connection.execute("commit" if commit else "rollback")
                if commit and tag.lower() != "commit":
                    # The server answers COMMIT with ROLLBACK when a statement failed and its error was suppressed.
                    raise CommitFailed("a statement had failed, so the server rolled back")
                self._is_committed = commit
                if commit:
                    record_effect()
                    record_write(self.store)
            finally:
                await self._pool.release_connection(connection)

    @asynccontextmanager
    async def savepoint(self) -> AsyncIterator[None]:
        """Open a savepoint; on an error roll back to it and drop the callbacks registered inside."""
        self._savepoints += 1
        name = f"nested_{self._savepoints}"
        callbacks_before = len(self._callbacks)
        await self._command(f"savepoint {name}")
        try:
            yield
            await self._command(f"release savepoint {name}")
        except BaseException:
            del self._callbacks[callbacks_before:]
            # After a cancellation or a lost connection the whole transaction ends anyway, so a failure here is not raised.
            try:
                await _run_shielded(self._command(f"rollback to savepoint {name}"))
            except Exception as error:
                logger.debug("the savepoint was not rolled back: %r", error)
            raise

    async def _command(self, sql: str) -> None:
        connection = await self.acquire()
        try:
            with translate_errors():
                await connection.execute(sql)
        finally:
            self.release()


_open: ContextVar[Transaction | None] = ContextVar("vitrine_transaction", default=None)


open_transaction: Callable[[], Transaction | None] = _open.get
"""Return the open transaction of the current task, or None (the variable's own method: each statement asks)."""


def set_open_transaction(transaction: Transaction | None) -> Token[Transaction | None]:
    """Set the open transaction of the current task."""
    return _open.set(transaction)


def reset_open_transaction(token: Token[Transaction | None]) -> None:
    """Restore the value before `set_open_transaction`."""
    _open.reset(token)


async def _run_shielded(coroutine: Coroutine[Any, Any, None]) -> None:
    """Run to the end although the caller is cancelled, then raise the CancelledError."""
    task = asyncio.get_running_loop().create_task(coroutine)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            if task.cancelled():
                raise
            cancelled = error  # bounded: each statement has a time limit
        except Exception:
            break  # the task's own error, raised below
    if cancelled is not None:
        if not task.cancelled() and (failure := task.exception()) is not None:
            raise cancelled from failure
        raise cancelled
    with translate_errors():
        task.result()


async def _run_callbacks(callbacks: list[CommitCallback]) -> None:
    """Run the callbacks in order; log the errors, since the transaction has been committed."""
    cancelled: asyncio.CancelledError | None = None
    for callback in callbacks:
        try:
            result = callback()
            if inspect.isawaitable(result):
                await result
        except asyncio.CancelledError as error:
            cancelled = error
        except Exception:
            logger.exception("a commit callback failed")
    if cancelled is not None:
        raise cancelled
