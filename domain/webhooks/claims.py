"""Take deliveries that are due, so that nobody else does them meanwhile, from every endpoint in turn.

A delivery is claimed by moving `due_at` past a lease: who dies leaves it behind, and it is due again when the lease ends. An endpoint's
row is locked while its deliveries are counted and claimed, so of several workers together no more than it may have are under way.
The database's clock decides, for machines disagree about the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import orjson
from asyncpg import Record

from auth.apps import good_secrets
from domain.webhooks.rights import PING, may_have
from domain.webhooks.schedule import BREAKS_AFTER, IN_FLIGHT
from models import database
from models.database import AcrossStores

# A try is over long before: 10 s for the answer, and what a query may take.
LEASE = timedelta(seconds=60)

# Endpoints with something that waits, found by jumping from one to the next in the index; how many of one wait costs nothing.
_BUSY = """
with recursive busy as (
    (select tenant_id, endpoint_id, due_at from event_deliveries where due_at is not null
     order by tenant_id, endpoint_id, due_at limit 1)
    union all
    select n.tenant_id, n.endpoint_id, n.due_at from busy b cross join lateral (
        select tenant_id, endpoint_id, due_at from event_deliveries
        where due_at is not null and (tenant_id, endpoint_id) > (b.tenant_id, b.endpoint_id)
        order by tenant_id, endpoint_id, due_at limit 1
    ) n
)
"""
# Whoever has waited longest comes first; those that fail come behind those that don't. No key of the row changes: handing events out
# goes on meanwhile.
_LOCK = (
    _BUSY
    + """
select p.tenant_id, p.id, p.failures from busy b
join event_endpoints p on p.tenant_id = b.tenant_id and p.id = b.endpoint_id
where b.due_at <= clock_timestamp() and (p.paused_until is null or p.paused_until <= clock_timestamp())
order by p.failures > 0, p.claimed_at nulls first, p.id
limit $1
for no key update of p skip locked
"""
)
_CLAIM = """
with places as (
    select tenant_id, endpoint_id, most - (
        select count(*) from event_deliveries f
        where f.tenant_id = w.tenant_id and f.endpoint_id = w.endpoint_id and f.state = 'delivering' and f.due_at > clock_timestamp()
    ) as free
    from unnest($1::bigint[], $2::bigint[], $3::int[]) as w (tenant_id, endpoint_id, most)
), chosen as (
    select d.tenant_id, d.id from places p cross join lateral (
        select tenant_id, id from event_deliveries d
        where d.tenant_id = p.tenant_id and d.endpoint_id = p.endpoint_id and d.due_at <= clock_timestamp()
        order by d.due_at, d.id limit greatest(p.free, 0) for no key update skip locked
    ) d
    limit $4
), claimed as (
    update event_deliveries d set state = 'delivering', claim = $5, due_at = clock_timestamp() + $6
    from chosen c where d.tenant_id = c.tenant_id and d.id = c.id
    returning d.*
), turned as (
    update event_endpoints p set claimed_at = clock_timestamp()
    from (select distinct tenant_id, endpoint_id from claimed) c where p.tenant_id = c.tenant_id and p.id = c.endpoint_id
)
select c.tenant_id, c.id, c.tries, c.endpoint_id, c.name, p.url, p.query, p.status, p.deleted_at, i.id as installation_id, i.app_id,
    i.scopes, i.removed_at, a.client_id, a.secret_sealed, a.previous_secret_sealed, a.previous_secret_until, t.public_id as store,
    e.public_id as event_id, e.subject_type, e.subject_id, e.sequence, e.data, e.request_id, e.created_at as at
from claimed c
join event_endpoints p on p.tenant_id = c.tenant_id and p.id = c.endpoint_id
join app_installations i on i.tenant_id = p.tenant_id and i.id = p.installation_id
join apps a on a.id = i.app_id
join tenants t on t.id = c.tenant_id
join outbox_events e on e.tenant_id = c.tenant_id and e.id = c.event_id
order by c.id
"""
# Endpoints that are due and were not claimed have their deliveries under way, or somebody looks at them: whoever is done says so.
_NEXT = (
    _BUSY
    + """
