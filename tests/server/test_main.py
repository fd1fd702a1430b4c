"""Start and shutdown: sockets, health checks, and a complete server with an embedded PostgreSQL."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
from pathlib import Path

import aiohttp
import orjson
import pytest
from aiohttp import web

from kernel.settings import SettingError, Settings
from models.migrate import migrate
from rest_facade.responses import json_response
from rest_facade.routing import Credential, Route
from server.app import create_app
from server.http.health import CACHE_SECONDS, HEALTH
from server.process import Stop, serve_application
from server.sockets import addresses_of, listen, open_sockets
from tests.harness import programs
from tests.server.middleware_server import FakeAuthenticator, FakeStoreResolver, run_server

ROOT = programs.ROOT
READY = {"serving": "ok", "database": "ok", "role": "ok", "migrations": "ok"}


# --- Sockets ---------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def opened(settings: Settings):
    sockets = open_sockets(settings)
    try:
        yield sockets
    finally:
        for each in sockets:
            each.close()


def test_development_listens_on_loopback_only_with_one_port():
    with opened(Settings(port=0)) as sockets:
        names = [each.getsockname()[0] for each in sockets]
        assert names[0] == "127.0.0.1"
        assert set(names) <= {"127.0.0.1", "::1"}
        assert len({each.getsockname()[1] for each in sockets}) == 1
        port = sockets[0].getsockname()[1]
        assert addresses_of(sockets)[0] == f"http://127.0.0.1:{port}"


def test_a_used_port_is_reported_in_one_line():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(SettingError, match=f"^PORT is {port}, which is taken by another program"):
            open_sockets(Settings(port=port))


async def test_a_port_that_another_program_took_during_the_start_is_reported():
    """Two that start at once both open the port, since neither listens yet."""
    app = create_app(Settings(), store_resolver=FakeStoreResolver(), authenticate=FakeAuthenticator(), routes=())
    with opened(Settings(port=0)) as others:
        port = others[0].getsockname()[1]
        with opened(Settings(port=port)) as sockets:
            listen(others[0])
            with pytest.raises(SettingError, match=f"^PORT is {port}, which is taken by another program at 127.0.0.1"):
                await serve_application(app, sockets, Stop(), lambda: pytest.fail("not ready"))


@pytest.mark.parametrize("address", ["192.0.2.1", "no.such.host.invalid"])
def test_an_address_of_another_machine_is_reported(address):
    with pytest.raises(SettingError, match=rf"^VITRINE_BIND is '{address}'; expected an address of this machine"):
        open_sockets(Settings(port=0, bind=(address,)))


# --- Health ----------------------------------------------------------------------------------------------------------


async def test_live_is_always_200():
    async def broken():
        raise AssertionError("not asked")

    async with run_server(checks=broken) as server:
        assert (await server.get("/health/live")).status_and_json == (200, {"status": "ok"})


async def test_ready_is_200_when_every_check_passes_and_names_failed_checks():
    state = {"database": True, "migrations": True}
    runs = []

    async def checks():
        runs.append(1)
        return dict(state)

    async with run_server(checks=checks) as server:
        good = await server.get("/health/ready")
        assert good.status_and_json == (
            200,
            {"status": "ok", "checks": {"serving": "ok", "database": "ok", "migrations": "ok"}},
        )
        state["database"] = False
        await asyncio.gather(*(server.get("/health/ready") for _ in range(10)))
        assert len(runs) == 1  # cached for a second, because the route is public
        await asyncio.sleep(1.05)
        bad = await server.get("/health/ready")
        assert bad.status == 503
        assert bad.json["status"] == "unavailable"
        assert bad.json["checks"]["database"] == "failed"


async def test_a_stopping_server_says_so_without_waiting_for_the_database(monkeypatch):
    monkeypatch.setattr("server.http.health.CACHE_SECONDS", 0.0)
    runs = []

    async def count():
        runs.append(1)
        return {"database": True}

    async with run_server(checks=count) as server:
        assert (await server.get("/health/ready")).status == 200
        before = len(runs)
        server.app[HEALTH].stopping = True
        stopping = await server.get("/health/ready")
        assert (stopping.status, stopping.json["checks"]) == (503, {"serving": "stopping", "database": "ok"})
        assert len(runs) == before


async def test_ready_fails_when_checks_time_out_and_during_shutdown(monkeypatch):
    monkeypatch.setattr("server.http.health.CHECK_SECONDS", 0.1)

    async def hanging():
        await asyncio.sleep(30)

    async with run_server(checks=hanging) as server:
        assert (await server.get("/health/ready")).status == 503
    async with run_server() as server:
        assert (await server.get("/health/ready")).status == 200
        server.app[HEALTH].stopping = True
        stopping = await server.get("/health/ready")
        assert (stopping.status, stopping.json["checks"]) == (503, {"serving": "stopping"})
        assert (await server.get("/health/live")).status == 200


async def test_health_checks_are_logged_only_where_readiness_changes():
    state = {"database": True}

    async def checks():
        return dict(state)

    async with run_server(checks=checks) as server:
        for database in (True, True, False, False, True):
            state["database"] = database
            server.app[HEALTH]._last_at = -CACHE_SECONDS
            await server.get("/health/ready")
            await server.get("/health/live")
        assert [(line["path"], line["status"]) for line in server.lines.requests] == [
            ("/health/ready", 200),
            ("/health/ready", 503),
            ("/health/ready", 200),
        ]
        assert (await server.call("POST", "/health/live")).status == 405
        assert server.lines.requests[-1]["status"] == 405


# --- Stopping --------------------------------------------------------------------------------------------------------


async def test_a_running_request_finishes_during_shutdown():
    begun = asyncio.Event()

    async def slow(request: web.Request) -> web.Response:
        begun.set()
        await asyncio.sleep(0.3)
        return json_response({"finished": True})

    context = run_server(Route("GET", "/api/v1/slow", slow, Credential.NONE))
    server = await context.__aenter__()
    asking = asyncio.create_task(server.get("/api/v1/slow"))
    await begun.wait()
    stopping = asyncio.create_task(asyncio.wait_for(_leave(context, asking), 10))
    assert (await asking).status_and_json == (200, {"finished": True})
    await stopping


async def _leave(context, asking):
    # The client closes its connections when the context ends: let the response arrive first.
    await asyncio.sleep(0)
    await asyncio.wait([asking])
    await context.__aexit__(None, None, None)


# --- The whole -------------------------------------------------------------------------------------------------------

PROGRAM = """
import json, sys
from tests.harness.programs import fork_children
if sys.argv[2]:
    fork_children(sys.argv[2])
