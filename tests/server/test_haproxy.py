"""What HAProxy answers by itself with the configuration of docs/deploy.md, and what a reload does to its clients."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import orjson
from aiohttp import web
from yarl import URL

from bench.servers import free_port
from tests.server.haproxy import needs_haproxy, running_haproxy

pytestmark = needs_haproxy


@asynccontextmanager
async def responding(port: int) -> AsyncIterator[None]:
    """Serve on a port: always ready; `/wait` is answered at the end, `/lost` ends the connection without an answer."""
    ending = asyncio.Event()

    async def respond(request: web.Request) -> web.Response:
        if request.path == "/wait":
            await ending.wait()
        if request.path == "/lost":
            assert request.transport is not None
            request.transport.abort()
        return web.json_response({})

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", respond)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    try:
        yield
    finally:
        ending.set()
        await runner.cleanup()


async def test_errors_of_the_proxy_are_json_and_503_says_when_to_try_again(tmp_path: Path):
    port = free_port()
    # On a connection that is used again HAProxy answers a lost request by closing it, after which clients repeat what may be repeated.
    connector = aiohttp.TCPConnector(force_close=True)
    async with (
        running_haproxy(tmp_path, [port]) as haproxy,
        aiohttp.ClientSession(haproxy.address, connector=connector) as client,
    ):
        await haproxy.wait_until_up(0)
        async with client.get("/") as response:
            assert (response.status, response.headers["Retry-After"]) == (503, "1")
            assert (await response.json())["status"] == 503
        async with responding(port):
            await haproxy.wait_until_up(1)
            async with client.post("/lost") as response:
                assert response.status == 502
                assert (await response.json())["status"] == 502


async def test_requests_that_stay_open_do_not_keep_others_waiting(tmp_path: Path):
    port = free_port()
    async with (
        responding(port),
        running_haproxy(tmp_path, [port]) as haproxy,
        aiohttp.ClientSession(haproxy.address, connector=aiohttp.TCPConnector(limit=0)) as client,
    ):
        await haproxy.wait_until_up(1)
        waiting = [asyncio.create_task(client.get("/wait")) for _ in range(300)]
        await asyncio.sleep(0.5)
        async with client.get("/", timeout=aiohttp.ClientTimeout(3)) as response:
            assert response.status == 200
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


async def test_what_proxies_ask_is_not_for_others_however_it_is_written(tmp_path: Path):
    port = free_port()
    async with (
        responding(port),
        running_haproxy(tmp_path, [port]) as haproxy,
        aiohttp.ClientSession(haproxy.address) as client,
    ):
        await haproxy.wait_until_up(1)
        for path, status in (
            ("/internal/a", 404),
            ("/%69nternal/a", 404),
            ("/internal%2Fa", 404),
            ("/%69nternals", 200),
        ):
            async with client.get(URL(path, encoded=True)) as response:
                assert response.status == status, path


async def test_a_reload_answers_on_connections_that_clients_keep_open(tmp_path: Path):
    port = free_port()
    request = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
    async with responding(port), running_haproxy(tmp_path, [port]) as haproxy:
        await haproxy.wait_until_up(1)
        reader, writer = await asyncio.open_connection("127.0.0.1", haproxy.port)

        async def ask() -> tuple[bytes, bool]:
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(
                int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")
            )
            assert orjson.loads(await reader.readexactly(length)) == {}
            return head.split(b"\r\n")[0], b"connection: close" in head.lower()

        assert await ask() == (b"HTTP/1.1 200 OK", False)
        await haproxy.reload()
        assert await ask() == (b"HTTP/1.1 200 OK", True)  # the old worker answers once more and says that it closes
        writer.close()


async def test_the_proxy_logs_errors_but_no_checks_nor_connections_without_a_request(tmp_path: Path):
    port = free_port()
    connector = aiohttp.TCPConnector(force_close=True)
    async with (
        responding(port),
        running_haproxy(tmp_path, [port]) as haproxy,
        aiohttp.ClientSession(haproxy.address, connector=connector) as client,
    ):
        await haproxy.wait_until_up(1)
        _, writer = await asyncio.open_connection("127.0.0.1", haproxy.port)
        writer.close()
        for path, status in (("/", 200), ("/lost", 502)):
            async with client.get(path) as response:
                assert response.status == status, path
        async with asyncio.timeout(10):
            while "/lost" not in haproxy.log.read_text(encoding="utf-8"):
                await asyncio.sleep(0.05)
        requests = [line for line in haproxy.log.read_text(encoding="utf-8").splitlines() if " vitrine" in line]
        assert len(requests) == 1, requests
        assert requests[0].endswith('"GET /lost HTTP/1.1"')
