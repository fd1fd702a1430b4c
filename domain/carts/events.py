"""Emit `cart.updated`, at most once in five seconds per cart (docs/reference/shared.md#events).

A change within that interval is emitted later by a job with the state at that time, so the last state is always emitted.
"""

from __future__ import annotations

from datetime import timedelta

from domain import events
from domain.carts.locked import OPEN, LockedCart, lock_cart
from domain.carts.totals import CartTotals, calculate_cart_totals
from kernel.errors import NotFound
from kernel.scope import Scope, active_scope
from models.database import execute, fetch, transaction

MIN_INTERVAL = timedelta(seconds=5)
_BATCH_SIZE = 200

_MARK_EMITTED = "UPDATE carts SET told_at = $3, is_untold = false WHERE tenant_id = $1 AND id = $2"
_MARK_PENDING = "UPDATE carts SET is_untold = true WHERE tenant_id = $1 AND id = $2"
_CLEAR_PENDING = "UPDATE carts SET is_untold = false WHERE tenant_id = $1 AND id = $2"
_DUE = """
SELECT public_id FROM carts WHERE tenant_id = $1 AND is_untold AND told_at <= $2 ORDER BY told_at, id LIMIT $3
"""


async def emit_updated(scope: Scope, cart: LockedCart, totals: CartTotals) -> None:
    """Emit `cart.updated` for a locked cart, or leave it to the job when the last event is too recent."""
    if _is_throttled(scope, cart):
        await execute(_MARK_PENDING, scope.store.id, cart.id)
        return
    await execute(_MARK_EMITTED, scope.store.id, cart.id, scope.now)
    items = [
        events.EventItem(item.product_public_id, item.name, item.quantity, item.price_cents) for item in totals.items
    ]
    data = events.cart_data(cart.public_id, cart.customer, items, totals.total_cents, cart.currency, cart.updated_at)
    await events.emit(scope, events.CART_UPDATED, events.CART, cart.public_id, data)


async def emit_due(scope: Scope, *, limit: int = _BATCH_SIZE) -> int:
    """Emit the store's delayed cart events; return the number of carts examined."""
    with active_scope(scope):
        due = await fetch(_DUE, scope.store.id, scope.now - MIN_INTERVAL, limit)
    for cart in due:
        await _emit_delayed(scope, cart["public_id"])
    return len(due)


async def _emit_delayed(scope: Scope, public_id: object) -> None:
    async with transaction(scope):
        try:
            cart = await lock_cart(scope, public_id)
        except NotFound:
            return
        if cart.status_at(scope.now) != OPEN:  # other events cover a closed cart
            await execute(_CLEAR_PENDING, scope.store.id, cart.id)
        elif not _is_throttled(scope, cart):
            await emit_updated(scope, cart, await calculate_cart_totals(scope, cart))


def _is_throttled(scope: Scope, cart: LockedCart) -> bool:
    return cart.told_at is not None and cart.told_at > scope.now - MIN_INTERVAL
