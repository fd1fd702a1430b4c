"""Several server processes: they serve together, are restarted, and stop with their parent."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
from pathlib import Path
from typing import Any

import orjson
import pytest

from kernel import logging
from kernel.settings import SettingError, Settings
from server.address_file import StartupError
from server.database import DatabaseLocation, divide_pool, fit_pool_size
from server.process import Stop
from server.processes import ProcessPool
from server.sockets import open_sockets
from tests.harness import programs
from tests.server.command_line import SECRET
from tests.server.middleware_server import LogLines
from tests.server.test_main import READY, get_json, running, stopped

# With the key under which other tests have encrypted in the same database: the start refuses another.
PRODUCTION = {"VITRINE_ENV": "production", "VITRINE_SECRET_KEY": SECRET, "VITRINE_BIND": "127.0.0.1"}


def children(process: Any) -> set[int]:
    """Return the serving child processes, without an embedded PostgreSQL."""
    return programs.children_of(process.pid)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def until(condition: Any, seconds: float = 30) -> None:
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.02)


async def test_processes_share_the_work_are_restarted_and_stop_together(tmp_path, database_url):
    environ = PRODUCTION | {"WEB_CONCURRENCY": "2"}
    async with running(tmp_path, forks_children=False, DATABASE_URL=database_url, **environ) as (process, client):
        assert (await get_json(client, "/health/ready"))[0] == 200
        first = children(process)
        assert len(first) == 2

        killed = first.pop()
        os.kill(killed, signal.SIGKILL)
        await until(lambda: not is_alive(killed))
        for repetition in range(10):  # a new connection each: a kept one may belong to the killed process
            assert (await get_json(client, "/health/live"))[0] == 200, repetition
        await until(lambda: len(children(process) - {killed}) == 2)
        again = children(process)
        assert first < again

        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(60):
            _, logged = await process.communicate()
        assert process.returncode == 0
        assert not [pid for pid in again if is_alive(pid)]
    lines = [orjson.loads(line) for line in logged.splitlines()]
    by_event = {line["event"]: line for line in lines}
    assert by_event["serving"]["processes"] == 2
    ended = by_event["a process exited and is restarted"]
    assert (ended["code"], ended["level"]) == (-signal.SIGKILL, "error")


async def test_a_process_that_cannot_be_started_again_is_tried_again_later(tmp_path, database_url):
    environ = PRODUCTION | {"WEB_CONCURRENCY": "2"}
    async with running(tmp_path, forks_children=False, DATABASE_URL=database_url, **environ) as (process, client):
        assert (await get_json(client, "/health/ready"))[0] == 200
        killed, left = children(process)
        _, most = resource.prlimit(process.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (1, most))  # no pipes to a new process
        os.kill(killed, signal.SIGKILL)
        async with asyncio.timeout(60):
            while orjson.loads(await process.stderr.readline())["event"] != "a process could not be started":
                pass
        assert (await get_json(client, "/health/live"))[0] == 200
        assert children(process) == {left}
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (most, most))
        await until(lambda: len(children(process)) == 2)
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(60):
            await process.communicate()
        assert process.returncode == 0


async def test_children_stop_when_their_parent_is_killed(tmp_path, database_url):
    environ = PRODUCTION | {"WEB_CONCURRENCY": "2"}
    async with running(tmp_path, forks_children=False, DATABASE_URL=database_url, **environ) as (process, client):
        assert (await get_json(client, "/health/ready"))[0] == 200
        orphans = children(process)
        assert len(orphans) == 2
        process.kill()
        await until(lambda: not [pid for pid in orphans if is_alive(pid)])
        await process.communicate()


_IS_IGNORED = pytest.mark.skipif(signal.getsignal(signal.SIGHUP) is signal.SIG_IGN, reason="run by nohup")


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGHUP, marks=_IS_IGNORED)])
async def test_ctrl_c_or_the_loss_of_the_terminal_stops_all_processes_once(tmp_path, database_url, number):
    async with running(tmp_path, DATABASE_URL=database_url, WEB_CONCURRENCY="2", **PRODUCTION) as (
        process,
        client,
    ):
        assert (await get_json(client, "/health/ready"))[0] == 200
        serving = children(process)
        for pid in (*serving, process.pid):
            os.kill(pid, number)
        if number is signal.SIGHUP:  # the shell sends one, and the kernel another
            process.send_signal(number)
        async with asyncio.timeout(60):
            await process.communicate()
        assert process.returncode == 0
        assert not [pid for pid in serving if is_alive(pid)]


@pytest.mark.slow(seconds=10)
async def test_with_the_embedded_database_the_parent_starts_and_stops_it(tmp_path):
    async with running(tmp_path, WEB_CONCURRENCY="2") as (process, client):
        status, ready = await get_json(client, "/health/ready")
        assert (status, ready["checks"]) == (200, READY)
        serving = children(process)
        assert len(serving) == 2
        events = await stopped(process)
        assert not [pid for pid in serving if is_alive(pid)]
    assert events.count("serving") == 1
    assert not (tmp_path / "data" / "postgres" / "data" / "postmaster.pid").exists()


async def test_processes_that_fail_to_start_are_not_restarted_forever():
    nowhere = DatabaseLocation("postgresql://u@127.0.0.1:1/d", "postgresql://u@127.0.0.1:1/d", is_embedded=False)
    settings = Settings(processes=2, port=0, secret_key="s" * 40)
    sockets = open_sockets(settings)
    try:
        with pytest.raises(StartupError, match="no process could start"):
            await ProcessPool(settings, nowhere, sockets).run(Stop(), lambda: pytest.fail("not ready"))
    finally:
        for each in sockets:
            each.close()


# --- Connections -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wanted, processes, allowed, size",
    [
        (10, 1, 97, 10),
        (10, 4, 97, 10),  # (97 - 9) / 4 = 22, of which 5 are outside the pool
        (10, 8, 97, 6),
        (10, 12, 97, 2),
        (10, 13, 97, None),
        (1_000, 1, 97, 83),
    ],
)
def test_pool_sizes_fit_the_connection_limit(wanted, processes, allowed, size):
    assert fit_pool_size(wanted, processes, allowed) == size
    if size is not None:
        assert processes * (size + 5) <= allowed


async def test_a_too_large_pool_is_logged_and_reduced(database_url):
    place = DatabaseLocation(database_url, database_url, is_embedded=False)
    lines = LogLines()
    before = logging.set_sink(lines.raw.append)
    try:
        settings = await divide_pool(Settings(pool_size=1_000, processes=3), place, 3)
        assert await divide_pool(settings, place, 3) is settings
    finally:
        logging.set_sink(before)
    assert 2 <= settings.pool_size < 100
    (line,) = lines.all()
    assert (line["level"], line["asked"], line["pool"], line["processes"]) == (
        "warning",
        1_000,
        settings.pool_size,
        3,
    )


async def test_too_many_processes_for_the_connection_limit_are_rejected(database_url):
    place = DatabaseLocation(database_url, database_url, is_embedded=False)
    with pytest.raises(SettingError, match=r"^WEB_CONCURRENCY is 256; the database allows \d+ connections"):
        await divide_pool(Settings(processes=256), place, 256)
