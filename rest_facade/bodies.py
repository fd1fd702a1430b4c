"""Read and validate HTTP request bodies: size, timeout, content type and charset (docs/reference/shared.md#request-bodies).

Raises `MalformedRequest` (400), `TooLarge` (413), `UnsupportedEncoding` (415) or, when the body does not arrive in time, `Unavailable`
(503); each family renders them in its error format. Parsing itself is in `kernel.request_bodies`.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from functools import partial
from typing import Any

from aiohttp import hdrs, web

from kernel.errors import MalformedRequest, TooLarge, Unavailable, UnsupportedEncoding
from kernel.received_files import ReceivedForm
from kernel.request_bodies import MalformedBody, parse_form, parse_json_object
from kernel.scope import ActorKind
from kernel.shares import shares_of_address
from kernel.work_queues import WorkQueue
from rest_facade.aiohttp_internals import PayloadEncodingError, buffered_chunks
from rest_facade.responses import restart_timeout
from rest_facade.routing import CLIENT_IP, SCOPE

MAX_BYTES = 2 * 1024 * 1024
MAX_ANONYMOUS_FORM_BYTES = 64 * 1024
"""A form without a credential signs in or asks for a token: a few hundred bytes."""
# aiohttp would wait forever. The route's timeout would end that too, but occupies a slot for longer.
BODY_TIMEOUT_SECONDS = 20.0

CONTENT_ENCODINGS = ("gzip", "deflate")
# Concatenated gzip streams (RFC 1952, section 2.2) beyond this number only cost time.
MAX_GZIP_MEMBERS = 16

# A longer form is parsed in a thread: one of 5,000 names takes a fifth of a second.
_FORM_BYTES_ON_LOOP = 8 * 1024
_FORMS = WorkQueue("forms", most_waiting=20)

CHUNK = 256 * 1024
MULTIPART = "multipart/form-data"
RECEIVE_FORM: web.AppKey[Callable[[web.Request], Awaitable[ReceivedForm]]] = web.AppKey("receive_form")
"""The application's function that returns the parts of a multipart body, with its files on the disk until the request has ended."""

_DECOMPRESSED = web.RequestKey("decompressed_body", bytes)
_FORM_TYPE = "application/x-www-form-urlencoded"
_LEGACY_FORM_TYPES = ("", "text/plain", _FORM_TYPE)
_UTF8 = ("utf-8", "utf8", "us-ascii")
_SPACE = b" \t\r\n"
_INCOMPLETE = "the body does not arrive as its headers say"
_BOM = b"\xef\xbb\xbf"


async def read_raw(request: web.Request) -> bytes:
    """Read the raw body, decompressed (gzip, deflate): at most 2 MiB before and after; repeated calls return the same bytes.

    The server doesn't decompress bodies itself (`server.http.connections`), so a request refused before this costs no decompression.
    """
    if (whole := whole_body(request)) is not None:
        return whole
    raw = await _read_body(request)
    encoding = request.headers.get(hdrs.CONTENT_ENCODING, "").strip().lower()
    if encoding == "x-gzip":
        encoding = "gzip"  # RFC 9110, section 8.4.1.3
    if not raw or encoding in ("", "identity"):
        return raw
    if encoding not in CONTENT_ENCODINGS:
        raise UnsupportedEncoding(_quoted(encoding), CONTENT_ENCODINGS)
    if _DECOMPRESSED not in request:
        try:
            request[_DECOMPRESSED] = _decompress(raw, encoding)
        except zlib.error as error:
            raise MalformedRequest(detail=f"the body is not in the content encoding {encoding}") from error
    return request[_DECOMPRESSED]


def _decompress(raw: bytes, encoding: str) -> bytes:
    """Decompress a body up to the limit."""
    if encoding == "gzip":
        window_bits = 16 + zlib.MAX_WBITS
    else:
        # Many clients send deflate without its zlib header (RFC 9110, section 8.4.1.2).
        window_bits = zlib.MAX_WBITS if raw[0] & 0x0F == 8 else -zlib.MAX_WBITS
    body = b""
    for _ in range(MAX_GZIP_MEMBERS):
        stream = zlib.decompressobj(window_bits)
        body += stream.decompress(raw, MAX_BYTES + 1 - len(body))
        if len(body) > MAX_BYTES:
            raise _too_large()
        if not stream.eof:
            raise zlib.error("incomplete stream")
        raw = stream.unused_data
        if not raw:
            return body
    raise zlib.error("too many streams")


async def _read_body(request: web.Request) -> bytes:
    if (request.content_length or 0) > MAX_BYTES:
        raise _too_large()
    try:
        async with asyncio.timeout(BODY_TIMEOUT_SECONDS):
            return await request.read()
    except web.HTTPRequestEntityTooLarge as error:
        raise _too_large() from error
    except TimeoutError as error:
        raise Unavailable() from error
    except (web.RequestPayloadError, PayloadEncodingError) as error:
        raise MalformedRequest(detail=_INCOMPLETE) from error


