"""Recovery to a point in time, with PostgreSQL's base backup and WAL archive, as docs/deploy.md describes it."""

from __future__ import annotations

import asyncio
import re
import subprocess
from pathlib import Path

import asyncpg
import pytest

from server.embedded_postgres import EmbeddedPostgres, EmbeddedServer, layout
from server.embedded_postgres.data_folder import environment
from server.operations import storage_checks
from server.operations.check_results import Severity
from server.operations.storage_checks import check_archive
from tests.server.command_line import Vitrine
from tests.server.embedded import FAST, fresh_folder

pytestmark = pytest.mark.slow

ARCHIVE_SECONDS = 60


@pytest.fixture
def folder():
    with fresh_folder() as path:
        yield path.parent


@pytest.fixture
def archive(folder: Path) -> Path:
    """Return the folder of archived WAL, which the account of PostgreSQL may write."""
    path = folder / "archive"
    path.mkdir()
    path.chmod(0o777)
    folder.chmod(0o755)
    return path


async def test_a_deleted_store_is_back_as_it_was_before_the_mistake(folder: Path, archive: Path, tmp_path: Path):
    archiving = {"archive_mode": "on", "archive_command": f"cp %p {archive}/%f", **FAST}
    postgres = EmbeddedPostgres(folder / "postgres", options=archiving)
    server = await asyncio.to_thread(postgres.start)
    try:
        vitrine = Vitrine(tmp_path, DATABASE_URL=server.url())
        vitrine("migrate")
        first = vitrine("tenant", "create", "Antes da cópia", "--json").json
        take_base_backup(server, folder / "base")
        second = vitrine("tenant", "create", "Depois da cópia", "--json").json
        before = await moment(server)
        vitrine("tenant", "suspend", first["tenant_id"])
        await archive_all(server, archive)
    finally:
        await asyncio.to_thread(postgres.stop)
    recover(folder / "base", archive, before)
    (folder / "recovered").mkdir()
    (folder / "base").rename(folder / "recovered" / "data")
    recovered = EmbeddedPostgres(folder / "recovered", options=FAST)
    server = await asyncio.to_thread(recovered.start)
    try:
        stores = Vitrine(tmp_path, DATABASE_URL=server.url())("tenant", "list", "--json").json
        assert {store["tenant_id"]: store["status"] for store in stores} == {
            first["tenant_id"]: "A",
            second["tenant_id"]: "A",
        }
        assert Vitrine(tmp_path, DATABASE_URL=server.url())("tenant", "create", "Depois da volta").code == 0
    finally:
        await asyncio.to_thread(recovered.stop)


async def test_doctor_reports_when_a_segment_was_archived_or_failed_to_be(
    folder: Path, archive: Path, monkeypatch: pytest.MonkeyPatch
):
    refusal = archive / "refuse"
    archiving = {"archive_mode": "on", "archive_command": f"test ! -e {refusal} && cp %p {archive}/%f", **FAST}
    postgres = EmbeddedPostgres(folder / "postgres", options=archiving)
    server = await asyncio.to_thread(postgres.start)
    connection = await asyncpg.connect(server.url())
    try:
        first = await check_archive(connection)
        assert (first.level, first.text) == (Severity.OK, "no segment was archived yet")
        await connection.execute("create table something (n int)")
        await archive_all(server, archive)
        async with asyncio.timeout(ARCHIVE_SECONDS):
            while (archived := await check_archive(connection)) == first:
                await asyncio.sleep(0.1)
        assert archived.level is Severity.OK
        assert re.fullmatch(
            r"the last segment was archived \d+ seconds ago, [\d.]+ MiB are not archived", archived.text
        )
        with monkeypatch.context() as limits:
            limits.setattr(storage_checks, "MAX_UNARCHIVED_BYTES", -1)
            assert (await check_archive(connection)).level is Severity.WARN
        refusal.touch()
        await connection.execute("insert into something values (1)")
        await (superuser := await asyncpg.connect(server.superuser_url())).execute("select pg_switch_wal()")
        await superuser.close()
        async with asyncio.timeout(ARCHIVE_SECONDS):
            while (failed := await check_archive(connection)).level is not Severity.FAIL:
                await asyncio.sleep(0.1)
        assert re.fullmatch(
            r"archive_command failed for [0-9A-F]{24} \d+ seconds ago; the last segment was archived \d+ seconds ago",
            failed.text,
        )
    finally:
        await connection.close()
        await asyncio.to_thread(postgres.stop)


def take_base_backup(server: EmbeddedServer, target: Path) -> None:
    subprocess.run(
        [layout.wheel_programs() / "pg_basebackup", f"--dbname={server.superuser_url()}", f"--pgdata={target}",
         "--checkpoint=fast"],
        env=environment(), check=True, capture_output=True,
    )  # fmt: skip


async def moment(server: EmbeddedServer) -> str:
    """Return the time between the transactions before and after."""
    connection = await asyncpg.connect(server.url())
    try:
        time: str = await connection.fetchval("select clock_timestamp()::text")
        await asyncio.sleep(0.1)
    finally:
        await connection.close()
    return time


async def archive_all(server: EmbeddedServer, archive: Path) -> None:
    """Begin a new WAL segment and wait until the last one is in the archive."""
    connection = await asyncpg.connect(server.superuser_url())
    try:
        last = await connection.fetchval("select pg_walfile_name(pg_switch_wal())")
        async with asyncio.timeout(ARCHIVE_SECONDS):
            while not (archive / last).exists():
                await asyncio.sleep(0.1)
    finally:
        await connection.close()


def recover(base: Path, archive: Path, time: str) -> None:
    """Let the server that starts from a base backup apply the archived WAL up to a time, and serve from there."""
    with (base / "postgresql.auto.conf").open("a") as settings:
        settings.write(
            f"restore_command = 'cp {archive}/%f %p'\nrecovery_target_time = '{time}'\nrecovery_target_action = 'promote'\n"
        )
    (base / "recovery.signal").touch()
