"""Serve what each store uses to Prometheus, with the names of the stores, on a port of its own (VITRINE_STORE_METRICS_PORT).

The values come from the database, so every worker shows the same: those that used most CPU time today.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

from domain.store_usage import sum_usage
from kernel.clock import now
from kernel.settings import Settings
from kernel.store_usage import COUNTED, STORED
from server.metrics import page_server

if TYPE_CHECKING:
    from prometheus_client import Metric

MOST_STORES = 200
_LABELS = ("store", "name")


def store_metrics_server(settings: Settings) -> AbstractAsyncContextManager[int | None]:
    """Serve the page meanwhile, if its port is set; yield the port."""
    return page_server(settings, settings.store_metrics_port, store_exposition)


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
