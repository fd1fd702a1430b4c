"""Send files of shoppers to who has a signed link (docs/reference/shared.md#files-of-shoppers)."""

from __future__ import annotations

from datetime import timedelta

from aiohttp import hdrs, web

from domain.media.option_files import ROUTE, find_option_file, option_file_key, verify_file_link
from domain.storage import storage
from domain.stores import find_store
from kernel.clock import now
from kernel.errors import NotFound, TenantNotFound
from kernel.ids import parse_uuid
from kernel.scope import SYSTEM, Scope, active_scope
from rest_facade.routing import REQUEST_ID
from server.http.received_files import link_number
from server.http.stored_files import StoredFileResponse

_SAFETY = {"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'; sandbox"}
_REDIRECTED_FOR = timedelta(minutes=5)


def add_routes(app: web.Application) -> None:
    """Add the route of files of shoppers."""
    app.router.add_get(f"{ROUTE}/{{store}}/{{file}}", download)


async def download(request: web.Request) -> web.StreamResponse:
    """Send a file, always to be saved; at a provider redirect to it."""
    store, public_id = parse_uuid(request.match_info["store"]), parse_uuid(request.match_info["file"])
    if store is None or public_id is None:
        raise NotFound("file")
    verify_file_link(store, public_id, link_number(request, "expires"), request.query.get("signature", ""), now())
    try:
        scope = Scope(await find_store(store), SYSTEM, request[REQUEST_ID], now())
    except TenantNotFound as error:
        raise NotFound("file", details={"detail": "the store was deleted"}) from error
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
