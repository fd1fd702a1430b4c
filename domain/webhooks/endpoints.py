"""Webhook endpoints of installed apps; administrators can manage and disable them too (docs/reference/shared.md#webhook-endpoints)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias
from urllib.parse import urlsplit
from uuid import UUID

import orjson
from asyncpg import Record

from auth.app_scopes import check_may_grant_scopes, covered_scopes, expand_scopes, privilege_for
from domain import events
from domain.event_types import EVENT_TYPES, NAMES, PING
from domain.outgoing import calls
from domain.store_limits import check_limit
from domain.webhooks.event_scopes import as_app, may_receive
from kernel.codes import SWITCH_STATUSES
from kernel.errors import InsufficientPrivileges, MissingScope, NotFound, RuleViolation, ValidationFailed
from kernel.fields import InputField, InputValues, code_in, raise_field_errors, read_fields, read_with_errors
from kernel.ids import split_reference, uuid7
from kernel.scope import ActorKind, Scope
from kernel.text import InvalidValue, has_forbidden_characters, repr_value
from models import audit
from models.connection import database
from models.rows import insert_row, mark_deleted, update_row

MAX_ENDPOINTS = 20
"""Maximum number of endpoints of an installed app in a store."""
MAX_QUERY = 20_000
MANUAL, GONE, FAILING = "manual", "gone", "failing"
"""Why an endpoint is disabled: manually, because it answered 410, or because it failed for too long."""

REMOVED_ENDPOINT = "the endpoint was removed"
DISABLED_ENDPOINT = "the endpoint was disabled"
UNSUBSCRIBED = "the endpoint does not want this event any more"
NOT_ALLOWED = "the app may not receive this event any more"


def _events(value: object) -> list[str]:
    if not isinstance(value, list | tuple) or not value:
        raise InvalidValue(f"is {repr_value(value)}; expected a list of events")
    unknown = [name for name in value if name not in NAMES]
    if unknown:
        raise InvalidValue(f"holds {repr_value(unknown[0])}; expected any of {', '.join(NAMES)}")
    return [name for name in NAMES if name in value]


def _query(value: object) -> str | None:
    if value is None or value == "":
        return None
    if not isinstance(value, str) or len(value) > MAX_QUERY or has_forbidden_characters(value):
        raise InvalidValue(f"is {repr_value(value)}; expected a GraphQL selection of at most {MAX_QUERY} characters")
    return value


FIELDS: Mapping[str, InputField] = {
    "url": InputField("url", calls.read_address, "url_invalid", required="required"),
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
"""Raise if the app in the scope may not run the query for these events."""


async def create_endpoint(scope: Scope, values: InputValues, check_query: CheckQuery) -> int:
    """Create an endpoint and return its internal id: `url`*, `events`*, `query`, `status`; `installed_app_id` for administrators.

    Raises `MissingScope` for an event that the app may not receive, `InsufficientPrivileges` for one that an administrator may not read,
    `RuleViolation` if the app has too many endpoints.
    """
    check_may_manage(scope)
    columns, errors = read_with_errors(FIELDS, values, creating=True)
    if scope.actor.kind is not ActorKind.APP and values.get("installed_app_id") in (None, ""):
        errors["installed_app_id"] = ("required", "installed_app_id is required")
    raise_field_errors(errors)
    async with database.transaction(scope):
        installation = await _installation(scope, values.get("installed_app_id"))
        check_may_receive(scope, columns["events"], installation["scopes"])
        _check_may_forward(scope, columns["events"])
        _check_query(scope, check_query, installation, columns.get("query"), columns["events"])
        count = await database.fetchval(
            "select count(*) from event_endpoints where tenant_id = $1 and installation_id = $2 and deleted_at is null",
            scope.store.id,
            installation["id"],
        )
        if count >= MAX_ENDPOINTS:
            raise RuleViolation(f"the app has {MAX_ENDPOINTS} event endpoints already", reason="too_many_endpoints")
        await check_limit(scope, "webhook_endpoints")
        row = {"public_id": uuid7(), **columns, "created_at": scope.now, "updated_at": scope.now}
        if columns.get("status") == "D":
            row["disabled_reason"] = MANUAL
        endpoint_id: int = await insert_row(scope, "event_endpoints", installation_id=installation["id"], **row)
        await _record(scope, "created", row["public_id"], columns)
    return endpoint_id


async def update_endpoint(scope: Scope, endpoint: object, values: InputValues, check_query: CheckQuery) -> int:
    """Update an endpoint partially and return its internal id.

    Disabling it cancels its pending deliveries; a new URL or enabling it resets its failures.
    """
    check_may_manage(scope)
    columns = read_fields(FIELDS, values)
    async with database.transaction(scope):
        current = await lock_endpoint(scope, endpoint)
        wanted = columns.get("events", current["events"])
        if "events" in columns:
            check_may_receive(scope, wanted, current["scopes"])
        elif "url" in columns:
            # What the app may receive would go to an address that a token with fewer scopes chose.
            receivable = [name for name in wanted if may_receive(name, current["scopes"])]
            check_may_receive(scope, receivable, current["scopes"])
        if "url" in columns or "events" in columns:
            _check_may_forward(scope, wanted)
        if columns.keys() & {"url", "query", "events"}:
            _check_query(scope, check_query, current, columns.get("query", current["query"]), wanted)
        changed = {name for name in ("status", "url") if columns.get(name, current[name]) != current[name]}
        if "status" in changed and columns["status"] == "D":
            columns["disabled_reason"] = MANUAL
            await cancel_deliveries(scope, current["id"], DISABLED_ENDPOINT)
        elif changed:
            columns |= {"failures": 0, "failing_since": None, "paused_until": None}
            if "status" in changed:
                columns["disabled_reason"] = ""
        await cancel_deliveries(
            scope, current["id"], UNSUBSCRIBED, [name for name in current["events"] if name not in wanted]
        )
        if await update_row(scope, "event_endpoints", current["id"], **columns, updated_at=scope.now):
            await _record(scope, "updated", current["public_id"], columns)
    return int(current["id"])


async def delete_endpoint(scope: Scope, endpoint: object) -> None:
    """Soft-delete an endpoint and cancel its pending deliveries."""
    check_may_manage(scope)
    async with database.transaction(scope):
        current = await lock_endpoint(scope, endpoint)
        await cancel_deliveries(scope, current["id"], REMOVED_ENDPOINT)
        await mark_deleted(scope, "event_endpoints", current["id"])
        await _record(scope, "deleted", current["public_id"], {})


async def ping(scope: Scope, endpoint: object) -> int:
    """Send the event `ping` to an endpoint and return the delivery's internal id; raises RuleViolation if the endpoint is disabled."""
    check_may_manage(scope)
    async with database.transaction(scope):
        row = await lock_endpoint(scope, endpoint)
        if row["status"] != "A":
            raise RuleViolation("the event endpoint is disabled", reason="endpoint_disabled")
        data = {"endpoint_id": str(row["public_id"]), "events": row["events"]}
        delivery_id: int = await database.fetchval(
            _PING,
            scope.store.id,
            uuid7(),
            PING,
            row["public_id"],
            orjson.dumps(data).decode(),
            scope.request_id,
            scope.now,
            row["id"],
            uuid7(),
        )
        await database.notify(events.CHANNEL)
    return delivery_id


