"""Malformed input never causes a 500, and every response has a request id."""

from __future__ import annotations

import asyncio
import socket

import pytest
from aiohttp import web

from rest_facade.responses import json_response
from rest_facade.routing import SCOPE, Credential, Route
from tests.server.middleware_server import run_server


async def echo(request: web.Request) -> web.Response:
    scope = request[SCOPE]
    texts = [request.path, *request.match_info.values(), scope.user_agent]
    texts += [part for pair in request.query.items() for part in pair]
    for text in texts:  # must be storable in the database
        text.encode()
        assert "\x00" not in text
    return json_response({"id": request.match_info.get("id")})


ROUTES = (
    Route("GET", "/api/v1/admin/things/{id}", echo, Credential.ADMIN),
    Route("GET", "/api/things/{id}", echo, Credential.LEGACY_ADMIN),
    Route("GET", "/api/v1/public/{id}", echo, Credential.STORE),
    Route("GET", "/api/v1/storefront/public/{id}", echo, Credential.STORE),
)
HEAD = b"Host: localhost\r\nConnection: close\r\n"


def get(target: bytes, headers: bytes = b"") -> bytes:
    return b"GET " + target + b" HTTP/1.1\r\n" + HEAD + headers + b"\r\n"


def status_of(response: bytes) -> int:
    assert response.startswith((b"HTTP/1.1 ", b"HTTP/1.0 ")), response
    assert b"x-request-id: " in response.lower()
    return int(response.split(b" ", 2)[1])


@pytest.mark.parametrize(
    "target,status",
    [
        (b"/api/v1/public/a%00b", 404),
        (b"/api/v1/public/1?q=a%00b", 400),
        (b"/api/v1/public/1?%00=b", 400),
        (b"/api/v1/public/1?q=%2500", 200),
        (b"/api/v1/public/1?q=%ff%fe", 400),
        (b"/api/v1/public/1?q=%ed%a0%80", 400),
        (b"/api/v1/public/1?q=%C3%A7", 200),
        (b"/api/v1/public/1?q=e" + b"%CC%81" * 30, 200),
        (b"/api/v1/public/1?q=e" + b"%CC%81" * 31, 400),
        (b"/api/v1/public/1?q=%", 200),
        (b"/api/v1/public/1?q=%zz&&&=&==", 200),
        (b"/api/v1/public/%ff%fe", 200),
        (b"/api/v1/public/%zz", 200),
        (b"/api/v1/public/1?q=cal\xc3\xa7ado", 200),
        (b"/api/v1/public/1?q=\xff\xfe", 400),
        (b"/api/v1/public/\xff\xfe", 200),
        (b"/api/v1/public/..%2f..%2fetc", 200),
        (b"/api/v1/admin/../public/1", 404),
        (b"//api//v1//public/1", 404),
        (b"/api/v1/public/", 404),
        (b"/" + b"a" * 7_000, 404),
        (b"/api/v1/public/1?" + b"q=1&" * 1_800, 200),
        (b"/" + b"a" * 70_000, 400),
        (b"*", 400),
        (b"http://localhost/api/v1/public/1", 200),
        (b"http://[::1/api/v1/public/1", 400),
        (b"/api/v1/public/1#fragment", 200),
    ],
)
async def test_an_unusual_url_gets_a_response(target, status):
    async with run_server(*ROUTES) as server:
        assert status_of(await server.send_raw(get(target))) == status


async def test_a_target_that_is_not_percent_encoded_is_read_as_utf8():
    """PHP's curl and file_get_contents send names as they are."""
    target = "/api/v1/public/calçado".encode()
    head = b"GET " + target + b" HTTP/1.1\r\nHost: localhost\r\nUser-Agent: \xe7\r\n"
    async with run_server(*ROUTES) as server:
        with socket.create_connection(("127.0.0.1", server.port)) as client:  # arrives with its connection
            client.sendall(head + b"Connection: close\r\n\r\n")
            client.setblocking(False)
            async with asyncio.timeout(5):
                at_once = await asyncio.get_running_loop().sock_recv(client, 10_000)
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(head + b"Content-Length: 2\r\n\r\n{}")
        first = await reader.readuntil(b"}")
        writer.write(head + b"Connection: close\r\n\r\n")
        second = await reader.read()
        writer.close()
    for response in (at_once, first, second):
        assert status_of(response) == 200
        assert response.endswith('{"id":"calçado"}'.encode())


