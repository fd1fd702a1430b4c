"""Apply migrations as the owner of the tables, under an advisory lock, while servers of the previous version use the database.

A migration that needs the lock of a table waits for the transactions that use it, and every later statement waits behind the migration. It
therefore gives up after a short time, lets them pass, and tries again after a pause.

A migration is a numbered folder of SQL in `models/migrations/sql`, run in the order of names; `<folder>_reverse.sql` reverts it, in tests.
Indexes of large tables are in a file `concurrently.sql`, which is executed before, outside of the transaction: no write waits for them.
Composite keys, policies and partial indexes exist only in SQL; tests/models/test_schema.py compares the resulting tables with the models.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import asyncpg

from kernel.errors import OperatorError
from models.connection.database_errors import translate_errors
from models.connection.roles import BACKUP_ROLE, MIN_POSTGRESQL_VERSION, RoleSet, act_as_app, ensure_roles, find_roles
from models.granting import create_search_functions, grant_privileges, policy_changes

FOLDER = Path(__file__).parent / "migrations" / "sql"
APP_LABEL = "models"
LAST_OF_PREVIOUS_RELEASE = "0093_cart_sequences"
"""The last migration of the release before this version, whose programs may use the tables meanwhile (docs/upgrading.md)."""
# The owner reads as itself: while the first migrations run, the role that serves exists and may not read yet.
_MAY_NOT_READ = "select not has_table_privilege(to_regclass('tortoise_migrations'), 'SELECT')"
# The key of the advisory lock.
ADVISORY_LOCK_KEY = 0x5649_5452_494E_45  # "VITRINE"

# Less than `deadlock_timeout` (1 s): a migration that has one table and waits for another lets go before PostgreSQL finds that a request
# waits the other way round, and fails that. It may take many attempts until no request is between the two. Short waits delay others least,
# and come first; later ones are longer, since what uses a table may take as long.
LOCK_TIMEOUTS_MS = (50, 100, 200, 500)
# The pauses in seconds between the attempts to get the locks, about a minute and a half with the attempts: longer than any request.
PAUSES = (*[0.1] * 12, *[0.5] * 24, *[1.0] * 30, *[2.0] * 12)
_LOCK_POLL_SECONDS = 0.1
_MAX_ATTEMPTS = 20
_CONCURRENTLY = "concurrently.sql"
_INDEX = re.compile(r"(?:--[^\n]*\n)*CREATE INDEX CONCURRENTLY (\w+) ON .*", re.DOTALL)
_LOCKED_OUT = (asyncpg.LockNotAvailableError, asyncpg.DeadlockDetectedError)

logger = logging.getLogger("vitrine.database")


class MigrationError(OperatorError):
    """The database can't be migrated."""


@dataclass(frozen=True, slots=True)
class Migration:
    """The statements of one migration, file by file, and those that build indexes concurrently before."""

    name: str
    statements: tuple[str, ...]
    indexes: tuple[str, ...] = ()


@cache
def disk_migrations() -> tuple[Migration, ...]:
    """Return the migrations on disk in order."""
    return tuple(
        Migration(
            folder.name,
            tuple(
                file.read_text(encoding="utf-8") for file in sorted(folder.glob("*.sql")) if file.name != _CONCURRENTLY
            ),
            _statements(folder / _CONCURRENTLY),
        )
        for folder in sorted(FOLDER.iterdir())
        if folder.is_dir()
    )


def _statements(file: Path) -> tuple[str, ...]:
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    return tuple(statement.strip() for statement in text.split(";") if statement.strip())


async def migrate(url: str) -> list[str]:
    """Apply the pending migrations, grant each role its privileges, and return the names of the applied migrations.

    `url` is the owner's. Concurrent calls wait for each other.
    """
    done: list[str] = []
    with translate_errors():
        connection = await _connect(url)
        try:
            for attempt in range(_MAX_ATTEMPTS):
                await _lock(connection)
                try:
                    await _migrate(connection, done)
                    break
                except asyncpg.DeadlockDetectedError:
                    if attempt == _MAX_ATTEMPTS - 1:
                        raise
                    # A program of the version before waits for the lock in one statement, whose end an index that is built waits for.
                    logger.warning("another process waits for the migrations: it goes first")
                    await connection.execute("select pg_advisory_unlock($1)", ADVISORY_LOCK_KEY)
        finally:
            await connection.close()  # releases the lock
    return done


async def pending_migrations(url: str) -> list[str]:
    """Return the names of the migrations not applied yet, in order; requires only SELECT.

    Raises MigrationError when the schema is newer than this program may use.
    """
    with translate_errors():
        connection = await _connect(url)
        try:
            if await connection.fetchval(_MAY_NOT_READ):
                await act_as_app(connection)
            applied = await _applied(connection)
            await _reject_newer(connection, applied)
        finally:
            await connection.close()
    return [migration.name for migration in disk_migrations() if migration.name not in applied]


async def _connect(url: str) -> asyncpg.Connection:
    connection = await asyncpg.connect(url, timeout=30, server_settings={"application_name": "vitrine migrate"})
    if connection.get_server_version().major < MIN_POSTGRESQL_VERSION:
        await connection.close()
        raise MigrationError(f"PostgreSQL {MIN_POSTGRESQL_VERSION} or newer is needed")
    if await connection.fetchval("show server_encoding") != "UTF8":
        await connection.close()
        raise MigrationError("the database's encoding must be UTF8")
    return connection


