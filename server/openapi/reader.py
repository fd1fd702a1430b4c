"""Serve the OpenAPI documents and the page that shows them, at `/api/docs`; its assets are ours (`make assets`)."""

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


def address_of(family: str) -> str:
    """Say where the document of a family is served."""
    return f"{PATH}/{family}.json"


def render(version: str) -> str:
    """Write the page for one version of the assets."""
    named = [{"name": family.title, "url": address_of(family.name)} for family in FAMILIES]
    links = ", ".join(f'<a href="{address_of(family.name)}">{family.name}</a>' for family in FAMILIES)
    config = json.dumps({"documents": named}, ensure_ascii=False).replace("<", "\\u003c")
    assets = f"{ASSETS_PATH}/{version}/"
    return _PAGE.format(title=TITLE, assets=escape(assets), config=config, links=links)


async def page(request: web.Request) -> web.Response:
    """Answer `GET /api/docs`; 503 in plain text while the assets are not built."""
    version = built_version(request.config_dict.get(BUILT_KEY, BUILT))
    if version is None:
        return web.Response(status=503, text=NOT_BUILT)
    return web.Response(text=render(version), content_type="text/html", headers=PAGE_HEADERS)


async def document(request: web.Request) -> web.Response:
    """Answer one family's document."""
    # Made in a thread: a second of work the first time, while others are served.
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
    """Mount the page and the documents; the playground's assets are there already."""
    app.router.add_get(PATH, page)
    app.router.add_get(PATH + r"/{family:[a-z]+}.json", document)
