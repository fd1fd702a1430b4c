"""The embedded PostgreSQL with real processes: normal use, shared, killed, damaged, foreign."""

import asyncio
import os
import shutil
import signal
import stat
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest

from server.embedded_postgres import EmbeddedPostgres, EmbeddedPostgresError
from tests.server.embedded import (
    FAST,
    READ,
    WRITE,
    OtherProcess,
    copy_used_folder,
    fresh_folder,
    postgres_processes,
    query,
    running_postgres,
)

pytestmark = pytest.mark.slow


@pytest.fixture
def folder() -> Iterator[Path]:
    with fresh_folder() as folder:
        yield folder


@pytest.fixture
def used_folder(folder: Path) -> Path:
    """Return a folder in which a server has run."""
    return copy_used_folder(folder)


# --- Ordinary life ---------------------------------------------------------------------------------------------------


async def test_the_first_start_creates_an_unprivileged_owner_and_a_database(folder: Path) -> None:
    with running_postgres(folder) as server:
        assert await query(server.url(), "SELECT current_user || ' ' || current_database()") == "vitrine_owner vitrine"
        role = "SELECT (rolsuper, rolcreaterole, rolbypassrls, rolcanlogin)::text FROM pg_roles WHERE rolname = current_user"
        assert await query(server.url(), role) == "(f,t,f,t)"
        assert await query(server.superuser_url(), "SELECT current_setting('is_superuser')") == "on"
        assert await query(server.url(), "SELECT lower('ÁÇÕ') || current_setting('server_encoding')") == "áçõUTF8"
        locale = "SELECT datlocprovider::text || datlocale FROM pg_database WHERE datname = 'vitrine'"
        assert await query(server.url(), locale) == "bC.UTF-8"


async def test_options_override_default_settings(used_folder: Path) -> None:
    postgres = EmbeddedPostgres(used_folder, options={"fsync": "off", "max_connections": "33"})
    server = postgres.start()
    try:
        for name, value in {"max_connections": "33", "shared_buffers": "256MB", "timezone": "UTC"}.items():
            assert await query(server.url(), f"SHOW {name}") == value
        assert await query(server.url(), "SHOW listen_addresses") == ""
    finally:
        postgres.stop()


async def test_stopping_shuts_the_server_down_and_keeps_the_data(used_folder: Path) -> None:
    with running_postgres(used_folder) as server:
        await query(server.url(), *WRITE)
    assert postgres_processes(used_folder) == []
    with running_postgres(used_folder) as server:
        assert await query(server.url(), READ) == 7


def test_the_socket_is_private(used_folder: Path) -> None:
    with running_postgres(used_folder) as server:
        assert stat.S_IMODE(server.socket_dir.stat().st_mode) == 0o700
        assert stat.S_IMODE((used_folder / "data").stat().st_mode) == 0o700


def test_start_and_stop_are_idempotent(used_folder: Path) -> None:
    postgres = EmbeddedPostgres(used_folder, options=FAST)
    first = postgres.start()
    pids = postgres_processes(used_folder)
    assert postgres.start() == first
    assert postgres_processes(used_folder) == pids
    postgres.stop()
    postgres.stop()
    assert postgres_processes(used_folder) == []


async def test_a_path_too_long_for_a_socket_works(folder: Path) -> None:
    deep = folder.parent / ("long, with a comma " * 8) / "postgres"
    with running_postgres(deep) as server, running_postgres(deep) as joined:
        assert len(str(server.socket_dir)) < 60
        assert stat.S_IMODE(server.socket_dir.stat().st_mode) == 0o700
        assert joined == server
        assert await query(joined.url(), "SELECT 1") == 1
    assert not server.socket_dir.exists()


def test_a_large_log_is_rotated(used_folder: Path) -> None:
    with (used_folder / "log").open("ab") as log:
        log.truncate(11 * 1024 * 1024)
    with running_postgres(used_folder):
        assert (used_folder / "log").stat().st_size < 100_000
        assert (used_folder / "log.1").stat().st_size > 10 * 1024 * 1024


