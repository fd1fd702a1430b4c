"""Each migration is applied while the previous version's statements run, and these go on as before, during it and afterwards."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import asyncpg
import pytest

from models import migrate as migrations
from models.migrate import LAST_OF_PREVIOUS_RELEASE, MigrationError, disk_migrations, migrate
from server.embedded_postgres import EmbeddedServer
from server.embedded_postgres.data_folder import OWNER
from tests.harness.cloning import copy_store
from tests.harness.database import TEMPLATE, new_database
from tests.harness.releases import migrations_of, released_commit
from tests.harness.reverting import revert
from tests.harness.sample_store import NewSampleStore

pytestmark = pytest.mark.slow

NAMES = [migration.name for migration in disk_migrations()]
STORE = 7
# What the previous version repeats by itself (models/connection/transactions.py), and what it answers with "try again".
RETRIED = {"40P01", "40001", "55P03"}
# Seen once in several runs of all migrations at once: a trigger's `INSERT … SELECT (entry).*` that was planned between the columns of
# search_entries and their function (0031 to 0033), which are released and stay as they are. One statement, not what comes after it.
PLANNED_BETWEEN = {"42601"}

# The role that inserts into the table: requests', or the platform's.
COLUMNS = """
SELECT c.relname AS table,
    CASE WHEN has_table_privilege('vitrine_app', c.oid, 'INSERT') THEN 'vitrine_app' ELSE 'vitrine_worker' END AS role,
    array_agg(quote_ident(a.attname) ORDER BY a.attnum) AS columns
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND c.relname <> 'tortoise_migrations'
GROUP BY c.oid ORDER BY c.relname
"""


@dataclass(frozen=True)
class Statement:
    """A statement of the previous version, which names each column it knows, in the role that runs it."""

    sql: str
    role: str

    async def outcome(self, connection: asyncpg.Connection) -> str:
        """Run it in a transaction that is rolled back; return the SQLSTATE of its error, or "" when it succeeds."""
        try:
            # One message in place of four, with the deferred triggers and constraints.
            await connection.execute(
                f"BEGIN; SET LOCAL ROLE {self.role}; {self.sql}; SET CONSTRAINTS ALL IMMEDIATE; ROLLBACK"
            )
        except asyncpg.PostgresError as error:
            await connection.execute("ROLLBACK")
            return str(error.sqlstate)
        return ""


def statements_of(table: str, role: str, columns: list[str]) -> list[Statement]:
    """Return statements that read, change and insert rows with all columns of the table."""
    changed = [column for column in columns if column not in ("id", "tenant_id")]
    inserted = {
        column: "gen_random_uuid()" if column == "public_id" else column for column in columns if column != "id"
    }
    # Always the same row, whatever a migration lets the planner know of the table.
    order = " ORDER BY id DESC" if "id" in columns else ""
    texts = (
        f"SELECT {', '.join(columns)} FROM {table} ORDER BY 1 LIMIT 20",
        f"UPDATE {table} SET {', '.join(f'{column} = {column}' for column in changed)}",
        f"INSERT INTO {table} ({', '.join(inserted)}) SELECT {', '.join(inserted.values())} FROM {table}{order} LIMIT 1",
    )
    return [Statement(text, role) for text in texts]


@pytest.fixture(scope="session")
async def filled_template(postgres: EmbeddedServer, database_name: str, new_sample: NewSampleStore) -> str:
    """Return the name of a migrated database, to be copied, that contains one store with sample data."""
    sample = await new_sample()
    name = f"filled_{uuid4().hex}"
    async with superuser(postgres) as connection:
        await connection.execute(f"create database {name} owner {OWNER} template {TEMPLATE} strategy file_copy")
    await copy_store(sample.store, postgres.superuser_url(database_name), postgres.superuser_url(name), STORE)
    return name


@asynccontextmanager
async def superuser(postgres: EmbeddedServer, name: str | None = None) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(postgres.superuser_url(*([name] if name else [])))
    await connection.execute(f"SELECT set_config('vitrine.tenant', '{STORE}', false)")
    try:
        yield connection
    finally:
        await connection.close()


@pytest.fixture(scope="module")
async def previous(postgres: EmbeddedServer, filled_template: str) -> AsyncIterator[Callable[[str], Awaitable[str]]]:
    """Return a function that returns the name of a filled database of the version before a migration, to be copied.

    It is reverted further from call to call, so that a newer migration should come first.
    """
    async with AsyncExitStack() as databases:
        template, applied = "", list[str]()

        async def revert_before(name: str) -> str:
            nonlocal template, applied
            if name not in applied and NAMES[len(applied)] != name:
                template, applied = (
                    await databases.enter_async_context(new_database(postgres, filled_template)),
                    [*NAMES],
                )
            while name in applied:
                await revert(postgres.url(template), applied.pop())
            return template

        yield revert_before


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrations, "LOCK_TIMEOUTS_MS", (50, 100, 200))
    monkeypatch.setattr(migrations, "PAUSES", (*[0.05] * 8, 0.1, 0.2, 0.4, 0.8, *[1.6] * 12))


class Load:
    """The statements of the previous version, repeated on several connections; `differences` are outcomes that changed."""

    def __init__(self, statements: list[Statement], expected: list[str]) -> None:
        self._expected = dict(zip(statements, expected, strict=True))
        self._stopped = asyncio.Event()
        self.differences: set[tuple[str, str, str]] = set()
        self.rounds = 0

    @asynccontextmanager
    async def running(self, connect: Callable[[], Any], connections: int = 2) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(self._repeat(connect)) for _ in range(connections)]
        try:
            yield
        finally:
            self._stopped.set()
            await asyncio.gather(*tasks)

    async def _repeat(self, connect: Callable[[], Any]) -> None:
        async with connect() as connection:
            while not self._stopped.is_set():
                await self.check(connection)

    async def check(self, connection: asyncpg.Connection) -> None:
        """Run every statement once and compare its outcome with the expected one."""
        for statement, expected in self._expected.items():
            outcome = await statement.outcome(connection)
            if outcome != expected and outcome not in RETRIED:
                if outcome in PLANNED_BETWEEN:
                    outcome = await statement.outcome(connection)
                if outcome != expected:
                    self.differences.add((statement.sql, expected, outcome))
        self.rounds += 1


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("name", NAMES[:0:-1])
async def test_a_migration_runs_during_the_statements_of_the_previous_version(
    name: str, previous: Callable[[str], Awaitable[str]], postgres: EmbeddedServer
):
    async with new_database(postgres, await previous(name)) as filled:
        await _check_migrations([name], filled, postgres)


@pytest.mark.usefixtures("impatient")
async def test_all_migrations_since_the_previous_release_run_during_its_statements(
    previous: Callable[[str], Awaitable[str]], postgres: EmbeddedServer
):
    released = NAMES.index(LAST_OF_PREVIOUS_RELEASE)
    async with new_database(postgres, await previous(NAMES[released + 1])) as filled:
        await _check_migrations(NAMES[released + 1 :], filled, postgres)


def test_the_last_migration_of_the_previous_release_is_known():
    commit = released_commit()
    if commit is None:
        pytest.skip("the previous release is not in the history of this checkout: git fetch --unshallow")
    assert max(migrations_of(commit)) == LAST_OF_PREVIOUS_RELEASE


async def _check_migrations(names: list[str], filled: str, postgres: EmbeddedServer) -> None:
    url = postgres.url(filled)
    pending = await migrations.pending_migrations(url)
    assert pending[: len(names)] == names
    async with superuser(postgres, filled) as connection:
        tables = await connection.fetch(COLUMNS)
        statements = [statement for table in tables for statement in statements_of(*table)]
        load = Load(statements, [await statement.outcome(connection) for statement in statements])
        async with load.running(lambda: superuser(postgres, filled)):
            await asyncio.gather(_block(postgres, filled, tables), _apply_without(url, pending[len(names) :]))
        assert await migrations.pending_migrations(url) == pending[len(names) :]
        await load.check(connection)
    assert load.differences == set()


async def _block(postgres: EmbeddedServer, database: str, tables: list[asyncpg.Record]) -> None:
    """Read every table in one transaction that stays open for longer than a migration waits."""
    async with superuser(postgres, database) as connection, connection.transaction():
        names = ", ".join(table["table"] for table in tables)
        await connection.execute(f"LOCK TABLE {names} IN ACCESS SHARE MODE")
        await asyncio.sleep(0.3)


async def _apply_without(url: str, later: list[str]) -> None:
    """Apply pending migrations, except later ones."""
    selected = tuple(each for each in disk_migrations() if each.name not in later)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(migrations, "disk_migrations", lambda: selected)
        await migrate(url)


# --- locks -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def altering(monkeypatch: pytest.MonkeyPatch) -> None:
    """Add a migration that needs the exclusive lock of a table."""
    added = migrations.Migration("9999_altering", ("alter table products add column x int",))
    monkeypatch.setattr(migrations, "disk_migrations", lambda: (*disk_migrations(), added))


@asynccontextmanager
async def reading(url: str) -> AsyncIterator[asyncpg.Connection]:
    """Keep a transaction open that has read the products."""
    connection = await asyncpg.connect(url, server_settings={"application_name": "report"})
    try:
        await connection.execute("begin; select from products")
        yield connection
    finally:
        await connection.close()


@pytest.mark.usefixtures("impatient")
async def test_a_migration_waits_for_a_long_transaction_and_lets_other_statements_pass(
    migrated_database_url: str, request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture
):
    request.getfixturevalue("altering")
    other = await asyncpg.connect(migrated_database_url)
    try:
        async with reading(migrated_database_url) as reader:
            with caplog.at_level(logging.WARNING):
                migrating = asyncio.create_task(migrate(migrated_database_url))
                await _until(lambda: _is_repeating(caplog))
            await other.execute("select from products")  # not queued behind the migration for good
            assert not migrating.done()
            await reader.execute("commit")
            assert await migrating == ["9999_altering"]
    finally:
        await other.close()


async def test_a_migration_that_never_gets_its_lock_names_the_transaction_that_holds_it(
    migrated_database_url: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
):
    request.getfixturevalue("altering")
    monkeypatch.setattr(migrations, "LOCK_TIMEOUTS_MS", (20,))
    monkeypatch.setattr(migrations, "PAUSES", (0.01, 0.02))
    async with reading(migrated_database_url):
        with pytest.raises(MigrationError, match=r"9999_altering did not get its locks in 3 attempts: .* report\)$"):
            await migrate(migrated_database_url)
    assert await migrate(migrated_database_url) == ["9999_altering"]


async def _is_repeating(caplog: pytest.LogCaptureFixture) -> bool:
    return sum("a table is locked" in record.message for record in caplog.records) >= 2


async def _until(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(30):
        while not await condition():
            await asyncio.sleep(0.01)
