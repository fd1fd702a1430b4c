"""Write the access log: one line per finished request, without query string, body or secrets (docs/reference/shared.md#logs)."""

from __future__ import annotations

from time import perf_counter
from typing import Any

from aiohttp import web

from kernel import logging
from rest_facade.routing import REQUEST_ID, SCOPE

# The client disconnected before the response; nginx uses the same status.
CLIENT_GONE = 499
_MAX_PATH_LENGTH = 500


def write(request: web.Request, status: int, started: float, error_code: str | None) -> None:
    """Write the line; `started` is a `perf_counter` value, `error_code` the code of the error in the response."""
    state = request._state
    line: dict[str, Any] = {
        "request_id": state[REQUEST_ID],
        "method": request._message.method,
        "path": request._rel_url.path[:_MAX_PATH_LENGTH],
        "status": status,
        "ms": int((perf_counter() - started) * 100_000) / 100,  # `round` takes five times as long
    }
    scope = state.get(SCOPE)
    if scope is not None:
        line["store"] = scope.store.public_id
        line["actor"] = scope.actor.credential
    if error_code is not None:
        line["refused"] = error_code
    logging.access(line)
