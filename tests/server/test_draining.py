"""After SIGTERM a server says that it is not ready while it still serves, so that a proxy stops sending before it stops listening."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterable
from typing import Any

import aiohttp
import pytest

from tests.server.test_main import get_json, running
from tests.server.test_processes import PRODUCTION, children, is_alive

pytestmark = pytest.mark.slow

# Longer than a test may take: a server that drains for it would fail the test.
FOREVER = "300"


def signal_all(pids: Iterable[int], number: signal.Signals) -> None:
    for pid in pids:
        os.kill(pid, number)


async def wait_until_draining(client: aiohttp.ClientSession) -> dict[str, Any]:
    async with asyncio.timeout(20):
        while True:
            status, body = await get_json(client, "/health/ready")
            if status == 503:
                return body


@pytest.mark.parametrize("processes", [1, 2])
async def test_a_draining_server_is_not_ready_but_serves_and_closes_its_connections(tmp_path, database_url, processes):
    environ = PRODUCTION | {"WEB_CONCURRENCY": str(processes), "VITRINE_DRAIN_TIME": "3"}
    async with running(tmp_path, DATABASE_URL=database_url, **environ) as (process, client):
        async with client.get("/health/ready") as response:
            assert (response.status, response.headers.get("Connection")) == (200, None)
        process.send_signal(signal.SIGTERM)
        body = await wait_until_draining(client)
        assert body["checks"] == {"serving": "stopping", "database": "ok", "role": "ok", "migrations": "ok"}
        for repetition in range(10):  # all processes: the connection is new each time
            async with client.get("/health/live") as response:
                assert (response.status, response.headers.get("Connection")) == (200, "close"), repetition
        async with asyncio.timeout(30):
            _, logged = await process.communicate()
        assert process.returncode == 0
        with pytest.raises(aiohttp.ClientConnectorError):
            await client.get("/health/live")
    assert b"did not stop in time" not in logged


@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize("from_terminal", [True, False])
async def test_ctrl_c_does_not_drain(tmp_path, database_url, processes, from_terminal):
    environ = PRODUCTION | {"WEB_CONCURRENCY": str(processes), "VITRINE_DRAIN_TIME": FOREVER}
    async with running(tmp_path, DATABASE_URL=database_url, **environ) as (process, client):
        assert (await get_json(client, "/health/ready"))[0] == 200
        serving = children(process)
        signal_all([*(serving if from_terminal else ()), process.pid], signal.SIGINT)
        async with asyncio.timeout(30):
            await process.communicate()
        assert process.returncode == 0
        assert not [pid for pid in serving if is_alive(pid)]


async def test_processes_that_systemd_and_their_parent_stop_drain_once(tmp_path, database_url):
    environ = PRODUCTION | {
        "WEB_CONCURRENCY": "2",
        "VITRINE_DRAIN_TIME": "15",
    }  # longer than a slow machine takes to signal twice
    async with running(tmp_path, DATABASE_URL=database_url, **environ) as (process, client):
        assert (await get_json(client, "/health/ready"))[0] == 200
        serving = children(process)
        signal_all([*serving, process.pid], signal.SIGTERM)
        await wait_until_draining(client)
        signal_all(serving, signal.SIGTERM)
        await asyncio.sleep(0.2)
        assert all(is_alive(pid) for pid in serving)
        assert (await get_json(client, "/health/live"))[0] == 200
        events = await _end(process)
    assert "a process exited and is restarted" not in events


async def _end(process: Any) -> str:
    async with asyncio.timeout(30):
        _, logged = await process.communicate()
    assert process.returncode == 0
    return logged.decode()
