"""Serve the public GraphQL schema as a file in SDL (docs/reference/graphql.md#introspection)."""

from __future__ import annotations

import asyncio
import hashlib
from functools import lru_cache

from aiohttp import hdrs, web

from resolvers import root

# The loaders of generators read a file by GET where the address ends in `.graphql`, and introspect any other one by POST.
PATHS = ("/graphql/schema", "/graphql/schema.graphql")


def add_schema_routes(app: web.Application) -> None:
    """Add the addresses of the schema."""
    for path in PATHS:
        app.router.add_get(path, schema_text)


@lru_cache(maxsize=1)
def _schema_text() -> tuple[bytes, str]:
    text = root.public_text().encode()
    return text, hashlib.sha256(text).hexdigest()


async def schema_text(request: web.Request) -> web.Response:
    """Return the public schema in SDL; 304 to a client that has it (RFC 9110, section 13.1.2)."""
    text, tag = await asyncio.to_thread(_schema_text)  # printed for the first request: not for the start
    headers = {hdrs.ETAG: f'"{tag}"', hdrs.CACHE_CONTROL: "no-cache"}
    # A weak tag matches too: If-None-Match compares weakly.
    if any(known.value in (tag, "*") for known in request.if_none_match or ()):
        return web.Response(status=304, headers=headers)
    return web.Response(body=text, content_type="text/plain", charset="utf-8", headers=headers)
