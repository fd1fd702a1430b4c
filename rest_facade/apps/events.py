"""Serve the event feed, `GET /api/admin/events`: pages, or Server-Sent Events to clients that accept `text/event-stream`.

Each event needs the scope that reads its subject (docs/reference/apps.md#event-feed).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from aiohttp import hdrs, web

from kernel.accepted_types import accepted_types
from kernel.errors import MalformedRequest, ValidationFailed
from resolvers.execute import FacadeOperation, authorize, execute
from rest_facade.list_parameters import page_size, query_of
from rest_facade.responses import json_response
from rest_facade.routing import SCOPE, Credential, Handler, Route

PATH = "/api/admin/events"
EVENT_STREAM = "text/event-stream"
DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE = 100, 1_000

OpenStream: TypeAlias = Callable[[web.Request, str | None, list[str] | None], Awaitable[web.StreamResponse]]
OPEN_STREAM: web.AppKey[OpenStream] = web.AppKey("open_event_stream")
"""The application's function that sends the events after a cursor, of these types, until the client or the server ends the stream.

It raises domain errors before the response begins.
"""


def routes(operations: Mapping[str, FacadeOperation]) -> list[Route]:
    """List the route."""
    return [Route("GET", PATH, _handler(operations["AppEvents"]), Credential.APP)]


def _handler(operation: FacadeOperation) -> Handler:
    async def show(request: web.Request) -> web.StreamResponse:
        """Return the events after a cursor: `after`, `types`, `limit`."""
        scope = authorize(request[SCOPE], operation)
        query = query_of(request)
        types = [name for text in query.get("types", "").split(",") if (name := text.strip())] or None
        after = query.get("after", "").strip() or None
        try:
            if EVENT_STREAM in accepted_types(request.headers.get(hdrs.ACCEPT, "")):
                # A client that reconnects repeats the address and adds how far it read.
                after = request.headers.get("Last-Event-ID", "").strip() or after
                return await request.app[OPEN_STREAM](request, after, types)
            first = page_size(query, "limit", DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE)
            data = await execute(scope, operation, {"after": after, "types": types, "first": first})
        except ValidationFailed as error:
            raise _invalid_parameter(error) from error
        feed = data["feed"]
        return json_response({"events": [edge["node"] for edge in feed["edges"]], **feed["page_info"]})

    return show


def _invalid_parameter(error: ValidationFailed) -> ValidationFailed:
    """Return the error in the form of a query parameter's."""
    return MalformedRequest(f"invalid {error.field}", detail=error.message) if error.field else error
