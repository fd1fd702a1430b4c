"""Quote shipping: the price of shipping lines to an address by each available method, in two steps.

facts     `ShippingFacts`: the methods with their rates for the address, and the dispatch of the lines. `address_quotes` loads those of all
          methods, `load_selected` those of one with the terms of a purchase, in the same statement.
options   `quote_methods`, a pure function: which of the methods ship the lines, and at what price.

A purchase takes its method from a quote (`Quote.method`), and its placement doesn't decide again. A further source of rates loads facts of
its own, before any transaction if it is asked over the network.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Any
from uuid import UUID

import orjson

from domain.carriers.quotes import CarrierAnswer, find_answers
from domain.carriers.source import TABLE, CarrierPrice
from domain.destinations.matching import DestinationAddress, cep_of
from domain.purchase.chosen_methods import shipped_units
from domain.purchase.draft import SHIPPING
from domain.purchase.lines import PricedLine
from domain.purchase.references import ChosenShippingMethod, offers_method
from domain.purchase.terms import FIRST_PARAMETER, ExtraRead, Purchase, Terms, load_terms, terms_statement
from domain.purchase.totals import MethodRate, TotalsLine, shipping_cents, subtotal_cents, weight_grams
from domain.warehouses.dispatch import (
    Dispatch,
    candidate_arguments,
    candidates_sql,
    choose_dispatches,
    slowest_dispatch,
)
from kernel.geography import BRAZIL
from kernel.scope import Scope

_NUMBERS = re.compile(r"[0-9]+")
_FREE, _AT_ONCE = MethodRate(), Dispatch()
NO_VENDORS: Mapping[int | None, Mapping[str, Any]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Quote:
    """A shipping method offered at a price in cents, which is that of its `rate`.

    `destination_id` is the destination of its rate, None for the method's own price; `warehouse_id` is None when unknown or when several
    warehouses dispatch.
    """

    shipping_method_id: int
    public_id: UUID
    name: str
    price_cents: int
    delivery_time: str
    vendor_id: int | None = None
    destination_id: int | None = None
    warehouse_id: int | None = None
    rate: MethodRate = _FREE
    rate_source: str = TABLE
    carrier: CarrierPrice | None = None

    @property
    def method(self) -> ChosenShippingMethod:
        """Return the method as a purchase has it, with the rate that was quoted."""
        return ChosenShippingMethod(
            self.shipping_method_id,
            self.public_id,
            self.rate,
            self.delivery_time,
            is_quoted=True,
            rate_source=self.rate_source,
            carrier=self.carrier,
        )


@dataclass(frozen=True, slots=True)
class ShippingFacts:
    """What decides about the shipping of lines: active methods with their rates for an address's destination, by position.

    `dispatch` is that of the slowest vendor, None where one can't dispatch to the address; `answers` are those of the methods' sources of
    rates (`domain.carriers.quotes`).
    """

    methods: Sequence[Mapping[str, Any]]
    has_address: bool
    dispatch: Dispatch | None = _AT_ONCE
    answers: Mapping[int, CarrierAnswer] = field(default_factory=dict)


_NO_SHIPPING = ShippingFacts((), False, None)

# What `load_terms` reads in addition: the selected method, and the warehouses that may dispatch to the address.
_SELECTED = terms_statement(
    f"""
