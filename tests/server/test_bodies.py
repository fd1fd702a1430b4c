"""What request bodies are taken and how the others are refused, through a real server."""

from __future__ import annotations

import asyncio
import gzip

import pytest
from aiohttp import web

from rest_facade import bodies
from rest_facade.bodies import MAX_BYTES, read_form_or_json, read_json_object, read_legacy, read_raw
from rest_facade.responses import json_response
from rest_facade.routing import Needs, Route
from tests.server.serving import serving


def reading(read, **options):
    async def handler(request: web.Request) -> web.Response:
        got = await read(request, **options)
        return json_response({"got": got if isinstance(got, dict) else len(got)})

    return handler


ROUTES = (
    Route("POST", "/api/v1/json", reading(read_json_object), Needs.NOTHING),
    Route("POST", "/api/v1/optional", reading(read_json_object, empty=True), Needs.NOTHING),
    Route("POST", "/api/v1/either", reading(read_form_or_json), Needs.NOTHING),
    Route("POST", "/api/v1/raw", reading(read_raw), Needs.NOTHING),
    Route("POST", "/api/admin/json", reading(read_json_object), Needs.NOTHING),
    Route("POST", "/api/legacy", reading(read_legacy), Needs.NOTHING),
)
JSON = "application/json"
FORM = "application/x-www-form-urlencoded"


async def post(path: str, body: bytes, content_type: str | None = JSON, **headers: str):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    if content_type is not None:
        named["Content-Type"] = content_type
    async with serving(*ROUTES) as server:
        skip = {} if content_type is not None else {"skip_auto_headers": ["Content-Type"]}
        return await server.call("POST", path, data=body, headers=named, **skip)


@pytest.mark.parametrize(
    "content_type", [JSON, "application/json; charset=UTF-8", "application/vnd.shop+json"]
)
async def test_the_current_api_takes_json_objects(content_type):
    answer = await post("/api/v1/json", b'{"name": "Cal\xc3\xa7a"}', content_type)
    assert answer.said == (200, {"got": {"name": "Calça"}})


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
        (b'{"a": ' + b"[" * 100_000, "not JSON"),
    ],
)
@pytest.mark.parametrize("path", ["/api/v1/json", "/api/admin/json"])
async def test_what_is_no_good_json_object_is_400_and_says_why(path, body, detail):
    answer = await post(path, body)
    assert answer.status == 400
    assert (
        answer.json["error"]
        == {
            "/api/v1/json": "invalid request body",
            "/api/admin/json": "invalid_request_body",
        }[path]
    )
    assert detail in answer.json["detail"]


@pytest.mark.parametrize("content_type", ["text/plain", FORM, "multipart/form-data", "nonsense", None])
async def test_the_current_api_takes_no_other_content_type(content_type):
    answer = await post("/api/v1/json", b"{}", content_type)
    assert (answer.status, answer.json["error"]) == (400, "invalid request body")
    assert "expected application/json" in answer.json["detail"]


async def test_another_charset_is_refused():
    answer = await post("/api/v1/json", b'{"a": "\xe7"}', "application/json; charset=latin-1")
    assert answer.said == (
        400,
        {"error": "invalid request body", "detail": "the charset is 'latin-1'; expected utf-8"},
    )


async def test_no_body_is_an_empty_object_only_where_the_route_says_so():
    assert (await post("/api/v1/optional", b"", None)).said == (200, {"got": {}})
    assert (await post("/api/v1/json", b"", None)).status == 400


async def test_a_body_may_have_2_mib_and_no_byte_more():
    assert (await post("/api/v1/raw", b"x" * MAX_BYTES)).said == (200, {"got": MAX_BYTES})
    large = await post("/api/v1/raw", b"x" * (MAX_BYTES + 1))
    assert large.said == (413, {"error": f"the request body is larger than {MAX_BYTES} bytes"})
    legacy = await post("/api/legacy", b"x" * (MAX_BYTES + 1))
    assert (legacy.status, legacy.json["status"]) == (413, 413)


async def test_a_small_body_that_unpacks_to_a_large_one_is_413():
    packed = gzip.compress(b" " * (40 * MAX_BYTES))
    assert (await post("/api/v1/raw", packed, Content_Encoding="gzip")).status == 413


async def test_a_packed_body_is_unpacked_and_a_broken_one_is_400():
    packed = gzip.compress(b'{"a": 1}')
    assert (await post("/api/v1/json", packed, Content_Encoding="gzip")).said == (200, {"got": {"a": 1}})
    broken = await post("/api/v1/json", b"no gzip", Content_Encoding="gzip")
    assert (broken.status, broken.json["error"]) == (400, "invalid request body")


@pytest.mark.parametrize(
    "chunks,status",
    [(b"2\r\n{}\r\n0\r\n\r\n", 200), (b"zz\r\n{}\r\n", 400), (b"2\r\n{}XX0\r\n\r\n", 400)],
)
async def test_chunks_are_read_and_broken_ones_are_400(chunks, status):
    async with serving(*ROUTES) as server:
        head = (
            b"POST /api/v1/json HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
            b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        answer = await server.speak(head + chunks)
        assert int(answer.split(b" ", 2)[1]) == status


async def test_a_body_that_comes_too_slowly_is_given_up(monkeypatch):
    monkeypatch.setattr(bodies, "BODY_SECONDS", 0.2)
    async with serving(*ROUTES) as server:
        head = b"POST /api/v1/json HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n"
        async with asyncio.timeout(8):
            answer = await server.speak(head + b"{")
        assert answer.startswith(b"HTTP/1.1 503 ")
        assert b'{"error":"request timeout"}' in answer


# --- Legacy ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body,content_type,got",
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
async def test_the_legacy_layer_takes_json_whatever_its_type_and_php_forms(body, content_type, got):
    assert (await post("/api/legacy", body, content_type)).said == (200, {"got": got})


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
async def test_what_the_legacy_layer_cant_read_is_400_in_its_form(body, content_type):
    answer = await post("/api/legacy", body, content_type)
    assert (answer.status, answer.json["status"], answer.json["message"]) == (
        400,
        400,
        "invalid request body",
    )


@pytest.mark.parametrize(
    "body,content_type,status",
    [(b"grant_type=x", FORM, 200), (b'{"grant_type": "x"}', JSON, 200), (b"grant_type=x", "text/plain", 400)],
)
async def test_the_token_route_takes_forms_and_json(body, content_type, status):
    answer = await post("/api/v1/either", body, content_type)
    assert answer.status == status
    if status == 200:
        assert answer.json == {"got": {"grant_type": "x"}}
