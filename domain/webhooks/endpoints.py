"""Let installed apps say where they want to be told of what; an administrator may too, and switch it off."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias
from urllib.parse import urlsplit
from uuid import UUID

import orjson
from asyncpg import Record

from domain import audit, events
from domain.fields import Given, InputField, code_in, read_fields
from domain.outgoing import calls
from domain.outgoing.targets import read_target
from domain.webhooks.rights import PING, READ_SCOPES, as_app, may_have
from kernel.codes import SWITCH_STATUSES
from kernel.errors import MissingScope, NotFound, RuleViolation, ValidationFailed
from kernel.ids import parse_reference, uuid7
from kernel.scope import ActorKind, Scope
from kernel.text import Malformed, has_forbidden_characters, shown
from models import database
from models.events import EventEndpoint

MOST = 20
"""Endpoints that one installed app may have in one store."""
MAX_QUERY = 20_000
MANUAL, GONE, FAILING = "manual", "gone", "failing"
"""Why an endpoint is disabled: somebody did it, it answered 410, it has only failed for too long."""

REMOVED_ENDPOINT = "the endpoint was removed"
DISABLED_ENDPOINT = "the endpoint was disabled"
UNSUBSCRIBED = "the endpoint does not want this event any more"
NOT_ALLOWED = "the app may not be told of this event any more"


def _url(value: object) -> str:
    if not isinstance(value, str):
        raise Malformed(f"is {shown(value)}; expected an https address")
    read_target(value.strip(), allows_private=calls.allows_private())
    return value.strip()


def _events(value: object) -> list[str]:
    if not isinstance(value, list | tuple) or not value:
        raise Malformed(f"is {shown(value)}; expected a list of events")
    unknown = [name for name in value if name not in READ_SCOPES]
    if unknown:
        raise Malformed(f"holds {shown(unknown[0])}; expected any of {', '.join(events.NAMES)}")
    return [name for name in events.NAMES if name in value]


def _query(value: object) -> str | None:
    if value is None or value == "":
        return None
    if not isinstance(value, str) or has_forbidden_characters(value) or len(value) > MAX_QUERY:
        raise Malformed(f"is {shown(value)}; expected a GraphQL selection of at most {MAX_QUERY} characters")
    return value


FIELDS: Mapping[str, InputField] = {
    "url": InputField("url", _url, "url_invalid", required="required"),
    "events": InputField("events", _events, "event_unknown", required="required"),
    "query": InputField("query", _query, "query_invalid"),
    "status": InputField("status", code_in(SWITCH_STATUSES), "status_invalid"),
}

_LOCK = """
    select p.id, p.public_id, p.installation_id, p.url, p.events, p.query, p.status, i.scopes, i.app_id
    from event_endpoints p join app_installations i on i.tenant_id = p.tenant_id and i.id = p.installation_id
    where p.tenant_id = $1 and (p.id = $2::bigint or p.public_id = $3::uuid) and ($4::bigint is null or p.installation_id = $4)
      and p.deleted_at is null and i.removed_at is null
    for no key update of p
"""
_CANCEL = """
    update event_deliveries set state = 'cancelled', due_at = null, claim = null, last_error = $4, updated_at = $5
    where tenant_id = $1 and endpoint_id = $2 and due_at is not null and ($3::text[] is null or name = any($3))
