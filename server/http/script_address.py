"""Serve the legacy API at `/api.php?_d=<path>` too, as CS-Cart shops without URL rewriting do (docs/reference/legacy.md#addresses).

The request gets the address below `/api/2.0/` that `_d` names, and is routed again: everything after it, from the access rules to the
errors, is that of the legacy layer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn
from urllib.parse import quote, unquote_to_bytes

from aiohttp import web
from yarl import URL

from rest_facade.aiohttp_internals import replace_url

PATH = "/api.php"
# Every path below it belongs to the legacy layer, unlike those below `/api`.
_BASE = "/api/2.0/"
_VERSIONS = ("v1.0", "2.0", "2")
_DOTS = (".", "..")


def rewritten(url: URL) -> URL:
    """Return the legacy address of a relative URL with `_d`; one that is no route where `_d` is absent or no path."""
    path, rest = "", []
    for parameter in url.raw_query_string.split("&"):
        name, _, value = parameter.partition("=")
        if name == "_d":
            path = unquote_to_bytes(value.replace("+", " ")).decode("utf-8", "replace")
        elif parameter:
            rest.append(parameter)
    segments = path.strip("/").split("/")
    if segments[0] in _VERSIONS:
        segments = segments[1:]
    if any(segment in _DOTS for segment in segments):
        segments = []
    return URL.build(
        path=_BASE + "/".join(quote(segment, safe="") for segment in segments),
        query_string="&".join(rest),
        encoded=True,
    )


class ScriptAddress(web.AbstractResource):
    """The resource `/api.php`, which has no routes of its own."""

    def __init__(self, router: web.UrlDispatcher) -> None:
        super().__init__()
        self._router = router

    @property
    def canonical(self) -> str:
        """Return the path."""
        return PATH

    async def resolve(self, request: web.Request) -> Any:
        """Rewrite the request's URL and resolve it."""
        replace_url(request, rewritten(request.rel_url))
        return await self._router.resolve(request), set()

    def raw_match(self, path: str) -> bool:
        """Return whether this resource has the path."""
        return path == PATH

    def get_info(self) -> Any:
        """Return the path for introspection."""
        return {"path": PATH}

    def url_for(self, **kwargs: str) -> URL:
        """Return the URL."""
        return URL.build(path=PATH, encoded=True)

    def add_prefix(self, prefix: str) -> NoReturn:
        """Refuse a prefix: the application is not mounted below another."""
        raise NotImplementedError

    def __len__(self) -> int:
        """Return the number of routes."""
        return 0

    def __iter__(self) -> Iterator[web.AbstractRoute]:
        """Iterate over the routes: none."""
        return iter(())
