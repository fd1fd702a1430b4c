"""Describe in one line why a command failed."""

from __future__ import annotations

import os

from kernel.errors import DomainError, OperatorError, TenantNotFound, ValidationFailed
from kernel.settings import SettingError


class CommandError(OperatorError):
    """The command failed; the text is the line shown to the user."""


def describe_error(error: BaseException) -> str | None:
    """Return the message for an error the user can act on, None for a bug."""
    if isinstance(error, OperatorError | SettingError):
        return str(error)
    if isinstance(error, TenantNotFound):
        return "store not found; list the stores with vitrine tenant list"
    if isinstance(error, DomainError):
        return _with_cause(error)
    if isinstance(error, OSError) and error.filename is not None:
        return f"{os.fsdecode(error.filename)} can't be used: {error.strerror}"
    return _describe_database_error(error)


def _with_cause(error: DomainError) -> str:
    """Append the system's message when the database is unavailable; safe to show to an operator."""
    if isinstance(error, ValidationFailed) or error.__cause__ is None or error.status != 503:
        return error.message
    return f"{error.message} ({str(error.__cause__) or type(error.__cause__).__name__})"


def _describe_database_error(error: BaseException) -> str | None:
    import asyncpg

    if isinstance(error, asyncpg.PostgresError):
        return f"database error: {error}"
    if isinstance(error, asyncpg.InternalClientError):
        return f"database error: the connection was lost ({error})"
    if isinstance(error, asyncpg.InterfaceError | OSError | TimeoutError):
        return f"{error or type(error).__name__}"
    return None
