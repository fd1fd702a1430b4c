"""Serve the files of bulk operations by their signed links (docs/reference/bulk.md#files)."""

from __future__ import annotations

import asyncio
import re
from uuid import UUID

from aiohttp import hdrs, web

from domain.bulk.configuration import configured
from domain.bulk.files import (
    COMPRESSED,
    CONTENT_TYPE,
    DOWNLOAD,
    LINK_LIFETIME,
    RESULT,
    ROUTE,
    UPLOAD,
    file_key,
    verify_link,
)
from domain.bulk.uploads import UploadedFile, check_space, upload_too_large
from domain.storage import storage
from domain.stores import find_store
from kernel.clock import now
from kernel.errors import Forbidden, MalformedRequest, NotFound, TenantNotFound, Unavailable, UnsupportedEncoding
from kernel.ids import parse_uuid
from rest_facade.aiohttp_internals import PayloadEncodingError
from rest_facade.bodies import BODY_TIMEOUT_SECONDS
from rest_facade.responses import RESTART_TIMEOUT, json_response, preferred_coding
from server.http.stored_files import CHUNK, StoredFileResponse

_NAME = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?:\.[0-9a-f]{16})?")


def add_routes(app: web.Application) -> None:
    """Add the routes of files."""
    path = f"{ROUTE}/{{store}}/{{name}}.jsonl"
    app.router.add_get(path, download)
    app.router.add_put(path, upload)


async def download(request: web.Request) -> web.StreamResponse:
    """Send a result, as it is or compressed with gzip, whole or a range of its bytes (RFC 9110, section 14)."""
    store, name = await _signed_file(request, DOWNLOAD)
    is_compressed = preferred_coding(request, ("gzip",)) is not None
    path = storage().local_path(file_key(store, name, COMPRESSED if is_compressed else RESULT))
    if path is None or not path.is_file():
        raise NotFound("file", details={"detail": "the result was deleted"})
    headers = {
        hdrs.CONTENT_TYPE: CONTENT_TYPE,
        hdrs.CONTENT_DISPOSITION: f'attachment; filename="{name}.jsonl"',
        hdrs.CACHE_CONTROL: "private",
        hdrs.VARY: hdrs.ACCEPT_ENCODING,
        "X-Content-Type-Options": "nosniff",
    }
    if is_compressed:
        headers[hdrs.CONTENT_ENCODING] = "gzip"
    return StoredFileResponse(path, headers)


async def upload(request: web.Request) -> web.StreamResponse:
    """Store a file, once: 201 with its size."""
    store, name = await _signed_file(request, UPLOAD)
    encoding = request.headers.get(hdrs.CONTENT_ENCODING, "identity").strip().lower()
    if encoding not in ("", "identity"):
        raise UnsupportedEncoding(ascii(encoding[:60]), ("identity",))
    if (request.content_length or 0) > configured().upload_bytes:
        raise upload_too_large()
    await check_space(store, request.content_length or 0)
    file = UploadedFile(store, name)
    try:
        await _receive(request, file)
        return json_response({"size": await file.finish()}, status=201)
    finally:
        await file.discard()


async def _receive(request: web.Request, file: UploadedFile) -> None:
    """Write the body as it arrives; raise `Unavailable` when nothing arrives for a while, or the whole takes longer than its link."""
    chunks = request.content.iter_chunked(CHUNK)
    try:
        async with asyncio.timeout(LINK_LIFETIME.total_seconds()):
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


async def _signed_file(request: web.Request, action: str) -> tuple[UUID, str]:
    """Return the store, which exists, and the name of the file that the request's link is for; raise `NotFound` and `Forbidden`."""
    store, name = parse_uuid(request.match_info["store"]), request.match_info["name"]
    expires, signature = request.query.get("expires", ""), request.query.get("signature", "")
    if store is None or _NAME.fullmatch(name) is None:
        raise NotFound("file")
    if not (expires.isascii() and expires.isdigit() and len(expires) <= 12):
        raise Forbidden("link_invalid", details={"detail": "the link has no time"})
    verify_link(action, store, name, int(expires), signature, now())
    try:
        await find_store(store)
    except TenantNotFound as error:
        raise NotFound("file", details={"detail": "the store was deleted"}) from error
    return store, name
