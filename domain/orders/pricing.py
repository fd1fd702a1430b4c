"""Price an order: what the way to its address costs, what promotions give, what taxes take.

Everything that decides is read in one statement (a second one where promotions are on); the rest is arithmetic. Who may decide what:

* A discount given by hand (an administrator's `discount_cents`) takes the place of all promotions, and a price given by hand is
  changed by none. Both are only heard from those whose prices are trusted (`place`).
* Taxes are taken of every order that is not imported, whoever places it.
* An order that names no place (no CEP, state or city) pays the shipping method's own price, whatever rates it has: staff and
  programs place such orders, and goods that are fetched have no address.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from domain.destinations.places import (
    HAS_ZIPCODES,
    DestinationAddress,
    candidate_from,
    most_specific,
    place_of,
    width_sql,
)
from domain.orders.draft import BILLING, SHIPPING, with_both
from domain.orders.lines import PricedLine, need_shipping, offers_for
from domain.orders.parties import Parties, WayToShip
from domain.orders.totals import Rate, Totals, add_up, weight_grams, with_tax
from domain.promotions.applying import (
    PromotedLine,
    PromotionContext,
    Reward,
    active_sql,
    coupon_key,
    promotions_from,
    reward_of,
)
from domain.promotions.deciding import ActivePromotion
from domain.taxes.computing import AppliedTax, Share, TaxTaken, added_cents, taxes_of
from kernel.errors import RuleViolation
from kernel.scope import Scope
from models.database import row

_FACTS = f"""
SELECT
    (SELECT jsonb_agg(to_jsonb(found)) FROM (
        SELECT d.id, d.countries, d.states, d.cities, {HAS_ZIPCODES} AS has_zipcodes,
            {width_sql("$2::text")} AS shipped, {width_sql("$3::text")} AS billed
        FROM destinations d WHERE d.tenant_id = $1 AND d.status = 'A' AND d.deleted_at IS NULL
    ) AS found) AS destinations,
    (SELECT jsonb_agg(to_jsonb(r)) FROM shipping_rates r WHERE r.tenant_id = $1 AND r.shipping_method_id = $4) AS rates,
    (SELECT jsonb_agg(to_jsonb(found)) FROM (
        SELECT x.id, x.name, x.address_type, x.rate_type, x.rate_value, x.price_includes_tax, x.priority,
            ARRAY(SELECT l.product_id FROM product_taxes l
                WHERE l.tenant_id = x.tenant_id AND l.tax_id = x.id AND l.product_id = ANY($5::bigint[])) AS products,
            EXISTS (SELECT 1 FROM shipping_method_taxes l
                WHERE l.tenant_id = x.tenant_id AND l.tax_id = x.id AND l.shipping_method_id = $4) AS on_shipping,
            EXISTS (SELECT 1 FROM payment_method_taxes l
                WHERE l.tenant_id = x.tenant_id AND l.tax_id = x.id AND l.payment_method_id = $6) AS on_surcharge,
            (SELECT jsonb_agg(to_jsonb(r)) FROM tax_rates r WHERE r.tenant_id = x.tenant_id AND r.tax_id = x.id) AS rates
        FROM taxes x WHERE x.tenant_id = $1 AND x.status = 'A' AND x.deleted_at IS NULL
    ) AS found) AS taxes,
    (SELECT jsonb_agg(to_jsonb(found)) FROM ({active_sql("$7", "$8")}) AS found WHERE $9) AS promotions
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Purchase:
    """Describe what is to be priced.

    `discount_cents` was given by hand, or null: promotions decide. `settled` lines keep their prices (an order that is changed):
    the catalogue's promotions don't lower them again, and nothing is given away. `kept` are the promotions such an order has.
    """

    lines: Sequence[PricedLine]
    parties: Parties
    addresses: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    user_id: int | None = None
    email: str = ""
    coupon_code: str = ""
    discount_cents: int | None = None
    settled: bool = False
    kept: Sequence[ActivePromotion] | None = None
    order_id: int | None = None
    known_shipping_cents: int = 0


