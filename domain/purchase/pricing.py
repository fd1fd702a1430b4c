"""Price an order: the shipping rate of its address, promotions and coupons, taxes.

What applies to it is loaded by `domain.purchase.terms` (and one statement if promotions ask for features or earlier purchases); the rest is
arithmetic. Rules:

* An explicit discount (an administrator's `discount_cents`) replaces all promotions, and promotions never change an explicit price.
  Both are honoured only for callers whose prices are trusted (`placement`).
* Reward points are a discount on what remains of the subtotal after all others, in whole points at the store's rate.
* Taxes apply to every order that is not imported.
* A shipping method with rates delivers only to a destination it has a rate for, so a customer's order without an address needs a method
  without rates. Staff, apps and the legacy API may place an order before its address is known (no CEP, state or city), at the method's own
  price.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from domain.promotions.calculation import FreeProduct
from domain.promotions.refusals import CouponRefusal, find_refusal_by_dates
from domain.promotions.rewards import PromotedLine, PromotionContext, Reward, coupon_key, evaluate_promotions
from domain.purchase.draft import SHIPPING
from domain.purchase.lines import Offer, PricedLine, catalogue_price, load_offers, needs_shipping
from domain.purchase.option_selection import OptionSelection, default_options, select_options
from domain.purchase.references import ChosenShippingMethod
from domain.purchase.terms import Purchase, Terms, load_terms
from domain.purchase.totals import (
    ChargedTax,
    MethodRate,
    OrderTotals,
    SpentPoints,
    TaxableAmount,
    add_tax,
    added_tax_cents,
    calculate_taxes,
    calculate_totals,
    spend_points,
    weight_grams,
)
from kernel.errors import RuleViolation, ValidationFailed
from kernel.fields import MAX_INTEGER
from kernel.money import allocate
from kernel.scope import STAFF_OR_APP, Scope


@dataclass(frozen=True, slots=True)
class PricingResult:
    """The prices of an order by line and in total, and how they came about."""

    lines: list[PricedLine]
    totals: OrderTotals
    taxes: list[ChargedTax]
    reward: Reward
    points: SpentPoints

    @property
    def point_columns(self) -> dict[str, int]:
        """Return the columns of the order's points."""
        return {
            "points_earned": min(self.reward.points, MAX_INTEGER),
            "points_spent": self.points.points,
            "points_cents": self.points.cents,
        }


async def price_purchase(scope: Scope, purchase: Purchase, terms: Terms | None = None) -> PricingResult:
    """Price an order. `terms` are what applies to it if they are loaded, for its lines, addresses, customer and coupon.

    Raises RuleViolation `shipping_unavailable` for a method that doesn't deliver to the address and `coupon_unavailable` for a coupon that
    gives no discount, `points_unavailable` for more points than the account has, ValidationFailed for a discount above the subtotal.
    """
    if terms is None:
        terms = await load_terms(scope, purchase)
    reward = await _reward(scope, purchase, terms)
    lines = await _lines(scope, purchase, reward)
    rate = _rate(scope, purchase, terms, lines)
    discount = reward.discount_cents if purchase.discount_cents is None else purchase.discount_cents
    subtotal = sum(line.price_cents * line.quantity for line in lines)
    points = spend_points(purchase.points, terms.balance, subtotal - discount)
    totals = calculate_totals(
        [line.totals_line for line in lines],
        rate=None if reward.free_shipping else rate,
        surcharge=purchase.references.payment_method.surcharge if purchase.references.payment_method else None,
        discount_cents=discount + points.cents,
        fixed_shipping_cents=0 if rate else purchase.fixed_shipping_cents,
    )
    taxes = (
        calculate_taxes(_taxable_amounts(terms, lines, totals, reward), terms.store.taxes) if terms.store.taxes else []
    )
    return PricingResult(lines, add_tax(totals, added_tax_cents(taxes)), taxes, reward, points)


async def _reward(scope: Scope, purchase: Purchase, terms: Terms) -> Reward:
    if purchase.discount_cents is not None or not (terms.promotions or purchase.coupon_code):
        return Reward()
    references = purchase.references
    context = PromotionContext(
        user_id=purchase.user_id,
        email=purchase.email,
        payment_method_id=references.payment_method.id if references.payment_method else None,
        shipping_method_id=references.shipping_method.id if references.shipping_method else None,
        address=terms.store.address,
        destination_id=terms.store.destination_id,
        order_id=purchase.order_id,
    )
    promoted = [
        PromotedLine(
            line.offer.id,
            line.quantity,
            line.price_cents,
            line.offer.weight_grams,
            fixed=line.fixed,
            price_agreed=purchase.prices_agreed,
        )
        for line in purchase.lines
    ]
    reward, refusal = await evaluate_promotions(
        scope, terms.promotions, promoted, context, coupon_code=purchase.coupon_code, known=terms.context
    )
    if purchase.coupon_code and not reward.coupon_accepted and not purchase.prices_agreed:
        raise await _coupon_error(scope, purchase, terms, refusal)
    return reward


