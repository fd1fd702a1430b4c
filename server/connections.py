"""Run aiohttp's HTTP protocol with error responses of our own for requests that never reach the application."""

from __future__ import annotations

import asyncio
from typing import Any

from aiohttp import hdrs, web
from aiohttp.typedefs import Middleware
from aiohttp.web_protocol import RequestHandler

from kernel import ids, logging
from kernel.errors import MalformedRequest
from rest_facade.responses import UNEXPECTED_ERROR
from server import graphql_errors
from server.middleware.request_id import HEADER

# Idle timeout, also for a half-sent request head; longer than the usual 60 s of proxies.
IDLE_SECONDS = 75.0
# How long the rest of a rejected body is read and discarded, so that a client still sending it can read the response.
LINGER_SECONDS = 3.0
OPTIONS: dict[str, Any] = {
    "keepalive_timeout": IDLE_SECONDS,
    "lingering_time": LINGER_SECONDS,
    "access_log": None,
    # rest_facade/bodies.py decompresses, up to the size limit and only bodies that are read.
    "auto_decompress": False,
}

PIPELINE: web.AppKey[Middleware] = web.AppKey("pipeline")
"""The application's only middleware."""


class Connection(RequestHandler):
    """Answer malformed HTTP and errors outside the middleware in JSON, with a request id.

    The route is unknown here, so the body carries `error`, `message` and `status` like `graphql_errors`.
    """

    __slots__ = ()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answer a request that could not be parsed (400), or an error in aiohttp itself (500)."""
        request_id = ids.request_id_from(request.headers.get(HEADER))
        if status < 500:
            logging.event("bad request", status=status, request_id=request_id, error=type(exc).__name__)
            error = MalformedRequest("bad request", detail="this is not HTTP as this server reads it")
            response = graphql_errors.render(error)
        else:
            logging.failure(UNEXPECTED_ERROR, exc or RuntimeError(message or ""), request_id=request_id)
            response = graphql_errors.internal_error(False)
        if request.writer.output_size > 0:
            raise ConnectionError("part of another response was already sent")
        response.headers[HEADER] = request_id
        response.force_close()
        return response


class _Server(web.Server):
    def __call__(self) -> RequestHandler:
        return Connection(self, loop=asyncio.get_running_loop(), **OPTIONS)


class Runner(web.AppRunner):
    """Run the application with `Connection` as the protocol."""

    __slots__ = ()

    async def _make_server(self) -> web.Server:
        server = await super()._make_server()
        handler = _direct_handler(self._app, server.request_handler)
        return _Server(handler, request_factory=server.request_factory)


def _direct_handler(app: web.Application, default: Any) -> Any:
    """Route a request through the pipeline to its handler, skipping aiohttp's middleware and sub-application steps."""
    resolve, serve = app.router.resolve, app[PIPELINE]

    async def handle(request: web.Request) -> web.StreamResponse:
        if hdrs.EXPECT in request.headers:
            response: web.StreamResponse = await default(request)
            return response
        match = await resolve(request)
        match.add_app(app)
        match.freeze()
        request._match_info = match
        return await serve(request, match.handler)

    return handle
