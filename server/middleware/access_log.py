"""Write one line about each finished request: no query string, no body, no secret (decisions section 10)."""

from __future__ import annotations

from time import perf_counter
from typing import Any

from aiohttp import web

from kernel import logging
from rest_facade.routing import REQUEST_ID, SCOPE

# The client went away before there was an answer; the number is nginx's.
CLIENT_GONE = 499
_LONGEST_PATH = 500


def write(request: web.Request, status: int, started: float, refused: str | None) -> None:
    """Write the line; `started` is of `perf_counter`, `refused` the code of the refusal that was answered."""
    line: dict[str, Any] = {
        "request_id": request[REQUEST_ID],
        "method": request.method,
        "path": request.path[:_LONGEST_PATH],
        "status": status,
        "ms": round((perf_counter() - started) * 1_000, 2),
    }
    scope = request.get(SCOPE)
    if scope is not None:
        line["store"] = scope.store.public_id
        line["actor"] = scope.actor.credential
    if refused is not None:
        line["refused"] = refused
    logging.access(line)
