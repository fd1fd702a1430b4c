"""Open, nest and end transactions so that a connection always comes back, whenever the task is cancelled.

A transaction belongs to one store. It is kept in a context variable: statements of the task, and of tasks it starts and waits
for, go to its connection one after the other. A task that outlives the transaction is refused, for the connection may by then
serve another store.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from contextvars import ContextVar, Token
from typing import Any, TypeAlias

from models.base import WrongStore
from models.connections import StoreConnection
from models.failures import translated
from models.pool import StorePool, store_of_task

AfterCommit: TypeAlias = Callable[[], Awaitable[object] | object]

logger = logging.getLogger("vitrine.database")


class TransactionOver(RuntimeError):
    """Report a programming error: a task went on using a transaction that had ended."""


class NothingCommitted(RuntimeError):
    """Report a programming error: a statement of the transaction failed, its error was swallowed, and then came the commit."""


class Transaction:
    """One transaction on one connection, for one store; `begin` first, then exactly one `end`."""

    __slots__ = (
        "_callbacks",
        "_connection",
        "_is_committed",
        "_lock",
        "_pool",
        "_savepoints",
        "is_over",
        "store",
    )

    def __init__(self, pool: StorePool, store: int) -> None:
        self._pool = pool
        self.store = store
        self._connection: StoreConnection | None = None
        # Tasks of one gather share the connection, which can do one thing at a time.
        self._lock = asyncio.Lock()
        self._callbacks: list[AfterCommit] = []
        self._savepoints = 0
        self.is_over = False
        self._is_committed = False

    async def begin(self) -> None:
        """Take a connection and begin; when either fails or is cancelled, the connection is given back."""
        connection = await self._pool.lend(self.store)
        try:
            await connection.execute("begin")
        except BaseException:
            await self._pool.give_back(connection)
            raise
        self._connection = connection

    async def use(self) -> StoreConnection:
        """Wait for the connection and reserve it until `done`; refuse another store's scope and a transaction that is over."""
        if self.store != store_of_task():
            raise WrongStore(
                f"the open transaction is of store {self.store}, the scope of store {store_of_task()}"
            )
        await self._lock.acquire()
        if self.is_over or self._connection is None:
            self._lock.release()
            raise TransactionOver("the transaction has ended: wait for the tasks started inside it")
        return self._connection

    def done(self) -> None:
        """Let the next task use the connection."""
        self._lock.release()

    def on_commit(self, callback: AfterCommit) -> None:
        """Keep what shall run after the commit."""
        self._callbacks.append(callback)

    async def end(self, *, commit: bool) -> None:
        """Commit or roll back and give the connection back, even when cancelled; then run what waited for the commit."""
        # A commit that is cut off may have happened or not. When something waits for it, it is not cut off; nor is the wait for a
        # task of ours that still uses the connection, or the connection would not come back. A task of its own costs 10 µs.
        try:
            if self._lock.locked() or (commit and self._callbacks):
                await _uninterrupted(self._finish(commit))
            else:
                with translated():
                    await self._finish(commit)
        finally:
            if self._is_committed:
                await _run_all(self._callbacks)

    async def _finish(self, commit: bool) -> None:
        async with self._lock:
            self.is_over = True
            connection = self._connection
            if connection is None:
                return
            self._connection = None
            try:
                if connection.is_closed() and not commit:
                    return  # the server has rolled it back
                tag = await connection.execute("commit" if commit else "rollback")
                if commit and tag.lower() != "commit":
                    # The server answers COMMIT with ROLLBACK when a statement failed and somebody swallowed its error.
                    raise NothingCommitted("a statement had failed, so the server rolled back")
                self._is_committed = commit
            finally:
                await self._pool.give_back(connection)

    @asynccontextmanager
    async def savepoint(self) -> AsyncIterator[None]:
        """Undo only what happens inside when it fails, callbacks included."""
        self._savepoints += 1
        name = f"nested_{self._savepoints}"
        kept = len(self._callbacks)
        await self._command(f"savepoint {name}")
        try:
            yield
        except BaseException:
            del self._callbacks[kept:]
            # After a cancellation or a lost connection the whole transaction ends anyway; then this may fail in silence.
            try:
                await _uninterrupted(self._command(f"rollback to savepoint {name}"))
            except Exception as error:
                logger.debug("the savepoint was not rolled back: %r", error)
            raise
        await self._command(f"release savepoint {name}")

    async def _command(self, sql: str) -> None:
        connection = await self.use()
        try:
            with translated():
                await connection.execute(sql)
        finally:
            self.done()


_open: ContextVar[Transaction | None] = ContextVar("vitrine_transaction", default=None)


def open_transaction() -> Transaction | None:
    """Give the transaction that the running task works in, or None."""
    return _open.get()


def enter(transaction: Transaction | None) -> Token[Transaction | None]:
    """Make it the one that statements of this task go to."""
    return _open.set(transaction)


def leave(token: Token[Transaction | None]) -> None:
    """Undo `enter`."""
    _open.reset(token)


async def _uninterrupted(work: Coroutine[Any, Any, None]) -> None:
    """Run to the end although the caller is cancelled, and only then let the cancellation go on."""
    task = asyncio.get_running_loop().create_task(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            if task.cancelled():
                raise
            cancelled = error  # bounded: each statement has a time limit
        except Exception:
            break  # the task's own failure, raised below
    if cancelled is not None:
        if not task.cancelled() and (failure := task.exception()) is not None:
            raise cancelled from failure
        raise cancelled
    with translated():
        task.result()


async def _run_all(callbacks: list[AfterCommit]) -> None:
    """Run every callback in order; one that fails is logged, for the commit has happened and its caller must hear of it."""
    cancelled: asyncio.CancelledError | None = None
    for callback in callbacks:
        try:
            result = callback()
            if inspect.isawaitable(result):
                await result
        except asyncio.CancelledError as error:
            cancelled = error
        except Exception:
            logger.exception("what was to run after a commit failed")
    if cancelled is not None:
        raise cancelled
