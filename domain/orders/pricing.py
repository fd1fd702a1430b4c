"""Price an order: the shipping rate of its address, promotions and coupons, taxes.

All inputs are read in one statement (two if promotions ask for features or earlier purchases); the rest is arithmetic. Rules:

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
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from domain.destinations.matching import (
    HAS_ZIPCODES,
    DestinationAddress,
    candidate_from,
    destination_address,
    most_specific,
    width_sql,
)
from domain.orders.draft import BILLING, SHIPPING, fill_missing_address
from domain.orders.lines import PricedLine, load_offers, needs_shipping
from domain.orders.order_references import ChosenShippingMethod, OrderReferences
from domain.orders.totals import MethodRate, OrderTotals, add_tax, calculate_totals, weight_grams
from domain.points.spending import NO_POINTS, PointsRequest, SpentPoints, spend_points
from domain.promotions.calculation import ActivePromotion
from domain.promotions.rewards import (
    ONCE,
    PromotedLine,
    PromotionContext,
    Reward,
    active_sql,
    context_columns,
    coupon_key,
    evaluate_promotions,
    promotions_of_json,
)
from domain.taxes.calculation import AppliedTax, ChargedTax, TaxableAmount, added_tax_cents, calculate_taxes
from kernel.errors import RuleViolation
from kernel.fields import MAX_INTEGER
from kernel.scope import ActorKind, Scope
from models.database import Plans, fetch

# Promotions come with what their rules ask.
_TERMS = f"""
WITH active AS MATERIALIZED ({active_sql("$7", "$8")} AND $9)
SELECT
    (SELECT json_agg(entry) FROM (
        SELECT d.id, d.countries, d.states, d.cities, {HAS_ZIPCODES} AS has_zipcodes,
            {width_sql("$2::text")} AS shipped, {width_sql("$3::text")} AS billed
        FROM destinations d WHERE d.tenant_id = $1 AND d.status = 'A' AND d.deleted_at IS NULL
    ) AS entry) AS destinations,
    (SELECT json_agg(r) FROM shipping_rates r WHERE r.tenant_id = $1 AND r.shipping_method_id = $4) AS rates,
    (SELECT json_agg(entry) FROM (
        SELECT x.id, x.name, x.address_type, x.rate_type, x.rate_value, x.price_includes_tax, x.priority,
            ARRAY(SELECT l.product_id FROM product_taxes l
                WHERE l.tenant_id = x.tenant_id AND l.tax_id = x.id AND l.product_id = ANY((SELECT $5::bigint[])::bigint[])) AS products,
            EXISTS (SELECT 1 FROM shipping_method_taxes l
                WHERE l.tenant_id = x.tenant_id AND l.tax_id = x.id AND l.shipping_method_id = $4) AS on_shipping,
            EXISTS (SELECT 1 FROM payment_method_taxes l
                WHERE l.tenant_id = x.tenant_id AND l.tax_id = x.id AND l.payment_method_id = $6) AS on_surcharge,
            (SELECT json_agg(r) FROM tax_rates r WHERE r.tenant_id = x.tenant_id AND r.tax_id = x.id) AS rates
        FROM taxes x WHERE x.tenant_id = $1 AND x.status = 'A' AND x.deleted_at IS NULL
    ) AS entry) AS taxes,
    (SELECT u.points FROM users u WHERE u.tenant_id = $1 AND u.id = $10) AS balance, promotions.entries AS promotions, context.*