select extract(epoch from min(greatest(b.due_at, p.paused_until)) - clock_timestamp())::float8 from busy b
join event_endpoints p on p.tenant_id = b.tenant_id and p.id = b.endpoint_id
where greatest(b.due_at, p.paused_until) > clock_timestamp()
"""
)


@dataclass(frozen=True, slots=True)
class Claimed:
    """A delivery that is ours to do, with all that is needed for it; `secrets` are those good at `at`, the oldest first."""

    store_number: int
    store: UUID
    number: int
    claim: UUID
    tries: int
    endpoint: int
    url: str
    query: str | None
    is_allowed: bool
    """Whether the endpoint still wants events, and its app may still be told of this one."""
    installation: int
    app: int
    client_id: str
    scopes: frozenset[str]
    sealed: tuple[bytes, bytes | None, datetime | None]
    event_id: UUID
    name: str
    subject_type: str
    subject_id: UUID
    sequence: int
    data: dict[str, Any]
    request_id: str
    at: datetime

    def secrets(self, at: datetime) -> list[str]:
        """Give the app's secrets that are good at that moment, the oldest first; raises `Unreadable`."""
        return good_secrets(*self.sealed, at)


async def claim(mark: UUID, most: int, troubled: int, *, lease: timedelta = LEASE) -> list[Claimed]:
    """Take up to `most` deliveries, marked as ours; of endpoints that fail right now no more than `troubled`."""
    async with database.across_stores() as everywhere, everywhere.transaction():
        places = _places(await everywhere.rows(_LOCK, most), troubled)
        if not places:
            return []
        found = await _claim(everywhere, places, most, mark, lease)
    return [_claimed(record, mark) for record in found]


async def seconds_until_due() -> float | None:
    """Say how long until something is due that is not yet; None when nothing waits."""
    async with database.across_stores() as everywhere:
        left: float | None = await everywhere.value(_NEXT)
    return None if left is None else max(left, 0.0)


def _places(endpoints: Sequence[Record], troubled: int) -> list[tuple[int, int, int]]:
    """Say how many deliveries each endpoint may have under way: one where the breaker has to be tried first."""
    places = []
    for endpoint in endpoints:
        most = IN_FLIGHT if endpoint["failures"] < BREAKS_AFTER else 1
        if endpoint["failures"]:
            most = min(most, troubled)
            troubled -= most
        if most:
            places.append((endpoint["tenant_id"], endpoint["id"], most))
    return places


async def _claim(
    everywhere: AcrossStores, places: Sequence[tuple[int, int, int]], most: int, mark: UUID, lease: timedelta
) -> list[Record]:
    # A statement of its own, for only it sees what those have committed who held the endpoints before us.
    stores, endpoints, free = zip(*places, strict=True)
    return await everywhere.rows(_CLAIM, list(stores), list(endpoints), list(free), most, mark, lease)


def _claimed(found: Record, mark: UUID) -> Claimed:
    wanted = found["status"] == "A" and found["deleted_at"] is None and found["removed_at"] is None
    return Claimed(
        store_number=found["tenant_id"],
        store=found["store"],
        number=found["id"],
        claim=mark,
        tries=found["tries"],
        endpoint=found["endpoint_id"],
        url=found["url"],
        query=None if found["name"] == PING else found["query"],
        is_allowed=wanted and may_have(found["name"], found["scopes"]),
        installation=found["installation_id"],
        app=found["app_id"],
        client_id=found["client_id"],
        scopes=frozenset(found["scopes"]),
        sealed=(found["secret_sealed"], found["previous_secret_sealed"], found["previous_secret_until"]),
        event_id=found["event_id"],
        name=found["name"],
        subject_type=found["subject_type"],
        subject_id=found["subject_id"],
        sequence=found["sequence"],
        data=orjson.loads(found["data"]),
        request_id=found["request_id"],
        at=found["at"],
    )
