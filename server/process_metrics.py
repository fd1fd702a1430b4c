"""Gauges of this process: memory, processor time, pools, caches."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from auth.credential_cache import process_cache
from kernel import metrics
from models.connection import database
from server.http.catalog_cache import CatalogueCache
from server.http.limits import Counters
from server.media.child_pool import Renderer

_PAGE = os.sysconf("SC_PAGE_SIZE")


class ProcessMetrics:
    """What the gauges read; `number` distinguishes the processes of a server."""

    number = "1"
    catalogue: CatalogueCache | None = None
    counters: Counters | None = None
    """Those in Redis, if it is configured."""
    renderer: Renderer | None = None


def _resident_bytes() -> Mapping[metrics.Labels, float]:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return {(ProcessMetrics.number,): float(pages * _PAGE)}


def _processor_seconds() -> Mapping[metrics.Labels, float]:
    times = os.times()
    return {(ProcessMetrics.number,): times.user + times.system}


def _connections() -> Mapping[metrics.Labels, float]:
    return {
        (name, state): float(count)
        for name, usage in database.pool_usage().items()
        for state, count in (("used", usage.used), ("idle", usage.idle), ("limit", usage.limit))
    }


def _waiting() -> Mapping[metrics.Labels, float]:
    return {(name,): float(usage.waiting) for name, usage in database.pool_usage().items()}


def _cache_entries() -> Mapping[metrics.Labels, float]:
    entries: dict[metrics.Labels, float] = {("credentials",): float(len(process_cache()))}
    if ProcessMetrics.catalogue is not None:
        entries["catalogue",] = float(len(ProcessMetrics.catalogue))
    return entries


def _cache_bytes() -> Mapping[metrics.Labels, float]:
    return {} if ProcessMetrics.catalogue is None else {("catalogue",): float(ProcessMetrics.catalogue.bytes)}


def _redis_is_used() -> Mapping[metrics.Labels, float]:
    counters = ProcessMetrics.counters
    return {} if counters is None else {(ProcessMetrics.number,): float(getattr(counters, "is_shared", False))}


def _image_renderer() -> Mapping[metrics.Labels, float]:
    renderer = ProcessMetrics.renderer
    return {} if renderer is None else {(kind,): float(count) for kind, count in renderer.usage().items()}


metrics.gauge("vitrine_memory_bytes", "Resident memory by process.", "process", read=_resident_bytes)
metrics.gauge(
    "vitrine_processor_seconds_total", "Processor time by process.", "process", read=_processor_seconds, counts=True
)
metrics.gauge(
    "vitrine_pool_connections",
    "Database connections by pool: in use, idle, and the most there may be.",
    "pool",
    "state",
    read=_connections,
)
metrics.gauge("vitrine_pool_waiting", "Tasks that wait for a connection, by pool.", "pool", read=_waiting)
metrics.gauge("vitrine_cache_entries", "Entries by cache.", "cache", read=_cache_entries)
metrics.gauge("vitrine_cache_bytes", "Memory by cache.", "cache", read=_cache_bytes)
metrics.gauge(
    "vitrine_redis_used",
    "1 while rate limits are counted in Redis, 0 while a process counts alone.",
    "process",
    read=_redis_is_used,
)
metrics.gauge(
    "vitrine_image_renderer",
    "Processes that decode images (children), and requests that run or wait for one.",
    "kind",
    read=_image_renderer,
)
