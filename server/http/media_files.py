"""Serve media files and the sizes of images at their content's address (docs/reference/shared.md#media)."""

from __future__ import annotations

from datetime import timedelta

from aiohttp import hdrs, web

from domain.media.contents import VARIANTS, Content, find_content, object_headers, size_key
from domain.media.renderer import RenderedFormat
from domain.media.sizes import ImageSizes
from domain.storage import storage
from kernel.errors import NotFound
from rest_facade.routing import SCOPE, Credential, Route
from server.http import routes
from server.http.stored_files import StoredFileResponse

SIZES = web.AppKey("image_sizes", ImageSizes)
HAS_PUBLIC_STORAGE = web.AppKey("has_public_storage", bool)
"""Whether the provider's objects are public, so that their addresses need no signature."""
_LINK_LIFETIME = timedelta(hours=2)
_REDIRECT_SECONDS = 3600
# What a browser opens by itself can do nothing at the store's own host.
_SAFETY = {"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'; sandbox"}


def add_routes(app: web.Application, *, has_public_storage: bool) -> None:
    """Add the route of media files."""
    app[SIZES] = ImageSizes()
    app[HAS_PUBLIC_STORAGE] = has_public_storage
    paths = ("/media/{sha256}/{name}", "/media/{store}/{sha256}/{name}")
    routes.add_routes(app, [Route("GET", path, show, Credential.STORE) for path in paths])


async def show(request: web.Request) -> web.StreamResponse:
    """Send the original of a file, or an image in a size; at a provider redirect to it."""
    name = request.match_info["name"]
    variant = VARIANTS.get(name)
    if variant is None and not name.startswith("ORIGINAL."):
        raise NotFound("file")
    content = await find_content(request[SCOPE], request.match_info["sha256"])
    if content is None:
        raise NotFound("file")
    if variant is None:
        if name != content.name:
            raise NotFound("file")
        return await _send(request, content.key, object_headers(content.mime_type, content.file_name))
    if not content.is_image:
        raise NotFound("file")
    return await _send_size(request, content, *variant)


async def _send_size(
    request: web.Request, content: Content, size: int, file_format: RenderedFormat | None
) -> web.StreamResponse:
    sizes, vary = request.app[SIZES], file_format is None
    if file_format is None:
        accept = ",".join(request.headers.getall(hdrs.ACCEPT, ()))
        file_format = await sizes.find_accepted(content, size, accept)
    if file_format is RenderedFormat.AVIF:
        # It takes seconds: the worker renders it.
        key = size_key(content, size, file_format)
        if not await sizes.is_stored(key):
            raise NotFound("file")
    else:
        key = await sizes.ensure(content, size, file_format)
    headers = object_headers(f"image/{file_format}")
    if vary:
        headers[hdrs.VARY] = hdrs.ACCEPT
    return await _send(request, key, headers, is_small=True)


async def _send(
    request: web.Request, key: str, headers: dict[str, str], *, is_small: bool = False
) -> web.StreamResponse:
    path = storage().local_path(key)
    if path is not None:
        return StoredFileResponse(path, headers | _SAFETY, lambda: request.app[SIZES].drop(key), is_small=is_small)
    # A signature is for one method.
    is_head = request.method == hdrs.METH_HEAD
    url = await storage().link("HEAD" if is_head else "GET", key, _LINK_LIFETIME)
    assert url is not None
    if request.app[HAS_PUBLIC_STORAGE]:
        url = url.partition("?")[0]
    answer = {hdrs.LOCATION: url, **_SAFETY}
    answer[hdrs.CACHE_CONTROL] = "no-store" if is_head else f"public, max-age={_REDIRECT_SECONDS}"
    if hdrs.VARY in headers:
        answer[hdrs.VARY] = headers[hdrs.VARY]
    return web.Response(status=302, headers=answer)
