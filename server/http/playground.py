"""Serve the GraphQL playground: its public page and its built browser assets."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from aiohttp import web

from server.http.html_pages import config_script, html_page, page_headers
from server.http.stored_files import StoredFileResponse

BUILT = Path(__file__).parents[1] / "assets" / "built"
ASSETS_PATH = "/assets/playground"

BUILT_KEY = web.AppKey("playground_built", Path)
STORE_KEY: web.AppKey[Callable[[web.Request], Awaitable[OfferedStore]]] = web.AppKey("playground_store")
"""Returns the store that the page offers at the address of a request; optional."""

PAGE_HEADERS = page_headers(
    script="'self'",
    worker="'self'",
    connect="'self'",
    font="'self'",
    img="'self' data:",  # the editor's stylesheet draws its squiggles with data: images
    style="'self' 'unsafe-inline'",  # the editor places each line by a style attribute
)
# Fixed here because the system's MIME type table varies between machines.
CONTENT_TYPES = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".ttf": "font/ttf",
    ".txt": "text/plain; charset=utf-8",
}
VERSION = re.compile(r"[0-9a-f]{16}")
_BODY = '<div id="playground"><noscript>The playground needs JavaScript.</noscript></div>'
NOT_BUILT = "The playground's browser files are not built on this server. Build them with: make assets\n"


@dataclass(frozen=True, slots=True)
class OfferedStore:
    """The UUID in the page's store field, "" for none; `is_needed` where stores share the address and none is its default.

    `token` is the store's public storefront key, where there is one, so that the page's first query works.
    """

    id: str = ""
    is_needed: bool = False
    token: str = ""


def built_version(built: Path = BUILT) -> str | None:
    """Return the version of the built assets, or None."""
    try:
        version = (built / "version").read_text(encoding="ascii").strip()
    except FileNotFoundError:
        return None
    return version if VERSION.fullmatch(version) else None


def render_page(version: str, store: OfferedStore) -> str:
    """Render the page for one version of the assets."""
    assets = f"{ASSETS_PATH}/{version}/"
    config = {
        "endpoint": "/graphql",
        "sdl": "/graphql/schema",
        "assets": assets,
        "store": store.id,
        "token": store.token,
        "needsStore": store.is_needed,
    }
    return viewer_page("Vitrine · GraphQL playground", assets, "main", config, _BODY)


def viewer_page(title: str, assets: str, name: str, config: Mapping[str, Any], body: str) -> str:
    """Return a page of the built script and style sheet with this name, below `assets`."""
    head = (
        f'<link rel="stylesheet" href="{escape(assets)}{name}.css">\n{config_script(config)}\n'
        f'<script src="{escape(assets)}{name}.js" defer></script>'
    )
    return html_page(title, head, body)


async def playground(request: web.Request) -> web.Response:
    """Serve `GET /graphql/playground`; 503 in plain text while the assets are not built."""
    version = built_version(request.config_dict.get(BUILT_KEY, BUILT))
    if version is None:
        return web.Response(status=503, text=NOT_BUILT)
    find_store = request.config_dict.get(STORE_KEY)
    page = render_page(version, await find_store(request) if find_store is not None else OfferedStore())
    return web.Response(text=page, content_type="text/html", headers=PAGE_HEADERS)


async def asset(request: web.Request) -> web.StreamResponse:
    """Serve one built file, compressed where the client accepts it; a changed file gets a new URL."""
    name = request.match_info["name"]
    file = request.config_dict[BUILT_KEY] / request.match_info["version"] / name
    if file.suffix not in CONTENT_TYPES or not file.is_file():
        raise web.HTTPNotFound
    return StoredFileResponse(
        file,
        headers={
            "Content-Type": CONTENT_TYPES[file.suffix],
            "Cache-Control": "public, max-age=31536000, immutable",
            "X-Content-Type-Options": "nosniff",
        },
    )


def add_asset_routes(app: web.Application, built: Path = BUILT) -> None:
    """Serve the files in `built` below `/assets/playground/`."""
    app[BUILT_KEY] = built
    # The patterns allow no slash and no leading dot, which prevents path traversal.
    app.router.add_get(ASSETS_PATH + r"/{version:[0-9a-f]{16}}/{name:\w[\w.-]*}", asset)
