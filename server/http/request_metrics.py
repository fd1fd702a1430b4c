"""Count requests by family, method, route template and status, and measure how long they take."""

from __future__ import annotations

from kernel import metrics
from server.http.routes import RoutePolicy

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
_keys: dict[tuple[metrics.Labels, int], metrics.Labels] = {}


def record(policy: RoutePolicy | None, family: str, status: int, seconds: float) -> None:
    """Record a finished request; the policy is that of its route, if it has one."""
    labels = (family, *_NO_ROUTE) if policy is None else policy.metric
    key = _keys.get((labels, status))
    if key is None:
        key = _keys[labels, status] = (*labels, str(status))
    counts = _REQUESTS.values
    counts[key] = counts.get(key, 0) + 1
    _SECONDS.observe(_SECONDS.values.get(labels) or _SECONDS.child(*labels), seconds)
