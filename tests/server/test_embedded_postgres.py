"""The embedded PostgreSQL against real processes: ordinary life, shared, killed, broken, foreign."""

import asyncio
import os
import shutil
import signal
import stat
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import asyncpg
import pytest

from server.embedded_postgres import EmbeddedPostgres, EmbeddedPostgresError
from tests.server.embedded import (
    FAST,
    READ,
    WRITE,
    Other,
    ask,
    fresh_folder,
    postgres_processes,
    using,
)


@pytest.fixture
def folder() -> Iterator[Path]:
    with fresh_folder() as folder:
        yield folder


@pytest.fixture
def made(folder: Path) -> Path:
    """Give a folder in which a server has run."""
    with using(folder):
        pass
    return folder


# --- Ordinary life ---------------------------------------------------------------------------------------------------


async def test_the_first_start_makes_an_owner_without_power_and_a_database(folder: Path) -> None:
    with using(folder) as server:
        assert (
            await ask(server.url(), "SELECT current_user || ' ' || current_database()")
            == "vitrine_owner vitrine"
        )
        role = "SELECT (rolsuper, rolcreaterole, rolbypassrls, rolcanlogin)::text FROM pg_roles WHERE rolname = current_user"
        assert await ask(server.url(), role) == "(f,t,f,t)"
        assert await ask(server.superuser_url(), "SELECT current_setting('is_superuser')") == "on"
        assert (
            await ask(server.url(), "SELECT lower('ÁÇÕ') || current_setting('server_encoding')") == "áçõUTF8"
        )
        locale = "SELECT datlocprovider::text || datlocale FROM pg_database WHERE datname = 'vitrine'"
        assert await ask(server.url(), locale) == "bC.UTF-8"


async def test_settings_have_defaults_that_options_change(folder: Path) -> None:
    postgres = EmbeddedPostgres(folder, options={"fsync": "off", "max_connections": "33"})
    server = postgres.start()
    try:
        for name, value in {"max_connections": "33", "shared_buffers": "256MB", "timezone": "UTC"}.items():
            assert await ask(server.url(), f"SHOW {name}") == value
        assert await ask(server.url(), "SHOW listen_addresses") == ""
    finally:
        postgres.stop()


async def test_stopping_ends_the_server_and_keeps_the_data(folder: Path) -> None:
    with using(folder) as server:
        await ask(server.url(), *WRITE)
    assert postgres_processes(folder) == []
    with using(folder) as server:
        assert await ask(server.url(), READ) == 7


def test_the_socket_is_for_its_owner_alone(folder: Path) -> None:
    with using(folder) as server:
        assert stat.S_IMODE(server.socket_dir.stat().st_mode) == 0o700
        assert stat.S_IMODE((folder / "data").stat().st_mode) == 0o700


def test_starting_again_returns_the_same_server_and_stopping_again_does_nothing(folder: Path) -> None:
    postgres = EmbeddedPostgres(folder, options=FAST)
    first = postgres.start()
    pids = postgres_processes(folder)
    assert postgres.start() == first
    assert postgres_processes(folder) == pids
    postgres.stop()
    postgres.stop()
    assert postgres_processes(folder) == []


async def test_a_path_too_long_for_a_socket_is_no_obstacle(folder: Path) -> None:
    deep = folder.parent / ("long, with a comma " * 8) / "postgres"
    with using(deep) as server, using(deep) as joined:
        assert len(str(server.socket_dir)) < 60
        assert stat.S_IMODE(server.socket_dir.stat().st_mode) == 0o700
        assert joined == server
        assert await ask(joined.url(), "SELECT 1") == 1
    assert not server.socket_dir.exists()


def test_a_log_that_has_grown_large_is_set_aside(made: Path) -> None:
    with (made / "log").open("ab") as log:
        log.truncate(11 * 1024 * 1024)
    with using(made):
        assert (made / "log").stat().st_size < 100_000
        assert (made / "log.1").stat().st_size > 10 * 1024 * 1024


# --- Several processes -----------------------------------------------------------------------------------------------


async def test_processes_share_one_server_and_the_last_one_stops_it(folder: Path) -> None:
    others = [Other(folder) for _ in range(3)]  # all at once, on a folder that does not exist
    urls = {other.line() for other in others}
    assert len(urls) == 1
    assert len(postgres_processes(folder)) == 1
    with using(folder) as server:
        for other in others:
            other.let_go()
        assert await ask(server.url(), "SELECT 1") == 1
    assert postgres_processes(folder) == []


async def test_the_server_of_a_killed_process_is_reused_and_then_stopped(folder: Path) -> None:
    other = Other(folder)
    await ask(other.line(), *WRITE)
    other.kill()
    left = postgres_processes(folder)
    assert len(left) == 1
    with using(folder) as server:
        assert postgres_processes(folder) == left
        assert await ask(server.superuser_url(), READ) == 7
    assert postgres_processes(folder) == []


