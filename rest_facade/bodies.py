"""Read request bodies, refusing what is too large, too slow or not what the route takes (decisions section 1, Bodies).

Everything refused here is a `MalformedRequest` (400), `TooLarge` (413) or, for a body that does not arrive, `Unavailable` (503);
the family writes it in its form. `kernel.json_bodies` knows what is well formed; this module knows HTTP.
"""

from __future__ import annotations

import asyncio
from typing import Any

from aiohttp import web
from aiohttp.http_exceptions import PayloadEncodingError

from kernel.errors import MalformedRequest, TooLarge, Unavailable
from kernel.json_bodies import MalformedBody, load_object, php_form

MAX_BYTES = 2 * 1024 * 1024
# aiohttp waits for the rest of a body for ever. The route's own time-out would end that too, but holds a slot for longer.
BODY_SECONDS = 20.0

_FORM = "application/x-www-form-urlencoded"
_LEGACY_FORMS = ("", "text/plain", _FORM)
_UTF8 = ("utf-8", "utf8", "us-ascii")
_SPACE = b" \t\r\n"
_BOM = b"\xef\xbb\xbf"


async def read_raw(request: web.Request) -> bytes:
    """Read the body as it was sent (after Content-Encoding), at most 2 MiB; a second call gives the same bytes."""
    if (request.content_length or 0) > MAX_BYTES:
        raise _too_large()
    try:
        if request.content.is_eof():
            return _arrived(request)  # all of it came with the headers
        async with asyncio.timeout(BODY_SECONDS):
            return await request.read()
    except web.HTTPRequestEntityTooLarge as error:
        raise _too_large() from error
    except TimeoutError as error:
        raise Unavailable() from error
    except (web.RequestPayloadError, PayloadEncodingError) as error:
        raise MalformedRequest(detail="the body does not arrive as its headers say") from error


def _arrived(request: web.Request) -> bytes:
    """Give a body that is there whole, and keep it as `request.read` would, which goes about it in twice the time."""
    if request._read_bytes is None:
        raw = request.content.read_nowait()
        if len(raw) > MAX_BYTES:
            raise _too_large()
        request._read_bytes = raw
    return request._read_bytes


async def read_json_object(request: web.Request, *, empty: bool = False) -> dict[str, Any]:
    """Read the JSON object that the current and app families take; with `empty`, no body at all is `{}`.

    The content type must be `application/json` or end with `+json`, and its charset, if given, UTF-8.
    """
    raw = await read_raw(request)
    if empty and not raw:
        return {}
    if not _is_json(request.content_type) or "Content-Type" not in request.headers:
        given = request.headers.get("Content-Type")
        raise MalformedRequest(detail=f"the content type is {_shown(given)}; expected application/json")
    return _json(request, raw)


async def read_form_or_json(request: web.Request) -> dict[str, Any]:
    """Read a form or a JSON object, whichever the content type says (RFC 6749 wants forms, the contract shows JSON)."""
    raw = await read_raw(request)
    if request.content_type == _FORM:
        return _form(request, raw)
    if _is_json(request.content_type):
        return _json(request, raw)
    given = _shown(request.headers.get("Content-Type"))
    raise MalformedRequest(detail=f"the content type is {given}; expected application/json or {_FORM}")


async def read_legacy(request: web.Request) -> dict[str, Any]:
    """Read a legacy body: JSON when it begins with `{` or `[` whatever its type says, else a PHP form; no body is `{}`."""
    raw = await read_raw(request)
    text = raw.removeprefix(_BOM).lstrip(_SPACE)
    if not text:
        return {}
    # aiohttp's content_type is octet-stream for an absent header, which is not what the client said.
    kind = request.content_type if "Content-Type" in request.headers else ""
    if text[:1] in (b"{", b"[") or _is_json(kind):
        return _json(request, raw)
    if kind in _LEGACY_FORMS:
        return _form(request, raw)
    raise MalformedRequest(detail=f"the content type is {_shown(kind)}; expected JSON or {_FORM}")


def _json(request: web.Request, raw: bytes) -> dict[str, Any]:
    _refuse_other_charsets(request)
    try:
        return load_object(raw)
    except MalformedBody as error:
        raise MalformedRequest(detail=str(error)) from error


def _form(request: web.Request, raw: bytes) -> dict[str, Any]:
    _refuse_other_charsets(request)
    try:
        return php_form(raw)
    except MalformedBody as error:
        raise MalformedRequest(detail=str(error)) from error


def _is_json(content_type: str) -> bool:
    return content_type == "application/json" or content_type.endswith("+json")


def _refuse_other_charsets(request: web.Request) -> None:
    charset = request.charset
    if charset is not None and charset.lower() not in _UTF8:
        raise MalformedRequest(detail=f"the charset is {_shown(charset)}; expected utf-8")


def _shown(value: str | None) -> str:
    return ascii(value[:60]) if value else "absent"


def _too_large() -> TooLarge:
    return TooLarge(f"the request body is larger than {MAX_BYTES} bytes")