async def body_chunks(request: web.Request, within: timedelta) -> AsyncIterator[bytes]:
    """Yield a body as it arrives, which restarts the request's time-out.

    Raises `Unavailable` when nothing arrives for a while, or the whole takes longer than `within`.
    """
    loop = asyncio.get_running_loop()
    until = loop.time() + within.total_seconds()
    chunks = request.content.iter_chunked(CHUNK)
    while True:
        try:
            async with asyncio.timeout_at(min(until, loop.time() + BODY_TIMEOUT_SECONDS)):
                chunk = await anext(chunks, b"")
        except TimeoutError as error:
            raise Unavailable from error
        except (web.RequestPayloadError, PayloadEncodingError) as error:
            raise MalformedRequest(detail=_INCOMPLETE) from error
        if not chunk:
            return
        restart_timeout(request)
        yield chunk


def reject_coded(request: web.Request) -> None:
    """Raise `UnsupportedEncoding` for a body with a content coding, where it is stored as it arrives."""
    encoding = request.headers.get(hdrs.CONTENT_ENCODING, "identity").strip().lower()
    if encoding not in ("", "identity"):
        raise UnsupportedEncoding(_quoted(encoding), ("identity",))


def whole_body(request: web.Request) -> bytes | None:
    """Return a body that arrived with the headers; None for one that `read_raw` has to read."""
    stream = request.content
    if not stream.is_eof() or stream.at_eof() or stream.exception() or hdrs.CONTENT_ENCODING in request.headers:
        return None
    raw = b"".join(buffered_chunks(stream))
    if len(raw) != stream.total_bytes:  # the beginning was read
        return None
    if len(raw) > MAX_BYTES:
        raise _too_large()
    return raw


async def read_json_object(request: web.Request, *, empty: bool = False) -> dict[str, Any]:
    """Read a JSON object (current and app families); with `empty`, a missing body is `{}`.

    The content type must be `application/json` or end with `+json`, and its charset, if any, be UTF-8.
    """
    raw = await read_raw(request)
    if empty and not raw:
        return {}
    if not _is_json(request.content_type) or "Content-Type" not in request.headers:
        content_type = _quoted(request.headers.get("Content-Type"))
        raise MalformedRequest(detail=f"the content type is {content_type}; expected application/json")
    return _parse_json(request, raw)


async def read_form_or_json(request: web.Request) -> dict[str, Any]:
    """Read a form or a JSON object, depending on the content type (RFC 6749 prescribes forms, without repeated fields)."""
    raw = await read_raw(request)
    if request.content_type == _FORM_TYPE:
        form = await _parse_form(request, raw)
        if len(form) < len([field for field in raw.split(b"&") if field]):
            raise MalformedRequest(detail="a field is sent several times")
        return form
    if _is_json(request.content_type):
        return _parse_json(request, raw)
    content_type = _quoted(request.headers.get("Content-Type"))
    raise MalformedRequest(detail=f"the content type is {content_type}; expected application/json or {_FORM_TYPE}")


async def read_legacy(request: web.Request) -> dict[str, Any]:
    """Read a legacy body: JSON if it starts with `{` or `[` or is declared as JSON, else a PHP form; an empty body is `{}`."""
    raw = await read_raw(request)
    text = raw.removeprefix(_BOM).lstrip(_SPACE)
    if not text:
        return {}
    # aiohttp's content_type defaults to octet-stream when the header is absent.
    content_type = request.content_type if "Content-Type" in request.headers else ""
    if text[:1] in (b"{", b"[") or _is_json(content_type):
        return _parse_json(request, raw)
    if content_type in _LEGACY_FORM_TYPES:
        return await _parse_form(request, raw)
    raise MalformedRequest(detail=f"the content type is {_quoted(content_type)}; expected JSON or {_FORM_TYPE}")


def _parse_json(request: web.Request, raw: bytes) -> dict[str, Any]:
    _check_utf8(request)
    try:
        return parse_json_object(raw)
    except MalformedBody as error:
        raise MalformedRequest(detail=str(error)) from error


async def _parse_form(request: web.Request, raw: bytes) -> dict[str, Any]:
    _check_utf8(request)
    if len(raw) > MAX_ANONYMOUS_FORM_BYTES and _is_anonymous(request):
        raise TooLarge(f"a form without a credential is larger than {MAX_ANONYMOUS_FORM_BYTES} bytes")
    try:
        if len(raw) <= _FORM_BYTES_ON_LOOP:
            return parse_form(raw)
        # The scope isn't active yet while the store is searched in the body.
        shares = shares_of_address(request[CLIENT_IP]) if SCOPE not in request else None
        return await _FORMS.run(partial(parse_form, raw), shares)
    except MalformedBody as error:
        raise MalformedRequest(detail=str(error)) from error


def _is_anonymous(request: web.Request) -> bool:
    scope = request.get(SCOPE)
    return scope is None or scope.actor.kind is ActorKind.ANONYMOUS


def _is_json(content_type: str) -> bool:
    return content_type == "application/json" or content_type.endswith("+json")


def _check_utf8(request: web.Request) -> None:
    charset = request.charset
    if charset is not None and charset.lower() not in _UTF8:
        raise MalformedRequest(detail=f"the charset is {_quoted(charset)}; expected utf-8")


def _quoted(value: str | None) -> str:
    return ascii(value[:60]) if value else "absent"


def _too_large() -> TooLarge:
    return TooLarge(f"the request body is larger than {MAX_BYTES} bytes")
