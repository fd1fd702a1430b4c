"""Claim due webhook deliveries exclusively, from all endpoints in turn.

A delivery is claimed by moving `due_at` past a lease; after a crash the lease expires and it is due again. The endpoint's row is locked
while its deliveries are counted and claimed, which limits concurrent deliveries per endpoint across all workers. All times come from the
database's clock, because machines' clocks differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import orjson
from asyncpg import Record

from auth.secrets import valid_app_secrets
from domain.event_types import PING
from domain.resting_stores import RESTING_STORES
from domain.webhooks.endpoint_health import BREAKER_THRESHOLD, MAX_IN_FLIGHT
from domain.webhooks.event_scopes import may_receive
from models.connection import database
from models.connection.database import CrossStoreConnection
from models.rows import from_row

# An attempt ends long before this: 10 s for the response, plus the time of a query.
LEASE = timedelta(seconds=60)

# Endpoints with pending deliveries, found by skipping from one to the next in the index; the cost doesn't depend on the backlog.
BUSY = """
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
# The longest waiting endpoint first, failing ones last. No key of the row changes, so fan-out isn't blocked.
_LOCK = (
    BUSY
    + f"""
select p.tenant_id, p.id, p.failures from busy b
join event_endpoints p on p.tenant_id = b.tenant_id and p.id = b.endpoint_id
where b.due_at <= clock_timestamp() and p.tenant_id <> all({RESTING_STORES})
    and (p.paused_until is null or p.paused_until <= clock_timestamp())
order by p.failures > 0, p.claimed_at nulls first, p.id
limit $1
for no key update of p skip locked
"""
)
_CLAIM = """
with slots as (
    select tenant_id, endpoint_id, max_in_flight - (
        select count(*) from event_deliveries f
        where f.tenant_id = w.tenant_id and f.endpoint_id = w.endpoint_id and f.state = 'delivering' and f.due_at > clock_timestamp()
    ) as free
    from unnest($1::bigint[], $2::bigint[], $3::int[]) as w (tenant_id, endpoint_id, max_in_flight)
), chosen as (
    select d.tenant_id, d.id from slots p cross join lateral (
        select tenant_id, id from event_deliveries d
        where d.tenant_id = p.tenant_id and d.endpoint_id = p.endpoint_id and d.due_at <= clock_timestamp()
        order by d.due_at, d.id limit greatest(p.free, 0) for no key update skip locked
    ) d
    limit $4
), claimed as (
    update event_deliveries d set state = 'delivering', claim = $5, due_at = clock_timestamp() + $6
    from chosen c where d.tenant_id = c.tenant_id and d.id = c.id
    returning d.*
), updated_endpoints as (
    update event_endpoints p set claimed_at = clock_timestamp()
    from (select distinct tenant_id, endpoint_id from claimed) c where p.tenant_id = c.tenant_id and p.id = c.endpoint_id
)
select c.tenant_id, c.id, c.tries, c.endpoint_id, c.name, p.url, p.query, p.status, p.deleted_at, i.id as installation_id, i.app_id,
    i.scopes, i.removed_at, a.client_id, a.secret_sealed, a.previous_secret_sealed, a.previous_secret_until, t.public_id as store,
    e.public_id as event_id, e.subject_type, e.subject_id, e.sequence, e.data, e.request_id, e.traceparent, e.created_at as at
from claimed c
join event_endpoints p on p.tenant_id = c.tenant_id and p.id = c.endpoint_id
join app_installations i on i.tenant_id = p.tenant_id and i.id = p.installation_id
join apps a on a.id = i.app_id
join tenants t on t.id = c.tenant_id
join outbox_events e on e.tenant_id = c.tenant_id and e.id = c.event_id
order by c.id
"""
# A due endpoint that was not claimed is being processed by a worker, which looks for further deliveries when it is done.
_NEXT = (
    BUSY
    + """
select extract(epoch from min(greatest(b.due_at, p.paused_until)) - clock_timestamp())::float8 from busy b
join event_endpoints p on p.tenant_id = b.tenant_id and p.id = b.endpoint_id
where greatest(b.due_at, p.paused_until) > clock_timestamp()
"""
)


@dataclass(frozen=True, slots=True)
class ClaimedDelivery:
    """A claimed delivery with all data needed for it."""

    store_id: int
    store_public_id: UUID
    id: int
    claim: UUID
    attempts: int
    endpoint_id: int
    url: str
    query: str | None
    is_allowed: bool
    """Whether the endpoint is active and its app may receive the event."""
    installation_id: int
    app_id: int
    client_id: str
    scopes: frozenset[str]
    encrypted_secrets: tuple[bytes, bytes | None, datetime | None]
    event_id: UUID
    name: str
    subject_type: str
    subject_id: UUID
    sequence: int
    data: dict[str, Any]
    request_id: str
    traceparent: str | None
    at: datetime

    def secrets(self, at: datetime) -> list[str]:
        """Return the app's secrets that are valid at that time, the oldest first; raises `DecryptionError`."""
        return valid_app_secrets(*self.encrypted_secrets, at)


async def claim(claim_id: UUID, limit: int, max_failing: int, *, lease: timedelta = LEASE) -> list[ClaimedDelivery]:
    """Claim up to `limit` deliveries under `claim_id`; at most `max_failing` of endpoints that are failing."""
    async with database.cross_store_connection() as connection, connection.transaction():
        slots = _free_slots(await connection.fetch(_LOCK, limit), max_failing)
        if not slots:
            return []
        rows = await _claim(connection, slots, limit, claim_id, lease)
    return [_build_delivery(row, claim_id) for row in rows]


async def seconds_until_due() -> float | None:
    """Return the seconds until the next delivery becomes due; None if nothing is pending."""
    async with database.cross_store_connection() as connection:
        left: float | None = await connection.fetchval(_NEXT)
    return None if left is None else max(left, 0.0)


def _free_slots(endpoints: Sequence[Record], max_failing: int) -> list[tuple[int, int, int]]:
    """Return the maximum concurrent deliveries of each endpoint: one while the circuit breaker is open."""
    slots = []
    for endpoint in endpoints:
        free = MAX_IN_FLIGHT if endpoint["failures"] < BREAKER_THRESHOLD else 1
        if endpoint["failures"]:
            free = min(free, max_failing)
            max_failing -= free
        if free:
            slots.append((endpoint["tenant_id"], endpoint["id"], free))
    return slots


async def _claim(
    connection: CrossStoreConnection,
    slots: Sequence[tuple[int, int, int]],
    limit: int,
    claim_id: UUID,
    lease: timedelta,
) -> list[Record]:
    # A separate statement, because only it sees what previous holders of the endpoint locks committed.
    stores, endpoints, free = zip(*slots, strict=True)
    return await connection.fetch(_CLAIM, list(stores), list(endpoints), list(free), limit, claim_id, lease)


def _build_delivery(row: Record, claim_id: UUID) -> ClaimedDelivery:
    is_active = row["status"] == "A" and row["deleted_at"] is None and row["removed_at"] is None
    return from_row(
        ClaimedDelivery,
        row,
        store_id=row["tenant_id"],
        store_public_id=row["store"],
        claim=claim_id,
        attempts=row["tries"],
        query=None if row["name"] == PING else row["query"],
        is_allowed=is_active and may_receive(row["name"], row["scopes"]),
        scopes=frozenset(row["scopes"]),
        encrypted_secrets=(row["secret_sealed"], row["previous_secret_sealed"], row["previous_secret_until"]),
        data=orjson.loads(row["data"]),
    )