# --- Several processes -----------------------------------------------------------------------------------------------


async def test_processes_share_one_server_and_the_last_one_stops_it(folder: Path) -> None:
    others = [OtherProcess(folder) for _ in range(3)]  # concurrently, on a folder that does not exist
    urls = {other.line() for other in others}
    assert len(urls) == 1
    assert len(postgres_processes(folder)) == 1
    with running_postgres(folder) as server:
        for other in others:
            other.release()
        assert await query(server.url(), "SELECT 1") == 1
    assert postgres_processes(folder) == []


async def test_the_server_of_a_killed_process_is_reused_and_then_stopped(used_folder: Path) -> None:
    other = OtherProcess(used_folder)
    await query(other.line(), *WRITE)
    other.kill()
    remaining = postgres_processes(used_folder)
    assert len(remaining) == 1
    with running_postgres(used_folder) as server:
        assert postgres_processes(used_folder) == remaining
        assert await query(server.superuser_url(), READ) == 7
    assert postgres_processes(used_folder) == []


@pytest.mark.parametrize("seconds", [0.2, 0.4])
async def test_a_process_killed_during_creation_leaves_no_partial_data(folder: Path, seconds: float) -> None:
    other = OtherProcess(folder)
    time.sleep(seconds)
    other.kill()
    with running_postgres(folder) as server:
        assert await query(server.url(), "SELECT current_user::text") == "vitrine_owner"
    await asyncio.sleep(0.5)  # the killed process's initdb may still be writing
    with running_postgres(folder):
        assert not list(folder.glob("new-*"))
    assert postgres_processes(folder) == []


async def test_a_killed_postgres_is_restarted_with_its_data(used_folder: Path) -> None:
    postgres = EmbeddedPostgres(used_folder, options=FAST)
    server = postgres.start()
    await query(server.url(), *WRITE)
    # An active session, which briefly outlives the postmaster.
    busy = await asyncpg.connect(server.url())
    work = busy.execute("SELECT count(*) FROM generate_series(1, 100000000)")
    running = asyncio.ensure_future(work)
    await asyncio.sleep(0.1)
    os.kill(postgres_processes(used_folder)[0], signal.SIGKILL)
    server = await asyncio.to_thread(postgres.start)
    assert await query(server.url(), READ) == 7
    with pytest.raises((asyncpg.PostgresError, OSError)):
        await running
    busy.terminate()
    postgres.stop()
    assert postgres_processes(used_folder) == []


async def test_a_reused_process_id_does_not_block_the_start(used_folder: Path) -> None:
    with subprocess.Popen(["sleep", "60"], user=(used_folder / "data").stat().st_uid) as sleeper:
        lines = [
            str(sleeper.pid),
            str(used_folder / "data"),
            "1",
            "5432",
            "/nowhere",
            "",
            "  1 1",
            "ready   ",
        ]
        (used_folder / "data" / "postmaster.pid").write_text("\n".join(lines) + "\n")
        with running_postgres(used_folder) as server:
            assert await query(server.url(), "SELECT 1") == 1
        assert sleeper.poll() is None
        sleeper.kill()


async def test_ctrl_c_does_not_reach_postgres(used_folder: Path) -> None:
    other = OtherProcess(used_folder, start_new_session=True)
    url = other.line()
    os.killpg(other.process.pid, signal.SIGINT)
    assert other.line() == "interrupted"
    assert await query(url, "SELECT 1") == 1
    other.release()
    assert postgres_processes(used_folder) == []


async def test_a_forked_child_does_not_stop_its_parents_server(used_folder: Path) -> None:
    forking = """
import os, sys
from pathlib import Path
from server.embedded_postgres import EmbeddedPostgres

postgres = EmbeddedPostgres(Path(sys.argv[1]), options={"fsync": "off", "shared_buffers": "16MB"})
url = postgres.start().superuser_url()
if os.fork() == 0:
    postgres.stop()
    os._exit(0)
os.wait()
print(url, flush=True)
sys.stdin.read()
postgres.stop()
"""
    other = OtherProcess(used_folder, program=forking)
    assert await query(other.line(), "SELECT 1") == 1
    other.release()
    assert postgres_processes(used_folder) == []


