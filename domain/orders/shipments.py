"""Record, change and withdraw parcels. Every change is told as `order.updated`; `order_status` moves the order along."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from domain import audit, events
from domain.fields import Given, InputField, code_in, moment, read_fields, short_text, text
from domain.orders.lifecycle import take_step
from domain.orders.locked import LockedOrder, lock_order, refuse_shared
from domain.orders.parcels import Parcel, Quantities, keep_tracking_code, put_in, send, units_to_ship
from domain.orders.transitions import CANCELLED
from domain.references import NOT_FOUND, ORDER, SHIPPING_METHOD, USER, missing_text, resolve_optional
from kernel.codes import shipment_statuses
from kernel.errors import NotFound, ValidationFailed
from kernel.ids import parse_reference
from kernel.scope import ActorKind, Scope
from models.database import execute, row, transaction, value
from models.shipping import Shipment

# The legacy contract's defaults for a parcel (Shipment table).
_LEGACY_METHOD = 1
_LEGACY_NAME = "Custom shipping method"


def _moment_or_none(value: object) -> datetime | None:
    return None if value is None else moment(value)


FIELDS: Mapping[str, InputField] = {
    "shipping_name": InputField("shipping_name", short_text),
    "carrier": InputField("carrier", short_text),
    "tracking_number": InputField("tracking_number", short_text),
    "comments": InputField("comments", text()),
    "group_key": InputField("group_key", short_text),
    "order_placed_at": InputField("order_placed_at", _moment_or_none),
    "created_at": InputField("created_at", moment),
}


def _fields(scope: Scope) -> Mapping[str, InputField]:
    letters = shipment_statuses(scope.store.shipment_statuses)
    return {**FIELDS, "status": InputField("status", code_in(letters), code="status_invalid")}


_HOLD_LETTER = """
SELECT id FROM statuses WHERE tenant_id = $1 AND type = 'S' AND letter = $2 AND deleted_at IS NULL FOR KEY SHARE
"""
_ORDER_OF = "SELECT id, order_id FROM shipments WHERE tenant_id = $1 AND (id = $2 OR public_id = $3)"

_DEFAULT_METHOD = """
SELECT id FROM shipping_methods WHERE tenant_id = $1 AND deleted_at IS NULL
ORDER BY id <> $2, position, id LIMIT 1
"""


async def record_shipment(
    scope: Scope, order: object, lines: Quantities | None = None, given: Given | None = None
) -> int:
    """Record a parcel with units of an order's lines (line → units; None: all that have not gone out) and give its id.

    `given` may hold `shipping_method`, `user`, `shipping_name`, `carrier`, `tracking_number`, `comments`, `group_key`, `status`,
    `order_placed_at` (null: as the order says), `created_at` and `order_status`, a letter the order is moved to. A vendor ships its
    own lines only.

    Raises ValidationFailed for an order that isn't there, for a line that is not the order's, for more than is left and when nothing
    is left, RuleViolation for an order that came to nothing.
    """
    given = given or {}
    columns = read_fields(_fields(scope), given)
    async with transaction(scope):
        held = await _order_of(scope, order)
        await _hold_letter(scope, columns.get("status"))
        parcel = await _parcel(scope, held, given, columns)
        shipment_id = await send(scope, held, parcel, lines)
        if shipment_id is None:
            raise ValidationFailed(
                "every item of the order has been shipped", field="lines", code="nothing_left"
            )
        await audit.record(scope, "shipment.created", "shipment", shipment_id, {"order": str(held.public_id)})
        await _move_along(scope, held, given.get("order_status"))
    return shipment_id


async def update_shipment(
    scope: Scope, shipment: object, given: Given, lines: Quantities | None = None
) -> int:
    """Change a parcel partially; `lines`, when there are any, replace what it holds. Gives its id."""
    columns = read_fields(_fields(scope), given)
    async with transaction(scope):
        shipment_id, held = await _lock(scope, shipment)
        await _hold_letter(scope, columns.get("status"))
        columns |= await _references(scope, given)
        await Shipment.filter(id=shipment_id).update(**columns, updated_at=scope.now)
        if columns.get("tracking_number"):
            await keep_tracking_code(scope, held, columns["tracking_number"])
        if lines is not None:
            units = await units_to_ship(scope, held, lines, replacing=shipment_id)
            await _empty(scope, shipment_id)
            await put_in(scope, shipment_id, units)
        await audit.record(
            scope, "shipment.updated", "shipment", shipment_id, {"fields": sorted(map(str, given))}
        )
        await _move_along(scope, held, given.get("order_status"))
    return shipment_id


async def delete_shipment(scope: Scope, shipment: object) -> None:
    """Withdraw a parcel: its units count as not shipped again."""
    async with transaction(scope):
        shipment_id, held = await _lock(scope, shipment)
        # First, while the row is there to give its public id.
        await audit.record(scope, "shipment.deleted", "shipment", shipment_id, {"order": str(held.public_id)})
        await _empty(scope, shipment_id)
        await execute("DELETE FROM shipments WHERE tenant_id = $1 AND id = $2", scope.store.id, shipment_id)
        await events.order_changed(scope, held.id)


async def _order_of(scope: Scope, order: object) -> LockedOrder:
    """Lock the order that a new parcel is of: one that isn't there is a mistake in the request, not its subject."""
    try:
        return await lock_order(scope, order)
    except NotFound as error:
        raise ValidationFailed(missing_text(ORDER, [order]), field="order", code=NOT_FOUND) from error