"""


CheckQuery: TypeAlias = Callable[[Scope, str, Sequence[str]], None]
"""Refuse a query that the app in the scope may not run for these events."""


async def create_endpoint(scope: Scope, given: Given, check_query: CheckQuery) -> int:
    """Subscribe an app and give the endpoint's number: `url`*, `events`*, `query`, `status`; `installed_app_id` for administrators.

    Raises `MissingScope` for an event that the app may not be told of, `RuleViolation` when it has too many endpoints already.
    """
    may_manage(scope)
    columns = read_fields(FIELDS, given, creating=True)
    async with database.transaction(scope):
        installation = await _installation(scope, given.get("installed_app_id"))
        check_may_have(scope, columns["events"], installation["scopes"])
        _check_query(scope, check_query, installation, columns.get("query"), columns["events"])
        count = await database.value(
            "select count(*) from event_endpoints where tenant_id = $1 and installation_id = $2 and deleted_at is null",
            scope.store.id,
            installation["id"],
        )
        if count >= MOST:
            raise RuleViolation(f"the app has {MOST} event endpoints already", reason="too_many_endpoints")
        endpoint = EventEndpoint(
            installation_id=installation["id"], **columns, created_at=scope.now, updated_at=scope.now
        )
        if endpoint.status == "D":
            endpoint.disabled_reason = MANUAL
        await endpoint.save()
        number: int = endpoint.id
        await _record(scope, "created", endpoint.public_id, columns)
    return number


async def update_endpoint(scope: Scope, endpoint: object, given: Given, check_query: CheckQuery) -> int:
    """Change an endpoint partially and give its number; disabling it cancels what waits, another address or enabling forgets failures."""
    may_manage(scope)
    columns = read_fields(FIELDS, given)
    async with database.transaction(scope):
        before = await locked(scope, endpoint)
        wanted = columns.get("events", before["events"])
        if "events" in columns:
            check_may_have(scope, wanted, before["scopes"])
        if "query" in columns or "events" in columns:
            _check_query(scope, check_query, before, columns.get("query", before["query"]), wanted)
        if columns.get("status") == "D":
            columns["disabled_reason"] = MANUAL
            await cancel(scope, before["id"], DISABLED_ENDPOINT)
        elif columns.get("status") == "A" or "url" in columns:
            columns |= {"failures": 0, "failing_since": None, "paused_until": None}
            if "status" in columns:
                columns["disabled_reason"] = ""
        await cancel(
            scope, before["id"], UNSUBSCRIBED, [name for name in before["events"] if name not in wanted]
        )
        await EventEndpoint.filter(id=before["id"]).update(**columns, updated_at=scope.now)
        await _record(scope, "updated", before["public_id"], columns)
    return int(before["id"])


async def delete_endpoint(scope: Scope, endpoint: object) -> None:
    """Remove an endpoint; what waits for it is cancelled."""
    may_manage(scope)
    async with database.transaction(scope):
        before = await locked(scope, endpoint)
        await cancel(scope, before["id"], REMOVED_ENDPOINT)
        await EventEndpoint.filter(id=before["id"]).update(deleted_at=scope.now, updated_at=scope.now)
        await _record(scope, "deleted", before["public_id"], {})


async def ping(scope: Scope, endpoint: object) -> int:
    """Send an endpoint the event `ping`, like any other, and give the delivery's number; refused while it is disabled."""
    may_manage(scope)
    async with database.transaction(scope):
        found = await locked(scope, endpoint)
        if found["status"] != "A":
            raise RuleViolation("the event endpoint is disabled", reason="endpoint_disabled")
        data = {"endpoint_id": str(found["public_id"]), "events": found["events"]}
        number: int = await database.value(
            _PING,
            scope.store.id,
            uuid7(),
            PING,
            found["public_id"],
            orjson.dumps(data).decode(),
            scope.request_id,
            scope.now,
            found["id"],
            uuid7(),
        )
        await database.notify(events.CHANNEL)
    return number


# It goes to this endpoint alone, so it is handed out already. Its numbers are counted like those of any subject.
_PING = """
    with counted as (
        insert into event_sequences (tenant_id, public_id, subject_type, subject_id, latest) values ($1, $9, 'endpoint', $4, 1)
        on conflict (tenant_id, subject_type, subject_id) do update set latest = event_sequences.latest + 1
        returning latest
    ), told as (
        insert into outbox_events
            (tenant_id, public_id, name, subject_type, subject_id, sequence, data, request_id, created_at, dispatched_at)
        select $1, $2, $3, 'endpoint', $4, latest, $5::jsonb, $6, $7, $7 from counted
        returning id
    )
    insert into event_deliveries (tenant_id, public_id, event_id, endpoint_id, name, due_at, created_at, updated_at)
    select $1, vitrine_uuid7(), id, $8, $3, clock_timestamp(), $7, $7 from told
    returning id
"""


