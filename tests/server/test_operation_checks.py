"""Each check of `vitrine doctor` about the operation of the database fails when there is a reason."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import pytest

from domain.jobs import JOBS
from kernel.clock import now
from kernel.settings import Settings
from server.embedded_postgres import EmbeddedServer
from server.operations import operation_checks, storage_checks
from server.operations.check_results import CheckResult, Severity

DEVELOPMENT = Settings()
PRODUCTION = Settings(env="production", secret_key="s" * 40)


@pytest.fixture
async def connection(migrated_database_url: str) -> AsyncIterator[asyncpg.Connection]:
    """Yield a connection of the owner of a migrated database."""
    connection = await asyncpg.connect(migrated_database_url)
    yield connection
    await connection.close()


@pytest.fixture
async def other(migrated_database_url: str, connection: asyncpg.Connection) -> AsyncIterator[asyncpg.Connection]:
    """Yield another session of the same database."""
    other = await asyncpg.connect(migrated_database_url)
    yield other
    await other.close()


def level_and_text(result: CheckResult) -> tuple[Severity, str]:
    return result.level, result.text


async def test_every_check_passes_on_a_new_database(connection: asyncpg.Connection):
    results = [result async for result in operation_checks.check_operation(connection, DEVELOPMENT)]
    assert [result.check for result in results] == [
        "clock", "locks", "vacuum", "disk", "archive", "backup", "retention",
    ]  # fmt: skip
    assert {result.level for result in results} == {Severity.OK}


async def test_a_clock_that_differs(connection: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(operation_checks, "now", lambda: now() + timedelta(seconds=90))
    level, text = level_and_text(await operation_checks.check_clock(connection))
    assert level is Severity.WARN
    assert text.startswith("differs from the database's by ")


async def test_a_replica_that_is_none_or_does_not_answer(connection: asyncpg.Connection, migrated_database_url: str):
    level, text = level_and_text(await operation_checks.check_replica(connection, "replica 1", migrated_database_url))
    assert (level, text.split(":")[0]) == (Severity.FAIL, "is not a replica")
    url = "postgresql://nobody@127.0.0.1:1/nothing"
    level, text = level_and_text(await operation_checks.check_replica(connection, "replica 1", url))
    assert (level, text.split(":")[0]) == (Severity.FAIL, "can't be read")


async def test_a_session_that_others_wait_for(
    connection: asyncpg.Connection,
    other: asyncpg.Connection,
    migrated_database_url: str,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(operation_checks, "MAX_WAIT", timedelta())
    third = await asyncpg.connect(migrated_database_url)
    await other.execute("begin; lock table products")
    waiting = asyncio.create_task(third.execute("select from products"))
    try:
        async with asyncio.timeout(20):
            while (result := await operation_checks.check_locks(connection)).level is Severity.OK:
                await asyncio.sleep(0.02)
        assert level_and_text(result) == (
            Severity.FAIL,
            f"sessions wait for more than 0 seconds for the processes {other.get_server_pid()} of PostgreSQL",
        )
    finally:
        await other.execute("rollback")
        await waiting
        await third.close()
    assert (await operation_checks.check_locks(connection)).level is Severity.OK


async def test_a_transaction_that_is_open_for_long(
    connection: asyncpg.Connection, other: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
):
    await other.execute("begin; select from products")
    assert (await operation_checks.check_locks(connection)).level is Severity.OK
    monkeypatch.setattr(operation_checks, "MAX_TRANSACTION", timedelta())
    level, text = level_and_text(await operation_checks.check_locks(connection))
    assert level is Severity.WARN
    assert text.endswith(f"processes {other.get_server_pid()}")


async def test_a_table_with_more_dead_rows_than_autovacuum_should_leave(
    connection: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(operation_checks, "DEAD_ROWS", 50)
    await connection.execute("create table many (n int) with (autovacuum_enabled = off)")
    await connection.execute("insert into many select generate_series(1, 100)")
    await connection.execute("delete from many where n > 10")
    await connection.execute("select pg_stat_force_next_flush()")
    level, text = level_and_text(await operation_checks.check_dead_rows(connection))
    assert level is Severity.WARN
    assert text.startswith("autovacuum doesn't keep up with many: ")
    monkeypatch.setattr(operation_checks, "MAX_TRANSACTION_AGE", 0)
    assert (await operation_checks.check_dead_rows(connection)).level is Severity.FAIL


async def test_free_space_of_the_data_is_reported_where_the_folder_is_known(
    connection: asyncpg.Connection,
    migrated_database_url: str,
    postgres: EmbeddedServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    level, text = level_and_text(await storage_checks.check_disk(connection))
    assert level is Severity.OK
    assert text.endswith("vitrine_owner may not see where the data is; GRANT pg_read_all_settings TO vitrine_owner")
    superuser = await asyncpg.connect(postgres.superuser_url(urlsplit(migrated_database_url).path.removeprefix("/")))
    try:
        folder = await superuser.fetchval("show data_directory")
        for least, most, expected in ((0, 0, Severity.OK), (0, 2**62, Severity.WARN), (2**62, 2**62, Severity.FAIL)):
            monkeypatch.setattr(storage_checks, "MIN_FREE_BYTES", least)
            monkeypatch.setattr(storage_checks, "LOW_FREE_BYTES", most)
            for result, place in (
                (await storage_checks.check_disk(superuser), folder),
                (await storage_checks.check_disk(connection, tmp_path), tmp_path),
            ):
                assert result.level is expected, (least, most, place)
                assert f" MiB are free for PostgreSQL's data in {place}" in result.text, (least, most)
    finally:
        await superuser.close()
    level, text = level_and_text(await storage_checks.check_disk(connection, tmp_path / "missing"))
    assert (level, text) == (Severity.OK, f"free space of {tmp_path}/missing is not known: No such file or directory")


async def test_a_backup_that_is_old_or_missing(connection: asyncpg.Connection):
    assert (await operation_checks.check_backup(connection, PRODUCTION)).level is Severity.WARN
    record = "insert into job_runs (name, due_at, started_at) values ('backup', now(), now() - $1::interval)"
    await connection.execute(record, timedelta(hours=3))
    result = await operation_checks.check_backup(connection, PRODUCTION)
    assert level_and_text(result) == (Severity.OK, "the last one is 3 hours old")
    await connection.execute("update job_runs set started_at = now() - interval '3 days'")
    result = await operation_checks.check_backup(connection, DEVELOPMENT)
    assert level_and_text(result) == (Severity.WARN, "the last one is 72 hours old")


async def test_jobs_that_never_end_or_are_not_run(connection: asyncpg.Connection):
    job = JOBS[-1]
    await connection.execute(
        "insert into job_runs (name, due_at, started_at) values ($1, now() + interval '1 minute', now() - interval '7 hours')",
        job.name,
    )
    result = await operation_checks.check_pruning(connection)
    assert level_and_text(result) == (Severity.WARN, f"running for more than 6 hours: {job.name}")
    await connection.execute("update job_runs set finished_at = started_at, due_at = now() - interval '6 hours'")
    result = await operation_checks.check_pruning(connection)
    assert level_and_text(result) == (
        Severity.WARN,
        f"not run for 3 times its interval: {job.name}; run vitrine worker",
    )
    await connection.execute("update job_runs set started_at = now(), finished_at = now()")
    assert (await operation_checks.check_pruning(connection)).level is Severity.OK
