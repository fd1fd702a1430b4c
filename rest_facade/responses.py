"""Build JSON responses and the headers of error responses, and compress them (docs/reference/shared.md#compressed-responses).

Among codings that a client likes equally zstd is the last, although it takes a third of the time of the others for the same size: programs
between server and client, and those that record and repeat answers, often don't know it. The routes that read a cookie refuse requests of
other origins, so that a page of another one can't make a browser ask for a compressed secret (BREACH).
"""

from __future__ import annotations

import asyncio
import json
import zlib
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from functools import lru_cache
from time import perf_counter
from typing import Any, TypeGuard

import brotli
import orjson
import zstandard
from aiohttp import hdrs, web
from aiohttp.abc import AbstractStreamWriter
from multidict import CIMultiDict

from kernel.errors import DomainError, RateLimited, TenantClosed, Unauthenticated, Unavailable, UnsupportedEncoding
from kernel.request_parts import record_compression, record_serialization
from kernel.work_queues import run_in_thread

JSON = "application/json"
WRITE_SIZE = 64 * 1024
_NOT_MODIFIED = 304
UNEXPECTED_ERROR = "an unexpected error occurred"
DATABASE_ERROR = "a database error occurred"

TIMEOUT = web.RequestKey("timeout", asyncio.Timeout)
REQUEST_SECONDS = web.AppKey("request_seconds", float)
"""How long a request may take (docs/reference/shared.md#timeouts)."""


def restart_timeout(request: web.Request) -> None:
    """Start the request's time-out again, unless it is lifted: what arrives or is sent in pieces has the whole time for each."""
    timeout = request.get(TIMEOUT)
    if timeout is not None and timeout.when() is not None:
        timeout.reschedule(asyncio.get_running_loop().time() + request.app[REQUEST_SECONDS])


def lift_timeout(request: web.Request) -> None:
    """Let the request take as long as it needs: a stream ends with its client or credential."""
    timeout = request.get(TIMEOUT)
    if timeout is not None:
        timeout.reschedule(None)


class BytesResponse(web.Response):
    """A response with a bytes body, a large one written in pieces, so that a client that does not read it stops the writing."""

    encodings: MutableMapping[str, bytes] | None = None
    """The body in each content coding, for a body that is sent again (`compress`)."""
    has_pieces = False

    def __init__(
        self, body: bytes, *, status: int = 200, headers: Mapping[str, str] | None = None, content_type: str = JSON
    ) -> None:
        all_headers: CIMultiDict[str] = CIMultiDict(headers or ())
        if status != _NOT_MODIFIED:  # its type is that of the answer that the client has
            all_headers[hdrs.CONTENT_TYPE] = content_type
        super().__init__(body=body, status=status, headers=all_headers)

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        """Write the status line and headers."""
        body = self.body
        self.has_pieces = isinstance(body, bytes) and len(body) > WRITE_SIZE and request.method != hdrs.METH_HEAD
        return await super().prepare(request)

    async def write_eof(self, data: bytes = b"") -> None:
        """Write the body."""
        body = self.body
        if not (self.has_pieces and isinstance(body, bytes)):
            await super().write_eof(data)
            return
        view = memoryview(body)
        for start in range(0, len(body), WRITE_SIZE):
            await self.write(view[start : start + WRITE_SIZE])
        await web.StreamResponse.write_eof(self)


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


def retry_after_of(error: DomainError | None) -> int | None:
    """Return the seconds after which the request may be repeated; None where that isn't known."""
    return error.retry_after if isinstance(error, RateLimited | Unavailable | TenantClosed) else None


def error_headers(error: DomainError, *, challenge: str) -> dict[str, str]:
    """Return `Retry-After` (seconds) for a 429 and a 503, `WWW-Authenticate` for a 401, `Accept-Encoding` for a 415 (RFC 9110).

    Sections 10.2.3, 11.6.1 and 12.5.3. A closed store's 503 has none, unless it is moving: when it opens is not known.
    """
    if (seconds := retry_after_of(error)) is not None:
        return {hdrs.RETRY_AFTER: str(seconds)}
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


# --- Compression ----------------------------------------------------------------------------------------------------

# Smaller bodies fit into the first packet with the headers.
MIN_SIZE = 1024
# Compressed on the event loop up to this size: a third of a millisecond.
_MAX_SIZE_ON_LOOP = 32 * 1024
_MAX_CACHED_HEADER = 200
_GZIP_WINDOW = 31  # zlib's greatest window, with gzip's header


def _brotli(body: bytes) -> bytes:
    return bytes(brotli.compress(body, mode=brotli.MODE_TEXT, quality=3))


def _zstd(body: bytes) -> bytes:
    # A compressor is not shared between threads.
    return zstandard.ZstdCompressor(level=3).compress(body)


def _gzip(body: bytes) -> bytes:
    return zlib.compress(body, level=4, wbits=_GZIP_WINDOW)


