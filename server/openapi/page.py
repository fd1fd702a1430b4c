"""Serve the OpenAPI documents and a viewer at `/api/docs`, with our own assets (`make assets`)."""

from __future__ import annotations

import asyncio
import json
from functools import lru_cache
from html import escape

from aiohttp import web

from server.openapi.documents import FAMILIES, documents
from server.playground import ASSETS_PATH, BUILT, BUILT_KEY, NOT_BUILT, PAGE_HEADERS, built_version

PATH = "/api/docs"
TITLE = "Vitrine · REST APIs"

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="{assets}reader.css">
<script type="application/json" id="config">{config}</script>
<script src="{assets}reader.js" defer></script>
</head>
<body>
<div id="reader"><noscript>The reader needs JavaScript; the documents are {links}.</noscript></div>
</body>
</html>
"""


def document_url(family: str) -> str:
    """Return the path of a family's document."""
    return f"{PATH}/{family}.json"


def render(version: str) -> str:
    """Render the page for one version of the assets."""
    sources = [{"name": family.title, "url": document_url(family.name)} for family in FAMILIES]
    links = ", ".join(f'<a href="{document_url(family.name)}">{family.name}</a>' for family in FAMILIES)
    config = json.dumps({"documents": sources}, ensure_ascii=False).replace("<", "\\u003c")
    assets = f"{ASSETS_PATH}/{version}/"
    return _PAGE.format(title=TITLE, assets=escape(assets), config=config, links=links)


async def page(request: web.Request) -> web.Response:
    """Serve `GET /api/docs`; 503 in plain text while the assets are not built."""
    version = built_version(request.config_dict.get(BUILT_KEY, BUILT))
    if version is None:
        return web.Response(status=503, text=NOT_BUILT)
    return web.Response(text=render(version), content_type="text/html", headers=PAGE_HEADERS)


async def document(request: web.Request) -> web.Response:
    """Serve one family's document."""
    # In a thread: building takes about a second the first time.
    body = (await asyncio.to_thread(_bodies)).get(request.match_info["family"])
    if body is None:
        raise web.HTTPNotFound
    return web.Response(body=body, content_type="application/json", headers={"Cache-Control": "no-cache"})


@lru_cache(maxsize=1)
def _bodies() -> dict[str, bytes]:
    return {
        name: json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
        for name, document in documents().items()
    }


def add_routes(app: web.Application) -> None:
    """Add the page and the documents; the assets are added with the playground's."""
    app.router.add_get(PATH, page)
    app.router.add_get(PATH + r"/{family:[a-z]+}.json", document)
