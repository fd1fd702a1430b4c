"""Let a vendor work on an order from its app: move an order wholly its own, send off its own lines of any (decisions-legacy section 4)."""

from __future__ import annotations

from dataclasses import replace

from domain import events
from domain.fields import InputField, read_fields, short_text
from domain.orders.lifecycle import Moved, take_step
from domain.orders.locked import LockedOrder, lock_order, refuse_shared
from domain.orders.parcels import Parcel, send
from domain.orders.transitions import CANCELLED
from kernel.errors import Forbidden, ValidationFailed
from kernel.scope import ActorKind, Scope
from models.database import transaction, value

_FIELDS = {
    "tracking_number": InputField("tracking_number", short_text),
    "carrier": InputField("carrier", short_text),
}
_IS_SENT = """
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
) -> Moved:
    """Move an order to `status`, never forced, and with a `tracking_number` record a parcel of the vendor's lines not yet sent.

    A request that is sent again records no second parcel. Raises NotFound, Forbidden for the status of an order shared with others
    and for callers who are no vendor's, ValidationFailed when nothing was asked for or nothing is left to be sent, and
    RuleViolation with the letters `allowed`.
    """
    if scope.actor.kind is not ActorKind.VENDOR:
        raise Forbidden("insufficient permissions")
    given = read_fields(_FIELDS, {"tracking_number": tracking_number, "carrier": carrier})
    if not status and not given["tracking_number"]:
        raise ValidationFailed("status is required", field="status", code="required")
    async with transaction(scope):
        held = await lock_order(scope, order)
        step = None
        if status:
            refuse_shared(scope, held)
            step = await take_step(scope, held, status)
        now = replace(held, status=step.to_status) if step else held
        is_sent = await _send(scope, now, given["tracking_number"], given["carrier"])
        if step is not None or is_sent:
            await events.order_changed(
                scope,
                held.id,
                previous_status=held.status if step else None,
                cancelled=step is not None and now.status == CANCELLED,
            )
    return Moved(held.id, held.public_id, held.status, now.status, step is not None or is_sent)


async def _send(scope: Scope, held: LockedOrder, tracking_number: str, carrier: str) -> bool:
    """Record the parcel; say whether there is one more."""
    if not tracking_number:
        return False
    if await value(_IS_SENT, scope.store.id, held.id, tracking_number, scope.actor.company_id):
        return False
    parcel = Parcel(
        shipping_method_id=held.shipping_method_id,
        user_id=held.user_id,
        carrier=carrier,
        tracking_number=tracking_number,
    )
    if await send(scope, held, parcel) is None:
        raise ValidationFailed(
            "every item of the order has been shipped", field="tracking_number", code="nothing_left"
        )
    return True
