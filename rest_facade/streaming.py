"""Send responses in parts, each written before the next is read: a slow client occupies no database connection, and no memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from types import MappingProxyType

from aiohttp import HttpVersion11, hdrs, web

from rest_facade.responses import compress_stream, restart_timeout


async def send_parts(
    request: web.Request,
    content_type: str,
    parts: AsyncIterator[bytes],
    headers: Mapping[str, str] = MappingProxyType({}),
) -> web.StreamResponse:
    """Send the parts; a failure after the first one closes the connection, since the status has been sent."""
    response = web.StreamResponse(headers={hdrs.CONTENT_TYPE: content_type, **headers})
    if request.method == hdrs.METH_HEAD:
        return response  # without the ends of chunks and compression, which are a body
    compress_stream(request, response)
    await prepare_stream(request, response)
    try:
        async for part in parts:
            if part:
                await response.write(part)
            restart_timeout(request)
        await response.write_eof()
    except BaseException:
        if request.transport is not None:
            request.transport.abort()
        raise
    return response


async def prepare_stream(request: web.Request, response: web.StreamResponse) -> None:
    """Send the head of a response whose length is unknown: it ends with its last chunk, over HTTP/1.0 with its connection."""
    if request.version < HttpVersion11:
        response.force_close()
    else:
        response.enable_chunked_encoding()
    await response.prepare(request)
