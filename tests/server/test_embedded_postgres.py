"""The embedded PostgreSQL against real processes: ordinary life, shared, killed, broken, foreign."""

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
    Other,
    ask,
    copy_made_folder,
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
    return copy_made_folder(folder)


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


async def test_settings_have_defaults_that_options_change(made: Path) -> None:
    postgres = EmbeddedPostgres(made, options={"fsync": "off", "max_connections": "33"})
    server = postgres.start()
    try:
        for name, value in {"max_connections": "33", "shared_buffers": "256MB", "timezone": "UTC"}.items():
            assert await ask(server.url(), f"SHOW {name}") == value
        assert await ask(server.url(), "SHOW listen_addresses") == ""
    finally:
        postgres.stop()


async def test_stopping_ends_the_server_and_keeps_the_data(made: Path) -> None:
    with using(made) as server:
        await ask(server.url(), *WRITE)
    assert postgres_processes(made) == []
    with using(made) as server:
        assert await ask(server.url(), READ) == 7


def test_the_socket_is_for_its_owner_alone(made: Path) -> None:
    with using(made) as server:
        assert stat.S_IMODE(server.socket_dir.stat().st_mode) == 0o700
        assert stat.S_IMODE((made / "data").stat().st_mode) == 0o700


def test_starting_again_returns_the_same_server_and_stopping_again_does_nothing(made: Path) -> None:
    postgres = EmbeddedPostgres(made, options=FAST)
    first = postgres.start()
    pids = postgres_processes(made)
    assert postgres.start() == first
    assert postgres_processes(made) == pids
    postgres.stop()
    postgres.stop()
    assert postgres_processes(made) == []


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


async def test_the_server_of_a_killed_process_is_reused_and_then_stopped(made: Path) -> None:
    other = Other(made)
    await ask(other.line(), *WRITE)
    other.kill()
    left = postgres_processes(made)
    assert len(left) == 1
    with using(made) as server:
        assert postgres_processes(made) == left
        assert await ask(server.superuser_url(), READ) == 7
    assert postgres_processes(made) == []


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


async def test_a_killed_postgres_is_brought_back_with_its_data(made: Path) -> None:
    postgres = EmbeddedPostgres(made, options=FAST)
    server = postgres.start()
    await ask(server.url(), *WRITE)
    # A session in the middle of something, which outlives the postmaster by a moment.
    busy = await asyncpg.connect(server.url())
    work = busy.execute("SELECT count(*) FROM generate_series(1, 100000000)")
    running = asyncio.ensure_future(work)
    await asyncio.sleep(0.1)
    os.kill(postgres_processes(made)[0], signal.SIGKILL)
    server = await asyncio.to_thread(postgres.start)
    assert await ask(server.url(), READ) == 7
    with pytest.raises((asyncpg.PostgresError, OSError)):
        await running
    busy.terminate()
    postgres.stop()
    assert postgres_processes(made) == []


async def test_a_process_that_got_the_old_servers_id_is_no_obstacle(made: Path) -> None:
    with subprocess.Popen(["sleep", "60"], user=(made / "data").stat().st_uid) as sleeper:
        lines = [str(sleeper.pid), str(made / "data"), "1", "5432", "/nowhere", "", "  1 1", "ready   "]
        (made / "data" / "postmaster.pid").write_text("\n".join(lines) + "\n")
        with using(made) as server:
            assert await ask(server.url(), "SELECT 1") == 1
        assert sleeper.poll() is None
        sleeper.kill()


async def test_ctrl_c_reaches_the_program_and_not_postgres(made: Path) -> None:
    other = Other(made, start_new_session=True)
    url = other.line()
    os.killpg(other.process.pid, signal.SIGINT)
    assert other.line() == "interrupted"
    assert await ask(url, "SELECT 1") == 1
    other.let_go()
    assert postgres_processes(made) == []


async def test_a_forked_child_does_not_stop_the_server_of_its_parent(made: Path) -> None:
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
    other = Other(made, program=forking)
    assert await ask(other.line(), "SELECT 1") == 1
    other.let_go()
    assert postgres_processes(made) == []


def test_a_folder_deleted_under_the_server_leaves_no_process(made: Path) -> None:
    postgres = EmbeddedPostgres(made, options=FAST)
    postgres.start()
    shutil.rmtree(made)
    postgres.stop()
    assert postgres_processes(made) == []


def test_a_socket_deleted_under_the_server_of_a_killed_process_is_made_again(made: Path) -> None:
    other = Other(made)
    other.line()
    other.kill()
    for place in made.glob("vitrine-*"):
        shutil.rmtree(place)
    with using(made) as server:
        assert list(server.socket_dir.iterdir())
    assert postgres_processes(made) == []


# --- What is refused, in one line ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def spoilable() -> Iterator[Path]:
    """Give the folder of a server that has run; who spoils it puts it right again."""
    with fresh_folder() as folder:
        yield copy_made_folder(folder)


# Which part is taken away or replaced, and what is said then.
SPOILED: dict[str, tuple[str, str | None, str]] = {
    "another version": ("PG_VERSION", "15\n", "made by PostgreSQL 15, and this is 18"),
    "no version": ("PG_VERSION", None, "broken: PG_VERSION is missing"),
    "no control file": ("global/pg_control", None, "broken: global/pg_control is missing"),
    "empty control file": ("global/pg_control", "", r"could not read file .*global/pg_control"),
    "no log of changes": ("pg_wal", None, "broken: pg_wal is missing"),
    "spoiled settings": ("postgresql.conf", "nonsense", "contains errors"),
    "not made by us": ("made_by_vitrine", None, "Vitrine did not make"),
}


@pytest.mark.parametrize("case", SPOILED)
def test_a_spoiled_data_folder_gets_one_line_that_names_it(spoilable: Path, case: str) -> None:
    part, content, words = SPOILED[case]
    spoiled, aside = spoilable / "data" / part, spoilable / "aside"
    spoiled.rename(aside)
    if content is not None:
        spoiled.write_text(content)
        shutil.chown(spoiled, aside.stat().st_uid, aside.stat().st_gid)
    try:
        with pytest.raises(EmbeddedPostgresError, match=words) as refusal:
            EmbeddedPostgres(spoilable, options=FAST).start()
    finally:
        spoiled.unlink(missing_ok=True)
        aside.rename(spoiled)
    assert str(spoilable / "data") in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert postgres_processes(spoilable) == []


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
