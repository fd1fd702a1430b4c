"""Accepted request bodies and the errors of others, through a real server."""

from __future__ import annotations

import asyncio
import functools
import gzip
import struct
import threading
import time
import zlib
from collections import Counter

import pytest
from aiohttp import web

from kernel.errors import InvalidClient
from kernel.ip_addresses import parse_network
from kernel.settings import Settings
from kernel.work_queues import PYTHON_WORK
from rest_facade import bodies
from rest_facade.bodies import (
    MAX_ANONYMOUS_FORM_BYTES,
    MAX_BYTES,
    read_form_or_json,
    read_json_object,
    read_legacy,
    read_raw,
)
from rest_facade.current.oauth import read_client_request
from rest_facade.responses import json_response
from rest_facade.routing import CLIENT_IP, Credential, Route
from server.http import connections
from tests.server.middleware_server import run_server


def reading(read, **options):
    async def handler(request: web.Request) -> web.Response:
        received = await read(request, **options)
        return json_response({"received": received if isinstance(received, dict) else len(received)})

    return handler


ROUTES = (
    Route("POST", "/api/v1/json", reading(read_json_object), Credential.NONE),
    Route("POST", "/api/v1/optional", reading(read_json_object, empty=True), Credential.NONE),
    Route("POST", "/api/v1/either", reading(read_form_or_json), Credential.NONE),
    Route("POST", "/api/v1/raw", reading(read_raw), Credential.NONE),
    Route("POST", "/api/admin/json", reading(read_json_object), Credential.NONE),
    Route("POST", "/api/legacy", reading(read_legacy), Credential.NONE),
    Route("POST", "/graphql", reading(read_raw), Credential.NONE),
    Route("POST", "/api/v1/private", reading(read_raw), Credential.ADMIN),
    Route("POST", "/api/v1/oauth/token", reading(read_form_or_json), Credential.STORE),
    Route("POST", "/api/private", reading(read_legacy), Credential.LEGACY_ADMIN),
)
# CPU time that decompressing 500 MB exceeds.
DECOMPRESSION_SECONDS = 0.2


@functools.cache
def compressed_zeros(megabytes: int) -> bytes:
    """Return so many megabytes of zeros, compressed to a thousandth as one gzip stream of equal blocks (RFC 1951, RFC 1952)."""
    zeros = bytes(1_000_000)
    stream = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    block = stream.compress(zeros) + stream.flush(zlib.Z_FULL_FLUSH)  # refers to no earlier block
    checksum = 0
    for _ in range(megabytes):
        checksum = zlib.crc32(zeros, checksum)
    trailer = struct.pack("<II", checksum, megabytes * len(zeros))
    return b"\x1f\x8b\x08" + bytes(6) + b"\xff" + block * megabytes + stream.flush() + trailer


JSON = "application/json"
FORM = "application/x-www-form-urlencoded"


async def post(path: str, body: bytes, content_type: str | None = JSON, **headers: str):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    if content_type is not None:
        named["Content-Type"] = content_type
    async with run_server(*ROUTES) as server:
        skip = {} if content_type is not None else {"skip_auto_headers": ["Content-Type"]}
        return await server.call("POST", path, data=body, headers=named, **skip)


@pytest.mark.parametrize("content_type", [JSON, "application/json; charset=UTF-8", "application/vnd.shop+json"])
async def test_the_current_api_accepts_json_objects(content_type):
    response = await post("/api/v1/json", b'{"name": "Cal\xc3\xa7a"}', content_type)
    assert response.status_and_json == (200, {"received": {"name": "Calça"}})


@pytest.mark.parametrize(
    "body,detail",
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"nonsense", "not JSON"),
        (b"[1]", "not a JSON object"),
        (b'"text"', "not a JSON object"),
        (b"null", "not a JSON object"),
        (b'{"a": "\\u0000"}', "NUL"),
        (b'{"a": "\\ud800"}', "not JSON"),
        (b'{"a": "\xff"}', "not JSON"),
        (b'{"a": NaN}', "not JSON"),
        (b'{"a": 9223372036854775808}', "64 bits"),
        (b'{"a": ' + b"[" * 64 + b"]" * 64 + b"}", "64 levels"),
        (b'{"a": ' + b"[" * 100_000, "25000 values"),
    ],
)
@pytest.mark.parametrize("path", ["/api/v1/json", "/api/admin/json"])
async def test_an_invalid_json_object_is_400_with_the_reason(path, body, detail):
    response = await post(path, body)
    assert response.status == 400
    assert (
        response.json["error"]
        == {
            "/api/v1/json": "invalid request body",
            "/api/admin/json": "invalid_request_body",
        }[path]
    )
    assert detail in response.json["detail"]


