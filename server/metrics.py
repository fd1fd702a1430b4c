"""Serve `/metrics` for Prometheus on a port of its own (VITRINE_METRICS_PORT, docs/metrics.md).

Each process collects the values of its own instruments (`kernel/metrics.py`). With several processes the parent serves the page: it asks
its children over their pipes (`server/processes.py`) and adds their values, so there are no files, and a child that ended leaves what it
had counted.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, TypeAlias

from aiohttp import web

from kernel import logging, metrics
from kernel.settings import Settings
from server.http.connections import SERVER_NAME

if TYPE_CHECKING:
    from prometheus_client import Metric

PATH = "/metrics"
Collect: TypeAlias = Callable[[], Awaitable[metrics.Snapshot]]
Page: TypeAlias = Callable[[str], Awaitable[tuple[bytes, str]]]
"""Return a page, and its content type, for a header `Accept`."""

# The worker is often on the same machine as the server.
WORKER_PORT_OFFSET = 1


async def own_values() -> metrics.Snapshot:
    """Return the values of this process."""
    return metrics.snapshot()


def metrics_server(
    settings: Settings, collect: Collect, *, port_offset: int = 0
) -> AbstractAsyncContextManager[int | None]:
    """Serve the values that `collect` returns meanwhile; yield the port."""

    async def page(accept: str) -> tuple[bytes, str]:
        return exposition(await collect(), accept)

    return page_server(settings, settings.metrics_port and settings.metrics_port + port_offset, page)


@asynccontextmanager
async def page_server(
    settings: Settings, port: int, page: Page, routes: Iterable[web.RouteDef] = ()
) -> AsyncIterator[int | None]:
    """Serve a page for Prometheus, and other routes, meanwhile; yield the port. One that is taken is logged: nothing stops for it."""
    if not port:
        yield None
        return
    runner = web.AppRunner(_application(page, routes), access_log=None)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, settings.metrics_bind, port).start()
        except OSError as error:
            place = f"{settings.metrics_bind} port {port}"
            logging.event(f"no metrics: {place} can't be opened", level="warning", error=type(error).__name__)
            yield None
            return
        logging.event("metrics", address=f"http://{settings.metrics_bind}:{port}{PATH}")
        yield port
    finally:
        await runner.cleanup()


def _application(page: Page, routes: Iterable[web.RouteDef]) -> web.Application:
    app = web.Application()
    lock = asyncio.Lock()

    async def respond(request: web.Request) -> web.Response:
        async with lock:
            body, content_type = await page(request.headers.get("Accept", ""))
        return web.Response(body=body, headers={"Content-Type": content_type, "Server": SERVER_NAME})

    app.router.add_get(PATH, respond)
    app.add_routes(routes)
    return app


def exposition(values: metrics.Snapshot, accept: str) -> tuple[bytes, str]:
    """Write the values, and those of this process itself, in the text format that the client prefers; return its content type."""
    # Here, because of the 4 MB it takes in processes that serve no metrics.
    from prometheus_client import CollectorRegistry, ProcessCollector
    from prometheus_client.exposition import choose_encoder

    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    registry.register(_Collector(values))
    encode, content_type = choose_encoder(accept)
    return encode(registry), content_type


class _Collector:
    """Convert values for the client library."""

    def __init__(self, values: metrics.Snapshot) -> None:
        self._values = values

    def collect(self) -> Iterator[Metric]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

        for name, instrument in metrics.instruments().items():
            values = self._values.get(name, {})
            if isinstance(instrument, metrics.Histogram):
                histogram = HistogramMetricFamily(name, instrument.help, labels=instrument.labels)
                for labels, value in values.items():
                    histogram.add_metric(labels, _cumulated(instrument.bounds, value), value[-1])
                yield histogram
                continue
            counts = isinstance(instrument, metrics.Counter) or instrument.counts
            family = CounterMetricFamily if counts else GaugeMetricFamily
            metric = family(name, instrument.help, labels=instrument.labels)
            for labels, value in values.items():
                metric.add_metric(labels, value)
            yield metric


def _cumulated(bounds: tuple[float, ...], value: list[float]) -> list[tuple[str, float]]:
    buckets, count = [], 0.0
    for bound, each in zip((*(str(bound) for bound in bounds), "+Inf"), value[:-1], strict=True):
        count += each
        buckets.append((bound, count))
    return buckets
