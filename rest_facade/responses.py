"""Build JSON responses and the headers of error responses."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from time import perf_counter
from typing import Any

import orjson
from aiohttp import HttpVersion11, hdrs, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.compression_utils import MAX_SYNC_CHUNK_SIZE
from aiohttp.helpers import rfc822_formatted_time
from aiohttp.http_writer import StreamWriter, _serialize_headers
from aiohttp.web_response import REASON_PHRASES
from multidict import CIMultiDict

from kernel.errors import DomainError, RateLimited, Unauthenticated, Unavailable, UnsupportedEncoding
from kernel.request_parts import record_serialization

JSON = "application/json"
WRITE_SIZE = 64 * 1024
_NOT_MODIFIED = 304
UNEXPECTED_ERROR = "an unexpected error occurred"
DATABASE_ERROR = "a database error occurred"

ADD_HEADERS: web.AppKey[Callable[[web.Request, web.StreamResponse], None]] = web.AppKey("put_headers")
"""The application's function that adds the headers common to all responses."""

RESTART_TIMEOUT: web.AppKey[Callable[[], None]] = web.AppKey("restart_timeout")
"""The application's function that starts the request's timeout again, for responses sent in pieces."""


class BytesResponse(web.Response):
    """A response with a bytes body, written without the steps for cookies, compression and streaming.

    These steps are a tenth of the cost of a small read. Responses that need them (HEAD, HTTP/1.0, cross-origin, closing
    connections) use aiohttp's own implementation.
    """

    _zlib_executor_size = MAX_SYNC_CHUNK_SIZE
    _zlib_executor = None
    _head = b""
    """The status line and headers of the fast path, which go out with the body."""
    encodings: MutableMapping[str, bytes] | None = None
    """The body in each content coding, for a body that is sent again (`rest_facade.compression`)."""

    def __init__(
        self, body: bytes, *, status: int = 200, headers: Mapping[str, str] | None = None, content_type: str = JSON
    ) -> None:
        all_headers: CIMultiDict[str] = CIMultiDict(headers or ())
        all_headers[hdrs.CONTENT_TYPE] = content_type
        # As `StreamResponse.__init__`, two calls deeper.
        self._state = {}
        self._headers = all_headers
        self._status = status
        self._reason = REASON_PHRASES.get(status, "")
        self._body = body

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        """Write the status line and headers."""
        body = self._body
        if not isinstance(request, web.Request) or not self._uses_fast_path(request) or not isinstance(body, bytes):
            return await super().prepare(request)
        app = request._match_info._current_app  # type: ignore[union-attr]
        add_headers: Any = (
            app._state.get(ADD_HEADERS) if app is not None else None
        )  # `request.app.get`, four calls deeper
        if add_headers is None:
            return await super().prepare(request)
        self._req = request
        self._keep_alive = True
        self._must_be_empty_body = False
        writer = self._payload_writer = request._payload_writer
        headers = self._headers
        if self._status == _NOT_MODIFIED:  # both are those of the answer that the client has
            headers.pop(hdrs.CONTENT_TYPE, None)
        else:
            headers[hdrs.CONTENT_LENGTH] = str(len(body))
        headers[hdrs.DATE] = rfc822_formatted_time()
        add_headers(request, self)
        status_line = f"HTTP/1.1 {self._status} {self._reason}"
        if len(body) <= WRITE_SIZE:
            self._head = _serialize_headers(status_line, headers)
        else:
            await writer.write_headers(status_line, headers)
        return writer

    async def write_eof(self, data: bytes = b"") -> None:
        """Write the body; a large one in pieces, so that a client that does not read it stops the writing."""
        body, writer = self._body, self._payload_writer
        if self._head and isinstance(body, bytes) and isinstance(writer, StreamWriter):
            # As `StreamResponse.write_eof`, four calls deeper.
            writer._write(self._head + body)
            self._head = b""
            if writer._protocol._paused:  # the client reads slowly
                await writer.drain()
            writer._eof = True
            self._eof_sent = True
            self._req = None
            self._body_length = writer.output_size
            self._payload_writer = None
            return
        if isinstance(body, bytes) and len(body) > WRITE_SIZE and writer is not None and not self._must_be_empty_body:
            view = memoryview(body)
            for start in range(0, len(body), WRITE_SIZE):
                await writer.write(view[start : start + WRITE_SIZE])
            await web.StreamResponse.write_eof(self)
            return
        await super().write_eof(data)

    def _uses_fast_path(self, request: web.Request) -> bool:
        message = request._message
        return (
            self._payload_writer is None
            and not self._eof_sent
            and self._keep_alive is None
            and not (self._cookies or self._compression or self._chunked)
            and message.version == HttpVersion11
            and not message.should_close
            and message.method != hdrs.METH_HEAD
            and hdrs.ORIGIN not in message.headers
        )


def json_response(body: Any, *, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    """Return a JSON response; orjson serializes UUIDs and times."""
    return BytesResponse(to_json(body), status=status, headers=headers)


def page_response(request: web.Request, page: Mapping[str, Any]) -> web.Response:
    """Return a page of a list, `{…, total, page, per_page or limit}`, with a `Link` to its neighbours (RFC 8288).

    The targets are relative to the host: behind a proxy the server doesn't know its address.
    """
    number, total = page["page"], page["total"]
    size = page["per_page"] if "per_page" in page else page["limit"]
    last = max(1, -(-total // size))
    neighbours = {"prev": min(number - 1, last), "next": number + 1 if number < last else 0}
    links = [
        f'<{request.rel_url.update_query(page=str(neighbour))}>; rel="{name}"'
        for name, neighbour in neighbours.items()
        if neighbour > 0
    ]
    return json_response(page, headers={hdrs.LINK: ", ".join(links)} if links else None)


def to_json(body: Any) -> bytes:
    """Serialize to compact JSON in UTF-8."""
    started = perf_counter()
    try:
        content = orjson.dumps(body)
    except orjson.JSONEncodeError:
        # A message may quote text that orjson rejects, such as half a surrogate pair; the error must not become a 500.
        content = json.dumps(body, default=str).encode()
    record_serialization(perf_counter() - started)
    return content


def error_headers(error: DomainError, *, challenge: str) -> dict[str, str]:
    """Return `Retry-After` (seconds) for a 429 and a 503, `WWW-Authenticate` for a 401, `Accept-Encoding` for a 415 (RFC 9110).

    Sections 10.2.3, 11.6.1 and 12.5.3. A closed store's 503 has none: when it opens is not known.
    """
    if isinstance(error, RateLimited | Unavailable):
        return {"Retry-After": str(error.retry_after)}
    if isinstance(error, Unauthenticated):
        # RFC 6750, section 3.1: a request without a credential gets no error code.
        is_invalid = error.is_invalid_token and challenge.startswith("Bearer")
        return {"WWW-Authenticate": f'{challenge}, error="invalid_token"' if is_invalid else challenge}
    if isinstance(error, UnsupportedEncoding):
        return {"Accept-Encoding": ", ".join(error.accepted)}
    return {}


def merge_details(body: Mapping[str, Any], details: Mapping[str, Any]) -> dict[str, Any]:
    """Append the details to a body without replacing its members."""
    return {**body, **{name: value for name, value in details.items() if name not in body}}


def allow_header(methods: Iterable[str]) -> dict[str, str]:
    """Return the `Allow` header, sorted."""
    return {"Allow": ", ".join(sorted(methods))}


def method_not_allowed(methods: Iterable[str]) -> web.Response:
    """Return 405 with `Allow` and no body."""
    return web.Response(status=405, headers=allow_header(methods))
