"""Gauges of what waits for the workers, read from the database when a worker's metrics are collected."""

from __future__ import annotations

import asyncpg

from domain.backlog import Backlog, read_backlog
from kernel import logging, metrics
from kernel.errors import DomainError


class _Latest:
    """The backlog at the last collection; empty when the database did not answer."""

    backlog = Backlog()


metrics.gauge(
    "vitrine_waiting",
    "Events, deliveries, mails, fetches of media files and images without AVIF that wait for a worker, counted up to 10,000.",
    "kind",
    read=lambda: {(kind,): float(count) for kind, count in _Latest.backlog.waiting.items()},
    largest=True,
)
metrics.gauge(
    "vitrine_waiting_oldest_seconds",
    "How long the oldest of them has been due.",
    "kind",
    read=lambda: {(kind,): seconds for kind, seconds in _Latest.backlog.oldest_seconds.items()},
    largest=True,
)
metrics.gauge(
    "vitrine_job_late_seconds",
    "How long a periodic job has been due.",
    "job",
    read=lambda: {(job,): seconds for job, seconds in _Latest.backlog.jobs_late_seconds.items()},
    largest=True,
)
metrics.gauge(
    "vitrine_job_failed",
    "1 when the last run of a periodic job failed.",
    "job",
    read=lambda: {(job,): float(is_failed) for job, is_failed in _Latest.backlog.jobs_failed.items()},
    largest=True,
)


async def worker_values() -> metrics.Snapshot:
    """Return the values of a process that does background work."""
    try:
        _Latest.backlog = await read_backlog()
    except (DomainError, OSError, asyncpg.PostgresError) as error:
        logging.event("the backlog could not be read for metrics", level="warning", error=type(error).__name__)
        _Latest.backlog = Backlog()
    return metrics.snapshot()
