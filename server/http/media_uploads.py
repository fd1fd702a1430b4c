"""Take uploads of media files by their signed addresses (docs/reference/graphql.md#media)."""

from __future__ import annotations

from aiohttp import web

from domain.bulk.files import UPLOADED, working_path
from domain.media.addresses import upload_key
from domain.media.uploads import LIFETIME, ROUTE, is_awaited, note_refusal, verify_upload_link
from domain.uploaded_files import UploadedFile
from kernel.clock import now
from kernel.errors import NotFound, TooLarge
from kernel.ids import parse_uuid, uuid7
from kernel.scope import active_scope
from server.http.received_files import check_head, link_number, link_scope, receive


def add_routes(app: web.Application) -> None:
    """Add the route of uploads."""
    app.router.add_put(f"{ROUTE}/{{store}}/{{media}}", upload)


async def upload(request: web.Request) -> web.StreamResponse:
    """Store what an upload announced: 201 with its size."""
    store, media = parse_uuid(request.match_info["store"]), parse_uuid(request.match_info["media"])
    if store is None or media is None:
        raise NotFound("upload")
    size, expires = link_number(request, "bytes"), link_number(request, "expires")
    verify_upload_link(store, media, size, expires, request.query.get("signature", ""), now())
    # Named as uploads of bulk operations: the job deletes both when they were interrupted.
    part = working_path(store, media, f"{UPLOADED}.{uuid7()}.part")
    file = UploadedFile(upload_key(store, media), part, size)
    scope = await link_scope(request, store, "upload")
    with active_scope(scope):
        if not await is_awaited(scope, media):
            raise NotFound("upload", details={"detail": "the upload is complete, or the file was deleted"})
        try:
            check_head(request, file)
            return await receive(request, file, LIFETIME)
        except TooLarge as error:
            await note_refusal(scope, media, error.message)
            raise
