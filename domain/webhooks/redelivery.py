"""Send again what was sent before: one delivery, or every event of a span of time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from domain import audit, events
from domain.webhooks.endpoints import locked, may_manage
from domain.webhooks.rights import READ_SCOPES, may_have, names_within
from kernel.errors import MissingScope, NotFound, RuleViolation, ValidationFailed
from kernel.ids import parse_reference
from kernel.scope import Scope
from models import database

MOST = 10_000
"""Events that are replayed at once."""

_FIND = """
    select id, endpoint_id, name from event_deliveries
    where tenant_id = $1 and (id = $2::bigint or public_id = $3::uuid)
      and ($4::bigint is null or endpoint_id = $4)
"""
# One that waits is tried now; one that somebody delivers right now stays with them.
_AGAIN = """
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
    """Send a delivery again, at once and with all its tries, and give its number; `endpoint` must be its own where it is given.

    Raises `NotFound`, `RuleViolation` while the endpoint is disabled, `MissingScope` for an event that the app may have no more.
    """
    may_manage(scope)
    known = parse_reference(delivery)
    number, public_id = (known, None) if isinstance(known, int) else (None, known)
    async with database.transaction(scope):
        of_endpoint = None if endpoint is None else (await locked(scope, endpoint))["id"]
        found = await database.row(_FIND, scope.store.id, number, public_id, of_endpoint)
        if found is None:
            raise NotFound("event delivery")
        try:
            where = await locked(scope, found["endpoint_id"])
        except NotFound as error:
            raise NotFound("event delivery") from error
        _refuse_disabled(where["status"])
        if not may_have(found["name"], where["scopes"]):
            raise MissingScope(READ_SCOPES[found["name"]])
        await database.execute(_AGAIN, scope.store.id, found["id"], scope.now)
        await database.notify(events.CHANNEL)
    return int(found["id"])


async def replay(
    scope: Scope,
    endpoint: object,
    since: datetime,
    until: datetime | None = None,
    names: Sequence[str] | None = None,
) -> int:
    """Send every event of a span of time (again), as far as the endpoint wants it and its app may have it; say how many there are.

    What waits already is not counted. Raises `ValidationFailed` for a span without an end after its beginning.
    """
    may_manage(scope)
    end = until or scope.now
    if end <= since:
        raise ValidationFailed("until is not after since", field="until", code="invalid")
    unknown = [name for name in names or () if name not in events.NAMES]
    if unknown:
        raise ValidationFailed(
            f"events holds {unknown[0][:60]!r}; expected any of {', '.join(events.NAMES)}",
            field="events",
            code="event_unknown",
        )
    async with database.transaction(scope):
        found = await locked(scope, endpoint)
        _refuse_disabled(found["status"])
        held = set(names_within(found["scopes"])) & set(found["events"])
        wanted = sorted(held if names is None else held & set(names))
        replayed = await database.execute(
            _REPLAY, scope.store.id, found["id"], since, end, wanted, MOST, scope.now
        )
        await audit.record(
            scope,
            "event_endpoint.replayed",
            "event_endpoint",
            found["public_id"],
            {"events": wanted, "count": replayed},
        )
        await database.notify(events.CHANNEL)
    return replayed


def _refuse_disabled(status: str) -> None:
    if status != "A":
        raise RuleViolation("the event endpoint is disabled", reason="endpoint_disabled")
