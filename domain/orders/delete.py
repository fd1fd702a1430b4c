"""Delete an order, or cancel it when money or goods have moved: what was paid or sent must stay to be seen."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from domain import audit, events
from domain.orders.lifecycle import take_step
from domain.orders.locked import LockedOrder, lock_order, refuse_shared
from domain.orders.transitions import CANCELLED
from kernel.scope import Scope
from models.database import execute, transaction, value

_HIDE = "UPDATE orders SET deleted_at = $3, updated_at = $3 WHERE tenant_id = $1 AND id = $2"


@dataclass(frozen=True, slots=True)
class Deleted:
    """Tell what became of the order: `hidden` when it is gone, else it was cancelled and stays."""

    id: int
    public_id: UUID
    hidden: bool


async def delete_order(scope: Scope, order: object, *, reason: str = "") -> Deleted:
    """Cancel an order that holds money or a shipment; hide any other, give its stock back and tell that it is cancelled.

    Raises NotFound, Forbidden (a vendor, for a shared order), RuleViolation for a vendor whose order is paid.
    """
    async with transaction(scope):
        held = await lock_order(scope, order)
        refuse_shared(scope, held)
        stays = held.holds_money or await _has_shipment(scope, held)
        # What never left the house goes back to the shelf; of what was sent nobody knows, so it does not.
        step = await take_step(scope, held, CANCELLED, reason=reason or "deleted", restock=not stays)
        if not stays:
            await execute(_HIDE, scope.store.id, held.id, scope.now)
            await audit.record(scope, "order.deleted", "order", held.public_id)
        if step is not None:
            await events.order_changed(scope, held.id, previous_status=held.status, cancelled=True)
        elif not stays:
            await events.order_gone(scope, held.id)
    return Deleted(held.id, held.public_id, hidden=not stays)


async def _has_shipment(scope: Scope, held: LockedOrder) -> bool:
    found: bool = await value(
        "SELECT EXISTS (SELECT 1 FROM shipments WHERE tenant_id = $1 AND order_id = $2)",
        scope.store.id,
        held.id,
    )
    return found
