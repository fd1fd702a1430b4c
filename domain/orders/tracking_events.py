"""Add what a carrier reported of a shipment on its way. An event that is reported again is the same, and adds nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from domain import event_types, events, record_events
from domain.orders.shipments import lock_shipment
from kernel.errors import ValidationFailed
from kernel.fields import InputField, InputValues, check_count, read_fields, text, timestamp
from kernel.ids import uuid7
from kernel.scope import Scope
from models import audit
from models.connection.database import execute, fetch, transaction
from models.rows import json_text

MAX_EVENTS = 100
"""How many are added at once, and how many a shipment can have is ten times that."""
TRACKING_EVENT_FIELDS: Mapping[str, InputField] = {
    "occurred_at": InputField("occurred_at", timestamp, code="date_invalid", required="required"),
    "description": InputField("description", text(255, blank=False), required="required"),
    "code": InputField("code", text(64)),
    "location": InputField("location", text(255)),
}
_COUNT = "SELECT count(*) AS count FROM tracking_events WHERE tenant_id = $1 AND shipment_id = $2"
_INSERT = """
INSERT INTO tracking_events (tenant_id, public_id, shipment_id, occurred_at, code, description, location, created_at)
SELECT $1, e.public_id, $2, e.occurred_at, coalesce(e.code, ''), e.description, coalesce(e.location, ''), $3
FROM jsonb_populate_recordset(NULL::tracking_events, $4::text::jsonb) AS e
ON CONFLICT ON CONSTRAINT tracking_events_moment_key DO NOTHING
"""


async def add_tracking_events(scope: Scope, shipment: object, values: Sequence[InputValues]) -> int:
    """Add events to a shipment, up to 100 at once and 1,000 in all, and return its internal id; raises NotFound and ValidationFailed."""
    check_count(values, MAX_EVENTS, "events", field="events")
    rows: list[dict[str, Any]] = [
        {**read_fields(TRACKING_EVENT_FIELDS, entry, creating=True, within="events"), "public_id": uuid7()}
        for entry in values
    ]
    async with transaction(scope):
        current, order = await lock_shipment(scope, shipment)
        shipment_id = int(current["id"])
        [stored] = await fetch(_COUNT, scope.store.id, shipment_id)
        if stored["count"] + len(rows) > 10 * MAX_EVENTS:
            raise ValidationFailed(
                f"the shipment has {stored['count']} events; expected at most {10 * MAX_EVENTS} in all",
                field="events",
                code="too_many",
            )
        if await execute(_INSERT, scope.store.id, shipment_id, scope.now, json_text(rows)):
            await record_events.emit_records(scope, event_types.SHIPMENT_UPDATED, [shipment_id])
            await audit.record(scope, "shipment.updated", "shipment", shipment_id, {"fields": ["tracking_events"]})
            await events.emit_order_updated(scope, order.id)
    return shipment_id