@pytest.mark.parametrize("content_type", ["text/plain", FORM, "multipart/form-data", "nonsense", None])
async def test_the_current_api_rejects_other_content_types(content_type):
    response = await post("/api/v1/json", b"{}", content_type)
    assert (response.status, response.json["error"]) == (400, "invalid request body")
    assert "expected application/json" in response.json["detail"]


async def test_another_charset_is_refused():
    response = await post("/api/v1/json", b'{"a": "\xe7"}', "application/json; charset=latin-1")
    assert response.status_and_json == (
        400,
        {"error": "invalid request body", "detail": "the charset is 'latin-1'; expected utf-8"},
    )


async def test_an_empty_body_is_an_empty_object_only_on_routes_that_allow_it():
    assert (await post("/api/v1/optional", b"", None)).status_and_json == (200, {"received": {}})
    assert (await post("/api/v1/json", b"", None)).status == 400


async def test_a_body_may_have_at_most_2_mib(monkeypatch):
    monkeypatch.setitem(connections.OPTIONS, "lingering_time", 0.1)
    assert (await post("/api/v1/raw", b"x" * MAX_BYTES)).status_and_json == (200, {"received": MAX_BYTES})
    large = await post("/api/v1/raw", b"x" * (MAX_BYTES + 1))
    assert large.status_and_json == (413, {"error": f"the request body is larger than {MAX_BYTES} bytes"})
    legacy = await post("/api/legacy", b"x" * (MAX_BYTES + 1))
    assert (legacy.status, legacy.json["status"]) == (413, 413)


async def test_a_body_that_decompresses_beyond_the_limit_is_413():
    packed = gzip.compress(b" " * (40 * MAX_BYTES))
    assert (await post("/api/v1/raw", packed, Content_Encoding="gzip")).status == 413


@pytest.mark.parametrize("encoding", ["gzip", "x-gzip", "GZIP"])
async def test_a_compressed_body_is_decompressed(encoding):
    answer = await post("/api/v1/json", gzip.compress(b'{"a": 1}'), Content_Encoding=encoding)
    assert answer.status_and_json == (200, {"received": {"a": 1}})


async def test_a_body_that_is_not_what_its_coding_says_is_400():
    broken = await post("/api/v1/json", b"no gzip", Content_Encoding="gzip")
    assert (broken.status, broken.json["error"]) == (400, "invalid request body")


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, br", "x" * 100])
@pytest.mark.parametrize("path", ["/api/v1/raw", "/api/admin/json", "/api/legacy", "/graphql"])
async def test_a_body_in_another_content_coding_is_415_and_those_accepted_are_listed(path, encoding):
    response = await post(path, b'{"a": 1}', Content_Encoding=encoding)
    assert (response.status, response.headers["Accept-Encoding"]) == (415, "gzip, deflate")
    assert response.json["detail"] == f"the content encoding is {encoding[:60]!r}; expected gzip or deflate"


async def test_a_body_of_identity_coding_and_an_empty_body_of_any_are_read():
    body = b'{"a": 1}'
    assert (await post("/api/v1/json", body, Content_Encoding="identity")).json == {"received": {"a": 1}}
    assert (await post("/api/v1/optional", b"", Content_Encoding="br")).json == {"received": {}}


@pytest.mark.parametrize("pack", [zlib.compress, lambda body: zlib.compress(body, wbits=-15)])
async def test_deflate_is_accepted_with_and_without_its_header(pack):
    packed = pack(b'{"a": 1}')
    assert (await post("/api/v1/json", packed, Content_Encoding="deflate")).json == {"received": {"a": 1}}


