"""Fan out events to the endpoints that are subscribed and authorized at this moment; idempotent and safe under concurrency."""

from __future__ import annotations

from dataclasses import dataclass

from domain.event_types import EVENT_TYPES, NAMES
from domain.resting_stores import RESTING_STORES
from models.connection import database

BATCH_SIZE = 500

# `$2`, `$3`, `$4`: the events and the two scopes of which either authorizes an app. Endpoints get no events older than themselves. One that
# is younger than now was created while the clock was ahead, before it was set back: it would get none until then.
_FAN_OUT = f"""
with batch as materialized (
    select tenant_id, id, name, created_at from outbox_events
    where dispatched_at is null and tenant_id <> all({RESTING_STORES}) order by id limit $1 for update skip locked
), needs as (
    select * from unnest($2::text[], $3::text[], $4::text[]) as n (name, reads, writes)
), created as (
    insert into event_deliveries (tenant_id, public_id, event_id, endpoint_id, name, due_at, created_at, updated_at)
    select b.tenant_id, vitrine_uuid7(), b.id, p.id, b.name, clock_timestamp(), clock_timestamp(), clock_timestamp()
    from batch b
    join needs n on n.name = b.name
    join event_endpoints p on p.tenant_id = b.tenant_id and p.status = 'A' and p.deleted_at is null
        and b.name = any(p.events) and (p.created_at <= b.created_at or p.created_at > clock_timestamp())
    join app_installations i on i.tenant_id = p.tenant_id and i.id = p.installation_id and i.removed_at is null
        and (n.reads = any(i.scopes) or n.writes = any(i.scopes))
    order by b.id, p.id
    on conflict do nothing
    returning 1
), done as (
    update outbox_events e set dispatched_at = clock_timestamp()
    from batch b where e.tenant_id = b.tenant_id and e.id = b.id
    returning 1
)
select (select count(*) from done) as events, (select count(*) from created) as deliveries,
    (
        select count(*) from (
            select from outbox_events where dispatched_at is null and tenant_id <> all({RESTING_STORES}) limit $1
        ) p
    ) as pending
"""


@dataclass(frozen=True, slots=True)
class FanOut:
    """The numbers of events and created deliveries, and whether events are left: locked at this moment, or more than the limit."""

    events: int
    deliveries: int
    has_more: bool


async def fan_out_events(*, limit: int = BATCH_SIZE) -> FanOut:
    """Fan out the oldest pending events."""
    reads = [EVENT_TYPES[name].scope for name in NAMES]
    writes = [scope.replace("read_", "write_", 1) for scope in reads]
    async with database.cross_store_connection() as connection:
        counts = await connection.fetchrow(_FAN_OUT, limit, NAMES, reads, writes)
    assert counts is not None  # an aggregate without GROUP BY always returns one row
    return FanOut(
        counts["events"], counts["deliveries"], counts["events"] == limit or counts["pending"] > counts["events"]
    )