CODINGS: dict[str, Callable[[bytes], bytes]] = {"br": _brotli, "gzip": _gzip, "zstd": _zstd}
"""The content codings, the preferred one first."""


def is_compressible(response: web.StreamResponse) -> TypeGuard[web.Response]:
    """Return whether a response is large enough, has no coding yet, and is of a media type that shrinks; streams never are."""
    if not isinstance(response, web.Response):
        return False
    body = response.body
    return (
        isinstance(body, bytes)
        and len(body) > MIN_SIZE
        and hdrs.CONTENT_ENCODING not in response.headers
        and hdrs.CONTENT_RANGE not in response.headers
        and _is_text(response.headers.get(hdrs.CONTENT_TYPE, ""))
    )


async def compress(request: web.Request, response: web.Response) -> None:
    """Compress the body of a compressible response in place where the client offers a coding."""
    headers, body = response.headers, response.body
    assert isinstance(body, bytes)
    add_vary(headers, hdrs.ACCEPT_ENCODING)
    coding = preferred_coding(request)
    if coding is None:
        return
    kept = response.encodings if isinstance(response, BytesResponse) else None
    encoded = kept.get(coding) if kept is not None else None
    if encoded is None:
        encoded = await encode(body, coding)
        if kept is not None:
            kept[coding] = encoded
    if len(encoded) >= len(body):
        return
    response.body = encoded
    headers[hdrs.CONTENT_ENCODING] = coding
    tag = headers.get(hdrs.ETAG)
    if tag is not None and not tag.startswith("W/"):
        # A strong tag names bytes, and these are others; `If-None-Match` compares weakly.
        headers[hdrs.ETAG] = f"W/{tag}"


async def encode(body: bytes, coding: str) -> bytes:
    """Return a body in a content coding; a large one is compressed in a thread."""
    encode_all, started = CODINGS[coding], perf_counter()
    encoded = encode_all(body) if len(body) <= _MAX_SIZE_ON_LOOP else await run_in_thread(encode_all, body)
    record_compression(perf_counter() - started)
    return encoded


def compress_stream(request: web.Request, response: web.StreamResponse) -> None:
    """Compress what will be written to a response, where the client offers gzip; call it before the response is prepared."""
    add_vary(response.headers, hdrs.ACCEPT_ENCODING)
    if preferred_coding(request, ("gzip",)) is not None:
        response.enable_compression(web.ContentCoding.gzip)


def add_vary(headers: MutableMapping[str, str], name: str) -> None:
    """Add the name of a request header to `Vary`."""
    others = headers.get(hdrs.VARY)
    if others is None:
        headers[hdrs.VARY] = name
    elif name not in others.split(", "):
        headers[hdrs.VARY] = f"{others}, {name}"


def preferred_coding(request: web.Request, codings: tuple[str, ...] = tuple(CODINGS)) -> str | None:
    """Return the content coding for the response to a request; None for none."""
    values = request.headers.getall(hdrs.ACCEPT_ENCODING, ())
    accepted = ",".join(values)
    return _cached_choice(accepted, codings) if len(accepted) <= _MAX_CACHED_HEADER else choose(accepted, codings)


def choose(accepted: str, codings: tuple[str, ...] = tuple(CODINGS)) -> str | None:
    """Return the coding with the highest quality in an `Accept-Encoding`, or None where the client prefers the plain body.

    >>> choose("gzip;q=0.5, br"), choose("gzip, zstd;q=0"), choose("*"), choose("identity, gzip;q=0.5")
    ('br', 'gzip', 'gzip', None)
    """
    qualities = dict(_parse(part) for part in accepted.lower().split(","))
    if "x-gzip" in qualities:
        qualities.setdefault("gzip", qualities["x-gzip"])
    other = qualities.get("*", 0.0)
    # Clients that accept anything (`*`) often know gzip alone.
    offered = {coding: qualities.get(coding, other if coding == "gzip" else 0.0) for coding in codings}
    best = max(codings, key=offered.__getitem__)
    quality = offered[best]
    return best if quality > 0 and quality >= qualities.get("identity", 0.0) else None


_cached_choice = lru_cache(maxsize=256)(choose)


def _parse(part: str) -> tuple[str, float]:
    """Return the coding and quality of an item; a malformed quality is 0."""
    coding, _, parameters = part.partition(";")
    name, _, value = parameters.partition("=")
    if name.strip() != "q":
        return coding.strip(), 1.0
    try:
        quality = float(value)
    except ValueError:
        return coding.strip(), 0.0
    return coding.strip(), quality if 0 <= quality <= 1 else 0.0


@lru_cache(maxsize=64)
def _is_text(content_type: str) -> bool:
    media_type = content_type.partition(";")[0].strip().lower()
    # Events are sent one by one as they happen.
    return media_type != "text/event-stream" and (
        media_type.startswith("text/")
        or media_type in ("application/json", "application/javascript", "application/xml")
        or media_type.endswith(("+json", "+xml"))
    )
