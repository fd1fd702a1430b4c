"""Ask what waits for the workers: events, deliveries, mails, media files and jobs of all stores, for metrics and `vitrine doctor`."""

from __future__ import annotations

from dataclasses import dataclass, field

from domain.jobs import ADDED_BY_WORKERS, JOBS
from domain.webhooks.claims import BUSY
from models.connection import database

# Counting stops here: a long backlog must not make the question expensive.
MAX_COUNT = 10_000

_SQL = (
    BUSY
    + f"""
select
    (select count(*) from (select from outbox_events where dispatched_at is null limit {MAX_COUNT}) e) as events,
    (select extract(epoch from clock_timestamp() - e.created_at) from outbox_events e where e.dispatched_at is null order by e.id limit 1)
        ::float8 as event_seconds,
    (select count(*) from (select from event_deliveries where due_at is not null limit {MAX_COUNT}) d) as deliveries,
    (select extract(epoch from clock_timestamp() - min(greatest(b.due_at, p.paused_until))) from busy b
        join event_endpoints p on p.tenant_id = b.tenant_id and p.id = b.endpoint_id)::float8 as delivery_seconds,
    (select count(*) from (
        (select from mails where status = 'Q' and due_at <= clock_timestamp() limit {MAX_COUNT})
        union all (select from order_mails limit {MAX_COUNT}) limit {MAX_COUNT}
    ) m) as mails,
    extract(epoch from clock_timestamp() - least(
        (select due_at from mails where status = 'Q' order by due_at limit 1),
        (select min(created_at) from (select created_at from order_mails limit {MAX_COUNT}) o)
    ))::float8 as mail_seconds,
    (select count(*) from (select from media_files where next_attempt_at <= clock_timestamp() limit {MAX_COUNT}) f) as media,
    (select extract(epoch from clock_timestamp() - min(next_attempt_at)) from media_files where next_attempt_at is not null)::float8
        as media_seconds,
    (select count(*) from (
        select from media_files where avif_due_at <= clock_timestamp() and sha256 is not null and width > 0 limit {MAX_COUNT}
    ) a) as avif
"""
)
_JOBS = """
    select name, error <> '' as is_failed, greatest(extract(epoch from clock_timestamp() - due_at), 0)::float8 as late
    from job_runs where name = any($1::text[])
"""


@dataclass(frozen=True, slots=True)
class Backlog:
    """The number of waiting records by kind (at most MAX_COUNT) and how many seconds the oldest one is due; jobs: late, and failed."""

    waiting: dict[str, int] = field(default_factory=dict)
    oldest_seconds: dict[str, float] = field(default_factory=dict)
    jobs_late_seconds: dict[str, float] = field(default_factory=dict)
    jobs_failed: dict[str, bool] = field(default_factory=dict)


async def read_backlog() -> Backlog:
    """Return the present backlog."""
    async with database.cross_store_connection() as connection:
        row = await connection.fetchrow(_SQL)
        jobs = await connection.fetch(_JOBS, [*(job.name for job in JOBS), *ADDED_BY_WORKERS])
    assert row is not None
    return Backlog(
        {kind: row[kind] for kind in ("events", "deliveries", "mails", "media", "avif")},
        {
            "events": max(0.0, row["event_seconds"] or 0.0),
            "deliveries": max(0.0, row["delivery_seconds"] or 0.0),
            "mails": max(0.0, row["mail_seconds"] or 0.0),
            "media": max(0.0, row["media_seconds"] or 0.0),
        },
        {job["name"]: job["late"] for job in jobs},
        {job["name"]: job["is_failed"] for job in jobs},
    )
