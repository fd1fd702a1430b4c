"""Emit `cart.updated`, at most once in five seconds per cart, and `cart.abandoned` (docs/reference/shared.md#events).

A change within that interval is emitted later by a job with the state at that time, so the last state is always emitted.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from domain import event_types, events
from domain.carts.locked import OPEN, LockedCart, lock_cart
from domain.carts.totals import CartTotals, calculate_cart_totals
from domain.store_settings import setting
from kernel.errors import NotFound
from kernel.scope import Scope, active_scope
from models.connection.database import Plans, execute, fetch, transaction

MIN_INTERVAL = timedelta(seconds=5)
_BATCH_SIZE = 200

_MARK_EMITTED = "UPDATE carts SET told_at = $3, is_untold = false WHERE tenant_id = $1 AND id = $2"
_MARK_PENDING = "UPDATE carts SET is_untold = true WHERE tenant_id = $1 AND id = $2"
_CLEAR_PENDING = "UPDATE carts SET is_untold = false WHERE tenant_id = $1 AND id = $2"
_ABANDONED = """
SELECT public_id FROM carts WHERE tenant_id = $1 AND status = 'open' AND abandoned_at IS NULL AND updated_at <= $2
ORDER BY updated_at, id LIMIT $3
"""
_MARK_ABANDONED = """
UPDATE carts SET abandoned_at = $3 WHERE tenant_id = $1 AND id = $2 AND abandoned_at IS NULL AND updated_at <= $4
"""
_DUE = """
SELECT public_id FROM carts WHERE tenant_id = $1 AND is_untold AND told_at <= $2 ORDER BY told_at, id LIMIT $3
"""


async def emit_updated(scope: Scope, cart: LockedCart, totals: CartTotals) -> None:
    """Emit `cart.updated` for a locked cart, or leave it to the job when the last event is too recent."""
    if _is_throttled(scope, cart):
        await execute(_MARK_PENDING, scope.store.id, cart.id)
        return
    await execute(_MARK_EMITTED, scope.store.id, cart.id, scope.now)
    await _emit(scope, event_types.CART_UPDATED, cart, totals)


async def _emit(scope: Scope, name: str, cart: LockedCart, totals: CartTotals) -> None:
    items = [
        events.EventItem(item.product_public_id, item.name, item.quantity, item.price_cents) for item in totals.items
    ]
    data = events.cart_data(cart.public_id, cart.customer, items, totals.total_cents, cart.currency, cart.updated_at)
    await events.emit(scope, name, event_types.CART, cart.public_id, data)


async def emit_due(scope: Scope, *, limit: int = _BATCH_SIZE) -> int:
    """Emit the store's delayed cart events; return the number of carts examined."""
    with active_scope(scope):
        due = await fetch(_DUE, scope.store.id, scope.now - MIN_INTERVAL, limit)
    for cart in due:
        await _emit_delayed(scope, cart["public_id"])
    return len(due)


async def _emit_delayed(scope: Scope, public_id: object) -> None:
    async with transaction(scope, Plans.REUSED):
        try:
            cart = await lock_cart(scope, public_id)
        except NotFound:
            return
        if cart.status_at(scope.now) != OPEN:  # other events cover a closed cart
            await execute(_CLEAR_PENDING, scope.store.id, cart.id)
        elif not _is_throttled(scope, cart):
            await emit_updated(scope, cart, await calculate_cart_totals(scope, cart))


async def emit_abandoned(scope: Scope, *, limit: int = _BATCH_SIZE) -> int:
    """Emit `cart.abandoned` for carts with items that were not changed for so long; return the number of carts examined."""
    unchanged_since = scope.now - timedelta(hours=setting(scope, "cart_abandoned_hours"))
    with active_scope(scope):
        due = await fetch(_ABANDONED, scope.store.id, unchanged_since, limit)
    for cart in due:
        async with transaction(scope, Plans.REUSED):
            await _emit_if_abandoned(scope, cart["public_id"], unchanged_since)
    return len(due)


async def _emit_if_abandoned(scope: Scope, public_id: object, unchanged_since: datetime) -> None:
    try:
        cart = await lock_cart(scope, public_id)
    except NotFound:
        return
    # Changed, or found by another worker, meanwhile.
    if not await execute(_MARK_ABANDONED, scope.store.id, cart.id, scope.now, unchanged_since):
        return
    if cart.status_at(scope.now) == OPEN:
        totals = await calculate_cart_totals(scope, cart)
        if totals.items:
            await _emit(scope, event_types.CART_ABANDONED, cart, totals)


def _is_throttled(scope: Scope, cart: LockedCart) -> bool:
    return cart.emitted_at is not None and cart.emitted_at > scope.now - MIN_INTERVAL