async def _coupon_error(scope: Scope, purchase: Purchase, terms: Terms, refusal: CouponRefusal | None) -> RuleViolation:
    """Return the error for a coupon that gives nothing, with the cause where it can be stated."""
    key = coupon_key(purchase.coupon_code)
    if refusal is None and not any(promotion.accepts_coupon(key) for promotion in terms.promotions):
        refusal = await find_refusal_by_dates(scope, key)
    return RuleViolation(
        f"the coupon {purchase.coupon_code} is not available for this order",
        reason="coupon_unavailable",
        details=refusal.details if refusal is not None else {},
    )


async def _lines(scope: Scope, purchase: Purchase, reward: Reward) -> list[PricedLine]:
    """Return the lines at promoted prices, followed by the gifts in stock."""
    lines = list(purchase.lines)
    if reward.unit_prices:
        lines = [
            line if line.price_cents == cents else replace(line, price_cents=cents)
            for line, cents in zip(lines, reward.unit_prices, strict=True)
        ]
    if not reward.free_products or purchase.prices_agreed:
        return lines
    offers = await load_offers(scope, [free.product_id for free in reward.free_products], skip_missing=True)
    for free in reward.free_products:
        offer = offers.get(free.product_id)
        if offer is None or not offer.is_on_sale:
            continue
        ordered = sum(line.quantity for line in lines if line.offer.id == offer.id)
        with suppress(RuleViolation, ValidationFailed):
            # Of a product with combinations the first one with units for all its lines.
            selection = select_options(offer, default_options(offer, {}, ordered + free.quantity))
            if selection is None and offer.is_tracked and ordered + free.quantity > offer.stock:
                continue
            lines.append(_gift(offer, free, selection))
    return lines


def _gift(offer: Offer, free: FreeProduct, selection: OptionSelection | None) -> PricedLine:
    extra = selection.extra if selection is not None else {}
    return PricedLine(
        offer=replace(offer, free_shipping=True),
        quantity=free.quantity,
        price_cents=0,
        base_price_cents=catalogue_price(offer, selection),
        tracked=offer.is_tracked,
        fixed=True,
        extra={**extra, "promotion_id": str(free.promotion_id)},
        selection=selection,
    )


def _rate(scope: Scope, purchase: Purchase, terms: Terms, lines: Sequence[PricedLine]) -> MethodRate | None:
    shipping = purchase.references.shipping_method
    if shipping is None:
        return None
    if shipping.carrier is not None:
        return shipping.rate
    # Gifts were not quoted, and weigh too.
    is_decided = shipping.is_quoted and len(lines) == len(purchase.lines)
    if is_decided or not terms.store.rates or not needs_shipping(lines):
        return shipping.rate
    address = purchase.addresses.get(SHIPPING, {})
    has_address = any(address.get(name) for name in ("country", "state", "city", "zipcode"))
    may_omit_address = purchase.prices_agreed or scope.actor.kind in STAFF_OR_APP
    if may_omit_address and not terms.store.address.is_specified:
        return shipping.rate
    rates = [rate for rate in terms.store.rates if has_address and rate["destination_id"] == terms.store.destination_id]
    if rates:
        return _destination_rate(shipping, rates[0], lines)
    if may_omit_address and not terms.store.address.is_located:
        return shipping.rate
    raise RuleViolation("the shipping method does not deliver to this address", reason="shipping_unavailable")


def _destination_rate(
    shipping: ChosenShippingMethod, record: Mapping[str, Any], lines: Sequence[PricedLine]
) -> MethodRate:
    weight = weight_grams([line.totals_line for line in lines])
    if record["max_weight_grams"] and weight > record["max_weight_grams"]:
        raise RuleViolation(
            f"the shipping method does not carry {weight} grams to this address",
            reason="shipping_unavailable",
            details={"weight_grams": weight},
        )
    return replace(
        shipping.rate,
        base_cents=record["base_cents"],
        per_kg_cents=record["per_kg_cents"],
        per_item_cents=record["per_item_cents"],
    )


def _taxable_amounts(
    terms: Terms, lines: Sequence[PricedLine], totals: OrderTotals, reward: Reward
) -> list[TaxableAmount]:
    """Return the taxable amounts: each line less its discounts, the shipping, the surcharge."""
    own_discounts = [*reward.line_discounts, *(0 for _ in lines[len(reward.line_discounts) :])]
    remaining = [
        line.price_cents * line.quantity - discount for line, discount in zip(lines, own_discounts, strict=True)
    ]
    parts = allocate(totals.discount_cents - sum(own_discounts), remaining)
    amounts = [
        TaxableAmount(amount - part, terms.on_products.get(line.offer.id, ()), line.quantity)
        for line, amount, part in zip(lines, remaining, parts, strict=True)
    ]
    amounts.append(TaxableAmount(totals.shipping_cents, terms.store.on_shipping))
    amounts.append(TaxableAmount(totals.surcharge_cents, terms.store.on_surcharge))
    return amounts
