"""What is recorded of each request: its id, its line in the access log, its metrics.

The line has no query string, body or secrets (docs/reference/shared.md#logs); every response carries the id
(docs/reference/shared.md#request-id).
"""

from __future__ import annotations

from time import perf_counter
from typing import Any

from aiohttp import web
from multidict import istr

from kernel import logging, metrics
from rest_facade.routing import IS_UNLOGGED, REQUEST_ID, SCOPE
from server.http.routes import RoutePolicy

REQUEST_ID_HEADER = istr("X-Request-Id")
# The client disconnected before the response; nginx uses the same status.
CLIENT_GONE = 499
_MAX_PATH_LENGTH = 500
_BOUNDS = (0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
_REQUESTS = metrics.counter(
    "vitrine_requests_total", "Requests by family, route and status.", "family", "method", "route", "status"
)
_SECONDS = metrics.histogram(
    "vitrine_request_seconds",
    "Time from the head of a request to its response.",
    "family",
    "method",
    "route",
    bounds=_BOUNDS,
)
# Paths and methods that no route has are chosen by clients.
_NO_ROUTE = ("", "none")


def assign_request_id(request: web.Request) -> str:
    """Use the client's id when it is valid, else create one; log lines from here on carry it."""
    request_id = logging.request_id_from(request.headers.get(REQUEST_ID_HEADER))
    request[REQUEST_ID] = request_id
    logging.request_id.set(request_id)
    return request_id


def count_request(policy: RoutePolicy | None, family: str, status: int, seconds: float) -> None:
    """Record a finished request; the policy is that of its route, if it has one."""
    labels = (family, *_NO_ROUTE) if policy is None else policy.metric
    _REQUESTS.add(*labels, str(status))
    _SECONDS.observe(_SECONDS.child(*labels), seconds)


def log_request(request: web.Request, status: int, started: float, error_code: str | None) -> None:
    """Write the line; `started` is a `perf_counter` value, `error_code` the code of the error in the response."""
    if IS_UNLOGGED in request:
        return
    line: dict[str, Any] = {
        "request_id": request[REQUEST_ID],
        "method": request.method,
        "path": request.path[:_MAX_PATH_LENGTH],
        "status": status,
        "ms": int((perf_counter() - started) * 100_000) / 100,  # `round` takes five times as long
    }
    scope = request.get(SCOPE)
    if scope is not None:
        line["store"] = scope.store.public_id
        line["actor"] = scope.actor.credential
    if error_code is not None:
        line["refused"] = error_code
    logging.access(line)
