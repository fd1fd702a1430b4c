"""Assign a request id to every request and return it on every response (docs/reference/shared.md#request-id)."""

from __future__ import annotations

from aiohttp import web
from multidict import istr

from kernel import ids, logging
from rest_facade.routing import REQUEST_ID

HEADER = istr("X-Request-Id")


def assign(request: web.Request) -> str:
    """Use the client's id when it is valid, else create one; log lines from here on carry it."""
    request_id = ids.request_id_from(request._message.headers.get(HEADER))
    request._state[REQUEST_ID] = request_id
    logging.request_id.set(request_id)
    return request_id
