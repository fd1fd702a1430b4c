"""Price the shipping method that an order names itself: orders that are placed without a cart, and changed orders."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from domain.carriers.quotes import ShippedUnits, find_answers
from domain.carriers.source import TABLE, CarrierPrice
from domain.destinations.matching import cep_of
from domain.purchase.lines import PricedLine
from domain.purchase.references import ChosenShippingMethod, OrderReferences
from domain.purchase.totals import MethodRate
from kernel.errors import RuleViolation
from kernel.scope import Scope


async def with_carrier_price(
    scope: Scope, references: OrderReferences, lines: Sequence[PricedLine], address: Mapping[str, str] | None
) -> OrderReferences:
    """Return the references with the price that the source of the chosen method names; a quoted method stays, as one without a source.

    The method's own table takes the place of a source that fails. Raises RuleViolation `shipping_unavailable` where there is none, and
    where the source doesn't deliver.
    """
    method = references.shipping_method
    units = shipped_units(lines)
    if method is None or method.is_quoted or method.rate_source == TABLE or not units:
        return references
    asked = {"id": method.id, "rate_source": method.rate_source}
    answer = (await find_answers(scope, [asked], units, cep_of(address))).get(method.id)
    if answer is not None and answer.price is not None:
        return replace(references, shipping_method=_priced(method, answer.price))
    if answer is not None and not answer.failure:
        raise RuleViolation("the shipping method does not deliver to this address", reason="shipping_unavailable")
    if not method.has_table:
        raise RuleViolation("the shipping method has no price at present", reason="shipping_unavailable")
    return references


def with_quoted_price(method: ChosenShippingMethod, quote: Mapping[str, Any]) -> ChosenShippingMethod:
    """Return the method at the price that an order keeps (`CarrierPrice.record`)."""
    return _priced(method, CarrierPrice.of_record(quote))


def shipped_units(lines: Iterable[PricedLine]) -> list[ShippedUnits]:
    """Return the units that pay for their shipping, as sources of rates are asked for them."""
    return [
        ShippedUnits(line.offer.id, line.combination_id, line.quantity, line.price_cents)
        for line in lines
        if line.totals_line.pays_shipping
    ]


def _priced(method: ChosenShippingMethod, price: CarrierPrice) -> ChosenShippingMethod:
    rate = MethodRate(price.price_cents, free_from_cents=method.rate.free_from_cents)
    delivery_time = price.delivery_time or method.delivery_time
    return replace(method, rate=rate, carrier=price, delivery_time=delivery_time)
