"""Keep who wants to hear from the shop: subscribers to its news, and people who want to be called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from domain import audit
from domain.content.languages import first_language, language_of
from domain.fields import Given, InputField, code_in, read_fields, short_text, text
from domain.orders.draft import email_text
from domain.references import CALL_REQUEST, ORDER, PRODUCT, SUBSCRIBER, find, resolve_optional
from kernel.codes import CALL_REQUEST_STATUSES, SWITCH_STATUSES
from kernel.errors import ValidationFailed
from kernel.ids import uuid7
from kernel.scope import Scope
from models.content import CallRequest, Subscriber
from models.database import row, transaction, value

_MAX_PHONE = 40
_MAX_HOUR = 40

SUBSCRIBER_FIELDS: Mapping[str, InputField] = {
    "email": InputField("email", email_text, code="email_invalid", required="required"),
    "status": InputField("status", code_in(SWITCH_STATUSES), code="status_invalid"),
}
CALL_REQUEST_FIELDS: Mapping[str, InputField] = {
    "name": InputField("name", short_text),
    "phone": InputField("phone", text(_MAX_PHONE, blank=False), code="phone_invalid", required="required"),
    "time_from": InputField("time_from", text(_MAX_HOUR)),
    "time_to": InputField("time_to", text(_MAX_HOUR)),
    "notes": InputField("notes", text(20_000)),
    "status": InputField("status", code_in(CALL_REQUEST_STATUSES), code="status_invalid"),
}

# Two that come at once give one subscriber: the second waits for the first and finds it.
_SUBSCRIBE = """
INSERT INTO subscribers (tenant_id, public_id, email, lang_code, status, created_at, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $6)
ON CONFLICT (tenant_id, email) WHERE deleted_at IS NULL DO UPDATE SET email = excluded.email
RETURNING id, public_id, public_id <> $2 AS was_there
"""
_TAKEN = "SELECT EXISTS (SELECT 1 FROM subscribers WHERE tenant_id = $1 AND email = $2 AND id <> $3 AND deleted_at IS NULL)"


async def subscribe(scope: Scope, given: Given) -> tuple[int, bool]:
    """Keep an address and give its internal id, and whether it was there already, in which case nothing changes.

    Keys: `email`*, `lang_code` (else the store's first language), `status`.
    """
    columns = read_fields(SUBSCRIBER_FIELDS, given, creating=True)
    async with transaction(scope):
        code = (await language_of(scope, given)).get("lang_code") or await first_language(scope)
        found = await row(
            _SUBSCRIBE,
            scope.store.id,
            uuid7(),
            columns["email"],
            code,
            columns.get("status", "A"),
            scope.now,
        )
        assert found is not None  # an upsert always returns its row
        if not found["was_there"]:
            await audit.record(scope, "subscriber.created", "subscriber", found["public_id"])
    return found["id"], found["was_there"]


async def create_subscriber(scope: Scope, given: Given) -> int:
    """Keep an address and give its internal id, the one it has when it was there already."""
    return (await subscribe(scope, given))[0]


async def update_subscriber(scope: Scope, subscriber: object, given: Given) -> int:
    """Change a subscriber partially and give its internal id."""
    columns: dict[str, Any] = read_fields(SUBSCRIBER_FIELDS, given)
    async with transaction(scope):
        subscriber_id = await find(scope, SUBSCRIBER, subscriber)
        columns |= await language_of(scope, given)
        if "email" in columns and await value(_TAKEN, scope.store.id, columns["email"], subscriber_id):
            raise ValidationFailed("email is taken", field="email", code="email_taken")
        await Subscriber.filter(id=subscriber_id).update(**columns, updated_at=scope.now)
        await audit.record(
            scope, "subscriber.updated", "subscriber", subscriber_id, {"fields": sorted(columns)}
        )
    return subscriber_id


async def delete_subscriber(scope: Scope, subscriber: object) -> None:
    """Erase a subscriber: nothing else shows it, so nothing of it is kept."""
    async with transaction(scope):
        subscriber_id = await find(scope, SUBSCRIBER, subscriber)
        await Subscriber.filter(id=subscriber_id).delete()
        await audit.record(scope, "subscriber.deleted", "subscriber", subscriber_id)


async def create_call_request(scope: Scope, given: Given) -> int:
    """Note that somebody wants to be called and give the request's internal id.

    Keys: `phone`*, `name`, `time_from` and `time_to` (as the person said it), `product`, `order`, `notes`, `status`.
    """
    columns = read_fields(CALL_REQUEST_FIELDS, given, creating=True)
    async with transaction(scope):
        columns |= await _subjects(scope, given)
        request = CallRequest(**columns, created_at=scope.now, updated_at=scope.now)
        await request.save()
        request_id: int = request.id
        await audit.record(scope, "call_request.created", "call_request", request.public_id)
    return request_id


async def update_call_request(scope: Scope, request: object, given: Given) -> int:
    """Change a request to be called partially and give its internal id."""
    columns = read_fields(CALL_REQUEST_FIELDS, given)
    async with transaction(scope):
        request_id = await find(scope, CALL_REQUEST, request)
        columns |= await _subjects(scope, given)
        await CallRequest.filter(id=request_id).update(**columns, updated_at=scope.now)
        await audit.record(
            scope, "call_request.updated", "call_request", request_id, {"fields": sorted(columns)}
        )
    return request_id


async def delete_call_request(scope: Scope, request: object) -> None:
    """Erase a request to be called: nothing else shows it, so nothing of it is kept."""
    async with transaction(scope):
        request_id = await find(scope, CALL_REQUEST, request)
        await CallRequest.filter(id=request_id).delete()
        await audit.record(scope, "call_request.deleted", "call_request", request_id)


async def _subjects(scope: Scope, given: Given) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if "product" in given:
        found["product_id"] = await resolve_optional(scope, PRODUCT, given["product"], field="product")
    if "order" in given:
        found["order_id"] = await resolve_optional(scope, ORDER, given["order"], field="order")
    return found