# Sent to this endpoint only, so it needs no fan-out. Its sequence is counted as for any subject.
_PING = """
    with counter as (
        insert into event_sequences (tenant_id, public_id, subject_type, subject_id, latest) values ($1, $9, 'endpoint', $4, 1)
        on conflict (tenant_id, subject_type, subject_id) do update set latest = event_sequences.latest + 1
        returning latest
    ), event as (
        insert into outbox_events
            (tenant_id, public_id, name, subject_type, subject_id, sequence, data, request_id, created_at, dispatched_at)
        select $1, $2, $3, 'endpoint', $4, latest, $5::jsonb, $6, $7, $7 from counter
        returning id
    )
    insert into event_deliveries (tenant_id, public_id, event_id, endpoint_id, name, due_at, created_at, updated_at)
    select $1, vitrine_uuid7(), id, $8, $3, clock_timestamp(), $7, $7 from event
    returning id
"""


async def disable(scope: Scope, endpoint_id: int, reason: str) -> bool:
    """Disable an endpoint because of its responses and cancel its pending deliveries; return False if it is disabled already."""
    async with database.transaction(scope):
        public_id = await database.fetchval(
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
        await cancel_deliveries(scope, endpoint_id, DISABLED_ENDPOINT)
        await audit.record(scope, "event_endpoint.disabled", "event_endpoint", public_id, {"reason": reason})
    return True


async def cancel_outside_scopes(scope: Scope, installation_id: int, scopes: Iterable[str] = ()) -> None:
    """Cancel the pending deliveries of an installed app that its remaining scopes don't cover; joins the current transaction."""
    remaining = tuple(scopes)
    not_covered = None if not remaining else [name for name in NAMES if not may_receive(name, remaining)]
    if not_covered == []:
        return
    endpoints = await database.fetch(
        "select id from event_endpoints where tenant_id = $1 and installation_id = $2 order by id for no key update",
        scope.store.id,
        installation_id,
    )
    for endpoint in endpoints:
        await cancel_deliveries(scope, endpoint["id"], NOT_ALLOWED, not_covered)


async def cancel_deliveries(scope: Scope, endpoint_id: int, reason: str, names: Sequence[str] | None = None) -> None:
    """Cancel the pending deliveries of an endpoint locked by the caller: all, or those of the named events."""
    if names is None or names:
        await database.execute(_CANCEL, scope.store.id, endpoint_id, names, reason, scope.now)


async def lock_endpoint(scope: Scope, endpoint: object) -> Record:
    """Return the endpoint, locked, with its app's scopes; raises `NotFound`, also for another app's."""
    endpoint_id, public_id = split_reference(endpoint)
    own_installation = scope.actor.installation_id if scope.actor.kind is ActorKind.APP else None
    row = await database.fetchrow(_LOCK, scope.store.id, endpoint_id, public_id, own_installation)
    if row is None:
        raise NotFound("event endpoint")
    return row


def check_may_receive(scope: Scope, names: Iterable[str], approved: Iterable[str]) -> None:
    """Raise MissingScope for an event that the app may not receive, by the scopes approved by the store and those of the caller's token."""
    approved_scopes = set(approved)
    for name in names:
        if not may_receive(name, approved_scopes) or (
            scope.actor.kind is ActorKind.APP and not may_receive(name, scope.actor.scopes)
        ):
            raise MissingScope(EVENT_TYPES[name].scope)


def _check_query(
    scope: Scope, check_query: CheckQuery, installation: Record, query: str | None, names: Sequence[str]
) -> None:
    """Raise if the app may not run the query, with its token's scopes or those that an administrator's privileges cover."""
    if query is None:
        return
    is_app = scope.actor.kind is ActorKind.APP
    scopes = scope.actor.scopes if is_app else covered_scopes(scope, installation["scopes"])
    try:
        check_query(as_app(scope, installation["app_id"], installation["installation_id"], scopes), query, names)
    except MissingScope as error:
        missing = error.details["scope"]
        if not is_app and missing in expand_scopes(installation["scopes"]):
            raise InsufficientPrivileges(privilege_for(missing)) from error
        raise


def _check_may_forward(scope: Scope, names: Iterable[str]) -> None:
    """Raise `InsufficientPrivileges` for an administrator who would have events sent that it may not read itself."""
    if scope.actor.kind is not ActorKind.APP:
        check_may_grant_scopes(scope, {EVENT_TYPES[name].scope for name in names})


def check_may_manage(scope: Scope) -> None:
    """Refuse all callers except apps, which can reach only their own endpoints, and administrators with `manage_apps`."""
    if scope.actor.kind is not ActorKind.APP:
        scope.check_privilege("manage_apps")


async def _installation(scope: Scope, reference: object) -> Record:
    """Return the subscribed app, locked against removal and scope changes: the caller, or the one an administrator names."""
    if scope.actor.kind is ActorKind.APP:
        internal_id, public_id = scope.actor.installation_id, None
    else:
        internal_id, public_id = split_reference(reference)
    row = await database.fetchrow(
        """
        select id, id as installation_id, app_id, scopes from app_installations
        where tenant_id = $1 and (id = $2::bigint or public_id = $3::uuid) and removed_at is null for update
        """,
        scope.store.id,
        internal_id,
        public_id,
    )
    if row is None:
        raise ValidationFailed("installed_app_id names no installed app", field="installed_app_id", code="not_found")
    return row


async def _record(scope: Scope, action: str, public_id: UUID, columns: Mapping[str, Any]) -> None:
    # The URL's path or query may contain a secret.
    details: dict[str, object] = {
        name: columns[name] for name in ("events", "status", "disabled_reason") if columns.get(name)
    }
    if "url" in columns:
        details["host"] = urlsplit(columns["url"]).hostname
    await audit.record(scope, f"event_endpoint.{action}", "event_endpoint", public_id, details)