, (SELECT json_agg(m) FROM (
    SELECT m.id, m.public_id, m.name, m.delivery_time, m.vendor_id, m.min_weight_grams, m.max_weight_grams, m.free_from_cents,
        m.base_cents, m.per_kg_cents, m.per_item_cents, m.rate_source
    FROM shipping_methods m WHERE m.tenant_id = $1 AND m.id = $4 AND m.status = 'A' AND m.deleted_at IS NULL
) AS m) AS methods,
(SELECT json_agg(w) FROM ({candidates_sql(*[f"${FIRST_PARAMETER + place}" for place in range(5)])}) AS w) AS warehouses
""",
    "EXISTS (SELECT FROM warehouse_usergroups g WHERE g.tenant_id = $1)",
)


async def load_selected(
    scope: Scope, purchase: Purchase, method: int, customer_id: int | None
) -> tuple[Terms, Quote | None]:
    """Load what applies to a purchase by this shipping method, and its quote, None when it isn't offered: one statement.

    The quote is that of `address_quotes.quote_shipping`; `customer_id` is the customer whom warehouses serve.
    """
    vendors = shippings_by_vendor(purchase.lines)
    arguments = partial(_candidate_arguments, vendors.keys(), purchase.addresses.get(SHIPPING), customer_id)
    extra = ExtraRead(_SELECTED, arguments, frozenset(vendors), customer_id, partial(_selected_facts, vendors.keys()))
    terms = await load_terms(scope, purchase, shipping_method=method, extra=extra)
    lines = [line.totals_line for line in purchase.lines]
    facts: ShippingFacts = terms.store.extra
    if asked := methods_to_ask(facts, lines, vendors):
        cep = cep_of(full_address(purchase.addresses.get(SHIPPING)))
        facts = replace(facts, answers=await find_answers(scope, asked, shipped_units(purchase.lines), cep))
    quotes = quote_methods(facts, lines, subtotal_cents(lines), vendors)
    return terms, quotes[0] if quotes else None


def quote_methods(
    facts: ShippingFacts,
    lines: Sequence[TotalsLine],
    subtotal_cents: int,
    vendors: Mapping[int | None, Mapping[str, Any]] = NO_VENDORS,
) -> list[Quote]:
    """Return the methods that ship the lines, with price and delivery time.

    `vendors` are those of the lines with their choice of methods: every vendor must offer a method, and a vendor's own one ships only that
    vendor's lines.
    """
    if facts.dispatch is None:
        return []
    weight = weight_grams(lines)
    is_paid = any(line.pays_shipping for line in lines)
    quotes = []
    for method in facts.methods:
        if _is_carried(method, weight) and _is_offered(method, vendors):
            priced = _priced(method, facts.answers.get(method["id"]), weight, is_paid=is_paid)
            if priced is not None:
                quotes.append(_quote(method, priced, facts.dispatch, lines, subtotal_cents))
    return quotes


def _priced(
    method: Mapping[str, Any], answer: CarrierAnswer | None, weight: int, *, is_paid: bool
) -> tuple[MethodRate, CarrierPrice | None] | None:
    """Return the rate of a method, with the price that its source named; None where it doesn't deliver.

    The method's own table takes the place of a source that fails, if it has one. What ships for free is free by any source.
    """
    if asks_source(method) and is_paid:
        if answer is not None and not answer.failure:
            return carrier_rate(answer.price, method["free_from_cents"])
        if not has_table(method):
            return None
    elif asks_source(method):
        return _FREE, None
    return (_rate(method), None) if _has_rate(method, weight) else None


def carrier_rate(
    price: CarrierPrice | None, free_from_cents: int | None
) -> tuple[MethodRate, CarrierPrice | None] | None:
    """Return the rate of the price that a source named; None where it doesn't deliver."""
    return (MethodRate(price.price_cents, free_from_cents=free_from_cents), price) if price is not None else None


def has_table(method: Mapping[str, Any]) -> bool:
    """Return whether a method has prices of its own: rates for destinations, or a price everywhere."""
    return bool(method["has_rates"] or method["base_cents"] or method["per_kg_cents"] or method["per_item_cents"])


def _quote(
    method: Mapping[str, Any],
    priced: tuple[MethodRate, CarrierPrice | None],
    dispatch: Dispatch,
    lines: Sequence[TotalsLine],
    subtotal_cents: int,
) -> Quote:
    rate, carrier = priced
    delivery_time = (carrier.delivery_time if carrier is not None else "") or method["delivery_time"]
    return Quote(
        shipping_method_id=method["id"],
        public_id=method["public_id"],
        name=method["name"],
        price_cents=shipping_cents(rate, lines, subtotal_cents),
        delivery_time=_add_days(delivery_time, dispatch.days),
        vendor_id=method["vendor_id"],
        destination_id=method["destination_id"],
        warehouse_id=dispatch.warehouse_id,
        rate=rate,
        rate_source=method["rate_source"],
        carrier=carrier,
    )


