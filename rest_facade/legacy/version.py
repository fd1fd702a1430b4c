"""Serve the version of CS-Cart whose API the layer speaks, by which clients choose what they call.

See docs/reference/legacy.md#addresses.
"""

from __future__ import annotations

from collections.abc import Mapping

from aiohttp import web

from resolvers.execute import FacadeOperation
from rest_facade.legacy.reshape import has_cscart_dialect
from rest_facade.responses import json_response
from rest_facade.routing import Credential, Route

PATH = "/api/version"
# The present one at the time of this module, with vendors.
CSCART_VERSION = "4.18.1"
_SENTENCE = f"Multi-Vendor {CSCART_VERSION} MULTIVENDOR"


def route(operations: Mapping[str, FacadeOperation]) -> Route:
    """Describe the route."""
    return Route("GET", PATH, _show, Credential.LEGACY_ANY, serves=has_cscart_dialect)


async def _show(request: web.Request) -> web.Response:
    """Return the version: a sentence to `?version`, else an object."""
    if "version" in request.rel_url.query:
        return web.Response(text=_SENTENCE)
    return json_response({"Version": CSCART_VERSION})