from kernel import logging
from kernel.settings import Settings
from server.main import run
settings = Settings.from_environment(json.loads(sys.argv[1]))
logging.configure(development=not settings.is_production, human=False)
run(settings, on_ready=lambda addresses: print(addresses[0], flush=True))
"""


@contextlib.asynccontextmanager
async def running(folder: Path, *, forks_children: bool = True, **environ: str):
    """Run the server in a process; yield it and a client, or None when it didn't start.

    Its children are forked like itself unless `forks_children` is false: then they are programs of their own, as in production.
    """
    at_once = {"VITRINE_DRAIN_TIME": "0", "VITRINE_METRICS_PORT": "0"}
    settings_json = {"VITRINE_DATA_DIR": str(folder / "data"), "PORT": "0", **at_once, **environ}
    process = await programs.start(
        PROGRAM,
        orjson.dumps(settings_json).decode(),
        programs.fork_server() if forks_children else "",
        environment={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "HOME": str(folder)},
    )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(120):
            address = (await process.stdout.readline()).decode().strip()
        if not address:
            yield process, None
            return
        async with aiohttp.ClientSession(address.replace("0.0.0.0", "127.0.0.1")) as client:
            yield process, client
    finally:
        if process.returncode is None:
            process.terminate()
            await process.communicate()


async def stopped(process) -> list[str]:
    """Stop the program with SIGTERM; return the names of its log events."""
    process.send_signal(signal.SIGTERM)
    async with asyncio.timeout(60):
        _, logged = await process.communicate()
    assert process.returncode == 0
    return [orjson.loads(line)["event"] for line in logged.splitlines()]


async def get_json(client, path: str) -> tuple[int, dict]:
    async with client.get(path) as response:
        return response.status, await response.json()


@pytest.mark.slow
async def test_the_server_starts_without_settings_and_stops_on_sigterm(tmp_path):
    async with running(tmp_path) as (process, client):
        status, ready = await get_json(client, "/health/ready")
        assert (status, ready["checks"]) == (200, READY)
        status, body = await get_json(client, "/api/v1/auth/me")
        assert (status, body) == (404, {"error": "tenant not found"})
        events = await stopped(process)
    assert events.index("serving") < events.index("stopping")
    assert "development: reachable from this machine only; set VITRINE_BIND to change that" in events
    assert (tmp_path / "data" / "secret_key").is_file()
    assert not (tmp_path / "data" / "postgres" / "data" / "postmaster.pid").exists()


@pytest.mark.slow
async def test_production_uses_the_configured_database_and_is_ready_after_migration(tmp_path, empty_database_url):
    environ = {"VITRINE_ENV": "production", "VITRINE_SECRET_KEY": "s" * 40, "VITRINE_BIND": "127.0.0.1"}
    async with running(tmp_path, DATABASE_URL=empty_database_url, **environ) as (process, client):
        status, ready = await get_json(client, "/health/ready")
        assert (status, ready["checks"]["database"], ready["checks"]["migrations"]) == (503, "ok", "failed")
        assert (await get_json(client, "/health/live"))[0] == 200
        await migrate(empty_database_url)
        await asyncio.sleep(1.1)
        assert (await get_json(client, "/health/ready"))[0] == 200
        events = await stopped(process)
    assert "migrations are pending: run vitrine migrate" in events
    assert "SMTP_URL is not set: emails stay queued" in events
    assert not (tmp_path / "data").exists()


@pytest.mark.slow
async def test_an_unavailable_database_aborts_the_start(tmp_path):
    address = "postgresql://u:hunter2@127.0.0.1:1/d"
    async with running(tmp_path, DATABASE_URL=address) as (process, client):
        assert client is None
        _, logged = await process.communicate()
    assert process.returncode == 1
    assert logged.decode().rstrip().endswith("Unavailable: the database is not available; try again")
    assert b"hunter2" not in logged
