"""Responses are compressed with the content coding that the client prefers."""

from __future__ import annotations

import asyncio
import gzip
import random
import zlib
from collections.abc import Callable, Mapping
from typing import Any

import brotli
import pytest
import zstandard
from aiohttp import web

from kernel.errors import ValidationFailed
from rest_facade import responses
from rest_facade.responses import MIN_SIZE, BytesResponse, choose, json_response
from rest_facade.routing import Credential, Route
from tests.server.middleware_server import Server, run_server

TEXT = b'{"name": "Caneca de \xc3\x81gata"}' * 100
LARGE = TEXT * 100
PATH = "/api/v1/storefront/products"
DECODERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.decompress,
    "br": brotli.decompress,
    "zstd": lambda body: zstandard.ZstdDecompressor().decompress(body),
}


def returning(body: bytes, content_type: str = "application/json", **headers: str) -> Route:
    async def handler(request: web.Request) -> web.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return BytesResponse(body, content_type=content_type, headers=named)

    return Route("GET", PATH, handler, Credential.NONE)


async def read(
    server: Server, accepted: str | None, method: str = "GET", **headers: str
) -> tuple[Mapping[str, str], bytes]:
    """Return the headers and the body as it was sent."""
    sent = {} if accepted is None else {"Accept-Encoding": accepted}
    options: dict[str, Any] = {"auto_decompress": False, "skip_auto_headers": ("Accept-Encoding",)}
    async with server.client.request(method, PATH, headers={**sent, **headers}, **options) as response:
        return response.headers, await response.read()


@pytest.mark.parametrize(
    "accepted,coding",
    [
        ("gzip", "gzip"),
        ("GZIP", "gzip"),
        ("x-gzip", "gzip"),
        ("deflate", None),
        ("", None),
        ("identity", None),
        ("*", "gzip"),
        ("*;q=0", None),
        ("gzip, deflate, br", "br"),
        ("gzip, deflate, br, zstd", "br"),
        ("zstd, gzip", "gzip"),
        ("br;q=0.9, gzip;q=0.9, zstd", "zstd"),
        ("zstd", "zstd"),
        ("gzip;q=1.0, br;q=0.9, zstd;q=0.8", "gzip"),
        ("br;q=0, *;q=0.1, zstd;q=0", "gzip"),
        ("gzip;q=0", None),
        ("gzip; q=0.5 , br;q=0.4", "gzip"),
        ("gzip;q=0.5, identity;q=0.9", None),
        ("gzip;q=x, br;q=2, zstd;q=nan", None),
        (",;q=1,,gzip", "gzip"),
    ],
)
def test_the_coding_is_the_one_the_client_prefers(accepted: str, coding: str | None) -> None:
    assert choose(accepted) == coding


@pytest.mark.parametrize("coding", DECODERS)
@pytest.mark.parametrize("body", [TEXT, LARGE], ids=["small", "large"])
@pytest.mark.parametrize("origin", [{}, {"Origin": "https://shop.example"}], ids=["own", "cross-origin"])
async def test_a_body_above_one_kibibyte_is_compressed(coding: str, body: bytes, origin: dict[str, str]) -> None:
    async with run_server(returning(body)) as server:
        headers, sent = await read(server, coding, **origin)
    assert DECODERS[coding](sent) == body
    assert len(sent) < len(body) / 2
    assert headers["Content-Encoding"] == coding
    assert headers["Content-Length"] == str(len(sent))
    assert headers["Vary"] == "Accept-Encoding, Origin"


async def test_a_plain_answer_to_a_client_without_codings_says_that_it_varies() -> None:
    async with run_server(returning(TEXT)) as server:
        headers, sent = await read(server, None)
    assert sent == TEXT
    assert "Content-Encoding" not in headers
    assert headers["Vary"] == "Accept-Encoding, Origin"


@pytest.mark.parametrize(
    "route",
    [
        returning(b"x" * MIN_SIZE),
        returning(LARGE, "image/png"),
        returning(LARGE, "text/event-stream"),
        returning(gzip.compress(random.Random(1).randbytes(4096)), Content_Encoding="gzip"),
    ],
    ids=["small", "image", "events", "encoded"],
)
async def test_what_gains_nothing_is_sent_as_it_is(route: Route) -> None:
    async with run_server(route) as server:
        headers, sent = await read(server, "br, gzip, zstd")
        plain, expected = await read(server, None)
    assert sent == expected
    assert headers.get("Content-Encoding") == plain.get("Content-Encoding")
    assert headers["Vary"] == "Origin"


async def test_an_incompressible_body_is_sent_plain() -> None:
    body = random.Random(1).randbytes(4096)
    async with run_server(returning(body, "text/plain")) as server:
        headers, sent = await read(server, "zstd")
    assert sent == body
    assert "Content-Encoding" not in headers


async def test_head_has_the_headers_of_get() -> None:
    async with run_server(returning(TEXT)) as server:
        got, _ = await read(server, "gzip")
        head, body = await read(server, "gzip", method="HEAD")
    assert body == b""
    for name in ("Content-Encoding", "Content-Length", "Vary"):
        assert head[name] == got[name]


async def test_a_strong_etag_becomes_weak_with_the_coding() -> None:
    async with run_server(returning(TEXT, ETag='"1"')) as server:
        compressed, _ = await read(server, "gzip")
        plain, _ = await read(server, None)
    assert (compressed["ETag"], plain["ETag"]) == ('W/"1"', '"1"')


async def test_errors_are_compressed_too() -> None:
    async def refuse(request: web.Request) -> web.Response:
        raise ValidationFailed("invalid", fields={f"field_{number}": "required" for number in range(200)})

    async with run_server(Route("GET", PATH, refuse, Credential.NONE)) as server:
        headers, sent = await read(server, "br")
    assert headers["Content-Encoding"] == "br"
    assert b'"field_199"' in brotli.decompress(sent)


async def test_a_large_body_is_compressed_while_others_are_served(monkeypatch: pytest.MonkeyPatch) -> None:
    """The event loop serves another request while the compressor waits."""
    loop = asyncio.get_running_loop()
    others_served = asyncio.Event()

    def wait_for_others(body: bytes) -> bytes:
        asyncio.run_coroutine_threadsafe(asyncio.wait_for(others_served.wait(), 10), loop).result()
        return zlib.compress(body, wbits=31)

    async def other(request: web.Request) -> web.Response:
        others_served.set()
        return json_response({})

    monkeypatch.setitem(responses.CODINGS, "gzip", wait_for_others)
    async with run_server(returning(LARGE), Route("GET", "/api/v1/other", other, Credential.NONE)) as server:
        reading = asyncio.create_task(read(server, "gzip"))
        await asyncio.sleep(0.05)
        assert (await server.get("/api/v1/other")).status == 200
        _, sent = await reading
    assert gzip.decompress(sent) == LARGE
