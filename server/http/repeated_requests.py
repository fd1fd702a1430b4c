"""Answer requests for the catalogue that repeat an earlier one to the byte, before their HTTP is parsed.

A program that renders a store's pages sends the same bytes for each visitor, over connections that it keeps. What such bytes are parsed to,
up to the answer in memory (`server.http.catalogue_cache`), is the same each time; it is remembered by a hash of the bytes. What may change
in between is checked for each request: the limits, the store and the credential (`server.http.request_heads`), the version of the
catalogue.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from time import monotonic

from aiohttp import hdrs, web

from rest_facade.responses import WRITE_SIZE
from rest_facade.routing import Credential
from server.http.catalogue_cache import KEPT_ANSWER, RECOGNIZED_SECONDS, Answer, CatalogueCache, count_repeated
from server.http.remembered import Remembered
from server.http.request_heads import METHODS, RequestHead, RequestHeads, lasting_head

# The request line and headers as well: GraphQL by GET has its document in the address.
_MAX_BYTES = 8_000
_MAX_REQUESTS = 2_000
_NOT_MODIFIED = 304


@dataclass(frozen=True, slots=True)
class _Known:
    """What the bytes of a request are, and how their answer begins."""

    head: RequestHead
    answer: weakref.ref[Answer]
    coding: str | None
    status: int
    lasting: bytes
    until: float
    """The `monotonic` time of its end."""


class RepeatedRequests:
    """The requests remembered by a process, the most recently used ones; a request is remembered when it comes the second time."""

    def __init__(self, heads: RequestHeads, catalogue: CatalogueCache) -> None:
        self._heads = heads
        self._catalogue = catalogue
        # Up to the first parameter of the path.
        self._beginnings = tuple(
            f"{route.method} {route.resource.canonical.partition('{')[0]}".encode()
            for route, policy in heads.policies.items()
            if (policy.is_catalogue or policy.credential is Credential.GRAPHQL)
            and route.method in METHODS
            and route.resource is not None
        )
        self._known: Remembered[_Known] = Remembered(_MAX_REQUESTS)

    def answer(self, data: bytes, remote: str) -> bytes | None:
        """Return the whole response to a request of the connection with this peer; None for one that must go the whole way."""
        if len(data) > _MAX_BYTES or not data.startswith(self._beginnings):
            return None
        known = self._known.find(data)
        answer = None if known is None or known.until <= monotonic() else known.answer()
        if known is None or answer is None or not self._catalogue.is_current(answer):
            return None
        admission = self._heads.admit(known.head, remote)
        if admission is None:
            return None
        count_repeated(is_revalidated=known.status == _NOT_MODIFIED)
        own = self._heads.finish(admission, known.status)
        if known.status == _NOT_MODIFIED:
            return known.lasting + own + b"\r\n"
        body = answer.body if known.coding is None else answer.encodings[known.coding]
        return b"%s%sContent-Length: %d\r\n\r\n%s" % (known.lasting, own, len(body), body)

    def remember(self, data: bytes, request: web.BaseRequest, response: web.StreamResponse) -> None:
        """Remember a request that was answered from memory, if it came before."""
        answer, body = request._state.get(KEPT_ANSWER), getattr(response, "body", None)
        if answer is None or not isinstance(body, bytes) or len(data) > _MAX_BYTES or len(body) > WRITE_SIZE:
            return
        head = self._heads.read(request, response) if self._known.is_repeated(data) else None
        if head is None:
            return
        coding = response.headers.get(hdrs.CONTENT_ENCODING)
        lasting = lasting_head(response, response.headers)
        until = monotonic() + RECOGNIZED_SECONDS
        self._known.add(data, _Known(head, weakref.ref(answer), coding, response.status, lasting, until))

    def __len__(self) -> int:
        return len(self._known)
