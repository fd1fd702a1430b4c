"""Write JSON answers, and the headers that a refusal carries in every family."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import orjson
from aiohttp import HttpVersion11, hdrs, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.compression_utils import MAX_SYNC_CHUNK_SIZE
from aiohttp.helpers import rfc822_formatted_time
from multidict import CIMultiDict

from kernel.errors import DomainError, RateLimited, Unauthenticated

JSON = "application/json"
UNEXPECTED = "an unexpected error occurred"
DATABASE_FAILED = "a database error occurred"

PUT_HEADERS: web.AppKey[Callable[[web.Request, web.StreamResponse], None]] = web.AppKey("put_headers")
"""Holds what puts the headers that every answer of the application carries."""


class WholeResponse(web.Response):
    """An answer that is there as bytes and goes out in one piece, without the steps that cookies, compression and streams take.

    These are a tenth of what a small read costs. Where an answer needs one of them (HEAD, HTTP/1.0, a page of another origin, a
    connection that ends) it goes aiohttp's own way.
    """

    _zlib_executor_size = MAX_SYNC_CHUNK_SIZE
    _zlib_executor = None

    def __init__(
        self,
        body: bytes,
        *,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        content_type: str = JSON,
    ) -> None:
        made: CIMultiDict[str] = CIMultiDict(headers or ())
        made[hdrs.CONTENT_TYPE] = content_type
        web.StreamResponse.__init__(self, status=status, _real_headers=made)
        self._body = body

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        """Write the head."""
        body = self._body
        if (
            not isinstance(request, web.Request)
            or not self._goes_whole(request)
            or not isinstance(body, bytes)
        ):
            return await super().prepare(request)
        self._req = request
        self._keep_alive = True
        self._must_be_empty_body = False
        writer = self._payload_writer = request._payload_writer
        headers = self._headers
        headers[hdrs.CONTENT_LENGTH] = str(len(body))
        headers[hdrs.DATE] = rfc822_formatted_time()
        request.app[PUT_HEADERS](request, self)
        await writer.write_headers(f"HTTP/1.1 {self._status} {self._reason}", headers)
        return writer

    def _goes_whole(self, request: web.Request) -> bool:
        return (
            self._payload_writer is None
            and not self._eof_sent
            and self._keep_alive is None
            and not (self._cookies or self._compression or self._chunked)
            and request.version == HttpVersion11
            and request.keep_alive
            and request.method != hdrs.METH_HEAD
            and hdrs.ORIGIN not in request.headers
            and PUT_HEADERS in request.app
        )


def json_response(body: Any, *, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    """Answer with a JSON body; UUIDs and times are written as orjson writes them."""
    return WholeResponse(to_json(body), status=status, headers=headers)


def to_json(body: Any) -> bytes:
    """Write compact JSON in UTF-8."""
    try:
        return orjson.dumps(body)
    except orjson.JSONEncodeError:
        # A message may quote what orjson can't write, such as half a surrogate pair; a refusal must not become an accident.
        return json.dumps(body, default=str).encode()


def refusal_headers(refusal: DomainError, *, challenge: str) -> dict[str, str]:
    """Give `Retry-After` (seconds) to a 429 and `WWW-Authenticate` to a 401 (RFC 9110, sections 10.2.3 and 11.6.1)."""
    if isinstance(refusal, RateLimited):
        return {"Retry-After": str(refusal.retry_after)}
    if isinstance(refusal, Unauthenticated):
        return {"WWW-Authenticate": challenge}
    return {}


def beside(own: Mapping[str, Any], details: Mapping[str, Any]) -> dict[str, Any]:
    """Put the details behind a form's own members, which they never replace."""
    return {**own, **{name: value for name, value in details.items() if name not in own}}


def allow_header(methods: Iterable[str]) -> dict[str, str]:
    """Name the methods that an address takes, in a steady order."""
    return {"Allow": ", ".join(sorted(methods))}


def method_not_allowed(methods: Iterable[str]) -> web.Response:
    """Answer 405 with `Allow` and no body (decisions section 2)."""
    return web.Response(status=405, headers=allow_header(methods))