async def _lock(connection: asyncpg.Connection) -> None:
    """Wait for other runs, by asking: an index that is built concurrently would wait for a statement that waits for its migration."""
    while True:
        if await connection.fetchval("select pg_try_advisory_lock($1)", ADVISORY_LOCK_KEY):
            return
        await asyncio.sleep(_LOCK_POLL_SECONDS)


async def _migrate(connection: asyncpg.Connection, done: list[str]) -> None:
    """Apply what is pending, and add the names to `done`."""
    # Created by Tortoise's migrations in versions before 0.2.0, hence the name and the columns.
    await connection.execute("""
        create table if not exists tortoise_migrations (
            id integer generated by default as identity primary key,
            app varchar(255) not null,
            name varchar(255) not null,
            applied_at timestamptz not null,
            unique (app, name)
        )""")
    applied = await _applied(connection)
    if await _reject_newer(connection, applied):
        return  # the newer version's privileges stay
    if await ensure_roles(connection):
        await ensure_roles(connection, (BACKUP_ROLE,))
    roles = await find_roles(connection)
    await connection.execute(
        "comment on table tortoise_migrations is"
        f" 'programs since {LAST_OF_PREVIOUS_RELEASE} may use tables up to {disk_migrations()[-1].name}'"
    )
    for migration in disk_migrations():
        if migration.name in applied:
            continue
        logger.info("migrating: %s", migration.name)
        for statement in migration.indexes:
            await _build_index(connection, statement)
        await _with_locks(connection, migration.name, partial(_apply, connection, migration, roles))
        done.append(migration.name)
    await _with_locks(connection, "granting privileges", partial(_grant, connection, roles))
    # Each in a transaction of its own, which needs the lock of one table: together they would wait for all that use any.
    for table, statements in (await policy_changes(connection, roles)).items():
        await _with_locks(connection, f"policies of {table}", partial(connection.execute, statements))


async def _build_index(connection: asyncpg.Connection, statement: str) -> None:
    """Build an index while others write to its table, which waits for transactions that are open; again what an interrupted run left."""
    match = _INDEX.fullmatch(statement)
    assert match is not None, statement
    is_valid = await connection.fetchval("select indisvalid from pg_index where indexrelid = to_regclass($1)", match[1])
    if is_valid is False:
        await connection.execute(f"DROP INDEX CONCURRENTLY {match[1]}")
    if not is_valid:
        await connection.execute(statement)


async def _apply(connection: asyncpg.Connection, migration: Migration, roles: RoleSet) -> None:
    """Apply a migration, with all that roles need for new tables, which triggers of tables in use may write to at once."""
    tables = await policy_changes(connection, roles)
    # A table can't be altered while deferred triggers (0022) wait for the end of the transaction that filled it.
    await connection.execute("set constraints all immediate")
    for statements in migration.statements:
        await connection.execute(statements)
    await connection.execute(
        "insert into tortoise_migrations (app, name, applied_at) values ($1, $2, now())", APP_LABEL, migration.name
    )
    await grant_privileges(connection, roles)
    for table, changes in (await policy_changes(connection, roles)).items():
        if table not in tables:
            await connection.execute(changes)


async def _grant(connection: asyncpg.Connection, roles: RoleSet) -> None:
    # Again, because the rules or the roles may have changed without a migration.
    await grant_privileges(connection, roles)
    await create_search_functions(connection, roles)


async def _with_locks(connection: asyncpg.Connection, name: str, change: Callable[[], Awaitable[None]]) -> None:
    """Run the change in a transaction, and again when it doesn't get a lock; raises MigrationError that names what holds it."""
    for attempt, pause in enumerate((*PAUSES, None)):
        timeout = LOCK_TIMEOUTS_MS[min(attempt // 4, len(LOCK_TIMEOUTS_MS) - 1)]
        try:
            async with connection.transaction():
                await connection.execute(f"set local lock_timeout = {timeout}")
                await change()
            return
        except _LOCKED_OUT as error:
            if pause is None:
                holder = await connection.fetchval(_OLDEST_TRANSACTION)
                raise MigrationError(
                    f"{name} did not get its locks in {len(PAUSES) + 1} attempts: {holder or error}"
                ) from error
            logger.warning("%s: a table is locked, trying again in %.1f s", name, pause)
            await asyncio.sleep(pause)


_OLDEST_TRANSACTION = """
    select format('the oldest transaction is open for %s s (process %s, %s)',
        extract(epoch from clock_timestamp() - xact_start)::int, pid, coalesce(nullif(application_name, ''), 'unnamed'))
    from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and xact_start is not null
    order by xact_start limit 1
"""


async def _reject_newer(connection: asyncpg.Connection, applied: set[str]) -> bool:
    """Return whether a newer version has migrated the tables, as far as this one may use them; raises MigrationError if not.

    The version before works on them during an upgrade, and when it is installed again (docs/upgrading.md).
    """
    known = {migration.name for migration in disk_migrations()}
    unknown = sorted(applied - known)
    if not unknown:
        return False
    comment = await connection.fetchval("select obj_description('tortoise_migrations'::regclass)")
    usable = re.fullmatch(r"programs since (\S+) may use tables up to (\S+)", comment or "")
    if usable is None or usable[1] not in known or unknown[-1] > usable[2]:
        raise MigrationError(
            f"the database is of a newer version, which applied {unknown[-1]}: start that version or a backup's (docs/upgrading.md)"
        )
    return True


async def _applied(connection: asyncpg.Connection) -> set[str]:
    if await connection.fetchval("select to_regclass('tortoise_migrations')") is None:
        return set()
    records = await connection.fetch("select name from tortoise_migrations where app = $1", APP_LABEL)
    return {record["name"] for record in records}
