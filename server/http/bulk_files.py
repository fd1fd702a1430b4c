"""Serve the files of bulk operations by their signed links (docs/reference/bulk.md#files)."""

from __future__ import annotations

import re
from uuid import UUID

from aiohttp import hdrs, web

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
from domain.bulk.uploads import check_space, uploaded_file
from domain.storage import storage
from kernel.clock import now
from kernel.errors import NotFound
from kernel.ids import parse_uuid
from rest_facade.responses import preferred_coding
from server.http.received_files import check_head, link_number, link_scope, receive
from server.http.stored_files import StoredFileResponse

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
    file = uploaded_file(store, name)
    check_head(request, file)
    await check_space(store, request.content_length or 0)
    return await receive(request, file, LINK_LIFETIME)


async def _signed_file(request: web.Request, action: str) -> tuple[UUID, str]:
    """Return the store, which exists, and the name of the file that the request's link is for; raise `NotFound` and `Forbidden`."""
    store, name = parse_uuid(request.match_info["store"]), request.match_info["name"]
    if store is None or _NAME.fullmatch(name) is None:
        raise NotFound("file")
    expires, signature = link_number(request, "expires"), request.query.get("signature", "")
    verify_link(action, store, name, expires, signature, now())
    await link_scope(request, store, "file")
    return store, name
