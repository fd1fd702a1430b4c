"""Write the access log: one line per finished request, without query string, body or secrets (docs/reference/shared.md#logs)."""

from __future__ import annotations

from time import perf_counter
from typing import Any

from aiohttp import web

from kernel import logging
from kernel.scope import Scope
from rest_facade.routing import REQUEST_ID, SCOPE
from server.http.authentication import CachedCaller

# The client disconnected before the response; nginx uses the same status.
CLIENT_GONE = 499
_MAX_PATH_LENGTH = 500


def write(request: web.Request, status: int, started: float, error_code: str | None) -> None:
    """Write the line; `started` is a `perf_counter` value, `error_code` the code of the error in the response."""
    state = request._state
    write_line(
        state[REQUEST_ID],
        request._message.method,
        request._rel_url.path,
        status,
        started,
        state.get(SCOPE),
        error_code,
    )


def write_line(
    request_id: str,
    method: str,
    path: str,
    status: int,
    started: float,
    caller: Scope | CachedCaller | None,
    error_code: str | None = None,
) -> None:
    """Write the line of a request of these parts, as `write` does."""
    line: dict[str, Any] = {
        "request_id": request_id,
        "method": method,
        "path": path[:_MAX_PATH_LENGTH],
        "status": status,
        "ms": int((perf_counter() - started) * 100_000) / 100,  # `round` takes five times as long
    }
    if caller is not None:
        line["store"] = caller.store.public_id
        line["actor"] = caller.actor.credential
    if error_code is not None:
        line["refused"] = error_code
    logging.access(line)
