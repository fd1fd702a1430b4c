"""Transactions and savepoints that always release their connection, whenever the task is cancelled.

A transaction belongs to one store and is stored in a context variable: statements of the task and of its child tasks run on its connection
one after the other. A child task that outlives the transaction gets an error, because the connection may already serve another store.

`retry_conflicts` repeats work whose transaction lost against a concurrent one: a deadlock (SQLSTATE 40P01), a serialization failure
(40001), or a reference to a row that was deleted since it was found (23503), which the repeated work doesn't find. The error ends the
transaction, so its work starts again from the beginning. Only whole operations are repeated, and only while nothing outside of the
rolled-back transaction took effect: no commit (a `separate_transaction` included), no write without a transaction, no request to another
server. `record_effect` is called for each of these. What has to be requested from another server is requested between two attempts
(`NeedsPreparation`).
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import random
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from contextvars import ContextVar, Token
from dataclasses import dataclass
from functools import lru_cache
from types import TracebackType
from typing import Any, TypeAlias, TypeVar

import asyncpg

from kernel.errors import TransactionConflict
from kernel.scope import current_scope
from models.connection.binding import NO_STORE, BindingTarget, Plans
from models.connection.connections import StoreConnection
from models.connection.database_errors import ReferenceViolation, WrongStore, raise_translated, translate_errors
from models.connection.notices import record_write
from models.connection.pool import StorePool

T = TypeVar("T")
CommitCallback: TypeAlias = Callable[[], Awaitable[object] | object]

logger = logging.getLogger("vitrine.database")


class TransactionEnded(RuntimeError):
    """A programming error: a task used a transaction that had ended."""


class CommitFailed(RuntimeError):
    """A programming error: a statement failed, its error was suppressed, and the server rolled back instead of committing."""


class CallInTransaction(RuntimeError):
    """A programming error: another server was called while a transaction was open, which would hold its locks meanwhile."""


def current_store_id() -> int:
    """Return the id of the store in scope, or `NO_STORE`, for which no row is visible."""
    scope = current_scope()
    return NO_STORE if scope is None else scope.store.id


class Transaction:
    """One transaction on one connection, for one store, which is the current task's open one inside of `async with`.

    BEGIN is sent with the first statement.
    """

    __slots__ = (
        "_callbacks",
        "_connection",
        "_is_committed",
        "_lock",
        "_plans",
        "_pool",
        "_savepoints",
        "_token",
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

    async def __aenter__(self) -> None:
        try:
            self._connection = await self._pool.acquire_for(BindingTarget(self.store, self._plans, begins=True))
        except Exception as error:
            raise_translated(error)
        # No await from here to the return, so no cancellation can come between.
        self._token: Token[Transaction | None] = _open.set(self)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _open.reset(self._token)  # first: commit callbacks run outside of the transaction
        try:
            await self._end(commit=kind is None)
        except Exception:
            if error is None:
                raise
            # The rollback failed as well, probably because the connection is lost: the first error is raised.

    async def acquire(self) -> StoreConnection:
        """Lock the connection until `release`; raise WrongStore in another store's scope, TransactionEnded after the end."""
        scope = current_scope()
        if scope is None or scope.store.id != self.store:
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

    async def _end(self, *, commit: bool) -> None:
        """Commit or roll back and release the connection, even when cancelled; then run the commit callbacks."""
        # The outcome of a cancelled COMMIT is unknown, so it is shielded when there are callbacks; so is waiting for a child task that
        # uses the connection, which would otherwise not be released. The extra task costs 10 µs.
        try:
            if self._lock.locked() or (commit and self._callbacks):
                await _run_shielded(self._commit_or_roll_back(commit))
            else:
                await self._commit_or_roll_back(commit)
        except Exception as error:
            raise_translated(error)
        finally:
            if self._is_committed:
                await _run_callbacks(self._callbacks)

    async def _commit_or_roll_back(self, commit: bool) -> None:
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


# --- Conflicts --------------------------------------------------------------------------------------------------------------

CONFLICTS = (TransactionConflict, ReferenceViolation)
MAX_RETRIES = 3
RETRIED = "transaction conflict, repeated"
# Random, so that the transactions that met don't meet again.
_DELAY_SECONDS = (0.01, 0.05)
_WRITES = re.compile(r"\b(insert|update|delete|merge|pg_notify)\b", re.IGNORECASE)


class NeedsPreparation(TransactionConflict):
    """Ask `retry_conflicts` to await `prepare`, after the transaction was rolled back, and to repeat the whole operation.

    Raised for what takes a request to another server.
    """

    def __init__(self, prepare: Callable[[], Awaitable[object]]) -> None:
        super().__init__()
        self.prepare = prepare


@dataclass(slots=True)
class _Effects:
    """Count what took effect since the outermost `retry_conflicts` of the task began; child tasks share it."""

    count: int = 0


_effects: ContextVar[_Effects | None] = ContextVar("vitrine_effects", default=None)


def record_effect() -> None:
    """Record that something took effect that a rollback doesn't undo, so that the current work is not repeated."""
    effects = _effects.get()
    if effects is not None:
        effects.count += 1


def check_no_transaction() -> None:
    """Raise `CallInTransaction` if the current task has an open transaction."""
    if open_transaction() is not None:
        raise CallInTransaction("another server may not be called while a transaction is open")


@lru_cache(maxsize=4096)
def is_write(sql: str) -> bool:
    """Return whether a statement may write."""
    return _WRITES.search(sql) is not None


def record_statement(store: int) -> None:
    """Record a statement that wrote to a store without a transaction."""
    record_effect()
    record_write(store)


async def retry_conflicts(
    work: Callable[[], Awaitable[T]], *, conflict_in: Callable[[T], Exception | None] = lambda _: None
) -> T:
    """Run work that opens its own transaction, and repeat it after a conflict, at most MAX_RETRIES times; raise or return the last outcome.

    `conflict_in` finds a conflict in a result. Inside an open transaction call the work directly: only the outermost transaction can be
    repeated.
    """
    effects = _effects.get() or _Effects()
    token = _effects.set(effects)
    try:
        for retry in range(MAX_RETRIES + 1):
            count = effects.count
            try:
                result = await work()
                conflict = conflict_in(result)
                if conflict is None or retry == MAX_RETRIES or effects.count != count:
                    return result
            except CONFLICTS as error:
                if retry == MAX_RETRIES or effects.count != count:
                    raise
                conflict = error
            if isinstance(conflict, NeedsPreparation):
                await conflict.prepare()
            else:
                logger.info(RETRIED)
                await asyncio.sleep(random.uniform(*_DELAY_SECONDS))
        raise AssertionError("the last attempt returns or raises")
    finally:
        _effects.reset(token)
