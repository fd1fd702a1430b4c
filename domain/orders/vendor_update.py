"""Update an order from a vendor's app: change the status of an order wholly its own, ship its lines of any order
(docs/reference/legacy.md#vendor-app).
"""

from __future__ import annotations

from domain import events
from domain.orders.lifecycle import OrderUpdateResult, Tracking, after_transition, apply_transition, ship_rest
from domain.orders.locked import LockedOrder, lock_order, reject_shared
from kernel.errors import Forbidden, ValidationFailed
from kernel.fields import InputField, read_fields, short_text
from kernel.scope import ActorKind, Scope
from models.connection.database import fetchval, transaction

_FIELDS = {"tracking_number": InputField("tracking_number", short_text), "carrier": InputField("carrier", short_text)}
_HAS_SHIPMENT = """
SELECT EXISTS (
    SELECT 1 FROM shipments s JOIN shipment_lines sl ON sl.tenant_id = s.tenant_id AND sl.shipment_id = s.id
    JOIN order_lines l ON l.tenant_id = sl.tenant_id AND l.id = sl.order_line_id
    WHERE s.tenant_id = $1 AND s.order_id = $2 AND s.tracking_number = $3 AND l.vendor_id = $4
)
"""


async def update_as_vendor(
    scope: Scope,
    order: object,
    *,
    status: str | None = None,
    tracking_number: str | None = None,
    carrier: str | None = None,
) -> OrderUpdateResult:
    """Change an order's `status`, never forced; with a `tracking_number` record a shipment of the vendor's unshipped lines.

    A retried request records no second shipment. Raises NotFound, Forbidden for the status of a multi-vendor order and for callers without
    a vendor, ValidationFailed when nothing is requested or nothing is left to ship, and RuleViolation with the `allowed` statuses.
    """
    if scope.actor.kind is not ActorKind.VENDOR:
        raise Forbidden("insufficient permissions")
    fields = read_fields(_FIELDS, {"tracking_number": tracking_number, "carrier": carrier})
    if not status and not fields["tracking_number"]:
        raise ValidationFailed("status is required", field="status", code="required")
    async with transaction(scope):
        locked = await lock_order(scope, order)
        tracking = await _new_tracking(scope, locked, fields["tracking_number"], fields["carrier"])
        transition = None
        if status:
            reject_shared(scope, locked)
            transition = await apply_transition(scope, locked, status, tracking=tracking)
        updated = after_transition(locked, transition, tracking)
        if tracking is not None and not await ship_rest(scope, updated, tracking):
            raise ValidationFailed(
                "every item of the order has been shipped", field="tracking_number", code="nothing_left"
            )
        is_shipped = tracking is not None
        if transition is not None or is_shipped:
            await events.emit_order_updated(
                scope, locked.id, previous_status=locked.status if transition is not None else None
            )
    return OrderUpdateResult(
        locked.id, locked.public_id, locked.status, updated.status, transition is not None or is_shipped
    )


async def _new_tracking(scope: Scope, locked: LockedOrder, code: str, carrier: str) -> Tracking | None:
    """Return the tracking of a new shipment; None without a code, and when the vendor's lines were shipped with it."""
    if not code or await fetchval(_HAS_SHIPMENT, scope.store.id, locked.id, code, scope.actor.vendor_id):
        return None
    return Tracking(code, carrier)