async def test_gzip_may_consist_of_several_streams_of_which_all_must_be_complete():
    packed = gzip.compress(b'{"a":') + gzip.compress(b" 1}")
    assert (await post("/api/v1/json", packed, Content_Encoding="gzip")).json == {"received": {"a": 1}}
    for broken in (packed[:-1], packed + b"x", gzip.compress(b"") * 50_000):
        assert (await post("/api/v1/json", broken, Content_Encoding="gzip")).status == 400


@pytest.mark.parametrize(
    "method,path,status",
    [
        ("GET", "/health/live", 200),
        ("POST", "/nowhere", 404),
        ("DELETE", "/api/v1/json", 405),
        ("POST", "/api/v1/private", 401),
    ],
)
async def test_a_body_is_not_decompressed_before_it_is_read(method, path, status):
    packed = compressed_zeros(500)
    async with run_server(*ROUTES) as server:
        started = time.process_time()
        response = await server.call(method, path, data=packed, headers={"Content-Encoding": "gzip"})
        assert response.status == status
        assert (await server.get("/health/live")).status == 200  # after the rest of the body
        assert time.process_time() - started < DECOMPRESSION_SECONDS


async def test_decompression_stops_at_the_limit():
    packed = compressed_zeros(500)
    async with run_server(*ROUTES) as server:
        started = time.process_time()
        response = await server.call("POST", "/api/v1/raw", data=packed, headers={"Content-Encoding": "gzip"})
        assert response.status == 413
        assert (await server.get("/health/live")).status == 200
        assert time.process_time() - started < DECOMPRESSION_SECONDS


@pytest.mark.parametrize(
    "chunks,status",
    [(b"2\r\n{}\r\n0\r\n\r\n", 200), (b"zz\r\n{}\r\n", 400), (b"2\r\n{}XX0\r\n\r\n", 400)],
)
async def test_chunked_bodies_are_read_and_broken_ones_are_400(chunks, status):
    async with run_server(*ROUTES) as server:
        head = (
            b"POST /api/v1/json HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
            b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        response = await server.send_raw(head + chunks)
        assert int(response.split(b" ", 2)[1]) == status


async def test_a_slow_body_times_out(monkeypatch):
    monkeypatch.setattr(bodies, "BODY_TIMEOUT_SECONDS", 0.2)
    monkeypatch.setitem(connections.OPTIONS, "lingering_time", 0.1)
    async with run_server(*ROUTES) as server:
        head = b"POST /api/v1/json HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n"
        async with asyncio.timeout(8):
            response = await server.send_raw(head + b"{")
        assert response.startswith(b"HTTP/1.1 503 ")
        assert b'{"error":"request timeout"}' in response


# --- Legacy ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body,content_type,received",
    [
        (b'{"product": "A"}', JSON, {"product": "A"}),
        (b'{"product": "A"}', "text/plain", {"product": "A"}),
        (b'{"product": "A"}', FORM, {"product": "A"}),
        (b' \r\n\t{"product": "A"}', None, {"product": "A"}),
        (b'\xef\xbb\xbf{"product": "A"}', "text/html", {"product": "A"}),
        (b"product=A+B&options[1]=2&ids[]=1&ids[]=2", FORM, {"product": "A B", "options": {"1": "2"}, "ids": ["1", "2"]}),
        (b"product=A", None, {"product": "A"}),
        (b"product=A", "text/plain", {"product": "A"}),
        (b"product=%C3%A7", FORM, {"product": "ç"}),
        (b"", None, {}),
        (b" \r\n", JSON, {}),
    ],
)  # fmt: skip
async def test_the_legacy_api_accepts_json_of_any_content_type_and_php_forms(body, content_type, received):
    assert (await post("/api/legacy", body, content_type)).status_and_json == (200, {"received": received})


@pytest.mark.parametrize(
    "body,content_type",
    [
        (b'{"product": ', FORM),
        (b"[1, 2]", FORM),
        (b"product=A", JSON),
        (b"product=A", "multipart/form-data"),
        (b"<product/>", "application/xml"),
        (b"product=%00", FORM),
        (b"product=%ff", FORM),
        (b"product=\xff", FORM),
        (b"a" + b"[c]" * 100, FORM),
        (b"&".join(b"a%d=1" % number for number in range(6_000)), FORM),
    ],
)
async def test_a_malformed_legacy_body_is_400_in_the_legacy_format(body, content_type):
    response = await post("/api/legacy", body, content_type)
    assert (response.status, response.json["status"], response.json["message"]) == (
        400,
        400,
        "invalid request body",
    )


