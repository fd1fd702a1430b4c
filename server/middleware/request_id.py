"""Name every request, and put the name on every answer: on errors, preflights and streams too (decisions section 2)."""

from __future__ import annotations

from aiohttp import web
from multidict import istr

from kernel import ids, logging
from rest_facade.routing import REQUEST_ID

HEADER = istr("X-Request-Id")


def begin(request: web.Request) -> str:
    """Keep the inbound id where it is well formed, else make one; the lines logged from here on carry it."""
    request_id = ids.request_id_from(request.headers.get(HEADER))
    request[REQUEST_ID] = request_id
    logging.request_id.set(request_id)
    return request_id


def put(request: web.Request, response: web.StreamResponse) -> None:
    """Put the id on an answer that is about to be sent."""
    response.headers[HEADER] = request.get(REQUEST_ID) or begin(request)
