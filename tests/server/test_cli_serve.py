"""`vitrine serve` as people start it: from nothing, beside other commands, killed and started again, told to stop."""

from __future__ import annotations

import asyncio
import re
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.server.commanding import Running, Vitrine
from tests.server.embedded import fresh_folder, postgres_processes

STOP_SECONDS = 15


@pytest.fixture
def folder() -> Iterator[Path]:
    """Give a folder for all data; whatever PostgreSQL is left there afterwards is ended."""
    with fresh_folder() as place:
        yield place.parent


@asynccontextmanager
async def client_of(serving: Running):
    """Wait until it serves and give a client that finds demo.localhost where the server is."""
    line = await serving.until_it_says("Vitrine serves at")
    address = re.search(r"http://127\.0\.0\.1:(\d+)", line)
    assert address is not None
    async with aiohttp.ClientSession(address[0]) as client:
        yield client


async def asked(client: aiohttp.ClientSession, query: str, token: str, host: str) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {token}", "Host": host}
    async with client.post("/graphql", json={"query": query}, headers=headers) as answer:
        return await answer.json()


async def status_of(client: aiohttp.ClientSession, path: str) -> int:
    async with client.get(path) as answer:
        return answer.status


@pytest.mark.slow
async def test_serve_from_nothing_beside_commands_killed_and_started_again(folder: Path):
    vitrine = Vitrine(folder, PORT="0", VITRINE_SECRET_KEY="")
    async with vitrine.running("serve") as serving:
        await serving.until_it_says("making the demo stores")
        await asyncio.sleep(0.7)
        await serving.stop(signal.SIGKILL)

    async with vitrine.running("serve") as serving, client_of(serving) as client:
        # What was begun is made anew, to its end.
        assert any("making the demo stores" in line for line in serving.said)
        said = await serving.until_it_says("Its administrator")
        email, password = said.split()[2:4]
        assert await status_of(client, "/health/ready") == 200
        assert await status_of(client, "/graphql/playground") == 200
        headers = {"Host": "demo.localhost"}
        async with client.post(
            "/api/v1/auth/login", json={"email": email, "password": password}, headers=headers
        ) as answer:
            first = await answer.json()
        query = "{ store { name } order_page { total } }"
        held = {"store": {"name": "Casa Ipê"}, "order_page": {"total": 60}}
        assert (await asked(client, query, first["access_token"], "demo.localhost"))["data"] == held

        # Commands join the database that is running.
        new = await asyncio.to_thread(vitrine, "demo", "--json")
        token = new.json["admin"]["access_token"]
        assert (await asked(client, query, token, new.json["host"]))["data"] == held
        assert "errors" not in await asked(client, query, token, "demo.localhost")
        ended = await asked(client, query, first["access_token"], "demo.localhost")
        assert ended["error"].startswith("token revoked")  # the server heard of it at once
        suspended = await asyncio.to_thread(vitrine, "tenant", "suspend", "demo.localhost")
        assert suspended.code == 0
        await asyncio.sleep(1)
        assert (await asked(client, query, token, "demo.localhost"))["error"] == "tenant_suspended"
        assert (await asyncio.to_thread(vitrine, "tenant", "resume", "demo.localhost")).code == 0
        assert len(postgres_processes(folder / "data" / "postgres")) == 1
        await serving.stop(signal.SIGKILL)

    async with vitrine.running("serve") as serving, client_of(serving) as client:
        assert not any("making the demo stores" in line for line in serving.said)
        await serving.until_it_says("vitrine demo prints new credentials")
        assert (await asked(client, query, token, "demo.localhost"))["data"] == held
        began = time.monotonic()
        assert await serving.stop(signal.SIGINT) == 0
        assert time.monotonic() - began < STOP_SECONDS
    assert postgres_processes(folder / "data" / "postgres") == []


async def test_serve_with_a_database_serves_only_and_stops_within_seconds(tmp_path: Path, database_url: str):
    vitrine = Vitrine(tmp_path, PORT="0", DATABASE_URL=database_url)
    async with vitrine.running("serve") as serving, client_of(serving) as client:
        await serving.until_it_says("Background work is left to vitrine worker.")
        assert await status_of(client, "/health/ready") == 200
        assert not any("demo stores" in line for line in serving.said)
        began = time.monotonic()
        assert await serving.stop() == 0
        assert time.monotonic() - began < STOP_SECONDS


async def test_a_database_that_is_not_migrated_is_said_and_not_ready(tmp_path: Path, empty_database_url: str):
    vitrine = Vitrine(tmp_path, PORT="0", DATABASE_URL=empty_database_url)
    async with vitrine.running("serve") as serving, client_of(serving) as client:
        assert "run vitrine migrate" in await serving.until_it_logs("migrations are pending")
        assert await status_of(client, "/health/ready") == 503
        assert await status_of(client, "/health/live") == 200
        migrated = await asyncio.to_thread(vitrine, "migrate")
        assert migrated.code == 0
        await asyncio.sleep(1.1)
        assert await status_of(client, "/health/ready") == 200


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_command_that_is_interrupted_leaves_no_database_running(folder: Path, number: signal.Signals):
    postgres = folder / "data" / "postgres"
    async with Vitrine(folder, VITRINE_SECRET_KEY="").running("demo") as demo:
        async with asyncio.timeout(60):
            while not postgres.exists():
                await asyncio.sleep(0.01)
        assert await demo.stop(number) == 1
    assert postgres_processes(postgres) == []


def test_a_port_that_is_taken_is_one_line(tmp_path: Path, database_url: str):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        refusal = Vitrine(tmp_path, PORT=str(port), DATABASE_URL=database_url)("serve").refusal
    assert refusal == f"PORT is {port}, which is taken by another program at 127.0.0.1; expected a free one"