@pytest.mark.parametrize(
    "body,content_type,status",
    [(b"grant_type=x", FORM, 200), (b'{"grant_type": "x"}', JSON, 200), (b"grant_type=x", "text/plain", 400)],
)
async def test_the_token_route_accepts_forms_and_json(body, content_type, status):
    response = await post("/api/v1/either", body, content_type)
    assert response.status == status
    if status == 200:
        assert response.json == {"received": {"grant_type": "x"}}


# --- Forms of callers who aren't known -------------------------------------------------------------------------------------

BASIC = {"Authorization": "Basic admin", "Content-Type": FORM}


async def test_a_form_without_a_credential_of_more_than_64_kib_is_413_and_one_with_a_credential_is_read():
    escaped = b"code=" + b"%41" * 690_000
    allowed = b"code=" + b"a" * (MAX_ANONYMOUS_FORM_BYTES - 5)
    async with run_server(*ROUTES) as server:
        for path in ("/api/v1/oauth/token", "/api/v1/either", "/api/legacy"):
            headers = {"Content-Type": FORM}
            refused = await server.call("POST", path, data=escaped, headers=headers)
            assert refused.status == 413, path
            assert (await server.call("POST", path, data=allowed + b"a", headers=headers)).status == 413, path
            assert (await server.call("POST", path, data=allowed, headers=headers)).status == 200, path
        known = await server.call("POST", "/api/private", data=escaped, headers=BASIC)
        assert (known.status, known.json["received"]) == (200, {"code": "A" * 690_000})


async def test_60_forms_of_one_address_wait_for_themselves_and_the_form_of_another_is_read_next():
    form = b"&".join(b"name%d[]=%%41" % number for number in range(1_000))
    settings = Settings(trusted_proxies=(parse_network("127.0.0.0/8"),))
    may_end = threading.Event()
    order: list[str] = []

    async def read(request: web.Request) -> web.Response:
        await read_legacy(request)
        order.append(request[CLIENT_IP])
        return json_response({})

    async def send(address: str, caller: str) -> int:
        headers = {"Content-Type": FORM, "Authorization": caller, "X-Forwarded-For": address}
        return (await server.call("POST", "/api/form", data=form, headers=headers)).status

    async with run_server(Route("POST", "/api/form", read, Credential.LEGACY_ADMIN), settings=settings) as server:
        busy = asyncio.ensure_future(PYTHON_WORK.run(may_end.wait, "test", 1, ("test",)))
        hostile = [asyncio.ensure_future(send("203.0.113.1", "Basic admin")) for _ in range(60)]
        while sum(each.done() for each in hostile) < 40:
            await asyncio.sleep(0.01)
        other = asyncio.ensure_future(send("203.0.113.2", "Bearer vat_live_app"))
        assert (await server.get("/health/live")).status == 200
        while len(server.credentials.calls) < 61:
            await asyncio.sleep(0.01)
        await server.get("/health/live")  # the other form waits now
        may_end.set()
        await busy
        assert Counter(await asyncio.gather(*hostile)) == {200: 20, 429: 40}
        assert await other == 200
        assert order.index("203.0.113.2") <= 1


async def test_a_wrong_secret_of_an_app_in_the_body_counts_as_a_wrong_credential_and_one_in_the_header_before_it_is_read():
    bodies_read: list[str] = []

    async def token(request: web.Request) -> web.Response:
        body = await read_client_request(request)
        bodies_read.append(body["client_id"])
        raise InvalidClient("the client secret is wrong")

    routes = (Route("POST", "/api/v1/oauth/token", token, Credential.STORE, names_store=True),)
    async with run_server(*routes, settings=Settings(failed_auth_rate=3)) as server:
        data = {"client_id": "vci_1", "client_secret": "guess"}
        statuses = [(await server.call("POST", "/api/v1/oauth/token", data=data)).status for _ in range(2)]
        for _ in range(2):
            headers = {"Authorization": "Basic nonsense", "Content-Type": FORM}
            statuses.append((await server.call("POST", "/api/v1/oauth/token", data=b"a", headers=headers)).status)
        assert statuses == [401, 401, 401, 429]
        assert bodies_read == ["vci_1", "vci_1"]