"""
_ONCE = f"""ARRAY(SELECT id FROM active WHERE rule::text LIKE '%"{ONCE}"%')"""
_PROMOTIONS = f"""
FROM (SELECT json_agg(active) AS entries FROM active) AS promotions LEFT JOIN LATERAL (
    SELECT {context_columns(_ONCE, "$5", "$11::bigint", "$12::text", "$13::bigint")}
) AS context ON promotions.entries IS NOT NULL
"""
FIRST_PARAMETER = 14
"""The number of the first parameter of what a statement of terms reads besides."""


def terms_statement(columns: str = "") -> str:
    """Return the statement of `load_terms`; `columns` (trusted SQL that begins with a comma) are read besides."""
    return f"{_TERMS}{columns}{_PROMOTIONS}"


_STATEMENT = terms_statement()


_MAY_OMIT_ADDRESS = (ActorKind.ADMIN, ActorKind.SYSTEM, ActorKind.APP)


@dataclass(frozen=True, slots=True, kw_only=True)
class Purchase:
    """The input of pricing.

    `discount_cents` is an explicit discount; None leaves it to promotions. With `prices_agreed` (a changed order) catalogue promotions
    don't lower the prices again and no gifts are added. `order_promotions` are the promotions such an order already has. `points` are the
    reward points to be spent.
    """

    lines: Sequence[PricedLine]
    references: OrderReferences
    addresses: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    user_id: int | None = None
    email: str = ""
    coupon_code: str = ""
    discount_cents: int | None = None
    prices_agreed: bool = False
    order_promotions: Sequence[ActivePromotion] | None = None
    order_id: int | None = None
    fixed_shipping_cents: int = 0
    points: PointsRequest = NO_POINTS


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
    taxes = calculate_taxes(_taxable_amounts(terms, lines, totals, reward), terms.taxes)
    return PricingResult(lines, add_tax(totals, added_tax_cents(taxes)), taxes, reward, points)


@dataclass(frozen=True, slots=True)
class Terms:
    """What applies to a purchase; `taxes` by id, with their rates at the order's addresses, and what each is charged on.

    `record` is the row that was read.
    """

    address: DestinationAddress
    destination_id: int | None
    rates: Sequence[Mapping[str, Any]]
    promotions: Sequence[ActivePromotion]
    taxes: Mapping[int, AppliedTax]
    on_products: Mapping[int, Sequence[int]]
    on_shipping: Sequence[int]
    on_surcharge: Sequence[int]
    balance: int
    record: Mapping[str, Any]


async def load_terms(
    scope: Scope,
    purchase: Purchase,
    *,
    shipping_method: int | None = None,
    statement: str = _STATEMENT,
    arguments: Sequence[object] = (),
) -> Terms:
    """Load what applies to a purchase by its shipping method, or by the one with this id.

    `arguments` are the parameters of what the statement (`terms_statement`) reads besides.
    """
    addresses = fill_missing_address(purchase.addresses)
    shipped = destination_address(addresses.get(SHIPPING))
    has_one_address = addresses.get(BILLING) == addresses.get(SHIPPING)
    billed = shipped if has_one_address else destination_address(addresses.get(BILLING))
    references = purchase.references
    [record] = await fetch(
        statement,
        scope.store.id,
        shipped.zipcode,
        billed.zipcode,
        references.shipping_method.id if references.shipping_method else shipping_method,
        [line.offer.id for line in purchase.lines],
        references.payment_method.id if references.payment_method else None,
        scope.now,
        coupon_key(purchase.coupon_code),
        purchase.discount_cents is None and purchase.order_promotions is None,
        purchase.user_id if purchase.points.points else None,
        purchase.user_id,
        purchase.email,
        purchase.order_id,
        *arguments,
        plans=Plans.REUSED,
    )
    destinations = _json_list(record["destinations"])
    destination = most_specific((candidate_from(candidate, "shipped") for candidate in destinations), shipped)
    destinations_by_type = {
        "S": destination,
        "B": most_specific((candidate_from(candidate, "billed") for candidate in destinations), billed),
    }
    taxes = _json_list(record["taxes"])
    promotions = purchase.order_promotions
    return Terms(
        address=shipped,
        destination_id=destination,
        rates=_json_list(record["rates"]),
        promotions=promotions_of_json(record["promotions"]) if promotions is None else promotions,
        taxes={tax["id"]: _applied(tax, destinations_by_type[tax["address_type"]]) for tax in taxes},
        on_products=_by_product(taxes),
        on_shipping=[tax["id"] for tax in taxes if tax["on_shipping"]],
        on_surcharge=[tax["id"] for tax in taxes if tax["on_surcharge"]],
        balance=record["balance"] or 0,
        record=record,
    )


def _applied(tax: Mapping[str, Any], destination: int | None) -> AppliedTax:
    """Return a tax with its rate for the destination, else its own rate."""
    rates = [rate for rate in _json_list(tax["rates"]) if rate["destination_id"] == destination]
    rate = rates[0] if rates else tax
    return AppliedTax(
        tax["id"],
        tax["name"],
        rate["rate_type"],
        rate["rate_value"],
        tax["price_includes_tax"],
        tax["priority"],
    )


def _by_product(taxes: Sequence[Mapping[str, Any]]) -> dict[int, list[int]]:
    taxes_by_product: dict[int, list[int]] = {}
    for tax in taxes:
        for product in tax["products"]:
            taxes_by_product.setdefault(product, []).append(tax["id"])
    return taxes_by_product


def _json_list(value: Any) -> list[Any]:
    return (orjson.loads(value) if isinstance(value, str | bytes) else value) or []


async def _reward(scope: Scope, purchase: Purchase, terms: Terms) -> Reward:
    if purchase.discount_cents is not None:
        return Reward()
    references = purchase.references
    context = PromotionContext(
        user_id=purchase.user_id,
        email=purchase.email,
        payment_method_id=references.payment_method.id if references.payment_method else None,
        shipping_method_id=references.shipping_method.id if references.shipping_method else None,
        address=terms.address,
        destination_id=terms.destination_id,
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
    # Of an order's own promotions nothing has been read.
    known = terms.record if purchase.order_promotions is None else None
    reward = await evaluate_promotions(
        scope, terms.promotions, promoted, context, coupon_code=purchase.coupon_code, known=known
    )
    if purchase.coupon_code and not reward.coupon_accepted and not purchase.prices_agreed:
        raise RuleViolation(
            f"the coupon {purchase.coupon_code} is not available for this order", reason="coupon_unavailable"
        )
    return reward


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
        gift = PricedLine(
            offer=replace(offer, free_shipping=True),
            quantity=free.quantity,
            price_cents=0,
            base_price_cents=offer.price_cents,
            tracked=offer.is_tracked,
            fixed=True,
            extra={"promotion_id": str(free.promotion_id)},
        )
        ordered = sum(line.quantity for line in lines if line.offer.id == offer.id)
        if not gift.tracked or ordered + gift.quantity <= offer.stock:
            lines.append(gift)
    return lines


def _rate(scope: Scope, purchase: Purchase, terms: Terms, lines: Sequence[PricedLine]) -> MethodRate | None:
    shipping = purchase.references.shipping_method
    if shipping is None:
        return None
    if not terms.rates or not needs_shipping(lines):
        return shipping.rate
    address = fill_missing_address(purchase.addresses).get(SHIPPING, {})
    has_address = any(address.get(name) for name in ("country", "state", "city", "zipcode"))
    may_omit_address = purchase.prices_agreed or scope.actor.kind in _MAY_OMIT_ADDRESS
    if may_omit_address and not terms.address.is_specified:
        return shipping.rate
    rates = [rate for rate in terms.rates if has_address and rate["destination_id"] == terms.destination_id]
    if rates:
        return _destination_rate(shipping, rates[0], lines)
    if may_omit_address and not terms.address.is_located:
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
    amounts.append(TaxableAmount(totals.shipping_cents, terms.on_shipping))
    amounts.append(TaxableAmount(totals.surcharge_cents, terms.on_surcharge))
    return amounts


def allocate(amount: int, weights: Sequence[int]) -> list[int]:
    """Divide an amount among weights, to the cent; the rounding remainder goes to the largest remainders, first come first."""
    total = sum(weights)
    if not total:
        return [0] * len(weights)
    parts = [amount * weight // total for weight in weights]
    remainders = sorted(range(len(weights)), key=lambda index: (-(amount * weights[index] % total), index))
    for index in remainders[: amount - sum(parts)]:
        parts[index] += 1
    return parts
