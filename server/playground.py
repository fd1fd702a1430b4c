"""Serve the GraphQL playground: its public page and its built browser assets."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from html import escape
from pathlib import Path

from aiohttp import web

BUILT = Path(__file__).parent / "assets" / "built"
ASSETS_PATH = "/assets/playground"

BUILT_KEY = web.AppKey("playground_built", Path)
STORE_KEY: web.AppKey[Callable[[web.Request], Awaitable[OfferedStore]]] = web.AppKey("playground_store")
"""Returns the store that the page offers at the address of a request; optional."""

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "worker-src 'self'",
        "connect-src 'self'",
        "font-src 'self'",
        "img-src 'self' data:",  # the editor's stylesheet draws its squiggles with data: images
        "style-src 'self' 'unsafe-inline'",  # the editor places each line by a style attribute
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
PAGE_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-cache",
}
# Fixed here because the system's MIME type table varies between machines.
CONTENT_TYPES = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".ttf": "font/ttf",
    ".txt": "text/plain; charset=utf-8",
}
VERSION = re.compile(r"[0-9a-f]{16}")
NOT_BUILT = "The playground's browser files are not built on this server. Build them with: make assets\n"

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Vitrine · GraphQL playground</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="{assets}main.css">
<script type="application/json" id="config">{config}</script>
<script src="{assets}main.js" defer></script>
</head>
<body>
<div id="playground"><noscript>The playground needs JavaScript.</noscript></div>
</body>
</html>
"""


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
    # An unescaped "<" could end the script element.
    return PAGE.format(assets=escape(assets), config=json.dumps(config).replace("<", "\\u003c"))


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
    return web.FileResponse(
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
