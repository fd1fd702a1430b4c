"""Say in one line why a command could not do its work."""

from __future__ import annotations

from kernel.errors import DomainError, TenantNotFound, ValidationFailed
from kernel.settings import SettingError


class CommandRefused(Exception):
    """Refuse what a command was asked for; the text is the line that people read."""


def explained(error: BaseException) -> str | None:
    """Give the line for a failure that people can do something about, None for one that is a bug."""
    if isinstance(error, CommandRefused | SettingError):
        return str(error)
    if isinstance(error, TenantNotFound):
        return "there is no such store; vitrine tenant list shows those there are"
    if isinstance(error, DomainError):
        return _with_cause(error)
    # Whoever raised one of these has imported what defines it.
    from models.database import UnsafeRole
    from models.migrate import CannotMigrate
    from server.embedded_postgres import EmbeddedPostgresError
    from server.running import NotStarted

    if isinstance(error, UnsafeRole | CannotMigrate | EmbeddedPostgresError | NotStarted):
        return str(error)
    return _of_the_database(error)


def _with_cause(error: DomainError) -> str:
    """Add what the system said when the database is away: here nobody reads along who shouldn't."""
    if isinstance(error, ValidationFailed) or error.__cause__ is None or error.status != 503:
        return error.message
    return f"{error.message} ({error.__cause__})"


def _of_the_database(error: BaseException) -> str | None:
    import asyncpg

    if isinstance(error, asyncpg.PostgresError):
        return f"the database refused: {error}"
    if isinstance(error, asyncpg.InterfaceError | OSError | TimeoutError):
        return f"{error or type(error).__name__}"
    return None
