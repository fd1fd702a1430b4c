"""Calculate the totals of a cart: current prices, promotions and coupon discount, shipping, taxes.

It is priced like the order it may become (`domain.purchase.pricing`), but without a payment method. No amount ever comes from a client.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from domain.carts.locked import OPEN, LockedCart, PricedCartItem, at_prices, load_items, order_lines
from domain.carts.shipping import apply_promotions, find_shipping_options, load_shipping_option
from domain.purchase.draft import SHIPPING
from domain.purchase.lines import PricedLine
from domain.purchase.pricing import PricingResult, price_purchase
from domain.purchase.references import NO_REFERENCES, OrderReferences, load_references
from domain.purchase.terms import Purchase, Terms, fill_missing_address, requested_points
from domain.purchase.totals import NOTHING_SPENT, OrderTotals, SpentPoints
from domain.shipping.quotes import Quote, load_selected
from kernel.errors import RuleViolation, ValidationFailed
from kernel.money import MAX_CENTS
from kernel.scope import Scope, active_scope
from models.connection.database import fetch

COUPON_UNAVAILABLE = "coupon_unavailable"
_UNDELIVERABLE = "shipping_unavailable"

# Some coupons need certain payment methods; this many are tried before a coupon is rejected.
_PAYMENT_METHODS = """
SELECT id FROM payment_methods WHERE tenant_id = $1 AND status = 'A' AND deleted_at IS NULL ORDER BY position, id LIMIT 20
"""


@dataclass(frozen=True, slots=True)
class CartTotals:
    """A cart's items and amounts in cents; `shipping_option` is the selected one, None when it isn't available (any more).

    `gifts` are free products that promotions would add to the order; they are not items and can't be changed. `points` are the reward
    points that the order would spend, which the discount includes; `points_earned` those it would earn. `coupon_refusal` says why
    the coupon gives nothing without a payment method.
    """

    items: Sequence[PricedCartItem]
    shipping_option: Quote | None
    subtotal_cents: int
    discount_cents: int
    shipping_cents: int
    tax_cents: int
    total_cents: int
    coupon_refusal: RuleViolation | None = None
    gifts: Sequence[PricedLine] = ()
    points: SpentPoints = NOTHING_SPENT
    points_earned: int = 0


async def calculate_cart_totals(
    scope: Scope, cart: LockedCart, items: Sequence[PricedCartItem] | None = None
) -> CartTotals:
    """Calculate the totals of a cart; an ordered or expired one keeps its last stored amounts. `items` are its items if they are loaded."""
    is_open = cart.status_at(scope.now) == OPEN
    if items is None:
        items = await load_items(scope, cart.id, closed=not is_open)
    if not is_open:
        return await _closed_totals(scope, cart, items)
    option, priced, refusal = await _price_with_option(scope, cart, order_lines(items))
    return _cart_totals(items, priced, option, refusal)


async def shipping_options_for(scope: Scope, cart: LockedCart) -> list[Quote]:
    """List the shipping options of a cart at their prices after promotions."""
    lines = order_lines(await load_items(scope, cart.id))
    options = await find_shipping_options(scope, lines, cart.address, cart.user_id)
    if not options:
        return []
    priced, _ = await _price_lines(scope, cart, lines)
    return apply_promotions(options, priced.reward)


async def total_with_method(scope: Scope, cart: LockedCart, payment_method: int) -> int:
    """Return the total that a cart has with a payment method, in cents."""
    lines = order_lines(await load_items(scope, cart.id))
    _, priced, _ = await _price_with_option(scope, cart, lines, payment_method=payment_method)
    return priced.totals.total_cents


async def find_coupon_refusal(scope: Scope, cart: LockedCart, totals: CartTotals) -> RuleViolation | None:
    """Return why the coupon applies with no available payment method, of which a cart has none yet; None when it applies with one.

    A stated cause holds with every payment method (`domain.promotions.refusals`).
    """
    refusal = totals.coupon_refusal
    if refusal is None or refusal.details:
        return refusal
    lines = order_lines(await load_items(scope, cart.id))
    with active_scope(scope):
        methods = await fetch(_PAYMENT_METHODS, scope.store.id)
    for method in methods:
        _, with_method = await _price_lines(scope, cart, lines, payment_method=method["id"])
        if with_method is None:
            return None
        refusal = refusal if refusal.details else with_method
    return refusal


async def _price_with_option(
    scope: Scope, cart: LockedCart, lines: Sequence[PricedLine], *, payment_method: int | None = None
) -> tuple[Quote | None, PricingResult, RuleViolation | None]:
    """Price the lines as `_price_lines`, shipped by the cart's method if that is available; return its option too."""
    if cart.shipping_method_id is None:
        return (None, *await _price_lines(scope, cart, lines, payment_method=payment_method))
    with active_scope(scope):
        references = NO_REFERENCES
        if payment_method is not None:
            references = await load_references(scope, payment_method=payment_method)
        purchase = _purchase(scope, cart, lines, references)
        terms, option = await load_selected(scope, purchase, cart.shipping_method_id, cart.user_id)
        if option is not None:
            purchase = replace(purchase, references=replace(references, shipping_method=option.method))
        try:
            return (option, *await _price(scope, purchase, terms))
        except RuleViolation as error:
            # With a gift it may be too heavy for the quoted rate: shown without an option, and refused at the checkout.
            if option is None or error.reason != _UNDELIVERABLE:
                raise
        return (None, *await _price(scope, replace(purchase, references=references), terms))


