"""`vitrine serve` end to end: first start, alongside other commands, after a kill, shutdown."""

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
import jwt
import pytest

from tests.server.command_line import RunningCommand, Vitrine
from tests.server.embedded import fresh_folder, postgres_processes

pytestmark = pytest.mark.slow(seconds=3)

STOP_SECONDS = 15


@pytest.fixture
def folder() -> Iterator[Path]:
    """Yield a folder for all data; kill leftover PostgreSQL processes afterwards."""
    with fresh_folder() as data_folder:
        yield data_folder.parent


@asynccontextmanager
async def client_of(server: RunningCommand):
    """Wait until the server is ready and yield an HTTP client for it."""
    line = await server.wait_for_output("Vitrine is running at")
    address = re.search(r"http://127\.0\.0\.1:(\d+)", line)
    assert address is not None
    async with aiohttp.ClientSession(address[0]) as client:
        yield client


async def query_as(client: aiohttp.ClientSession, query: str, token: str, host: str) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {token}", "Host": host}
    async with client.post("/graphql", json={"query": query}, headers=headers) as answer:
        return await answer.json()


async def status_of(client: aiohttp.ClientSession, path: str) -> int:
    async with client.get(path) as answer:
        return answer.status


def lifetime_of(access_token: str) -> int:
    claims = jwt.decode(access_token, options={"verify_signature": False})
    return claims["exp"] - claims["iat"]


async def test_serve_starts_from_scratch_alongside_commands_and_survives_kills(folder: Path):
    vitrine = Vitrine(folder, PORT="0", VITRINE_SECRET_KEY="", VITRINE_ACCESS_TOKEN_LIFETIME="3600")
    async with vitrine.running("serve") as server:
        await server.wait_for_output("creating the demo stores")
        await asyncio.sleep(0.7)
        await server.stop(signal.SIGKILL)

    async with vitrine.running("serve") as server, client_of(server) as client:
        # The interrupted demo is created again.
        assert any("creating the demo stores" in line for line in server.output)
        output = await server.wait_for_output("Its administrator")
        email, password = output.split()[2:4]
        assert await status_of(client, "/health/ready") == 200
        assert await status_of(client, "/graphql/playground") == 200
        headers = {"Host": "demo.localhost"}
        async with client.post(
            "/api/v1/auth/login", json={"email": email, "password": password}, headers=headers
        ) as answer:
            first = await answer.json()
        query = "{ store { name } order_page { total } }"
        assert lifetime_of(first["access_token"]) == 3_600, "VITRINE_ACCESS_TOKEN_LIFETIME of the server"
        expected = {"store": {"name": "Casa Ipê"}, "order_page": {"total": 60}}
        assert (await query_as(client, query, first["access_token"], "demo.localhost"))["data"] == expected

        # Commands use the running database.
        new = await asyncio.to_thread(vitrine, "demo", "--json")
        token = new.json["admin"]["access_token"]
        assert lifetime_of(token) == 3_600, "VITRINE_ACCESS_TOKEN_LIFETIME of a command"
        assert (await query_as(client, query, token, new.json["host"]))["data"] == expected
        assert "errors" not in await query_as(client, query, token, "demo.localhost")
        ended = await query_as(client, query, first["access_token"], "demo.localhost")
        assert ended["error"].startswith("token revoked")  # the server was notified immediately
        suspended = await asyncio.to_thread(vitrine, "tenant", "suspend", "demo.localhost")
        assert suspended.code == 0
        await asyncio.sleep(1)
        assert (await query_as(client, query, token, "demo.localhost"))["error"] == "tenant_suspended"
        assert (await asyncio.to_thread(vitrine, "tenant", "resume", "demo.localhost")).code == 0
        assert len(postgres_processes(folder / "data" / "postgres")) == 1
        await server.stop(signal.SIGKILL)

    async with vitrine.running("serve") as server, client_of(server) as client:
        assert not any("creating the demo stores" in line for line in server.output)
        await server.wait_for_output("Run vitrine demo to print new credentials")
        assert (await query_as(client, query, token, "demo.localhost"))["data"] == expected
        began = time.monotonic()
        assert await server.stop(signal.SIGINT) == 0
        assert time.monotonic() - began < STOP_SECONDS
    assert postgres_processes(folder / "data" / "postgres") == []


async def test_serve_with_an_external_database_runs_no_background_jobs_and_stops_fast(
    tmp_path: Path, database_url: str
):
    vitrine = Vitrine(tmp_path, PORT="0", DATABASE_URL=database_url)
    async with vitrine.running("serve") as server, client_of(server) as client:
        await server.wait_for_output("Run vitrine worker for the background jobs.")
        assert await status_of(client, "/health/ready") == 200
        assert not any("demo stores" in line for line in server.output)
        began = time.monotonic()
        assert await server.stop() == 0
        assert time.monotonic() - began < STOP_SECONDS


async def test_pending_migrations_are_logged_and_fail_readiness(tmp_path: Path, empty_database_url: str):
    vitrine = Vitrine(tmp_path, PORT="0", DATABASE_URL=empty_database_url)
    async with vitrine.running("serve") as server, client_of(server) as client:
        assert "run vitrine migrate" in await server.wait_for_log("migrations are pending")
        assert await status_of(client, "/health/ready") == 503
        assert await status_of(client, "/health/live") == 200
        migrated = await asyncio.to_thread(vitrine, "migrate")
        assert migrated.code == 0
        await asyncio.sleep(1.1)
        assert await status_of(client, "/health/ready") == 200


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_an_interrupted_command_leaves_no_database_running(folder: Path, number: signal.Signals):
    postgres = folder / "data" / "postgres"
    async with Vitrine(folder, VITRINE_SECRET_KEY="").running("demo") as demo:
        async with asyncio.timeout(60):
            while not postgres.exists():
                await asyncio.sleep(0.01)
        assert await demo.stop(number) == 1
    assert postgres_processes(postgres) == []


def test_a_used_port_is_reported_in_one_line(tmp_path: Path, database_url: str):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        error_line = Vitrine(tmp_path, PORT=str(port), DATABASE_URL=database_url)("serve").error_line
    assert error_line == f"PORT is {port}, which is taken by another program at 127.0.0.1; expected a free one"
