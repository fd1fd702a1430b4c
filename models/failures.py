"""Name what can go wrong at the database: one tree for our own SQL and for Tortoise's, whichever driver error lies beneath.

Unavailable              the database is away, the work was cut off, or two transactions met: the same request may be sent again
ConstraintViolation      a rule of the tables refused the row; also a Tortoise IntegrityError, which Tortoise's own code catches
├── UniqueViolation
├── CheckViolation
└── ReferenceViolation   a row that is pointed at is absent, or is still pointed at
WrongStore               row-level security or a missing grant refused: a programming error
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import asyncpg
from tortoise.exceptions import IntegrityError

from kernel.errors import Unavailable
from models.base import WrongStore


class ConstraintViolation(IntegrityError):
    """Say that a constraint refused the row; `constraint` is its name in the database."""

    def __init__(self, constraint: str, message: str) -> None:
        super().__init__(message)
        self.constraint = constraint


class UniqueViolation(ConstraintViolation):
    """Say that another row already has the value."""


class CheckViolation(ConstraintViolation):
    """Say that a value is outside what the table allows."""


class ReferenceViolation(ConstraintViolation):
    """Say that the row points at nothing, or that others still point at it."""


CUT_OFF = "request timeout"
AWAY = "the database is not available; try again"
MET_ANOTHER = "another change to the same records was under way; try again"

_VIOLATIONS: tuple[tuple[type[Exception], type[ConstraintViolation]], ...] = (
    (asyncpg.UniqueViolationError, UniqueViolation),
    (asyncpg.ExclusionViolationError, UniqueViolation),
    (asyncpg.CheckViolationError, CheckViolation),
    (asyncpg.ForeignKeyViolationError, ReferenceViolation),
    (asyncpg.RestrictViolationError, ReferenceViolation),
)
_TRY_AGAIN: tuple[tuple[tuple[type[BaseException], ...], str], ...] = (
    ((asyncpg.DeadlockDetectedError, asyncpg.SerializationError), MET_ANOTHER),
    ((asyncpg.LockNotAvailableError,), MET_ANOTHER),
    # QueryCanceled is the server's statement_timeout, TimeoutError our own wait for a connection or an answer.
    ((asyncpg.QueryCanceledError, TimeoutError), CUT_OFF),
    ((asyncpg.IdleInTransactionSessionTimeoutError, asyncpg.TransactionTimeoutError), CUT_OFF),
    (
        (
            asyncpg.PostgresConnectionError,  # ConnectionDoesNotExist and its kin
            asyncpg.OperatorInterventionError,  # AdminShutdown, CrashShutdown, CannotConnectNow, IdleSessionTimeout
            asyncpg.InsufficientResourcesError,  # TooManyConnections, DiskFull, OutOfMemory
            asyncpg.ReadOnlySQLTransactionError,  # a failover left us at the replica
            # A migration changed the table since the statement was prepared; asyncpg tries again itself except in a transaction.
            asyncpg.InvalidCachedStatementError,
            asyncpg.OutdatedSchemaCacheError,
            asyncpg.InternalClientError,  # the protocol lost its place: seen when a backend is killed in mid-answer
            OSError,
        ),
        AWAY,
    ),
)


def translation_of(error: BaseException) -> Exception | None:
    """Give our name for a driver's error, or None when it has none and should pass as it is."""
    if isinstance(error, asyncpg.InterfaceError):
        # A lost connection, or a mistake of ours such as a wrong number of arguments: only the words tell them apart.
        return Unavailable(AWAY) if "clos" in str(error) else None
    for theirs, ours in _VIOLATIONS:
        if isinstance(error, theirs):
            return ours(getattr(error, "constraint_name", None) or "", str(error))
    if isinstance(error, asyncpg.NotNullViolationError):
        return CheckViolation(f"{error.table_name}_{error.column_name}_not_null", str(error))
    if isinstance(error, asyncpg.InsufficientPrivilegeError):
        return WrongStore(f"the database refused: {error}")
    for kinds, message in _TRY_AGAIN:
        if isinstance(error, kinds):
            return Unavailable(message)
    return None


@contextmanager
def translated() -> Iterator[None]:
    """Raise our own errors instead of the driver's for what happens inside."""
    try:
        yield
    except Exception as error:
        ours = translation_of(error)
        if ours is None:
            raise
        raise ours from error


def constraint_of(error: BaseException | None) -> str | None:
    """Give the name of the constraint behind an error, ours, Tortoise's or the driver's; None when there is none."""
    while error is not None:
        name = getattr(error, "constraint", None) or getattr(error, "constraint_name", None)
        if isinstance(name, str):
            return name
        error = error.__cause__
    return None
