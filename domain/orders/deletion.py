"""Delete an order, or cancel it when it has payments, also one that may still be paid, or shipments, which must stay visible."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from domain import events
from domain.ledger.entries import write_order_entries
from domain.orders.lifecycle import apply_transition
from domain.orders.locked import LockedOrder, lock_order, reject_shared
from domain.orders.transitions import CANCELLED
from kernel.scope import Scope
from models import audit
from models.connection.database import fetchval, transaction
from models.rows import mark_deleted, update_row

# A gateway may be taking a payment that waits for it just now; its answer finds the order.
_STAYS = """
SELECT EXISTS (SELECT 1 FROM shipments WHERE tenant_id = $1 AND order_id = $2)
    OR EXISTS (SELECT 1 FROM payments WHERE tenant_id = $1 AND order_id = $2 AND status IN ('PENDING', 'AUTHORIZED'))
"""
_WAS_CHARGED = """
SELECT EXISTS (SELECT 1 FROM charges WHERE tenant_id = $1 AND order_id = $2)
    OR EXISTS (SELECT 1 FROM payments WHERE tenant_id = $1 AND order_id = $2 AND gateway <> '')
"""


@dataclass(frozen=True, slots=True)
class OrderDeletion:
    """The outcome of a deletion: `hidden` when the order was deleted, else it was cancelled and stays."""

    id: int
    public_id: UUID
    hidden: bool


async def delete_order(scope: Scope, order: object) -> OrderDeletion:
    """Soft-delete an order and restore its stock, emitting a cancellation; one with unrefunded or live payments, or shipments, is kept.

    What an imported order was paid in the other shop doesn't keep it, so that a wrong import can be undone.
    Raises NotFound, Forbidden (a vendor, for a multi-vendor order), RuleViolation for a vendor whose order is paid.
    """
    async with transaction(scope):
        locked = await lock_order(scope, order)
        reject_shared(scope, locked)
        is_kept = await _has_money(scope, locked) or await fetchval(_STAYS, scope.store.id, locked.id)
        # The stock of a completed order that is kept isn't restored, for it may not come back.
        # A customer gets a mail about a cancelled order, not about one that was removed.
        transition = await apply_transition(
            scope, locked, CANCELLED, reason="deleted", restock=not is_kept, notify=is_kept
        )
        if not is_kept:
            await mark_deleted(scope, "orders", locked.id)
            await audit.record(scope, "order.deleted", "order", locked.public_id)
            if locked.paid_cents:  # and refunded: the ledger is queued for what is removed too
                await write_order_entries(scope, locked.id)
        if transition is not None:
            await events.emit_order_updated(scope, locked.id, previous_status=locked.status)
        elif not is_kept:
            await events.emit_order_cancelled(scope, locked.id)
    return OrderDeletion(locked.id, locked.public_id, hidden=not is_kept)


async def _has_money(scope: Scope, locked: LockedOrder) -> bool:
    """Return whether payments of the order exceed refunds; of an imported one, also whether a gateway of this store took any."""
    if not locked.has_unrefunded_payment:
        return False
    return not locked.imported or bool(await fetchval(_WAS_CHARGED, scope.store.id, locked.id))


async def restore_order(scope: Scope, locked: LockedOrder) -> None:
    """Let a locked order that was removed appear again, cancelled as it is: its money has to be found."""
    await update_row(scope, "orders", locked.id, deleted_at=None, updated_at=scope.now)
    await audit.record(scope, "order.restored", "order", locked.public_id)
    await write_order_entries(scope, locked.id)
