"""Hand events out to the endpoints that want them and may have them at this moment: once each, whoever does it and however often."""

from __future__ import annotations

from domain.webhooks.rights import READ_SCOPES
from models import database

AT_ONCE = 500

# `$2`, `$3`, `$4`: the events with the scopes of which either lets an app have it. An endpoint is told of nothing from before its time.
_HAND_OUT = """
with batch as materialized (
    select tenant_id, id, name, created_at from outbox_events
    where dispatched_at is null order by id limit $1 for update skip locked
), needs as (
    select * from unnest($2::text[], $3::text[], $4::text[]) as n (name, reads, writes)
), told as (
    insert into event_deliveries (tenant_id, public_id, event_id, endpoint_id, name, due_at, created_at, updated_at)
    select b.tenant_id, vitrine_uuid7(), b.id, p.id, b.name, clock_timestamp(), clock_timestamp(), clock_timestamp()
    from batch b
    join needs n on n.name = b.name
    join event_endpoints p on p.tenant_id = b.tenant_id and p.status = 'A' and p.deleted_at is null
        and b.name = any(p.events) and p.created_at <= b.created_at
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
select (select count(*) from done) as events, (select count(*) from told) as deliveries
"""


async def hand_out(*, limit: int = AT_ONCE) -> tuple[int, int]:
    """Hand out the oldest events that nobody was told of yet; say how many there were and how many deliveries came of them."""
    names = list(READ_SCOPES)
    reads = [READ_SCOPES[name] for name in names]
    writes = [scope.replace("read_", "write_", 1) for scope in reads]
    async with database.across_stores() as everywhere:
        found = await everywhere.row(_HAND_OUT, limit, names, reads, writes)
    assert found is not None  # two counts
    return found["events"], found["deliveries"]
