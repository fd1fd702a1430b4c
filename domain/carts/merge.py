"""Merge the cart of a guest into the customer's after sign-in: once, however often it is requested, and without loss.

Quantities of the same product and options are added up. What exceeds the stock or a product's limits stays in the cart with a warning, as
after any other change; a cart that would exceed its own limits is refused, and both remain as they are. The guest's cart is closed and
names the one that took over.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from domain.carts.change import check_caller, complete_change
from domain.carts.files import move_files
from domain.carts.locked import OPEN, LockedCart, find_cart, lock_cart, reject_closed
from domain.carts.record import load_cart_record
from domain.carts.requested_items import MAX_ITEMS, checked_quantity, too_many_items_error
from domain.carts.warnings import COUPON_REFUSED, CartWarning
from domain.promotions.rewards import coupon_key
from kernel.errors import NotFound, ValidationFailed
from kernel.ids import parse_uuid
from kernel.scope import STAFF, ActorKind, Scope
from models.connection.database import Plans, execute, fetchrow, fetchval, transaction

_LATEST = """
SELECT public_id FROM carts WHERE tenant_id = $1 AND user_id = $2 AND status = 'open' AND expires_at > $3 AND id <> $4
ORDER BY updated_at DESC, id DESC LIMIT 1
"""
_MERGED_INTO = """
SELECT t.public_id, t.user_id FROM carts c JOIN carts t ON t.tenant_id = c.tenant_id AND t.id = c.merged_into_id
WHERE c.tenant_id = $1 AND c.id = $2
"""
_MERGED_SIZE = """
SELECT count(*) AS items, coalesce(max(m.quantity), 0)::bigint AS quantity FROM (
    SELECT sum(i.quantity) AS quantity FROM cart_items i WHERE i.tenant_id = $1 AND i.cart_id IN ($2, $3)
    GROUP BY i.product_id, i.options_key
) m
"""
# An item keeps the price that its customer has seen.
_MOVE_ITEMS = """
INSERT INTO cart_items (tenant_id, public_id, cart_id, product_id, quantity, options, options_key, product_name, price_cents,
    added_price_cents)
SELECT i.tenant_id, gen_random_uuid(), $2, i.product_id, i.quantity, i.options, i.options_key, i.product_name, i.price_cents,
    i.added_price_cents
FROM cart_items i WHERE i.tenant_id = $1 AND i.cart_id = $3 ORDER BY i.id
ON CONFLICT (tenant_id, cart_id, product_id, options_key)
    DO UPDATE SET quantity = cart_items.quantity + excluded.quantity
"""
# What the customer's own cart says counts; the guest's fills the gaps.
_TAKE_OVER = """
UPDATE carts t SET address = coalesce(t.address, g.address), coupon_code = coalesce(nullif(t.coupon_code, ''), g.coupon_code),
    customer_email = coalesce(nullif(t.customer_email, ''), g.customer_email),
    shipping_method_id = coalesce(t.shipping_method_id, g.shipping_method_id)
FROM carts g WHERE t.tenant_id = $1 AND t.id = $2 AND g.tenant_id = $1 AND g.id = $3
"""
# With the owner, so that the deletion of the account deletes it.
_CLOSE = """
UPDATE carts g SET status = 'expired', merged_into_id = t.id, user_id = t.user_id, expires_at = $4, updated_at = $4, is_untold = false
FROM carts t WHERE g.tenant_id = $1 AND g.id = $3 AND t.tenant_id = $1 AND t.id = $2
"""


async def merge_cart(scope: Scope, guest_cart: object, cart: object | None = None) -> dict[str, Any]:
    """Merge `guest_cart` into `cart`, by default the customer's open cart changed last; without one it becomes the customer's.

    Returns the record of the merged cart, also when it was merged before; then to its customer, staff, and who names it as `cart`. Raises
    NotFound for a cart of another customer, ValidationFailed when the merged cart would be too large, and what `reject_closed` does.
    """
    check_caller(scope)
    async with transaction(scope, Plans.REUSED):
        guest = await find_cart(scope, guest_cart)
        if (merged := await _merged_cart(scope, guest, cart)) is not None:
            return merged
        named = await find_cart(scope, cart) if cart is not None else None
        target = named.public_id if named is not None else await _latest_cart(scope, guest)
        if target is None or target == guest.public_id:
            return await _claim(scope, guest.public_id)
        guest, into = await _lock_both(scope, guest.public_id, target)
        if (merged := await _merged_cart(scope, guest, cart)) is not None:
            return merged  # by a concurrent request
        if named is None and into.status_at(scope.now) != OPEN:
            return await _claim(scope, guest.public_id)  # the customer's cart was ordered a moment ago
        return await _merge(scope, guest, into)


async def _merged_cart(scope: Scope, guest: LockedCart, cart: object | None) -> dict[str, Any] | None:
    """Return the record of the cart that took over; None before the merger, and for a caller who only knows the guest's cart."""
    into = await fetchrow(_MERGED_INTO, scope.store.id, guest.id)
    if into is None:
        return None
    actor = scope.actor
    is_own = actor.user_id is not None and actor.user_id == into["user_id"]
    # Who made the guest's cart may be a stranger, to whom its id doesn't open the customer's.
    if not (is_own or actor.kind in STAFF or parse_uuid(cart) == into["public_id"]):
        return None
    return await load_cart_record(scope, into["public_id"])


async def _latest_cart(scope: Scope, guest: LockedCart) -> UUID | None:
    actor = scope.actor
    if actor.user_id is None or actor.kind not in (ActorKind.CUSTOMER, ActorKind.STOREFRONT):
        raise ValidationFailed("id is required without a customer's token", field="id", code="required")
    latest: UUID | None = await fetchval(_LATEST, scope.store.id, actor.user_id, scope.now, guest.id)
    return latest


async def _claim(scope: Scope, cart: UUID) -> dict[str, Any]:
    """Make the guest's cart the customer's own."""
    reject_closed(scope, await lock_cart(scope, cart))
    return await complete_change(scope, cart)


async def _lock_both(scope: Scope, guest: UUID, target: UUID) -> tuple[LockedCart, LockedCart]:
    """Lock both carts in one order, so that opposite mergers don't wait for each other."""
    locked = {public_id: await lock_cart(scope, public_id) for public_id in sorted((guest, target))}
    return locked[guest], locked[target]


async def _merge(scope: Scope, guest: LockedCart, into: LockedCart) -> dict[str, Any]:
    reject_closed(scope, guest)
    reject_closed(scope, into)
    if guest.user_id is not None and guest.user_id != into.user_id:
        raise NotFound("cart")  # a key opens any cart, but moves nothing from one customer to another
    size = await fetchrow(_MERGED_SIZE, scope.store.id, into.id, guest.id)
    assert size is not None  # an aggregate always returns a row
    checked_quantity(size["quantity"])
    if size["items"] > MAX_ITEMS:
        raise too_many_items_error()
    ids = (scope.store.id, into.id, guest.id)
    await execute(_MOVE_ITEMS, *ids)
    await move_files(scope, into.id, guest.id)
    await execute(_TAKE_OVER, *ids)
    await execute(_CLOSE, *ids, scope.now)
    return await complete_change(scope, into.public_id, warnings=_refused_coupon(guest, into))


def _refused_coupon(guest: LockedCart, into: LockedCart) -> list[CartWarning]:
    is_refused = (
        guest.coupon_code and into.coupon_code and coupon_key(guest.coupon_code) != coupon_key(into.coupon_code)
    )
    return [CartWarning(code=COUPON_REFUSED, name=guest.coupon_code)] if is_refused else []
