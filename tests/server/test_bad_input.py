"""Whatever arrives, nothing is ever answered 500 and everything has a request id."""

from __future__ import annotations

import pytest
from aiohttp import web

from rest_facade.responses import json_response
from rest_facade.routing import Needs, Route, scope_of
from tests.server.serving import serving


async def shown(request: web.Request) -> web.Response:
    scope = scope_of(request)
    texts = [request.path, *request.match_info.values(), scope.user_agent]
    texts += [part for pair in request.query.items() for part in pair]
    for text in texts:  # what a database would be given
        text.encode()
        assert "\x00" not in text
    return json_response({"id": request.match_info.get("id")})


ROUTES = (
    Route("GET", "/api/v1/admin/things/{id}", shown, Needs.ADMIN),
    Route("GET", "/api/things/{id}", shown, Needs.LEGACY_ADMIN),
    Route("GET", "/api/v1/public/{id}", shown, Needs.STORE),
    Route("GET", "/api/v1/storefront/public/{id}", shown, Needs.STORE),
)
HEAD = b"Host: localhost\r\nConnection: close\r\n"


def get(target: bytes, headers: bytes = b"") -> bytes:
    return b"GET " + target + b" HTTP/1.1\r\n" + HEAD + headers + b"\r\n"


def status_of(answer: bytes) -> int:
    assert answer.startswith((b"HTTP/1.1 ", b"HTTP/1.0 ")), answer
    assert b"x-request-id: " in answer.lower()
    return int(answer.split(b" ", 2)[1])


@pytest.mark.parametrize(
    "target,status",
    [
        (b"/api/v1/public/a%00b", 404),
        (b"/api/v1/public/1?q=a%00b", 400),
        (b"/api/v1/public/1?%00=b", 400),
        (b"/api/v1/public/1?q=%2500", 200),
        (b"/api/v1/public/1?q=%ff%fe", 200),
        (b"/api/v1/public/1?q=%ed%a0%80", 200),
        (b"/api/v1/public/1?q=%", 200),
        (b"/api/v1/public/1?q=%zz&&&=&==", 200),
        (b"/api/v1/public/%ff%fe", 200),
        (b"/api/v1/public/%zz", 200),
        (b"/api/v1/public/1?q=cal\xc3\xa7ado", 400),  # the parser takes ASCII only
        (b"/api/v1/public/1?q=\xff\xfe", 400),
        (b"/api/v1/public/\xff\xfe", 400),
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
async def test_an_odd_address_is_answered(target, status):
    async with serving(*ROUTES) as server:
        assert status_of(await server.speak(get(target))) == status


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
        (b"Expect: the-unexpected\r\nAuthorization: Bearer admin\r\n", 417),
        (b"Content-Length: -1\r\n", 400),
        (b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n", 400),
    ],
)
async def test_odd_headers_are_answered(headers, status):
    async with serving(*ROUTES) as server:
        assert status_of(await server.speak(get(b"/api/v1/admin/things/1", headers))) == status


@pytest.mark.parametrize("host", [b"", b"\xff\xfe", b"[", b"a b", b"localhost:99999999", b"x" * 5_000])
async def test_an_odd_host_is_no_accident(host):
    async with serving(*ROUTES) as server:
        answer = await server.speak(
            b"GET /api/v1/public/1 HTTP/1.1\r\nHost: " + host + b"\r\nConnection: close\r\n\r\n"
        )
        assert status_of(answer) in (200, 400, 404)


async def test_a_request_without_a_host_is_answered():
    async with serving(*ROUTES) as server:
        assert status_of(await server.speak(b"GET /api/v1/public/1 HTTP/1.0\r\n\r\n")) == 200


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
async def test_what_is_no_http_is_400_in_json_with_a_request_id(raw):
    async with serving(*ROUTES) as server:
        answer = await server.speak(raw)
        assert status_of(answer) == 400
        assert b"Content-Type: application/json" in answer
        assert answer.endswith(
            b'{"error":"bad request","message":"bad request","status":400,'
            b'"detail":"this is not HTTP as this server reads it"}'
        )
        assert [line["event"] for line in server.lines.all()] == ["bad request"]


@pytest.mark.parametrize("method", ["TRACE", "CONNECT", "OPTIONS", "PROPFIND", "FOO"])
async def test_an_unusual_method_is_405(method):
    async with serving(*ROUTES) as server:
        answer = await server.speak(f"{method} /api/v1/public/1 HTTP/1.1\r\n".encode() + HEAD + b"\r\n")
        assert status_of(answer) in (400, 404, 405)


async def test_a_client_that_goes_away_is_logged_as_gone_and_hurts_nobody():
    async with serving(*ROUTES) as server:
        await server.speak(
            b"POST /api/v1/public/1 HTTP/1.1\r\n" + HEAD + b"Content-Length: 9\r\n\r\nabc", close=True
        )
        assert (await server.get("/api/v1/public/1")).status == 200
        assert server.lines.all("accident") == []


async def test_an_answer_that_goes_out_in_one_piece_has_the_headers_of_any_other():
    """The first of two requests on a connection takes the short way, the last one, which ends it, aiohttp's own."""
    line = b"GET /api/v1/storefront/public/1 HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: same\r\n"
    async with serving(*ROUTES) as server:
        raw = await server.speak(line + b"\r\n" + line + b"Connection: close\r\n\r\n")
        asked_head = await server.speak(line.replace(b"GET", b"HEAD") + b"Connection: close\r\n\r\n")
        across = await server.speak(line + b"Origin: https://a.example\r\nConnection: close\r\n\r\n")
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


def _headers(answer: bytes) -> dict[bytes, bytes]:
    lines = answer.partition(b"\r\n\r\n")[0].split(b"\r\n")[1:]
    named = {name.lower(): value for name, _, value in (line.partition(b": ") for line in lines)}
    return {**named, b"date": b"", b"x-ratelimit-remaining": b""}
