"""Add up a cart: today's prices, what promotions and its coupon take off, what its way to deliver costs, taxes.

It is priced as the order that it may become (`domain.orders.pricing`), only that nobody has said yet how it is paid. No client is
ever asked for an amount.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from domain.carts.items import PricedCartItem, items_of
from domain.carts.locked import OPEN, LockedCart
from domain.carts.shipping import Way, promoted, way_chosen, ways
from domain.orders.draft import SHIPPING
from domain.orders.lines import PricedLine
from domain.orders.parties import Parties, find_parties
from domain.orders.pricing import Price, Purchase, price
from domain.orders.totals import Totals, add_up
from kernel.errors import RuleViolation, ValidationFailed
from kernel.money import MAX_CENTS
from kernel.scope import Scope, entered
from models.database import rows

COUPON_UNAVAILABLE = "coupon_unavailable"

# Some coupons are for some ways to pay only; so many are tried before a coupon is refused.
_WAYS_TO_PAY = """
SELECT id FROM payment_methods WHERE tenant_id = $1 AND status = 'A' AND deleted_at IS NULL ORDER BY position, id LIMIT 20
"""


@dataclass(frozen=True, slots=True)
class Reckoned:
    """Hold a cart's items and amounts in cents; `way` is the one chosen, null when it isn't offered (any more).

    `gifts` are what promotions would add to the order for nothing; they are no items, for nobody can change them.
    """

    items: Sequence[PricedCartItem]
    way: Way | None
    subtotal_cents: int
    discount_cents: int
    shipping_cents: int
    tax_cents: int
    total_cents: int
    coupon_is_good: bool = True
    gifts: Sequence[PricedLine] = ()

    @property
    def needs_shipping(self) -> bool:
        """Say whether anything in it has to travel."""
        return any(item.goods.is_shipped for item in self.items)


async def reckon(scope: Scope, cart: LockedCart) -> Reckoned:
    """Add up a cart as it is now; one that became an order or expired keeps the amounts of its end."""
    if cart.status_at(scope.now) != OPEN:
        return await _at_its_end(scope, cart)
    items = await items_of(scope, cart.id)
    lines = _lines(items)
    way = await _chosen(scope, cart, lines)
    priced, coupon_is_good = await _priced(scope, cart, lines, way)
    return _reckoned(items, priced, way, coupon_is_good)


async def ways_for(scope: Scope, cart: LockedCart) -> list[Way]:
    """List the ways in which what the cart holds can travel to its address, at what they cost after promotions."""
    lines = _lines(await items_of(scope, cart.id))
    offered = await _ways(scope, cart, lines)
    if not offered:
        return []
    priced, _ = await _priced(scope, cart, lines, None)
    return promoted(offered, priced.reward)


async def may_take_coupon(scope: Scope, cart: LockedCart) -> bool:
    """Say whether the coupon gives something to whoever pays in one of the ways there are: a cart doesn't know yet how it is paid."""
    lines = _lines(await items_of(scope, cart.id))
    with entered(scope):
        methods = await rows(_WAYS_TO_PAY, scope.store.id)
    for method in methods:
        _, is_good = await _priced(scope, cart, lines, None, payment=method["id"])
        if is_good:
            return True
    return False


def coupon_refusal() -> RuleViolation:
    """Refuse a coupon that is unknown, over, used up, or not for this cart: which of these it is, nobody is told."""
    return RuleViolation("O cupom não está disponível para este carrinho.", reason=COUPON_UNAVAILABLE)


def _lines(items: Sequence[PricedCartItem]) -> list[PricedLine]:
    return [item.line for item in items if item.line is not None]


async def _ways(scope: Scope, cart: LockedCart, lines: Sequence[PricedLine]) -> list[Way]:
    subtotal = add_up([line.goods for line in lines]).subtotal_cents
    return await ways(scope, lines, cart.address, subtotal, cart.user_id)


async def _chosen(scope: Scope, cart: LockedCart, lines: Sequence[PricedLine]) -> Way | None:
    if cart.shipping_method_id is None:
        return None
    offered = await _ways(scope, cart, lines)
    return next((way for way in offered if way.shipping_method_id == cart.shipping_method_id), None)


async def _priced(
    scope: Scope,
    cart: LockedCart,
    lines: Sequence[PricedLine],
    way: Way | None,
    *,
    payment: int | None = None,
) -> tuple[Price, bool]:
    """Price the lines as an order of them; without the coupon where it gives nothing."""
    with entered(scope):
        parties: Parties = await find_parties(
            scope,
            payment_method=payment,
            shipping_method=way.shipping_method_id if way is not None else None,
        )
        purchase = Purchase(
            lines=lines,
            parties=parties,
            addresses={SHIPPING: cart.address} if cart.address is not None else {},
            user_id=cart.user_id,
            email=cart.customer.email if cart.customer is not None else "",
            coupon_code=cart.coupon_code,
        )
        try:
            return await price(scope, purchase), True
        except RuleViolation as refusal:
            if refusal.reason != COUPON_UNAVAILABLE:
                raise
        return await price(scope, replace(purchase, coupon_code="")), False


def _reckoned(
    items: Sequence[PricedCartItem], priced: Price, way: Way | None, coupon_is_good: bool
) -> Reckoned:
    """Put promoted prices on the items, and count in what was put in and is not sold any more, at its last price."""
    own = len(_lines(items))
    prices = iter(priced.lines[:own])
    shown = [
        item if item.line is None else replace(item, price_cents=next(prices).price_cents) for item in items
    ]
    gone = sum(item.total_cents for item in items if item.line is None)
    totals: Totals = priced.totals
    if totals.total_cents + gone > MAX_CENTS:
        raise ValidationFailed(
            f"the total is {totals.total_cents + gone} cents; expected at most {MAX_CENTS}",
            field="total_cents",
            code="total_too_large",
        )
    return Reckoned(
        items=shown,
        way=replace(way, price_cents=totals.shipping_cents) if way is not None else None,
        subtotal_cents=totals.subtotal_cents + gone,
        discount_cents=totals.discount_cents,
        shipping_cents=totals.shipping_cents,
        tax_cents=totals.tax_cents,
        total_cents=totals.total_cents + gone,
        coupon_is_good=coupon_is_good,
        gifts=priced.lines[own:],
    )


async def _at_its_end(scope: Scope, cart: LockedCart) -> Reckoned:
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
