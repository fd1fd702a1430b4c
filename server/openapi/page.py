"""Serve the OpenAPI documents and a viewer at `/api/docs`, and the JSON schemas of calls to apps, with our own assets (`make assets`)."""

from __future__ import annotations

import asyncio
import json
from functools import lru_cache

from aiohttp import web

from domain.app_calls.call_types import KINDS
from server.http.playground import ASSETS_PATH, BUILT, BUILT_KEY, NOT_BUILT, PAGE_HEADERS, built_version, viewer_page

PATH = "/api/docs"
TITLE = "Vitrine · REST APIs"


def document_url(family: str) -> str:
    """Return the path of a family's document."""
    return f"{PATH}/{family}.json"


def render(version: str) -> str:
    """Render the page for one version of the assets."""
    from server.openapi.documents import FAMILIES  # with all schemas: not before they are asked for

    sources = [{"name": family.title, "url": document_url(family.name)} for family in FAMILIES]
    links = ", ".join(f'<a href="{document_url(family.name)}">{family.name}</a>' for family in FAMILIES)
    body = f'<div id="reader"><noscript>The reader needs JavaScript; the documents are {links}.</noscript></div>'
    return viewer_page(TITLE, f"{ASSETS_PATH}/{version}/", "reader", {"documents": sources}, body)


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
    from server.openapi.documents import documents

    return {
        name: json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
        for name, document in documents().items()
    }


async def call_schemas(request: web.Request) -> web.Response:
    """Serve the JSON schemas of the calls of one kind (docs/reference/apps.md#calls-to-apps)."""
    kind = KINDS.get(request.match_info["kind"])
    if kind is None:
        raise web.HTTPNotFound
    return web.Response(
        body=kind.schemas, content_type="application/schema+json", headers={"Cache-Control": "no-cache"}
    )


def add_routes(app: web.Application) -> None:
    """Add the page and the documents; the assets are added with the playground's."""
    app.router.add_get(PATH, page)
    app.router.add_get(PATH + r"/{family:[a-z]+}.json", document)
    app.router.add_get(PATH + r"/calls/{kind:[a-z_]+}.json", call_schemas)