async def _price_lines(
    scope: Scope, cart: LockedCart, lines: Sequence[PricedLine], *, payment_method: int | None = None
) -> tuple[PricingResult, RuleViolation | None]:
    """Price the lines like an order; without the coupon when it gives no discount. Returns the result and why it gives none."""
    with active_scope(scope):
        references = await load_references(scope, payment_method=payment_method)
        return await _price(scope, _purchase(scope, cart, lines, references))


def _purchase(
    scope: Scope, cart: LockedCart, lines: Sequence[PricedLine], references: OrderReferences = NO_REFERENCES
) -> Purchase:
    return Purchase(
        lines=lines,
        references=references,
        addresses=fill_missing_address({SHIPPING: cart.address} if cart.address is not None else {}),
        user_id=cart.user_id,
        email=cart.customer.email if cart.customer is not None else "",
        coupon_code=cart.coupon_code,
        points=requested_points(scope, cart.points_to_use, up_to=True),
    )


async def _price(
    scope: Scope, purchase: Purchase, terms: Terms | None = None
) -> tuple[PricingResult, RuleViolation | None]:
    try:
        return await price_purchase(scope, purchase, terms), None
    except RuleViolation as error:
        if error.reason != COUPON_UNAVAILABLE:
            raise
        refusal = error
    return await price_purchase(scope, replace(purchase, coupon_code="")), refusal


def _cart_totals(
    items: Sequence[PricedCartItem],
    priced: PricingResult,
    option: Quote | None,
    coupon_refusal: RuleViolation | None = None,
) -> CartTotals:
    """Apply promotional prices to the items, and add items no longer sold at their last price."""
    unavailable_cents = sum(item.total_cents for item in items if item.line is None)
    totals: OrderTotals = priced.totals
    if totals.total_cents + unavailable_cents > MAX_CENTS:
        raise ValidationFailed(
            f"the total is {totals.total_cents + unavailable_cents} cents; expected at most {MAX_CENTS}",
            field="total_cents",
            code="total_too_large",
        )
    return CartTotals(
        items=at_prices(items, priced.lines),
        shipping_option=option
        if option is None or option.price_cents == totals.shipping_cents
        else replace(option, price_cents=totals.shipping_cents),
        subtotal_cents=totals.subtotal_cents + unavailable_cents,
        discount_cents=totals.discount_cents,
        shipping_cents=totals.shipping_cents,
        tax_cents=totals.tax_cents,
        total_cents=totals.total_cents + unavailable_cents,
        coupon_refusal=coupon_refusal,
        gifts=priced.lines[len(order_lines(items)) :],
        points=priced.points,
        points_earned=priced.point_columns["points_earned"],
    )


async def _closed_totals(scope: Scope, cart: LockedCart, items: Sequence[PricedCartItem]) -> CartTotals:
    untaxed_cents = cart.subtotal_cents - cart.discount_cents + cart.shipping_cents
    method = cart.shipping_method_id
    return CartTotals(
        items=items,
        shipping_option=await load_shipping_option(scope, method, cart.shipping_cents) if method is not None else None,
        subtotal_cents=cart.subtotal_cents,
        discount_cents=cart.discount_cents,
        shipping_cents=cart.shipping_cents,
        tax_cents=cart.total_cents - untaxed_cents,
        total_cents=cart.total_cents,
    )
