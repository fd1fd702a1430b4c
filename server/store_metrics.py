"""Serve what each store uses, with the names of the stores, on a port of its own (VITRINE_STORE_METRICS_PORT).

Prometheus gets a page of the stores that used most CPU time today; the operator's programs ask `/graphql` (`resolvers.platform`). The
values come from the database, so every worker shows the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

from aiohttp import web

from domain.store_usage import sum_usage
from kernel.clock import now
from kernel.request_bodies import MalformedBody, parse_json_object
from kernel.settings import Settings
from kernel.store_usage import COUNTED, STORED
from rest_facade.responses import json_response
from server.http.graphql_view import find_body_error, malformed
from server.metrics import page_server

if TYPE_CHECKING:
    from prometheus_client import Metric

MOST_STORES = 200
GRAPHQL_PATH = "/graphql"
_LABELS = ("store", "name")


def store_metrics_server(settings: Settings) -> AbstractAsyncContextManager[int | None]:
    """Serve the page and GraphQL meanwhile, if their port is set; yield the port."""
    routes = (web.post(GRAPHQL_PATH, answer_graphql),)
    return page_server(settings, settings.store_metrics_port, store_exposition, routes)


async def answer_graphql(request: web.Request) -> web.Response:
    """Answer a query of the operator in JSON: 200 with `data` or `errors`, 400 for a body that is none, 415 unless it is sent as JSON."""
    if request.content_type != "application/json":
        return _error_response(415, "the content type must be application/json")
    try:
        body = parse_json_object(await request.read())
    except MalformedBody as error:
        return _error_response(400, f"invalid request body: {error}")
    failure = find_body_error(body) or ("" if body.get("query") else "query is required")
    if failure:
        return _error_response(400, failure)
    from resolvers import platform  # on the first query: the schema's modules take memory

    return json_response(await platform.execute(body["query"], body.get("variables"), body.get("operationName")))


def _error_response(status: int, message: str) -> web.Response:
    return json_response({"errors": [malformed(message)]}, status=status)


async def store_exposition(accept: str) -> tuple[bytes, str]:
    """Write what the stores used since midnight (UTC), as counters that begin again then, and what they store."""
    from prometheus_client import CollectorRegistry
    from prometheus_client.exposition import choose_encoder

    midnight = now().replace(hour=0, minute=0, second=0, microsecond=0)
    registry = CollectorRegistry()
    registry.register(_Collector(await sum_usage(midnight, sort="cpu_seconds", top=MOST_STORES)))
    encode, content_type = choose_encoder(accept)
    return encode(registry), content_type


class _Collector:
    """Convert rows for the client library."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self._rows = rows

    def collect(self) -> Iterator[Metric]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        for name in (*COUNTED, *STORED):
            family = CounterMetricFamily if name in COUNTED else GaugeMetricFamily
            metric = family(f"vitrine_store_{name}", f"{name} of a store.", labels=_LABELS)
            for row in self._rows:
                if row[name] is not None:
                    metric.add_metric((str(row["public_id"]), row["name"]), float(row[name]))
            yield metric
