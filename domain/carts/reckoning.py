"""Add up a cart: today's prices, what its coupon takes off, what its way to deliver costs. No client is ever asked for an amount."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from domain.carts.delivery import Way, way_chosen, ways
from domain.carts.held import OPEN, Cart
from domain.carts.items import Item, items_of
from domain.orders.totals import add_up
from kernel.errors import RuleViolation
from kernel.scope import Scope

COUPON_INVALID = "coupon_invalid"


@dataclass(frozen=True, slots=True)
class Reckoned:
    """Hold a cart's items and amounts in cents; `way` is the one chosen, null when it isn't offered (any more)."""

    items: Sequence[Item]
    way: Way | None
    subtotal_cents: int
    discount_cents: int
    shipping_cents: int
    tax_cents: int
    total_cents: int
    coupon_is_good: bool = True

    @property
    def needs_shipping(self) -> bool:
        """Say whether anything in it has to travel."""
        return any(item.goods.is_shipped for item in self.items)


async def reckon(scope: Scope, cart: Cart) -> Reckoned:
    """Add up a cart as it is now; one that became an order or expired keeps the amounts of its end."""
    if cart.status_at(scope.now) != OPEN:
        return await _at_its_end(scope, cart)
    items = await items_of(scope, cart.id)
    goods = [item.goods for item in items]
    before = add_up(goods)
    way = await _chosen(scope, cart, items, before.subtotal_cents)
    totals = add_up(goods, known_shipping_cents=way.price_cents if way is not None else 0)
    return Reckoned(
        items=items,
        way=way,
        subtotal_cents=totals.subtotal_cents,
        discount_cents=totals.discount_cents,
        shipping_cents=totals.shipping_cents,
        tax_cents=totals.tax_cents,
        total_cents=totals.total_cents,
        coupon_is_good=not cart.coupon_code,
    )


async def ways_for(scope: Scope, cart: Cart) -> list[Way]:
    """List the ways in which what the cart holds can travel to its address."""
    items = await items_of(scope, cart.id)
    goods = [item.goods for item in items]
    return await ways(scope, goods, cart.address, add_up(goods).subtotal_cents)


def coupon_refusal() -> RuleViolation:
    """Refuse a coupon that is unknown, over, used up, or not for this cart: which of these it is, nobody is told."""
    return RuleViolation("O cupom não é válido para este carrinho.", reason=COUPON_INVALID)


async def _chosen(scope: Scope, cart: Cart, items: Sequence[Item], subtotal_cents: int) -> Way | None:
    if cart.shipping_method_id is None:
        return None
    offered = await ways(scope, [item.goods for item in items], cart.address, subtotal_cents)
    return next((way for way in offered if way.shipping_method_id == cart.shipping_method_id), None)


async def _at_its_end(scope: Scope, cart: Cart) -> Reckoned:
    items = await items_of(scope, cart.id, closed=True)
    known = cart.subtotal_cents - cart.discount_cents + cart.shipping_cents
    method = cart.shipping_method_id
    return Reckoned(
        items=items,
        way=await way_chosen(scope, method, cart.shipping_cents) if method is not None else None,
        subtotal_cents=cart.subtotal_cents,
        discount_cents=cart.discount_cents,
        shipping_cents=cart.shipping_cents,
        tax_cents=cart.total_cents - known,
        total_cents=cart.total_cents,
    )
