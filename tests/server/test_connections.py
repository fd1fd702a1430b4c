"""Limits on what a client may occupy: connections, request heads, unread responses (docs/reference/shared.md#connections)."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from ipaddress import ip_network

import pytest
from aiohttp import web

from kernel.settings import Settings
from rest_facade.bodies import read_raw
from rest_facade.responses import BytesResponse, json_response
from rest_facade.routing import Credential, Route
from rest_facade.streaming import send_parts
from server.http.event_streams import start_response
from tests.server.middleware_server import DEMO, OTHER, Server, run_server

LARGE = 20_000_000
PROXIES = (ip_network("127.0.0.0/8"),)
# They wait for the limits of time that they test.
pytestmark = pytest.mark.slow

waiting = asyncio.Event()


async def fine(request: web.Request) -> web.Response:
    return json_response({})


async def large(request: web.Request) -> web.Response:
    return BytesResponse(b"x" * LARGE)


async def slow(request: web.Request) -> web.Response:
    await waiting.wait()
    return json_response({})


async def reading(request: web.Request) -> web.Response:
    await waiting.wait()
    return BytesResponse(await read_raw(request))


ROUTES = (
    Route("GET", "/api/v1/fine", fine, Credential.NONE),
    Route("GET", "/api/admin/fine", fine, Credential.NONE),
    Route("GET", "/api/fine", fine, Credential.NONE),
    Route("GET", "/api/v1/large", large, Credential.NONE),
    Route("GET", "/api/v1/slow", slow, Credential.NONE),
    Route("GET", "/api/v1/reading", reading, Credential.NONE),
)


def head(path: str, *lines: str) -> bytes:
    return "\r\n".join([f"GET {path} HTTP/1.1", "Host: localhost", *lines, "", ""]).encode()


@asynccontextmanager
async def connection(server: Server, **options):
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port, **options)
    try:
        yield reader, writer
    finally:
        writer.close()


async def status_of(reader: asyncio.StreamReader) -> int:
    lines = (await reader.readuntil(b"\r\n\r\n")).decode().splitlines()
    length = next(int(line.split()[1]) for line in lines if line.lower().startswith("content-length"))
    await reader.readexactly(length)
    return int(lines[0].split()[1])


# --- Requests of one connection --------------------------------------------------------------------------------------


async def echo(request: web.Request) -> web.Response:
    return json_response({"path": request.path, "body": (await read_raw(request)).decode()})


async def delayed(request: web.Request) -> web.Response:
    await released[0].wait()
    return json_response({"path": request.path})


released: list[asyncio.Event] = []


def hold() -> asyncio.Event:
    """Return the event that the requests of `delayed` wait for from now on."""
    released[:] = [asyncio.Event()]
    return released[0]


ECHO = (
    Route("POST", "/api/v1/echo", echo, Credential.NONE),
    Route("GET", "/api/v1/echo", echo, Credential.NONE),
    Route("GET", "/api/v1/delayed", delayed, Credential.NONE),
)


def post(body: bytes) -> bytes:
    return b"POST /api/v1/echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body) + body


async def answer(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    lines = (await reader.readuntil(b"\r\n\r\n")).decode().splitlines()
    length = next(int(line.split()[1]) for line in lines if line.lower().startswith("content-length"))
    return int(lines[0].split()[1]), json.loads(await reader.readexactly(length))


async def parts(request: web.Request) -> web.StreamResponse:
    async def each() -> AsyncIterator[bytes]:
        for part in (b"[1", b"", b",2", b"]"):
            yield part

    return await send_parts(request, "application/json", each())


async def events(request: web.Request) -> web.StreamResponse:
    response = await start_response(request)
    await response.write(b"data: 1\n\n")
    return response


@pytest.mark.parametrize("keeps", [b"", b"Connection: keep-alive\r\n"], ids=["closes", "keeps"])
@pytest.mark.parametrize("path,body", [("parts", b"[1,2]"), ("events", b"data: 1\n\n")])
async def test_a_stream_over_http_1_0_ends_with_its_connection(path, body, keeps):
    """As nginx asks by default."""
    routes = (
        Route("GET", "/api/v1/parts", parts, Credential.NONE),
        Route("GET", "/api/v1/events", events, Credential.NONE),
    )
    async with run_server(*routes) as server:
        raw = await server.send_raw(f"GET /api/v1/{path} HTTP/1.0\r\nHost: localhost\r\n".encode() + keeps + b"\r\n")
    head, _, received = raw.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.0 200 ")
    assert b"transfer-encoding" not in head.lower()
    assert b"keep-alive" not in head.lower()
    assert received == body


@pytest.mark.parametrize("sizes", [(1_000,), (40, 1_000), (1,), (90, 1, 1_000)], ids=str)
async def test_requests_are_answered_in_order_however_their_bytes_arrive(sizes):
    whole = post(b"one") + head("/api/v1/echo") + post(b"three") + post(b"")
    async with run_server(*ECHO) as server, connection(server) as (reader, writer):
        for repetition in range(2):  # the second time the connection has served whole requests
            rest, number = whole, 0
            while rest:
                size = sizes[min(number, len(sizes) - 1)]
                writer.write(rest[:size])
                await writer.drain()
                await asyncio.sleep(0)
                rest, number = rest[size:], number + 1
            bodies = [(await answer(reader))[1]["body"] for _ in range(4)]
            assert bodies == ["one", "", "three", ""], repetition
            writer.write(post(b"alone"))
            assert (await answer(reader))[1]["body"] == "alone", repetition


@pytest.mark.parametrize("path,status", [("/api/v1/echo", b"200"), ("/api/v1/nothing", b"404")])
async def test_a_client_that_waits_for_100_continue_gets_it_before_it_sends_the_body(path, status):
    async with run_server(*ECHO) as server, connection(server) as (reader, writer):
        lines = (f"POST {path} HTTP/1.1", "Host: localhost", "Content-Length: 3", "Expect: 100-Continue", "", "")
        writer.write("\r\n".join(lines).encode())
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(b"one")
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 " + status)
        assert b"application/json" in head


async def test_requests_that_come_while_one_runs_wait_for_it_and_a_malformed_one_ends_the_connection():
    async with run_server(*ECHO) as server, connection(server) as (reader, writer):
        release = hold()
        writer.write(head("/api/v1/delayed"))
        while not any(each._current_request for each in server.runner.server.connections):
            await asyncio.sleep(0.01)
        writer.write(post(b"later") + post(b"last"))
        await writer.drain()
        release.set()
        assert await answer(reader) == (200, {"path": "/api/v1/delayed"})
        assert [(await answer(reader))[1]["body"] for _ in range(2)] == ["later", "last"]
        writer.write(b"no HTTP\r\n\r\n")
        assert (await answer(reader))[0] == 400
        assert await reader.read() == b""


async def test_a_connection_is_closed_after_the_response_where_the_client_wants_that():
    async with run_server(*ECHO) as server, connection(server) as (reader, writer):
        writer.write(head("/api/v1/echo", "Connection: close"))
        assert (await answer(reader))[0] == 200
        assert await reader.read() == b""


async def test_the_keep_alive_time_does_not_end_a_request_that_takes_longer():
    async with run_server(*ECHO, settings=Settings(keep_alive=0.2)) as server, connection(server) as (reader, writer):
        release = hold()
        writer.write(head("/api/v1/delayed"))
        await asyncio.sleep(0.7)
        release.set()
        assert (await answer(reader))[0] == 200
        assert await reader.read() == b""  # and it ends the connection afterwards


async def test_a_stopping_server_lets_a_request_end():
    async with run_server(*ECHO) as server, connection(server) as (reader, writer):
        release = hold()
        writer.write(head("/api/v1/delayed"))
        while not any(each._current_request for each in server.runner.server.connections):
            await asyncio.sleep(0.01)
        stopping = asyncio.create_task(server.runner.cleanup())
        asyncio.get_running_loop().call_later(0.1, release.set)
        assert (await answer(reader))[0] == 200
        assert await reader.read() == b""
        await stopping


# --- Responses that are not read -------------------------------------------------------------------------------------


@pytest.mark.parametrize("line", ["Accept: */*", "Origin: https://shop.example"])
async def test_a_client_that_does_not_read_its_response_is_disconnected(line):
    async with (
        run_server(*ROUTES, settings=Settings(write_timeout=0.5)) as server,
        connection(server, limit=1) as (reader, writer),
    ):
        writer.write(head("/api/v1/large", line))
        async with asyncio.timeout(5):
            while not server.lines.all("a client does not read its response: connection closed"):
                await asyncio.sleep(0.05)
        received = 0
        with contextlib.suppress(ConnectionResetError):
            while piece := await reader.read(2**16):
                received += len(piece)
        assert received < LARGE


async def test_at_most_a_few_pieces_of_an_unread_response_are_buffered():
    async with run_server(*ROUTES) as server, connection(server, limit=1) as (_, writer):
        writer.write(head("/api/v1/large"))
        await asyncio.sleep(0.5)
        (transport,) = server.transports()
        assert 0 < transport.get_write_buffer_size() <= 3 * Settings().write_buffer


async def test_a_client_that_reads_slowly_receives_its_response():
    async with run_server(*ROUTES, settings=Settings(write_timeout=0.3)) as server:
        async with connection(server, limit=2**16) as (reader, writer):
            writer.write(head("/api/v1/large"))
            await reader.readuntil(b"\r\n\r\n")
            received, started = 0, time.monotonic()
            while received < LARGE:
                received += len(await reader.readexactly(min(1_000_000, LARGE - received)))
                await asyncio.sleep(0.05)
            assert time.monotonic() - started > 0.9
        assert not server.lines.all("a client does not read its response: connection closed")


async def test_a_client_that_hangs_up_before_its_body_is_read_is_no_error():
    waiting.clear()
    async with run_server(*ROUTES) as server:
        async with connection(server) as (_, writer):
            writer.write(head("/api/v1/reading", "Content-Length: 2") + b"{}")
            await asyncio.sleep(0.2)
            writer.transport.abort()
        await asyncio.sleep(0.1)
        waiting.set()
        async with asyncio.timeout(5):
            while not server.lines.requests:
                await asyncio.sleep(0.05)
        await asyncio.sleep(0.1)
        assert [line["status"] for line in server.lines.requests] == [499]
        assert [line for line in server.lines.all() if line["level"] == "error"] == []


# --- Request heads and idle connections ------------------------------------------------------------------------------


@pytest.mark.parametrize("earlier_requests", [0, 1])
async def test_a_request_head_that_arrives_too_slowly_closes_the_connection(earlier_requests):
    async with (
        run_server(*ROUTES, settings=Settings(header_timeout=0.5)) as server,
        connection(server) as (reader, writer),
    ):
        for repetition in range(earlier_requests):
            writer.write(head("/api/v1/fine"))
            assert await status_of(reader) == 200, repetition
        started = time.monotonic()
        for byte in head("/api/v1/fine", "X-Slow: 1")[:-2]:
            writer.write(bytes([byte]))
            await asyncio.sleep(0.05)
            if reader.at_eof() or writer.is_closing():
                break
        else:
            pytest.fail("the connection was open for the three seconds of the head")
        with contextlib.suppress(ConnectionResetError):  # when a byte arrived after the end
            assert await reader.read() == b""
        assert time.monotonic() - started > 0.4


async def test_a_part_of_a_head_that_arrives_with_its_connection_is_timed_too():
    async with run_server(*ROUTES, settings=Settings(header_timeout=0.3)) as server:
        clients = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(10)]
        for client in clients:  # before the server has accepted any
            client.sendall(head("/api/v1/fine")[:-2])
            client.setblocking(False)
        async with asyncio.timeout(5):
            for client in clients:
                assert await asyncio.get_running_loop().sock_recv(client, 100) == b""
                client.close()


async def test_a_slow_body_and_a_slow_handler_are_not_bound_by_the_header_time():
    waiting.clear()
    async with (
        run_server(*ROUTES, settings=Settings(header_timeout=0.1)) as server,
        connection(server) as (reader, writer),
    ):
        writer.write(head("/api/v1/slow"))
        await asyncio.sleep(0.4)
        waiting.set()
        assert await status_of(reader) == 200
        writer.write(head("/api/v1/fine", "Content-Length: 2"))
        assert await status_of(reader) == 200
        await asyncio.sleep(0.4)
        writer.write(b"{}" + head("/api/v1/fine"))
        assert await status_of(reader) == 200


async def test_an_idle_connection_is_closed_after_the_keep_alive_time():
    async with (
        run_server(*ROUTES, settings=Settings(keep_alive=0.3)) as server,
        connection(server) as (idle, _),
        connection(server) as (reader, writer),
    ):
        writer.write(head("/api/v1/fine"))
        assert await status_of(reader) == 200
        async with asyncio.timeout(3):
            assert await idle.read() == await reader.read() == b""


# --- Connections and concurrent requests of an address ---------------------------------------------------------------

CONNECTIONS = "more than 2 connections from this address"
REQUESTS = "more than 2 concurrent requests from this address"


@pytest.mark.parametrize(
    "path,body",
    [
        ("/api/v1/fine", {"error": "rate limit exceeded", "detail": CONNECTIONS}),
        ("/api/fine", {"status": 429, "message": "rate limit exceeded", "detail": CONNECTIONS}),
        (
            "/api/admin/fine",
            {"error": "rate_limit_exceeded", "message": "rate limit exceeded", "status": 429, "detail": CONNECTIONS},
        ),
    ],
)  # fmt: skip
async def test_a_connection_over_the_limit_of_its_address_is_429_in_the_familys_format(path, body):
    async with run_server(*ROUTES, settings=Settings(address_connections=2)) as server:
        async with connection(server), connection(server) as (reader, writer):
            response = await server.get(path)
            assert response.status_and_json == (429, body)
            assert (response.headers["Retry-After"], response.headers["Connection"]) == ("1", "close")
            writer.write(head(path))
            assert await status_of(reader) == 200
            assert (await server.get("/health/live")).status == 200
            await server.client.connector.close()
        async with asyncio.timeout(5):  # until the server has noticed that they are closed
            while True:
                async with server.new_client() as client, client.get(path) as later:
                    if later.status == 200:
                        return


async def test_connections_far_over_the_limit_are_closed_at_once():
    async with (
        run_server(*ROUTES, settings=Settings(address_connections=1)) as server,
        connection(server),
        connection(server),
        connection(server) as (reader, _),
    ):
        async with asyncio.timeout(2):
            with contextlib.suppress(ConnectionResetError):
                assert await reader.read() == b""


@pytest.mark.parametrize(
    "settings", [Settings(address_connections=0), Settings(address_connections=1, trusted_proxies=PROXIES)]
)
async def test_connections_of_trusted_proxies_are_not_limited_nor_is_anything_by_zero(settings):
    async with (
        run_server(*ROUTES, settings=settings) as server,
        connection(server),
        connection(server),
        connection(server),
    ):
        assert (await server.get("/api/v1/fine")).status == 200


async def test_concurrent_requests_are_limited_by_client_address_also_behind_a_proxy():
    waiting.clear()
    async with run_server(*ROUTES, settings=Settings(address_requests=2, trusted_proxies=PROXIES)) as server:

        def call(path: str, address: str):
            return asyncio.create_task(server.get(path, X_Forwarded_For=address))

        running = [call("/api/v1/slow", "2001:db8::1"), call("/api/v1/slow", "2001:db8::2")]
        await asyncio.sleep(0.2)
        refused = await call("/api/v1/fine", "2001:db8::3")
        assert refused.status_and_json == (429, {"error": "rate limit exceeded", "detail": REQUESTS})
        assert refused.headers["Retry-After"] == "1"
        assert (await call("/health/live", "2001:db8::3")).status == 200
        assert (await call("/api/v1/fine", "203.0.113.1")).status == 200
        waiting.set()
        assert [(await task).status for task in running] == [200, 200]
        assert (await call("/api/v1/fine", "2001:db8::3")).status == 200


# --- Repeated headers ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name, value, status",
    [
        ("Authorization", "Bearer admin", 401),
        ("authorization", "Bearer customer", 401),
        ("X-Tenant-ID", str(DEMO.public_id), 404),
        ("X-Tenant-ID", str(OTHER.public_id), 404),
    ],
)
@pytest.mark.parametrize("is_first", [True, False])
async def test_a_credential_or_store_that_is_sent_twice_is_refused_whichever_comes_first(name, value, status, is_first):
    valid = ["Authorization: Bearer admin", f"X-Tenant-ID: {DEMO.public_id}"]
    lines = [f"{name}: {value}", *valid] if is_first else [*valid, f"{name}: {value}"]
    async with (
        run_server(Route("GET", "/api/v1/admin/fine", fine, Credential.ADMIN)) as server,
        connection(server) as (reader, writer),
    ):
        for sent, expected in ((valid, 200), (lines, status), (valid, 200), (lines, status)):
            writer.write(head("/api/v1/admin/fine", *sent))
            assert await status_of(reader) == expected


async def test_an_application_sees_a_repeated_credential_store_or_key_as_one_list():
    async def seen(request: web.Request) -> web.Response:
        names = ("Authorization", "X-API-Key", "X-Tenant-ID", "Idempotency-Key", "Accept")
        return json_response({name: request.headers.getall(name) for name in names})

    lines = ("Authorization: a", "X-API-Key: b", "X-Tenant-ID: c", "Idempotency-Key: d", "Accept: e", "Accept: f")
    async with run_server(Route("GET", "/api/v1/seen", seen, Credential.NONE)) as server:
        raw = await server.send_raw(
            head("/api/v1/seen", *lines, "AUTHORIZATION: A", "idempotency-key: D", "Connection: close")
        )
    assert json.loads(raw.partition(b"\r\n\r\n")[2]) == {
        "Authorization": ["a, A"],
        "X-API-Key": ["b"],
        "X-Tenant-ID": ["c"],
        "Idempotency-Key": ["d, D"],
        "Accept": ["e", "f"],
    }
