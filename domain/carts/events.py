"""Tell apps of carts that change: `cart.updated`, at most once in five seconds for each cart (decisions section 7).

A change that comes too soon after the last event is told later, by a job, as the cart is then: the last state is always told.
"""

from __future__ import annotations

from datetime import timedelta

from domain import events
from domain.carts.locked import OPEN, LockedCart, lock_cart
from domain.carts.totals import Reckoned, reckon
from kernel.errors import NotFound
from kernel.scope import Scope, entered
from models.database import execute, rows, transaction

QUIET = timedelta(seconds=5)
_AT_ONCE = 200

_TOLD = "UPDATE carts SET told_at = $3, is_untold = false WHERE tenant_id = $1 AND id = $2"
_TO_BE_TOLD = "UPDATE carts SET is_untold = true WHERE tenant_id = $1 AND id = $2"
_NOTHING_TO_TELL = "UPDATE carts SET is_untold = false WHERE tenant_id = $1 AND id = $2"
_DUE = """
SELECT public_id FROM carts WHERE tenant_id = $1 AND is_untold AND told_at <= $2 ORDER BY told_at, id LIMIT $3
"""


async def tell(scope: Scope, cart: LockedCart, reckoned: Reckoned) -> None:
    """Write `cart.updated` for a locked cart that was changed, or leave it to the job when the last one was just now."""
    if _is_too_soon(scope, cart):
        await execute(_TO_BE_TOLD, scope.store.id, cart.id)
        return
    await execute(_TOLD, scope.store.id, cart.id, scope.now)
    items = [
        events.EventItem(item.product_public_id, item.name, item.quantity, item.price_cents)
        for item in reckoned.items
    ]
    data = events.cart(
        cart.public_id, cart.customer, items, reckoned.total_cents, cart.currency, cart.updated_at
    )
    await events.record(scope, events.CART_UPDATED, events.CART, cart.public_id, data)


async def tell_due(scope: Scope, *, limit: int = _AT_ONCE) -> int:
    """Tell of the store's carts that changed too soon after their last event; say how many were looked at."""
    with entered(scope):
        due = await rows(_DUE, scope.store.id, scope.now - QUIET, limit)
    for found in due:
        await _tell_again(scope, found["public_id"])
    return len(due)


async def _tell_again(scope: Scope, public_id: object) -> None:
    async with transaction(scope):
        try:
            cart = await lock_cart(scope, public_id)
        except NotFound:
            return
        if cart.status_at(scope.now) != OPEN:  # what became of it is told by other events, or by none
            await execute(_NOTHING_TO_TELL, scope.store.id, cart.id)
        elif not _is_too_soon(scope, cart):
            await tell(scope, cart, await reckon(scope, cart))


def _is_too_soon(scope: Scope, cart: LockedCart) -> bool:
    return cart.told_at is not None and cart.told_at > scope.now - QUIET
