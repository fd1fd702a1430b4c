"""Speak HTTP on each connection as aiohttp does, save where it answers itself, before there is a request for the application."""

from __future__ import annotations

import asyncio
from typing import Any

from aiohttp import hdrs, web
from aiohttp.typedefs import Middleware
from aiohttp.web_protocol import RequestHandler

from kernel import ids, logging
from kernel.errors import MalformedRequest
from rest_facade.responses import UNEXPECTED
from server import graphql_errors
from server.middleware.request_id import HEADER

# A connection that sends nothing, or half a request's head, is closed after this; proxies keep theirs for 60.
IDLE_SECONDS = 75.0
# How long the rest of a refused body is read and thrown away, so that a client still sending it gets to read the answer.
LINGER_SECONDS = 3.0
OPTIONS: dict[str, Any] = {
    "keepalive_timeout": IDLE_SECONDS,
    "lingering_time": LINGER_SECONDS,
    "access_log": None,
}

PIPELINE: web.AppKey[Middleware] = web.AppKey("pipeline")
"""Holds the application's only middleware."""


class Connection(RequestHandler):
    """Answer what is no HTTP, or what failed outside the middleware, with a request id and in JSON.

    Whose address it would have been is unknown, so the form is the one that holds `error`, `message` and `status` at once.
    """

    __slots__ = ()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answer a request that could not be read (400), or an accident in aiohttp itself (500)."""
        request_id = ids.request_id_from(request.headers.get(HEADER))
        if status < 500:
            logging.event("bad request", status=status, request_id=request_id, error=type(exc).__name__)
            refusal = MalformedRequest("bad request", detail="this is not HTTP as this server reads it")
            answer = graphql_errors.render(refusal)
        else:
            logging.failure(UNEXPECTED, exc or RuntimeError(message or ""), request_id=request_id)
            answer = graphql_errors.accident(False)
        if request.writer.output_size > 0:
            raise ConnectionError("a part of another answer was sent already")
        answer.headers[HEADER] = request_id
        answer.force_close()
        return answer


class _Server(web.Server):
    def __call__(self) -> RequestHandler:
        return Connection(self, loop=asyncio.get_running_loop(), **OPTIONS)


class Runner(web.AppRunner):
    """Run the application on our own connections."""

    __slots__ = ()

    async def _make_server(self) -> web.Server:
        made = await super()._make_server()
        handler = _straight(self._app, made.request_handler)
        return _Server(handler, request_factory=made.request_factory)


def _straight(app: web.Application, usual: Any) -> Any:
    """Lead a request through the pipeline to its route as `usual` does, without what several middlewares and sub-applications take."""
    resolve, serve = app.router.resolve, app[PIPELINE]

    async def handle(request: web.Request) -> web.StreamResponse:
        if hdrs.EXPECT in request.headers:
            answer: web.StreamResponse = await usual(request)
            return answer
        found = await resolve(request)
        found.add_app(app)
        found.freeze()
        request._match_info = found
        return await serve(request, found.handler)

    return handle