async def disable(scope: Scope, endpoint_id: int, reason: str) -> bool:
    """Disable an endpoint for what it answered, as the platform; False when it is disabled already. Cancels what waits for it."""
    async with database.transaction(scope):
        public_id = await database.value(
            """
            update event_endpoints set status = 'D', disabled_reason = $3, updated_at = $4
            where tenant_id = $1 and id = $2 and status = 'A' and deleted_at is null returning public_id
            """,
            scope.store.id,
            endpoint_id,
            reason,
            scope.now,
        )
        if public_id is None:
            return False
        await cancel(scope, endpoint_id, DISABLED_ENDPOINT)
        await audit.record(scope, "event_endpoint.disabled", "event_endpoint", public_id, {"reason": reason})
    return True


async def cancel_beyond(scope: Scope, installation_id: int, scopes: Iterable[str] = ()) -> None:
    """Cancel what waits for an installed app and lies beyond the scopes that it keeps; joins the open transaction."""
    kept = tuple(scopes)
    beyond = None if not kept else [name for name in events.NAMES if not may_have(name, kept)]
    if beyond == []:
        return
    found = await database.rows(
        "select id from event_endpoints where tenant_id = $1 and installation_id = $2 order by id for no key update",
        scope.store.id,
        installation_id,
    )
    for endpoint in found:
        await cancel(scope, endpoint["id"], NOT_ALLOWED, beyond)


async def cancel(scope: Scope, endpoint_id: int, reason: str, names: Sequence[str] | None = None) -> None:
    """Cancel what waits for an endpoint that the transaction has locked: all of it, or the events of these names."""
    if names is None or names:
        await database.execute(_CANCEL, scope.store.id, endpoint_id, names, reason, scope.now)


async def locked(scope: Scope, endpoint: object) -> Record:
    """Give the endpoint that the caller names, locked, with its app's scopes; raises `NotFound`, for another app's too."""
    known = parse_reference(endpoint)
    own = scope.actor.installation_id if scope.actor.kind is ActorKind.APP else None
    number, public_id = (known, None) if isinstance(known, int) else (None, known)
    found = await database.row(_LOCK, scope.store.id, number, public_id, own)
    if found is None:
        raise NotFound("event endpoint")
    return found


def check_may_have(scope: Scope, names: Iterable[str], approved: Iterable[str]) -> None:
    """Refuse an event that the app may not be told of, by what the store approved and by the token that asks."""
    held = set(approved)
    for name in names:
        if not may_have(name, held) or (
            scope.actor.kind is ActorKind.APP and not may_have(name, scope.actor.scopes)
        ):
            raise MissingScope(READ_SCOPES[name])


def _check_query(
    scope: Scope, check_query: CheckQuery, installation: Record, query: str | None, names: Sequence[str]
) -> None:
    """Refuse a query that the app may not run: with what its token may do, or with what the store approved."""
    if query is not None:
        is_app = scope.actor.kind is ActorKind.APP
        scopes = scope.actor.scopes if is_app else installation["scopes"]
        app = as_app(scope, installation["app_id"], installation["installation_id"], scopes)
        check_query(app, query, names)


def may_manage(scope: Scope) -> None:
    """Refuse all but apps, which reach what is their own, and administrators with `manage_apps`."""
    if scope.actor.kind is not ActorKind.APP:
        scope.require("manage_apps")


async def _installation(scope: Scope, named: object) -> Record:
    """Give the app that is subscribed, locked against removal and narrowing: the caller, or the one that an administrator names."""
    if scope.actor.kind is ActorKind.APP:
        number, public_id = scope.actor.installation_id, None
    else:
        known = parse_reference(named)
        number, public_id = (known, None) if isinstance(known, int) else (None, known)
    found = await database.row(
        """
        select id, id as installation_id, app_id, scopes from app_installations
        where tenant_id = $1 and (id = $2::bigint or public_id = $3::uuid) and removed_at is null for update
        """,
        scope.store.id,
        number,
        public_id,
    )
    if found is None:
        code = "required" if named is None else "not_found"
        raise ValidationFailed("installed_app_id names no installed app", field="installed_app_id", code=code)
    return found


async def _record(scope: Scope, what: str, public_id: UUID, columns: Mapping[str, Any]) -> None:
    # The address may hold a secret behind its host.
    details: dict[str, object] = {
        name: columns[name] for name in ("events", "status", "disabled_reason") if columns.get(name)
    }
    if "url" in columns:
        details["host"] = urlsplit(columns["url"]).hostname
    await audit.record(scope, f"event_endpoint.{what}", "event_endpoint", public_id, details)