@dataclass(frozen=True, slots=True)
class Price:
    """Hold what an order costs, line by line and in all, and what made it so."""

    lines: list[PricedLine]
    totals: Totals
    taxes: list[TaxTaken]
    reward: Reward


async def price(scope: Scope, purchase: Purchase) -> Price:
    """Price an order.

    Raises RuleViolation `shipping_unavailable` for a method that doesn't go to the address, `coupon_unavailable` for a coupon that
    gives nothing here, ValidationFailed for a discount above the subtotal.
    """
    facts = await _read(scope, purchase)
    reward = await _reward(scope, purchase, facts)
    lines = await _lines(scope, purchase, reward)
    rate = _rate(purchase, facts, lines)
    discount = reward.discount_cents if purchase.discount_cents is None else purchase.discount_cents
    totals = add_up(
        [line.goods for line in lines],
        rate=None if reward.free_shipping else rate,
        surcharge=purchase.parties.payment.surcharge if purchase.parties.payment else None,
        discount_cents=discount,
        known_shipping_cents=0 if rate else purchase.known_shipping_cents,
    )
    taken = taxes_of(_shares(facts, lines, totals, reward), facts.taxes)
    return Price(lines, with_tax(totals, added_cents(taken)), taken, reward)


# --- What is read ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Facts:
    """What was read; `taxes` are as they are at the order's addresses, by id, and the rest says what they lie on."""

    place: DestinationAddress
    destination_id: int | None
    rates: Sequence[Mapping[str, Any]]
    promotions: Sequence[ActivePromotion]
    taxes: Mapping[int, AppliedTax]
    on_products: Mapping[int, Sequence[int]]
    on_shipping: Sequence[int]
    on_surcharge: Sequence[int]


async def _read(scope: Scope, purchase: Purchase) -> _Facts:
    both = with_both(purchase.addresses)
    shipped, billed = place_of(both.get(SHIPPING)), place_of(both.get(BILLING))
    parties = purchase.parties
    found = await row(
        _FACTS,
        scope.store.id,
        shipped.zipcode,
        billed.zipcode,
        parties.shipping.id if parties.shipping else None,
        [line.offer.id for line in purchase.lines],
        parties.payment.id if parties.payment else None,
        scope.now,
        coupon_key(purchase.coupon_code),
        purchase.discount_cents is None and purchase.kept is None,
    )
    assert found is not None  # the outer SELECT has no FROM: it always gives one row
    destinations = _listed(found["destinations"])
    destination = most_specific((candidate_from(each, "shipped") for each in destinations), shipped)
    at = {
        "S": destination,
        "B": most_specific((candidate_from(each, "billed") for each in destinations), billed),
    }
    taxes = _listed(found["taxes"])
    promotions = purchase.kept
    return _Facts(
        place=shipped,
        destination_id=destination,
        rates=_listed(found["rates"]),
        promotions=promotions_from(_listed(found["promotions"])) if promotions is None else promotions,
        taxes={tax["id"]: _applied(tax, at[tax["address_type"]]) for tax in taxes},
        on_products=_by_product(taxes),
        on_shipping=[tax["id"] for tax in taxes if tax["on_shipping"]],
        on_surcharge=[tax["id"] for tax in taxes if tax["on_surcharge"]],
    )


def _applied(tax: Mapping[str, Any], destination: int | None) -> AppliedTax:
    """Give a tax with the rate of the destination, else with its own."""
    rates = [rate for rate in _listed(tax["rates"]) if rate["destination_id"] == destination]
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
    found: dict[int, list[int]] = {}
    for tax in taxes:
        for product in tax["products"]:
            found.setdefault(product, []).append(tax["id"])
    return found


def _listed(given: Any) -> list[Any]:
    return (orjson.loads(given) if isinstance(given, str | bytes) else given) or []


# --- Promotions --------------------------------------------------------------------------------------------------------------


