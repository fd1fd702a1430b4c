"""Create, update and delete shipments. Every change emits `order.updated`; `order_status` also changes the order's status."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from domain import event_types, events, record_events
from domain.mails.order_mails import SHIPPED_STATUSES
from domain.orders.lifecycle import apply_transition, lock_custom_status, mail_shipment
from domain.orders.locked import LockedOrder, lock_matching, lock_order, reject_shared
from domain.orders.shipment_rows import (
    NewShipment,
    Quantities,
    insert_shipment,
    line_rows,
    resolve_units,
    set_tracking_code,
)
from domain.orders.transitions import COMPLETE
from kernel.codes import shipment_statuses
from kernel.errors import NotFound, ValidationFailed
from kernel.fields import (
    InputField,
    InputValues,
    code_in,
    http_url,
    optional_timestamp,
    read_fields,
    short_text,
    text,
    timestamp,
)
from kernel.ids import split_reference
from kernel.scope import ActorKind, Scope
from models import audit
from models.connection.database import fetchrow, fetchval, transaction
from models.references import NOT_FOUND, ORDER, SHIPPING_METHOD, USER, missing_message, reject_missing, resolve_optional
from models.rows import delete_rows, replace_rows, update_row

# Defaults of docs/reference/legacy.md#shipments.
_LEGACY_METHOD = 1
_LEGACY_NAME = "Custom shipping method"


FIELDS: Mapping[str, InputField] = {
    "shipping_name": InputField("shipping_name", short_text),
    "carrier": InputField("carrier", short_text),
    "tracking_number": InputField("tracking_number", short_text),
    "comments": InputField("comments", text()),
    "label_url": InputField("label_url", http_url(2_048), code="url_invalid"),
    "group_key": InputField("group_key", short_text),
    "order_placed_at": InputField("order_placed_at", optional_timestamp),
    "created_at": InputField("created_at", timestamp),
}


def _input_fields(scope: Scope) -> Mapping[str, InputField]:
    statuses = shipment_statuses(scope.store.shipment_statuses)
    return {**FIELDS, "status": InputField("status", code_in(statuses), code="status_invalid")}


_FIND = (
    "SELECT id, order_id, status, tracking_number FROM shipments WHERE tenant_id = $1 AND (id = $2 OR public_id = $3)"
)

_ORDER_OF = "t.id = (SELECT s.order_id FROM shipments s WHERE s.tenant_id = $1 AND (s.id = $2 OR s.public_id = $3))"

_DELETE = "DELETE FROM shipments WHERE tenant_id = $1 AND id = $2 RETURNING public_id"

_DEFAULT_METHOD = """
SELECT id FROM shipping_methods WHERE tenant_id = $1 AND deleted_at IS NULL
ORDER BY id <> $2, position, id LIMIT 1
"""


async def create_shipment(
    scope: Scope, order: object, lines: Quantities | None = None, values: InputValues | None = None
) -> int:
    """Create a shipment with units of an order's lines (line → units; None: all unshipped) and return its id.

    Keys: `shipping_method`, `user`, `shipping_name`, `carrier`, `tracking_number`, `comments`, `label_url`, `group_key`, `status`,
    `order_placed_at` (null: the order's creation), `created_at` and `order_status`, the order's new status. A vendor ships only its own
    lines.

    Raises ValidationFailed for a missing order, a line not of the order, more units than are unshipped and when nothing is left,
    RuleViolation for an order in a status that can't be shipped.
    """
    values = values or {}
    columns = read_fields(_input_fields(scope), values)
    async with transaction(scope):
        locked = await _lock_order(scope, order)
        if columns.get("status") in scope.store.shipment_statuses:
            await lock_custom_status(scope, columns["status"], "S")
        new_shipment = await _new_shipment(scope, locked, values, columns)
        shipment_id = await insert_shipment(scope, locked, new_shipment, lines)
        if shipment_id is None:
            raise ValidationFailed("every item of the order has been shipped", field="lines", code="nothing_left")
        await record_events.emit_records(scope, event_types.SHIPMENT_CREATED, [shipment_id])
        await audit.record(scope, "shipment.created", "shipment", shipment_id, {"order": str(locked.public_id)})
        is_mailed = await mail_shipment(scope, locked, shipment_id)
        await _update_order(scope, locked, values.get("order_status"), changed=True, is_mailed=is_mailed)
    return shipment_id


async def update_shipment(scope: Scope, shipment: object, values: InputValues, lines: Quantities | None = None) -> int:
    """Update a shipment partially and return its id; `lines`, if any, replace its lines."""
    columns = read_fields(_input_fields(scope), values)
    async with transaction(scope):
        current, locked = await lock_shipment(scope, shipment)
        shipment_id = int(current["id"])
        if columns.get("status") in scope.store.shipment_statuses:
            await lock_custom_status(scope, columns["status"], "S")
        columns |= await _references(scope, locked, values)
        has_other_lines = lines is not None and await _replace_lines(scope, locked, shipment_id, lines)
        changed = await update_row(
            scope, "shipments", shipment_id, touch=has_other_lines, **columns, updated_at=scope.now
        )
        if changed:
            await record_events.emit_records(scope, event_types.SHIPMENT_UPDATED, [shipment_id])
            await audit.record(scope, "shipment.updated", "shipment", shipment_id, {"fields": sorted(map(str, values))})
        if columns.get("tracking_number"):
            changed |= await set_tracking_code(scope, locked, columns["tracking_number"])
        is_mailed = _is_news(current, columns) and await mail_shipment(scope, locked, shipment_id)
        await _update_order(scope, locked, values.get("order_status"), changed=changed, is_mailed=is_mailed)
    return shipment_id


async def delete_shipment(scope: Scope, shipment: object) -> None:
    """Delete a shipment: its units count as unshipped again."""
    async with transaction(scope):
        current, locked = await lock_shipment(scope, shipment)
        shipment_id = int(current["id"])
        # Before the deletion: the audit entry reads the row's public id.
        await audit.record(scope, "shipment.deleted", "shipment", shipment_id, {"order": str(locked.public_id)})
        await _delete_lines(scope, shipment_id)
        public_id = await fetchval(_DELETE, scope.store.id, shipment_id)
        await record_events.emit_deleted(scope, event_types.SHIPMENT_DELETED, [public_id])
        await events.emit_order_updated(scope, locked.id)


async def _lock_order(scope: Scope, order: object) -> LockedOrder:
    """Lock the order of a new shipment; a missing one is a validation error, not a 404."""
    try:
        return await lock_order(scope, order)
    except NotFound as error:
        raise ValidationFailed(missing_message(ORDER, [order]), field="order", code=NOT_FOUND) from error


async def _new_shipment(scope: Scope, locked: LockedOrder, values: InputValues, columns: dict[str, Any]) -> NewShipment:
    references = await _references(scope, locked, values)
    if "user" in values and references["user_id"] is None and locked.user_id is not None:
        raise ValidationFailed("user is required", field="user", code="required")
    new_shipment = NewShipment(shipping_method_id=locked.shipping_method_id, user_id=locked.user_id)
    if scope.family == "legacy":
        new_shipment = replace(
            new_shipment,
            shipping_name=_LEGACY_NAME,
            shipping_method_id=await fetchval(_DEFAULT_METHOD, scope.store.id, _LEGACY_METHOD),
        )
    return replace(new_shipment, **columns, **references)


async def _references(scope: Scope, locked: LockedOrder, values: InputValues) -> dict[str, Any]:
    """Return the columns that refer to records; to a vendor there is no other user than the order's."""
    columns: dict[str, Any] = {}
    if "shipping_method" in values:
        columns["shipping_method_id"] = await resolve_optional(
            scope, SHIPPING_METHOD, values["shipping_method"], field="shipping_method"
        )
    if "user" in values:
        columns["user_id"] = await resolve_optional(scope, USER, values["user"], field="user")
        if scope.actor.kind is ActorKind.VENDOR and columns["user_id"] not in (None, locked.user_id):
            reject_missing(USER, [values["user"]], field="user")
    return columns


async def _update_order(
    scope: Scope, locked: LockedOrder, order_status: str | None, *, changed: bool, is_mailed: bool
) -> None:
    """Change the order's status if requested, and emit one event for this and for a shipment that has changed.

    The mail about a shipment takes the place of that about `C`.
    """
    transition = None
    if order_status is not None:
        reject_shared(scope, locked)
        notify = not (is_mailed and order_status == COMPLETE)
        transition = await apply_transition(scope, locked, order_status, force=True, notify=notify)
    if transition is not None:
        await events.emit_order_updated(scope, locked.id, previous_status=locked.status)
    elif changed:
        await events.emit_order_updated(scope, locked.id)


def _is_news(current: Mapping[str, Any], columns: Mapping[str, Any]) -> bool:
    """Return whether a customer should know of the changed columns: the shipment left, or got another tracking code afterwards."""
    if columns.get("status", current["status"]) not in SHIPPED_STATUSES:
        return False
    code = columns.get("tracking_number") or current["tracking_number"]
    return current["status"] not in SHIPPED_STATUSES or code != current["tracking_number"]


async def lock_shipment(scope: Scope, shipment: object) -> tuple[Mapping[str, Any], LockedOrder]:
    """Lock the order of a shipment and return both, the shipment as it is before the change.

    A vendor finds only shipments consisting of its own lines.
    """
    reference = split_reference(shipment)
    await lock_matching(scope, _ORDER_OF, *reference)
    record = await fetchrow(_FIND, scope.store.id, *reference)
    if record is None:
        raise NotFound("shipment")
    try:
        locked = await lock_order(scope, record["order_id"])
    except NotFound as error:
        raise NotFound("shipment") from error
    if scope.actor.kind is ActorKind.VENDOR and not await _is_own_shipment(scope, record["id"]):
        raise NotFound("shipment")
    return record, locked


async def _is_own_shipment(scope: Scope, shipment_id: int) -> bool:
    has_foreign_lines: bool = await fetchval(
        "SELECT EXISTS (SELECT 1 FROM shipment_lines s JOIN order_lines l ON l.tenant_id = s.tenant_id"
        " AND l.id = s.order_line_id WHERE s.tenant_id = $1 AND s.shipment_id = $2"
        " AND l.vendor_id IS DISTINCT FROM $3)",
        scope.store.id,
        shipment_id,
        scope.actor.vendor_id,
    )
    return not has_foreign_lines


async def _replace_lines(scope: Scope, locked: LockedOrder, shipment_id: int, lines: Quantities) -> bool:
    """Replace the lines of a shipment; return whether they were others."""
    units = await resolve_units(scope, locked, lines, replacing=shipment_id)
    rows = line_rows(shipment_id, units)
    return bool(await replace_rows(scope, "shipment_lines", "shipment_id", [shipment_id], rows))


async def _delete_lines(scope: Scope, shipment_id: int) -> None:
    await delete_rows(scope, "shipment_lines", shipment_id=shipment_id)
