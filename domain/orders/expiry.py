"""Expire orders whose payment time has passed, releasing their reserved stock (docs/reference/shared.md#stock)."""

from __future__ import annotations

from functools import partial

from domain import events
from domain.orders.lifecycle import apply_transition
from domain.orders.locked import LockedOrder, lock_order
from domain.orders.transitions import FAILED, OPEN, UNPAID
from kernel.errors import NotFound
from kernel.scope import Scope, active_scope
from models.connection.database import fetch, retry_conflicts, transaction

REASON = "payment expired"
_BATCH_SIZE = 500

_DUE = """
SELECT id FROM orders
WHERE tenant_id = $1 AND hold_until <= $2 AND status = 'O' AND payment_status = 'unpaid'
    AND paid_cents <= refunded_cents AND deleted_at IS NULL
ORDER BY hold_until, id LIMIT $3
"""


async def expire_orders(scope: Scope, *, limit: int = _BATCH_SIZE) -> int:
    """Move the store's unpaid orders past `hold_until` to `F`, each in its own transaction; return their number.

    At most `limit` in one call: repeat while that many are returned. The scope is the system's.
    """
    with active_scope(scope):
        due = await fetch(_DUE, scope.store.id, scope.now, limit)
    expired = 0
    for order in due:
        expired += await retry_conflicts(partial(_expire, scope, order["id"]))
    return expired


async def _expire(scope: Scope, order_id: int) -> bool:
    async with transaction(scope):
        try:
            locked = await lock_order(scope, order_id)
        except NotFound:
            return False
        if not _is_due(scope, locked):
            return False
        await apply_transition(scope, locked, FAILED, reason=REASON)
        await events.emit_order_updated(scope, locked.id, previous_status=locked.status)
    return True


def _is_due(scope: Scope, locked: LockedOrder) -> bool:
    """Check again under the lock: the order may have been paid, partially or fully, or its status changed."""
    return (
        locked.status == OPEN
        and locked.payment_status == UNPAID
        and not locked.has_unrefunded_payment
        and locked.hold_until is not None
        and locked.hold_until <= scope.now
    )
