"""Database errors.

Unavailable              database not reachable, timeout: the client may retry the request
└── TransactionConflict  deadlock or serialization failure: `models.connection.transactions.retry_conflicts` repeats the transaction
ConstraintViolation      a constraint failed
├── UniqueViolation
├── CheckViolation
└── ReferenceViolation   a foreign key: the referenced row is missing, or is still referenced; `retry_conflicts` repeats it too
WrongStore               rejected by row-level security or a missing grant: a programming error
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import asyncpg

from kernel.errors import CONCURRENT_CHANGE, TransactionConflict, Unavailable


class WrongStore(RuntimeError):
    """A programming error: a row of one store was read or written in the scope of another."""


class ConstraintViolation(Exception):
    """A constraint failed; `constraint` is its name in the database."""

    def __init__(self, constraint: str, message: str) -> None:
        super().__init__(message)
        self.constraint = constraint


class UniqueViolation(ConstraintViolation):
    """Another row already has the value."""


class CheckViolation(ConstraintViolation):
    """A CHECK or NOT NULL constraint failed."""


class ReferenceViolation(ConstraintViolation):
    """The referenced row is missing, or other rows still reference this one."""


TIMED_OUT = "request timeout"
NOT_AVAILABLE = "the database is not available; try again"

_VIOLATIONS: tuple[tuple[type[Exception], type[ConstraintViolation]], ...] = (
    (asyncpg.UniqueViolationError, UniqueViolation),
    (asyncpg.ExclusionViolationError, UniqueViolation),
    (asyncpg.CheckViolationError, CheckViolation),
    (asyncpg.ForeignKeyViolationError, ReferenceViolation),
    (asyncpg.RestrictViolationError, ReferenceViolation),
)
_CONFLICTS = (asyncpg.DeadlockDetectedError, asyncpg.SerializationError)
_RETRYABLE: tuple[tuple[tuple[type[BaseException], ...], str], ...] = (
    ((asyncpg.LockNotAvailableError,), CONCURRENT_CHANGE),
    # QueryCanceled is the server's statement_timeout, TimeoutError our own for a connection or a response.
    ((asyncpg.QueryCanceledError, TimeoutError), TIMED_OUT),
    ((asyncpg.IdleInTransactionSessionTimeoutError, asyncpg.TransactionTimeoutError), TIMED_OUT),
    (
        (
            asyncpg.PostgresConnectionError,  # ConnectionDoesNotExist and others
            asyncpg.OperatorInterventionError,  # AdminShutdown, CrashShutdown, CannotConnectNow, IdleSessionTimeout
            asyncpg.InsufficientResourcesError,  # TooManyConnections, DiskFull, OutOfMemory
            asyncpg.ReadOnlySQLTransactionError,  # a failover left the connection at a replica
            # A migration changed the table after the statement was prepared; asyncpg retries except in a transaction.
            asyncpg.InvalidCachedStatementError,
            asyncpg.OutdatedSchemaCacheError,
            # A pooler stopped keeping track of prepared statements: the connection is replaced.
            asyncpg.InvalidSQLStatementNameError,
            asyncpg.DuplicatePreparedStatementError,
            asyncpg.InternalClientError,  # the protocol state is lost: seen when a backend is terminated during a response
            OSError,
        ),
        NOT_AVAILABLE,
    ),
)


def translated_error(error: BaseException) -> Exception | None:
    """Return the error to raise instead of a driver error, or None to let it pass."""
    if isinstance(error, asyncpg.InterfaceError):
        # A lost connection, or a mistake such as a wrong number of arguments: only the message differs.
        return Unavailable(NOT_AVAILABLE) if "clos" in str(error) else None
    for driver_error, violation in _VIOLATIONS:
        if isinstance(error, driver_error):
            return violation(getattr(error, "constraint_name", None) or "", str(error))
    if isinstance(error, asyncpg.NotNullViolationError):
        return CheckViolation(f"{error.table_name}_{error.column_name}_not_null", str(error))
    if isinstance(error, asyncpg.InsufficientPrivilegeError):
        return WrongStore(f"the database refused: {error}")
    if isinstance(error, _CONFLICTS):
        return TransactionConflict()
    for driver_errors, message in _RETRYABLE:
        if isinstance(error, driver_errors):
            return Unavailable(message)
    return None


def raise_translated(error: Exception) -> NoReturn:
    """Raise an error translated: what `translate_errors` does, at no cost for a statement without one."""
    translated = translated_error(error)
    if translated is None:
        raise error
    raise translated from error


@contextmanager
def translate_errors() -> Iterator[None]:
    """Translate driver errors raised inside the block."""
    try:
        yield
    except Exception as error:
        raise_translated(error)


def violated_constraint(error: BaseException | None) -> str | None:
    """Return the name of the constraint behind an error (ours or the driver's), or None."""
    while error is not None:
        name = getattr(error, "constraint", None) or getattr(error, "constraint_name", None)
        if isinstance(name, str):
            return name
        error = error.__cause__
    return None