def test_deleting_the_folder_of_a_running_server_leaves_no_process(used_folder: Path) -> None:
    postgres = EmbeddedPostgres(used_folder, options=FAST)
    postgres.start()
    shutil.rmtree(used_folder)
    postgres.stop()
    assert postgres_processes(used_folder) == []


def test_a_deleted_socket_of_an_orphaned_server_is_recreated(used_folder: Path) -> None:
    other = OtherProcess(used_folder)
    other.line()
    other.kill()
    for socket_dir in used_folder.glob("vitrine-*"):
        shutil.rmtree(socket_dir)
    with running_postgres(used_folder) as server:
        assert list(server.socket_dir.iterdir())
    assert postgres_processes(used_folder) == []


# --- What is refused, in one line ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def damageable_folder() -> Iterator[Path]:
    """Return the folder of a server that has run; tests restore what they damage."""
    with fresh_folder() as folder:
        yield copy_used_folder(folder)


# The removed or replaced part, and the expected message.
SPOILED: dict[str, tuple[str, str | None, str]] = {
    "another version": ("PG_VERSION", "15\n", "created by PostgreSQL 15, and this is 18"),
    "no version": ("PG_VERSION", None, "broken: PG_VERSION is missing"),
    "no control file": ("global/pg_control", None, "broken: global/pg_control is missing"),
    "empty control file": ("global/pg_control", "", r"could not read file .*global/pg_control"),
    "no log of changes": ("pg_wal", None, "broken: pg_wal is missing"),
    "spoiled settings": ("postgresql.conf", "nonsense", "contains errors"),
    "not made by us": ("made_by_vitrine", None, "Vitrine did not create"),
}


@pytest.mark.parametrize("case", SPOILED)
def test_a_damaged_data_folder_is_reported_in_one_line(damageable_folder: Path, case: str) -> None:
    part, content, words = SPOILED[case]
    spoiled, aside = damageable_folder / "data" / part, damageable_folder / "aside"
    spoiled.rename(aside)
    if content is not None:
        spoiled.write_text(content)
        shutil.chown(spoiled, aside.stat().st_uid, aside.stat().st_gid)
    try:
        with pytest.raises(EmbeddedPostgresError, match=words) as error_line:
            EmbeddedPostgres(damageable_folder, options=FAST).start()
    finally:
        spoiled.unlink(missing_ok=True)
        aside.rename(spoiled)
    assert str(damageable_folder / "data") in str(error_line.value)
    assert "\n" not in str(error_line.value)
    assert postgres_processes(damageable_folder) == []


def test_a_foreign_folder_and_a_file_are_rejected(folder: Path) -> None:
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "letters.txt").write_text("dear")
    with pytest.raises(EmbeddedPostgresError, match="data is not a PostgreSQL data folder"):
        EmbeddedPostgres(folder).start()
    shutil.rmtree(folder / "data")
    (folder / "data").write_text("dear")
    with pytest.raises(EmbeddedPostgresError, match="data is a file"):
        EmbeddedPostgres(folder).start()
    shutil.rmtree(folder)
    folder.write_text("dear")
    with pytest.raises(EmbeddedPostgresError, match="postgres is a file"):
        EmbeddedPostgres(folder).start()


def test_a_failed_start_reports_the_reason(used_folder: Path) -> None:
    with pytest.raises(
        EmbeddedPostgresError, match=r"did not start: .*unrecognized configuration parameter"
    ) as error_line:
        EmbeddedPostgres(used_folder, options={"no_such_setting": "1"}).start()
    assert str(used_folder / "log") in str(error_line.value)


def test_the_mode_of_copied_data_is_corrected(used_folder: Path) -> None:
    (used_folder / "data").chmod(0o755)
    with running_postgres(used_folder):
        assert stat.S_IMODE((used_folder / "data").stat().st_mode) == 0o700