async def _parcel(scope: Scope, held: LockedOrder, given: Given, columns: dict[str, Any]) -> Parcel:
    references = await _references(scope, given)
    if "user" in given and references["user_id"] is None and held.user_id is not None:
        raise ValidationFailed("user is required", field="user", code="required")
    parcel = Parcel(shipping_method_id=held.shipping_method_id, user_id=held.user_id)
    if scope.family == "legacy":
        parcel = replace(
            parcel,
            shipping_name=_LEGACY_NAME,
            shipping_method_id=await value(_DEFAULT_METHOD, scope.store.id, _LEGACY_METHOD),
        )
    return replace(parcel, **columns, **references)


async def _references(scope: Scope, given: Given) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if "shipping_method" in given:
        found["shipping_method_id"] = await resolve_optional(
            scope, SHIPPING_METHOD, given["shipping_method"], field="shipping_method"
        )
    if "user" in given:
        found["user_id"] = await resolve_optional(scope, USER, given["user"], field="user")
    return found


async def _hold_letter(scope: Scope, letter: str | None) -> None:
    """Keep a letter that the store added from being deleted while a parcel gets it."""
    if letter in scope.store.shipment_statuses and await row(_HOLD_LETTER, scope.store.id, letter) is None:
        raise ValidationFailed(
            f"status is {letter!r}; the letter was deleted", field="status", code="status_invalid"
        )


async def _move_along(scope: Scope, held: LockedOrder, order_status: str | None) -> None:
    """Move the order when asked to, and tell of the change once."""
    if order_status is None:
        await events.order_changed(scope, held.id)
        return
    refuse_shared(scope, held)
    step = await take_step(scope, held, order_status, force=True)
    previous = held.status if step is not None else None
    cancelled = step is not None and order_status == CANCELLED
    await events.order_changed(scope, held.id, previous_status=previous, cancelled=cancelled)


async def _lock(scope: Scope, shipment: object) -> tuple[int, LockedOrder]:
    """Lock the order of a parcel; a vendor reaches parcels of its own lines only."""
    reference = parse_reference(shipment)
    if reference is None:
        raise NotFound("shipment")
    number, public_id = (reference, None) if isinstance(reference, int) else (None, reference)
    found = await row(_ORDER_OF, scope.store.id, number, public_id)
    if found is None:
        raise NotFound("shipment")
    try:
        held = await lock_order(scope, found["order_id"])
    except NotFound as error:
        raise NotFound("shipment") from error
    if scope.actor.kind is ActorKind.VENDOR and not await _is_own(scope, found["id"]):
        raise NotFound("shipment")
    return found["id"], held


async def _is_own(scope: Scope, shipment_id: int) -> bool:
    foreign: bool = await value(
        "SELECT EXISTS (SELECT 1 FROM shipment_lines s JOIN order_lines l ON l.tenant_id = s.tenant_id"
        " AND l.id = s.order_line_id WHERE s.tenant_id = $1 AND s.shipment_id = $2"
        " AND l.vendor_id IS DISTINCT FROM $3)",
        scope.store.id,
        shipment_id,
        scope.actor.company_id,
    )
    return not foreign


async def _empty(scope: Scope, shipment_id: int) -> None:
    await execute(
        "DELETE FROM shipment_lines WHERE tenant_id = $1 AND shipment_id = $2", scope.store.id, shipment_id
    )
