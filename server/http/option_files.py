"""Send files of shoppers to who has a signed link, and take uploads by theirs (docs/reference/shared.md#files-of-shoppers)."""

from __future__ import annotations

from datetime import timedelta

from aiohttp import hdrs, web

from domain.bulk.files import UPLOADED, working_path
from domain.media.option_files import (
    ROUTE,
    UPLOAD_ROUTE,
    find_option_file,
    is_option_upload_awaited,
    option_file_key,
    option_upload_key,
    verify_file_link,
    verify_option_upload_link,
)
from domain.media.uploads import LIFETIME
from domain.storage import storage
from domain.uploaded_files import UploadedFile
from kernel.clock import now
from kernel.errors import NotFound
from kernel.ids import parse_uuid, uuid7
from kernel.scope import active_scope
from server.http.received_files import check_head, link_number, link_scope, receive
from server.http.stored_files import StoredFileResponse

_SAFETY = {"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'; sandbox"}
_REDIRECTED_FOR = timedelta(minutes=5)


def add_routes(app: web.Application) -> None:
    """Add the routes of files of shoppers."""
    app.router.add_put(f"{UPLOAD_ROUTE}/{{store}}/{{file}}", upload)
    app.router.add_get(f"{ROUTE}/{{store}}/{{file}}", download)


async def download(request: web.Request) -> web.StreamResponse:
    """Send a file, always to be saved; at a provider redirect to it."""
    store, public_id = parse_uuid(request.match_info["store"]), parse_uuid(request.match_info["file"])
    if store is None or public_id is None:
        raise NotFound("file")
    verify_file_link(store, public_id, link_number(request, "expires"), request.query.get("signature", ""), now())
    scope = await link_scope(request, store, "file")
    with active_scope(scope):
        file = await find_option_file(scope, public_id)
    if file is None:
        raise NotFound("file", details={"detail": "the file was deleted"})
    key = option_file_key(store, public_id)
    path = storage().local_path(key)
    if path is not None:
        return StoredFileResponse(path, file.headers() | _SAFETY)
    url = await storage().link("HEAD" if request.method == hdrs.METH_HEAD else "GET", key, _REDIRECTED_FOR)
    assert url is not None
    return web.Response(status=302, headers={hdrs.LOCATION: url, hdrs.CACHE_CONTROL: "no-store", **_SAFETY})


async def upload(request: web.Request) -> web.StreamResponse:
    """Store what an upload announced, until it is completed: 201 with its size."""
    store, public_id = parse_uuid(request.match_info["store"]), parse_uuid(request.match_info["file"])
    if store is None or public_id is None:
        raise NotFound("upload")
    size, expires = link_number(request, "bytes"), link_number(request, "expires")
    verify_option_upload_link(store, public_id, size, expires, request.query.get("signature", ""), now())
    # Named as uploads of bulk operations: the job deletes both when they were interrupted.
    part = working_path(store, public_id, f"{UPLOADED}.{uuid7()}.part")
    file = UploadedFile(option_upload_key(store, public_id), part, size)
    scope = await link_scope(request, store, "file")
    with active_scope(scope):
        if not await is_option_upload_awaited(scope, public_id):
            raise NotFound("upload", details={"detail": "the upload is complete, or the file was deleted"})
        check_head(request, file)
        return await receive(request, file, LIFETIME)
