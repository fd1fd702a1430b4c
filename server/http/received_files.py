"""Receive files that clients send to a signed link."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from aiohttp import hdrs, web

from domain.uploaded_files import UploadedFile
from kernel.errors import Forbidden, MalformedRequest, Unavailable, UnsupportedEncoding
from rest_facade.aiohttp_internals import PayloadEncodingError
from rest_facade.bodies import BODY_TIMEOUT_SECONDS
from rest_facade.responses import RESTART_TIMEOUT, json_response
from server.http.stored_files import CHUNK

_MAX_DIGITS = 12


def check_head(request: web.Request, file: UploadedFile) -> None:
    """Raise `UnsupportedEncoding` and `TooLarge` for what the head of an upload announces."""
    encoding = request.headers.get(hdrs.CONTENT_ENCODING, "identity").strip().lower()
    if encoding not in ("", "identity"):
        raise UnsupportedEncoding(ascii(encoding[:60]), ("identity",))
    file.check_size(request.content_length or 0)


async def receive(request: web.Request, file: UploadedFile, within: timedelta) -> web.StreamResponse:
    """Store the body, once: 201 with its size."""
    try:
        await _write_body(request, file, within)
        return json_response({"size": await file.complete()}, status=201)
    finally:
        await file.discard()


async def _write_body(request: web.Request, file: UploadedFile, within: timedelta) -> None:
    """Write the body as it arrives; raise `Unavailable` when nothing arrives for a while, or the whole takes longer than its link."""
    chunks = request.content.iter_chunked(CHUNK)
    try:
        async with asyncio.timeout(within.total_seconds()):
            while True:
                async with asyncio.timeout(BODY_TIMEOUT_SECONDS):
                    chunk = await anext(chunks, b"")
                if not chunk:
                    return
                await file.write(chunk)
                request.app[RESTART_TIMEOUT]()
    except TimeoutError as error:
        raise Unavailable from error
    except (web.RequestPayloadError, PayloadEncodingError) as error:
        raise MalformedRequest(detail="the body does not arrive as its headers say") from error


def link_number(request: web.Request, name: str) -> int:
    """Return a number in the query of a signed link; raise `Forbidden` for anything else, before it is parsed."""
    text = request.query.get(name, "")
    if not (text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS):
        raise Forbidden("link_invalid", details={"detail": f"the link has no {name}"})
    return int(text)
