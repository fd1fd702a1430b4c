"""Webhook redelivery: one delivery again, or a replay of all events of a period (docs/reference/shared.md#webhook-retries)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from domain import events
from domain.event_types import EVENT_TYPES, check_names
from domain.webhooks.endpoints import check_may_manage, lock_endpoint
from domain.webhooks.event_scopes import may_receive, receivable_events
from kernel.errors import MissingScope, NotFound, RuleViolation, ValidationFailed
from kernel.ids import split_reference
from kernel.scope import Scope
from models import audit
from models.connection import database

MAX_REPLAYED = 10_000
"""Maximum number of events per replay."""

_FIND = """
    select id, endpoint_id, name from event_deliveries
    where tenant_id = $1 and (id = $2::bigint or public_id = $3::uuid)
      and ($4::bigint is null or endpoint_id = $4)
"""
# A pending delivery becomes due now; one in progress is left alone.
_REDELIVER = """
    update event_deliveries
    set state = 'pending', tries = case when due_at is null then 0 else tries end, due_at = clock_timestamp(), updated_at = $3
    where tenant_id = $1 and id = $2 and state <> 'delivering'
"""
_REPLAY = """
    with wanted as (
        select id, name from outbox_events
        where tenant_id = $1 and created_at >= $3 and created_at < $4 and name = any($5::text[]) and dispatched_at is not null
        order by created_at, id limit $6
    )
    insert into event_deliveries as d (tenant_id, public_id, event_id, endpoint_id, name, due_at, created_at, updated_at)
    select $1, vitrine_uuid7(), id, $2, name, clock_timestamp(), $7, $7 from wanted
    on conflict (tenant_id, event_id, endpoint_id) do update
        set state = 'pending', tries = 0, due_at = clock_timestamp(), updated_at = $7 where d.due_at is null
"""


async def redeliver(scope: Scope, delivery: object, *, endpoint: object = None) -> int:
    """Redeliver at once with all retries, and return the delivery's internal id; `endpoint`, if passed, must be the delivery's.

    Raises `NotFound`, `RuleViolation` while the endpoint is disabled, `MissingScope` for an event that the app may no longer receive.
    """
    check_may_manage(scope)
    delivery_id, public_id = split_reference(delivery)
    async with database.transaction(scope):
        endpoint_id = None if endpoint is None else (await lock_endpoint(scope, endpoint))["id"]
        row = await database.fetchrow(_FIND, scope.store.id, delivery_id, public_id, endpoint_id)
        if row is None:
            raise NotFound("event delivery")
        try:
            endpoint_row = await lock_endpoint(scope, row["endpoint_id"])
        except NotFound as error:
            raise NotFound("event delivery") from error
        _check_active(endpoint_row["status"])
        if not may_receive(row["name"], endpoint_row["scopes"]):
            raise MissingScope(EVENT_TYPES[row["name"]].scope)
        await database.execute(_REDELIVER, scope.store.id, row["id"], scope.now)
        await database.notify(events.CHANNEL)
    return int(row["id"])


async def replay(
    scope: Scope, endpoint: object, since: datetime, until: datetime | None = None, names: Sequence[str] | None = None
) -> int:
    """Send (again) every event of a period that the endpoint subscribes to and its app may receive; return their number.

    Pending deliveries are not counted. Raises `ValidationFailed` if the period doesn't end after its start, and for an unknown event.
    """
    check_may_manage(scope)
    end = until or scope.now
    if end <= since:
        raise ValidationFailed("until is not after since", field="until", code="invalid")
    check_names("events", names or ())
    async with database.transaction(scope):
        endpoint_row = await lock_endpoint(scope, endpoint)
        _check_active(endpoint_row["status"])
        receivable = set(receivable_events(endpoint_row["scopes"])) & set(endpoint_row["events"])
        selected = sorted(receivable if names is None else receivable & set(names))
        replayed = await database.execute(
            _REPLAY, scope.store.id, endpoint_row["id"], since, end, selected, MAX_REPLAYED, scope.now
        )
        await audit.record(
            scope,
            "event_endpoint.replayed",
            "event_endpoint",
            endpoint_row["public_id"],
            {"events": selected, "count": replayed},
        )
        await database.notify(events.CHANNEL)
    return replayed


def _check_active(status: str) -> None:
    if status != "A":
        raise RuleViolation("the event endpoint is disabled", reason="endpoint_disabled")