@pytest.mark.parametrize(
    "headers,status",
    [
        (b"Authorization: Bearer \xff\xfe\r\n", 401),
        (b"Authorization: \r\n", 401),
        (b"Authorization: Bearer " + b"a" * 6_000 + b"\r\n", 401),
        (b"X-API-Key: \xff\r\n", 401),
        (b"X-Tenant-ID: \xff\r\nAuthorization: Bearer admin\r\n", 404),
        (b"X-Request-Id: \xff\xfe\r\nAuthorization: Bearer admin\r\n", 200),
        (b"User-Agent: \xff\xfe\r\nAuthorization: Bearer admin\r\n", 200),
        (b"User-Agent: " + b"a" * 6_000 + b"\r\nAuthorization: Bearer admin\r\n", 200),
        (b"X-Forwarded-For: ,,unknown, \xff\r\nAuthorization: Bearer admin\r\n", 200),
        (b"Accept-Encoding: \xff\r\nAuthorization: Bearer admin\r\n", 200),
        (b"X-Long: " + b"a" * 20_000 + b"\r\n", 400),
        (b"Expect: the-unexpected\r\nAuthorization: Bearer admin\r\n", 200),
        (b"Content-Length: -1\r\n", 400),
        (b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n", 400),
    ],
)
async def test_unusual_headers_get_a_response(headers, status):
    async with run_server(*ROUTES) as server:
        assert status_of(await server.send_raw(get(b"/api/v1/admin/things/1", headers))) == status


@pytest.mark.parametrize("host", [b"", b"\xff\xfe", b"[", b"a b", b"localhost:99999999", b"x" * 5_000])
async def test_an_unusual_host_is_not_an_internal_error(host):
    async with run_server(*ROUTES) as server:
        response = await server.send_raw(
            b"GET /api/v1/public/1 HTTP/1.1\r\nHost: " + host + b"\r\nConnection: close\r\n\r\n"
        )
        assert status_of(response) in (200, 400, 404)


async def test_a_request_without_a_host_gets_a_response():
    async with run_server(*ROUTES) as server:
        assert status_of(await server.send_raw(b"GET /api/v1/public/1 HTTP/1.0\r\n\r\n")) == 200


@pytest.mark.parametrize(
    "raw",
    [
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"GET\r\n\r\n",
        b"G@T / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\n\x00: b\r\n\r\n",
    ],
)
async def test_malformed_http_is_400_in_json_with_a_request_id(raw):
    async with run_server(*ROUTES) as server:
        response = await server.send_raw(raw)
        assert status_of(response) == 400
        assert b"Content-Type: application/json" in response
        assert b"Server: vitrine\r\n" in response
        assert response.endswith(
            b'{"error":"bad request","message":"bad request","status":400,'
            b'"detail":"this is not HTTP as this server reads it"}'
        )
        assert [line["event"] for line in server.lines.all()] == ["bad request"]


@pytest.mark.parametrize(
    "head",
    [
        b"GET /api/v1/public/1?ids=" + b"1," * 5_000 + b" HTTP/1.1\r\n",
        b"GET / HTTP/1.1\r\nX-A: " + b"a" * 9_000 + b"\r\n",
    ],
)
async def test_a_head_that_is_too_long_is_named(head):
    async with run_server(*ROUTES) as server:
        response = await server.send_raw(head + HEAD + b"\r\n")
        assert status_of(response) == 400
        assert response.endswith(b'"detail":"its first line or a header is longer than 8190 bytes"}')
        assert b"Server: vitrine\r\n" in response
        assert b"Cache-Control: no-store\r\n" in response


@pytest.mark.parametrize("method", ["TRACE", "CONNECT", "PROPFIND", "FOO"])
async def test_an_unusual_method_is_405(method):
    async with run_server(*ROUTES) as server:
        response = await server.send_raw(f"{method} /api/v1/public/1 HTTP/1.1\r\n".encode() + HEAD + b"\r\n")
        assert status_of(response) in (400, 404, 405)


async def test_a_disconnected_client_is_logged_and_other_requests_continue():
    async with run_server(*ROUTES) as server:
        await server.send_raw(
            b"POST /api/v1/public/1 HTTP/1.1\r\n" + HEAD + b"Content-Length: 9\r\n\r\nabc", close=True
        )
        assert (await server.get("/api/v1/public/1")).status == 200
        assert server.lines.all("unexpected error") == []


async def test_a_single_write_response_has_the_same_headers_as_others():
    """The first of two requests on a connection takes the short way, the last one, which ends it, aiohttp's own."""
    line = b"GET /api/v1/storefront/public/1 HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: same\r\n"
    async with run_server(*ROUTES) as server:
        raw = await server.send_raw(line + b"\r\n" + line + b"Connection: close\r\n\r\n")
        asked_head = await server.send_raw(line.replace(b"GET", b"HEAD") + b"Connection: close\r\n\r\n")
        across = await server.send_raw(line + b"Origin: https://a.example\r\nConnection: close\r\n\r\n")
    first, second = raw.split(b'{"id":"1"}')[:2]
    assert raw.count(b'{"id":"1"}') == 2
    assert _headers(second) == {**_headers(first), b"connection": b"close"}
    assert _headers(first)[b"content-length"] == b"10"
    assert b"connection" not in _headers(first)
    assert set(_headers(first)) >= {
        b"content-type",
        b"date",
        b"server",
        b"x-request-id",
        b"vary",
        b"x-ratelimit-limit",
    }
    assert _headers(asked_head) == _headers(second)
    assert asked_head.endswith(b"\r\n\r\n")
    assert _headers(across)[b"access-control-allow-origin"] == b"https://a.example"


def _headers(response: bytes) -> dict[bytes, bytes]:
    lines = response.partition(b"\r\n\r\n")[0].split(b"\r\n")[1:]
    named = {name.lower(): value for name, _, value in (line.partition(b": ") for line in lines)}
    return {**named, b"date": b"", b"x-ratelimit-remaining": b""}