def methods_to_ask(
    facts: ShippingFacts, lines: Sequence[TotalsLine], vendors: Mapping[int | None, Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """Return the methods that may ship the lines at the price of a source that has to be asked."""
    weight = weight_grams(lines)
    return [
        method
        for method in facts.methods
        if facts.dispatch is not None
        and asks_source(method)
        and _is_carried(method, weight)
        and _is_offered(method, vendors)
    ]


def asks_source(method: Mapping[str, Any]) -> bool:
    """Return whether the price of a method comes from a source over the network."""
    return bool(method["rate_source"] != TABLE)


def shippings_by_vendor(lines: Sequence[PricedLine]) -> dict[int | None, Mapping[str, Any]]:
    """Return the choice of methods of each vendor whose lines are shipped."""
    return {line.offer.vendor_id: line.offer.vendor_shippings for line in lines if not line.offer.is_edp}


def full_address(address: Mapping[str, str] | None) -> dict[str, str]:
    """Return what shipping asks of an address, of Brazil where it names no country."""
    fields = address or {}
    return {
        "zipcode": fields.get("zipcode", ""),
        "state": fields.get("state", ""),
        "country": fields.get("country") or BRAZIL,
        "city": fields.get("city", ""),
    }


def _candidate_arguments(
    vendors: Collection[int | None], address: Mapping[str, str] | None, customer_id: int | None
) -> Sequence[object]:
    return candidate_arguments(vendors, full_address(address), customer_id)


def _selected_facts(
    vendors: Collection[int | None],
    record: Mapping[str, Any],
    address: DestinationAddress,
    destination: int | None,
    rates: Sequence[Mapping[str, Any]],
) -> ShippingFacts:
    """Return the facts of a row of `_SELECTED`, whose method has these `rates`; no methods where nothing is shipped."""
    if not vendors:
        return _NO_SHIPPING
    dispatch: Dispatch | None = _AT_ONCE
    if address.is_specified:
        dispatch = slowest(vendors, choose_dispatches(vendors, orjson.loads(record["warehouses"] or "[]")))
    to = destination if address.is_specified else None
    methods = [_with_rate(method, rates, to) for method in orjson.loads(record["methods"] or "[]")]
    return ShippingFacts(methods, address.is_specified, dispatch)


def slowest(vendors: Collection[int | None], dispatched: Mapping[int | None, Dispatch]) -> Dispatch | None:
    """Return the slowest dispatch; None where a vendor can't dispatch."""
    return slowest_dispatch(dispatched.values()) if len(dispatched) == len(vendors) else None


def _with_rate(
    method: Mapping[str, Any], rates: Sequence[Mapping[str, Any]], destination: int | None
) -> Mapping[str, Any]:
    """Return the method of `_SELECTED` with its rate for a destination, as `address_quotes` reads it; `rates` are all rows of its rates."""
    rate = next((rate for rate in rates if rate["destination_id"] == destination), {}) if destination else {}
    return {
        **method,
        "public_id": UUID(method["public_id"]),
        "has_rates": bool(rates),
        "destination_id": rate.get("destination_id"),
        "rate_base": rate.get("base_cents"),
        "rate_per_kg": rate.get("per_kg_cents"),
        "rate_per_item": rate.get("per_item_cents"),
        "rate_max_weight": rate.get("max_weight_grams"),
    }


def _is_offered(method: Mapping[str, Any], vendors: Mapping[int | None, Mapping[str, Any]]) -> bool:
    if vendors and method["vendor_id"] is not None and vendors.keys() != {method["vendor_id"]}:
        return False
    return all(offers_method(choice, method["id"], method["public_id"]) for choice in vendors.values())


def _is_carried(method: Mapping[str, Any], weight: int) -> bool:
    return bool(method["min_weight_grams"] <= weight <= (method["max_weight_grams"] or weight))


def _has_rate(method: Mapping[str, Any], weight: int) -> bool:
    """Return whether the method's own table has a price for the destination and the weight."""
    if method["has_rates"] and method["destination_id"] is None:
        return False
    return bool(weight <= (method["rate_max_weight"] or weight))


def _rate(method: Mapping[str, Any]) -> MethodRate:
    if method["destination_id"] is None:
        return MethodRate(
            method["base_cents"], method["per_kg_cents"], method["per_item_cents"], method["free_from_cents"]
        )
    return MethodRate(method["rate_base"], method["rate_per_kg"], method["rate_per_item"], method["free_from_cents"])


def _add_days(delivery_time: str, days: int) -> str:
    """Add days to a delivery time in text form: `2 a 4 dias` and 3 days are `5 a 7 dias`.

    A text without a number of days gets the days appended.
    """
    if not days:
        return delivery_time
    shifted, numbers = _NUMBERS.subn(lambda match: str(int(match[0]) + days), delivery_time)
    if numbers and not re.search(r"\b(h|horas?|hours?)\b", delivery_time, re.IGNORECASE):
        return shifted
    days_text = "1 dia" if days == 1 else f"{days} dias"
    return f"{delivery_time} + {days_text}" if delivery_time.strip() else days_text