async def _reward(scope: Scope, purchase: Purchase, facts: _Facts) -> Reward:
    if purchase.discount_cents is not None:
        return Reward()
    parties = purchase.parties
    buyer = PromotionContext(
        user_id=purchase.user_id,
        email=purchase.email,
        payment_method_id=parties.payment.id if parties.payment else None,
        shipping_method_id=parties.shipping.id if parties.shipping else None,
        place=facts.place,
        destination_id=facts.destination_id,
        order_id=purchase.order_id,
    )
    promoted = [
        PromotedLine(
            line.offer.id,
            line.quantity,
            line.price_cents,
            line.offer.weight_grams,
            fixed=line.fixed,
            settled=purchase.settled,
        )
        for line in purchase.lines
    ]
    given = await reward_of(scope, facts.promotions, promoted, buyer, coupon_code=purchase.coupon_code)
    if purchase.coupon_code and not given.coupon_accepted and not purchase.settled:
        raise RuleViolation(
            f"the coupon {purchase.coupon_code} is not available for this order", reason="coupon_unavailable"
        )
    return given


async def _lines(scope: Scope, purchase: Purchase, reward: Reward) -> list[PricedLine]:
    """Give the lines at their promoted prices, and behind them what is given away, as far as there is any."""
    lines = list(purchase.lines)
    if reward.unit_prices:
        lines = [
            replace(line, price_cents=cents) for line, cents in zip(lines, reward.unit_prices, strict=True)
        ]
    if not reward.free_products or purchase.settled:
        return lines
    offers = await offers_for(scope, [free.product_id for free in reward.free_products], some_gone=True)
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
        sold = sum(line.quantity for line in lines if line.offer.id == offer.id)
        if not gift.tracked or sold + gift.quantity <= offer.stock:
            lines.append(gift)
    return lines


# --- Shipping ----------------------------------------------------------------------------------------------------------------


def _rate(purchase: Purchase, facts: _Facts, lines: Sequence[PricedLine]) -> Rate | None:
    shipping = purchase.parties.shipping
    if shipping is None:
        return None
    if not facts.rates or not facts.place.is_known or not need_shipping(lines):
        return shipping.rate
    rates = [rate for rate in facts.rates if rate["destination_id"] == facts.destination_id]
    if not rates:
        raise RuleViolation(
            "the shipping method does not deliver to this address", reason="shipping_unavailable"
        )
    return _rate_there(shipping, rates[0], lines)


def _rate_there(shipping: WayToShip, found: Mapping[str, Any], lines: Sequence[PricedLine]) -> Rate:
    weight = weight_grams([line.goods for line in lines])
    if found["max_weight_grams"] and weight > found["max_weight_grams"]:
        raise RuleViolation(
            f"the shipping method does not carry {weight} grams to this address",
            reason="shipping_unavailable",
            details={"weight_grams": weight},
        )
    return replace(
        shipping.rate,
        base_cents=found["base_cents"],
        per_kg_cents=found["per_kg_cents"],
        per_item_cents=found["per_item_cents"],
    )


# --- Taxes -------------------------------------------------------------------------------------------------------------------


def _shares(facts: _Facts, lines: Sequence[PricedLine], totals: Totals, reward: Reward) -> list[Share]:
    """Give what is taxed: each line less its discount and its part of the order's, the shipping, the surcharge."""
    own = [*reward.line_discounts, *(0 for _ in lines[len(reward.line_discounts) :])]
    left = [line.price_cents * line.quantity - taken for line, taken in zip(lines, own, strict=True)]
    parts = spread(totals.discount_cents - sum(own), left)
    shares = [
        Share(amount - part, facts.on_products.get(line.offer.id, ()), line.quantity)
        for line, amount, part in zip(lines, left, parts, strict=True)
    ]
    shares.append(Share(totals.shipping_cents, facts.on_shipping))
    shares.append(Share(totals.surcharge_cents, facts.on_surcharge))
    return shares


def spread(amount: int, weights: Sequence[int]) -> list[int]:
    """Divide an amount among weights, to the cent: what rounding down leaves goes to the largest remainders, the first first."""
    whole = sum(weights)
    if not whole:
        return [0] * len(weights)
    parts = [amount * weight // whole for weight in weights]
    remainders = sorted(range(len(weights)), key=lambda place: (-(amount * weights[place] % whole), place))
    for place in remainders[: amount - sum(parts)]:
        parts[place] += 1
    return parts
