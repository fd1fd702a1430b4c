"""Serve the legacy API at CS-Cart's other spellings of its addresses (docs/reference/legacy.md#addresses).

These are `/api.php?_d=<path>`, for shops without URL rewriting; names of entities in any letter case and empty segments (`/api//Products`);
and `/api/?version`. The request gets the address that its spelling stands for, and is routed again: everything after it, from the access
rules to the errors, is that of the legacy layer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NoReturn
from urllib.parse import quote, unquote_to_bytes

from aiohttp import web
from yarl import URL

from rest_facade.aiohttp_internals import replace_url
from server.http.families import LEGACY_BASES, family_of

SCRIPT = "/api.php"
_ROOT = "/api"
# Every path below it belongs to the legacy layer, unlike those below `/api`.
_BASE = "/api/2.0"
_VERSIONS = ("v1.0", "2.0", "2")
_DOTS = (".", "..")
_VERSION = "version"
# The path of a record (`products/12/features`) has names of entities but here.
_RECORD_SEGMENT = 1


def names_of(paths: Iterable[str]) -> dict[str, str]:
    """Return the fixed segments of legacy paths by their lower case."""
    segments = (segment for path in paths if family_of(path).name == "legacy" for segment in path.split("/")[2:])
    return {segment.lower(): segment for segment in segments if segment and not segment.startswith("{")}


def rewritten(url: URL, names: Mapping[str, str]) -> URL:
    """Return the legacy address of a relative URL with `_d`; one that is no route where `_d` is absent or no path."""
    path, rest = "", []
    for parameter in url.raw_query_string.split("&"):
        name, _, value = parameter.partition("=")
        if name == "_d":
            path = unquote_to_bytes(value.replace("+", " ")).decode("utf-8", "replace")
        elif parameter:
            rest.append(parameter)
    segments = [segment for segment in path.split("/") if segment]
    if segments and segments[0] in _VERSIONS:
        segments = segments[1:]
    if any(segment in _DOTS for segment in segments):
        segments = []
    path = "/".join((_BASE, *_spelled(map(_quote, segments), names)))
    return URL.build(path=path, query_string="&".join(rest), encoded=True)


def respelled(url: URL, names: Mapping[str, str]) -> URL | None:
    """Return the address of a legacy path spelled otherwise; None for any other path, and one that is spelled as its route."""
    bases = [base for base in LEGACY_BASES if f"{url.raw_path}/".startswith(f"{base}/")]
    if not bases:
        return None  # `/api` in percent-encoding
    base = max(bases, key=len)
    segments = [segment for segment in url.raw_path[len(base) :].split("/") if segment]
    if not segments and _VERSION in url.query:
        path = f"{_BASE}/{_VERSION}"
    else:
        path = "/".join((base, *_spelled(segments, names)))
    if url.raw_path in (path, f"{path}/") or family_of(path).name != "legacy":
        return None
    return URL.build(path=path, query_string=url.raw_query_string, encoded=True)


def _spelled(segments: Iterable[str], names: Mapping[str, str]) -> Iterator[str]:
    for index, segment in enumerate(segments):
        yield segment if index == _RECORD_SEGMENT else names.get(segment.lower(), segment)


def _quote(segment: str) -> str:
    return quote(segment, safe="")


class OtherSpelling(web.AbstractResource):
    """A resource without routes of its own, which routes requests at its path, or below it, by another address."""

    def __init__(self, router: web.UrlDispatcher, path: str, names: Mapping[str, str]) -> None:
        super().__init__()
        self._router = router
        self._path = path
        self._names = names

    @property
    def canonical(self) -> str:
        """Return the path."""
        return self._path

    async def resolve(self, request: web.Request) -> Any:
        """Rewrite the request's URL and resolve it; nothing where the address is spelled as its route."""
        url = request.rel_url
        address = rewritten(url, self._names) if self._path == SCRIPT else respelled(url, self._names)
        if address is None:
            return None, set()
        replace_url(request, address)
        return await self._router.resolve(request), set()

    def raw_match(self, path: str) -> bool:
        """Return whether this resource has the path."""
        return path == self._path

    def get_info(self) -> Any:
        """Return the path for introspection."""
        return {"path": self._path}

    def url_for(self, **kwargs: str) -> URL:
        """Return the URL."""
        return URL.build(path=self._path, encoded=True)

    def add_prefix(self, prefix: str) -> NoReturn:
        """Refuse a prefix: the application is not mounted below another."""
        raise NotImplementedError

    def __len__(self) -> int:
        """Return the number of routes."""
        return 0

    def __iter__(self) -> Iterator[web.AbstractRoute]:
        """Iterate over the routes: none."""
        return iter(())


def add_spellings(router: web.UrlDispatcher, paths: Iterable[str]) -> None:
    """Add the other spellings of these routes' addresses."""
    names = names_of(paths)
    for path in (SCRIPT, _ROOT):
        router.register_resource(OtherSpelling(router, path, names))
