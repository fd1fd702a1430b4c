"""Assign a request id to every request and return it on every response (docs/reference/shared.md#request-id)."""

from __future__ import annotations

from collections.abc import MutableMapping

from aiohttp import web
from multidict import istr

from kernel import ids, logging
from rest_facade.routing import REQUEST_ID

HEADER = istr("X-Request-Id")


def assign(request: web.Request) -> str:
    """Use the client's id when it is valid, else create one; log lines from here on carry it."""
    request_id = ids.request_id_from(request.headers.get(HEADER))
    request._state[REQUEST_ID] = request_id
    logging.request_id.set(request_id)
    return request_id


def add_header(request: web.Request, headers: MutableMapping[str, str]) -> None:
    """Add the id to the headers of a response."""
    headers[HEADER] = request._state.get(REQUEST_ID) or assign(request)
