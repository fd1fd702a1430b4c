"""Newsletter subscribers and call requests."""

from __future__ import annotations

from collections.abc import Mapping

from domain.content.languages import default_language, read_language
from domain.records import Change, RecordType
from kernel.codes import CALL_REQUEST_STATUSES, SWITCH_STATUSES
from kernel.errors import ValidationFailed
from kernel.fields import InputField, InputValues, code_in, email_text, read_fields, short_text, text
from kernel.ids import uuid7
from kernel.scope import Scope
from models import audit
from models.connection.database import fetchrow, fetchval, transaction
from models.references import ORDER, PRODUCT
from models.tables.content import CallRequest, Subscriber

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

# Concurrent subscriptions of one address create one subscriber: the second waits for the first and returns it. An existing one is not
# inserted again, which would lock the counter of subscribers.
_SUBSCRIBE = """
WITH existing AS (
    SELECT id, public_id FROM subscribers WHERE tenant_id = $1 AND email = $3 AND deleted_at IS NULL
), inserted AS (
    INSERT INTO subscribers (tenant_id, public_id, email, lang_code, status, created_at, updated_at)
    SELECT $1, $2, $3, $4, $5, $6, $6 WHERE NOT EXISTS (SELECT FROM existing)
    ON CONFLICT (tenant_id, email) WHERE deleted_at IS NULL DO UPDATE SET email = excluded.email
    RETURNING id, public_id
)
SELECT id, public_id, public_id <> $2 AS existed FROM (SELECT * FROM existing UNION ALL SELECT * FROM inserted) AS subscriber
"""
_TAKEN = (
    "SELECT EXISTS (SELECT 1 FROM subscribers WHERE tenant_id = $1 AND email = $2 AND id <> $3 AND deleted_at IS NULL)"
)


async def subscribe(scope: Scope, values: InputValues) -> tuple[int, bool]:
    """Subscribe an address; return its internal id, and whether it was subscribed already, in which case nothing changes.

    Keys: `email`*, `lang_code` (default: the store's first language), `status`.
    """
    columns = read_fields(SUBSCRIBER_FIELDS, values, creating=True)
    async with transaction(scope):
        code = (await read_language(scope, values)).get("lang_code") or await default_language(scope)
        row = await fetchrow(
            _SUBSCRIBE, scope.store.id, uuid7(), columns["email"], code, columns.get("status", "A"), scope.now
        )
        assert row is not None  # an upsert always returns its row
        if not row["existed"]:
            await audit.record(scope, "subscriber.created", "subscriber", row["public_id"])
    return row["id"], row["existed"]


async def create_subscriber(scope: Scope, values: InputValues) -> int:
    """Subscribe an address and return its internal id, the existing one if it was subscribed already."""
    return (await subscribe(scope, values))[0]


async def _prepare_subscriber(change: Change) -> None:
    change.columns |= await read_language(change.scope, change.values)
    email = change.columns.get("email")
    if email is not None and await fetchval(_TAKEN, change.scope.store.id, email, change.record_id):
        raise ValidationFailed("email is taken", field="email", code="email_taken")


SUBSCRIBER_RECORDS = RecordType(
    Subscriber, SUBSCRIBER_FIELDS, hard_delete=True, audit_deleted_number=True, prepare=_prepare_subscriber
)
CALL_REQUEST_RECORDS = RecordType(
    CallRequest,
    CALL_REQUEST_FIELDS,
    references={"product": PRODUCT, "order": ORDER},
    hard_delete=True,
    audit_deleted_number=True,
)
