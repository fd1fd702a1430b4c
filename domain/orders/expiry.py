"""End checkouts that nobody paid in time, so that their stock can be sold again (decisions section 1, Stock)."""

from __future__ import annotations

from domain import events
from domain.orders.lifecycle import take_step
from domain.orders.locked import LockedOrder, lock_order
from domain.orders.payments import UNPAID
from domain.orders.transitions import FAILED, OPEN
from kernel.errors import NotFound
from kernel.scope import Scope, entered
from models.database import rows, transaction

REASON = "payment expired"
_AT_ONCE = 500

_DUE = """
SELECT id FROM orders
WHERE tenant_id = $1 AND hold_until <= $2 AND status = 'O' AND payment_status = 'unpaid'
    AND paid_cents <= refunded_cents AND deleted_at IS NULL
ORDER BY hold_until, id LIMIT $3
"""


async def expire_holds(scope: Scope, *, limit: int = _AT_ONCE) -> int:
    """Move the store's orders whose time to pay has passed to `F`, each in its own transaction; say how many there were.

    At most `limit` in one call: call again while it gives as many. The scope is the system's.
    """
    with entered(scope):
        due = await rows(_DUE, scope.store.id, scope.now, limit)
    expired = 0
    for found in due:
        expired += await _expire(scope, found["id"])
    return expired


async def _expire(scope: Scope, order_id: int) -> bool:
    async with transaction(scope):
        try:
            held = await lock_order(scope, order_id)
        except NotFound:
            return False
        if not _is_due(scope, held):
            return False
        await take_step(scope, held, FAILED, reason=REASON)
        await events.order_changed(scope, held.id, previous_status=held.status)
    return True


def _is_due(scope: Scope, held: LockedOrder) -> bool:
    """Ask again under the lock: meanwhile somebody may have paid, in part or in whole, or moved the order."""
    return (
        held.status == OPEN
        and held.payment_status == UNPAID
        and not held.holds_money
        and held.hold_until is not None
        and held.hold_until <= scope.now
    )