@pytest.mark.parametrize("seconds", [0.2, 0.4])
async def test_a_process_killed_while_it_makes_the_data_leaves_no_half(folder: Path, seconds: float) -> None:
    other = Other(folder)
    time.sleep(seconds)
    other.kill()
    with using(folder) as server:
        assert await ask(server.url(), "SELECT current_user::text") == "vitrine_owner"
    await asyncio.sleep(0.5)  # the killed one's initdb may have gone on writing for a moment
    with using(folder):
        assert not list(folder.glob("new-*"))
    assert postgres_processes(folder) == []


async def test_a_killed_postgres_is_brought_back_with_its_data(folder: Path) -> None:
    postgres = EmbeddedPostgres(folder, options=FAST)
    server = postgres.start()
    await ask(server.url(), *WRITE)
    # A session in the middle of something, which outlives the postmaster by a moment.
    busy = await asyncpg.connect(server.url())
    work = busy.execute("SELECT count(*) FROM generate_series(1, 100000000)")
    running = asyncio.ensure_future(work)
    await asyncio.sleep(0.1)
    os.kill(postgres_processes(folder)[0], signal.SIGKILL)
    server = await asyncio.to_thread(postgres.start)
    assert await ask(server.url(), READ) == 7
    with pytest.raises((asyncpg.PostgresError, OSError)):
        await running
    busy.terminate()
    postgres.stop()
    assert postgres_processes(folder) == []


async def test_a_process_that_got_the_old_servers_id_is_no_obstacle(made: Path) -> None:
    with subprocess.Popen(["sleep", "60"], user=(made / "data").stat().st_uid) as sleeper:
        lines = [str(sleeper.pid), str(made / "data"), "1", "5432", "/nowhere", "", "  1 1", "ready   "]
        (made / "data" / "postmaster.pid").write_text("\n".join(lines) + "\n")
        with using(made) as server:
            assert await ask(server.url(), "SELECT 1") == 1
        assert sleeper.poll() is None
        sleeper.kill()


async def test_ctrl_c_reaches_the_program_and_not_postgres(folder: Path) -> None:
    other = Other(folder, start_new_session=True)
    url = other.line()
    os.killpg(other.process.pid, signal.SIGINT)
    assert other.line() == "interrupted"
    assert await ask(url, "SELECT 1") == 1
    other.let_go()
    assert postgres_processes(folder) == []


async def test_a_forked_child_does_not_stop_the_server_of_its_parent(folder: Path) -> None:
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
    other = Other(folder, program=forking)
    assert await ask(other.line(), "SELECT 1") == 1
    other.let_go()
    assert postgres_processes(folder) == []


def test_a_folder_deleted_under_the_server_leaves_no_process(folder: Path) -> None:
    postgres = EmbeddedPostgres(folder, options=FAST)
    postgres.start()
    shutil.rmtree(folder)
    postgres.stop()
    assert postgres_processes(folder) == []


def test_a_socket_deleted_under_the_server_of_a_killed_process_is_made_again(folder: Path) -> None:
    other = Other(folder)
    other.line()
    other.kill()
    for place in folder.glob("vitrine-*"):
        shutil.rmtree(place)
    with using(folder) as server:
        assert list(server.socket_dir.iterdir())
    assert postgres_processes(folder) == []


# --- What is refused, in one line ------------------------------------------------------------------------------------


def empty(path: Path) -> None:
    path.write_bytes(b"")


SPOILED: dict[str, tuple[Callable[[Path], object], str]] = {
    "another version": (
        lambda data: (data / "PG_VERSION").write_text("15\n"),
        "made by PostgreSQL 15, and this is 18",
    ),
    "no version": (lambda data: (data / "PG_VERSION").unlink(), "broken: PG_VERSION is missing"),
    "no control file": (
        lambda data: (data / "global/pg_control").unlink(),
        "broken: global/pg_control is missing",
    ),
    "empty control file": (
        lambda data: empty(data / "global/pg_control"),
        "could not read file .*global/pg_control",
    ),
    "no log of changes": (lambda data: shutil.rmtree(data / "pg_wal"), "broken: pg_wal is missing"),
    "spoiled settings": (lambda data: (data / "postgresql.conf").write_text("nonsense"), "contains errors"),
    "not made by us": (lambda data: (data / "made_by_vitrine").unlink(), "Vitrine did not make"),
}


@pytest.mark.parametrize("case", SPOILED)
def test_a_spoiled_data_folder_gets_one_line_that_names_it(made: Path, case: str) -> None:
    spoil, words = SPOILED[case]
    spoil(made / "data")
    with pytest.raises(EmbeddedPostgresError, match=words) as refusal:
        EmbeddedPostgres(made, options=FAST).start()
    assert str(made / "data") in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert postgres_processes(made) == []


def test_a_folder_of_other_things_and_a_file_are_refused(folder: Path) -> None:
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


def test_a_server_that_does_not_start_says_why(made: Path) -> None:
    with pytest.raises(
        EmbeddedPostgresError, match=r"did not start: .*unrecognized configuration parameter"
    ) as refusal:
        EmbeddedPostgres(made, options={"no_such_setting": "1"}).start()
    assert str(made / "log") in str(refusal.value)


def test_data_copied_under_a_loose_umask_is_tightened(made: Path) -> None:
    (made / "data").chmod(0o755)
    with using(made):
        assert stat.S_IMODE((made / "data").stat().st_mode) == 0o700
