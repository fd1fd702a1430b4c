"""Find the shipping options of a cart and their prices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import orjson

from domain.carts.locked import LockedCart
from domain.orders.lines import PricedLine, needs_shipping
from domain.orders.order_references import ChosenShippingMethod
from domain.orders.pricing import FIRST_PARAMETER, Purchase, Terms, load_terms, terms_statement
from domain.orders.vendor_shippings import offers_method
from domain.promotions.calculation import Reward
from domain.shipping.quotes import MethodsForAddress, Quote, method_sql, method_to, quote_methods, quote_shipping
from domain.warehouses.dispatch import (
    Dispatch,
    candidate_arguments,
    candidates_sql,
    choose_dispatches,
    slowest_dispatch,
)
from kernel.geography import BRAZIL
from kernel.scope import Scope, active_scope
from models.database import fetchrow

# What `load_terms` reads besides: the selected method, and the warehouses that may dispatch to the address.
_SELECTED = terms_statement(f"""
, (SELECT json_agg(m) FROM ({method_sql("$4")}) AS m) AS methods,
(SELECT json_agg(w) FROM ({candidates_sql(*[f"${FIRST_PARAMETER + place}" for place in range(5)])}) AS w) AS warehouses
""")
_LOAD = "SELECT id, public_id, name, delivery_time FROM shipping_methods WHERE tenant_id = $1 AND id = $2"


@dataclass(frozen=True, slots=True)
class ShippingOption:
    """A shipping method offered to a cart, at a price in cents."""

    shipping_method_id: int
    public_id: UUID
    name: str
    price_cents: int
    delivery_time: str


async def find_shipping_options(
    scope: Scope,
    lines: Sequence[PricedLine],
    address: Mapping[str, str] | None,
    subtotal_cents: int,
    customer_id: int | None = None,
) -> list[ShippingOption]:
    """List the shipping options for the lines; none when nothing is shipped or no warehouse serves the address.

    Without an address, only methods with one price everywhere. A vendor's own method ships only that vendor's lines,
    and every vendor must offer the method.
    """
    if not needs_shipping(lines):
        return []
    vendors = _shippings_by_vendor(lines)
    quotes = await quote_shipping(
        scope,
        [line.totals_line for line in lines],
        **_destination(address),
        subtotal_cents=subtotal_cents,
        vendors=vendors,
        customer_id=customer_id,
    )
    return _offered(quotes, vendors)


async def load_selected_option(
    scope: Scope, purchase: Purchase, cart: LockedCart, method: int, subtotal_cents: int
) -> tuple[Terms, tuple[ShippingOption, ChosenShippingMethod] | None]:
    """Load what applies to the purchase of a cart by this shipping method, and its option, None when it isn't offered: one statement.

    The option is that of `find_shipping_options`.
    """
    lines, destination = purchase.lines, _destination(cart.address)
    vendors = _shippings_by_vendor(lines)
    arguments = candidate_arguments(vendors, destination, cart.user_id)
    terms = await load_terms(scope, purchase, shipping_method=method, statement=_SELECTED, arguments=arguments)
    if not vendors:
        return terms, None
    has_address = terms.address.is_specified
    dispatch = Dispatch()
    if has_address:
        dispatched = choose_dispatches(vendors, orjson.loads(terms.record["warehouses"] or "[]"))
        if len(dispatched) < len(vendors):
            return terms, None
        dispatch = slowest_dispatch(dispatched.values())
    rows: list[dict[str, Any]] = orjson.loads(terms.record["methods"] or "[]")
    methods = [
        method_to(
            {**row, "public_id": UUID(row["public_id"])}, terms.rates, terms.destination_id if has_address else None
        )
        for row in rows
    ]
    quotes = quote_methods(
        MethodsForAddress(methods, has_address), [line.totals_line for line in lines], subtotal_cents, dispatch
    )
    options = _offered(quotes, vendors)
    if not options:
        return terms, None
    row = methods[0]
    chosen = ChosenShippingMethod.from_row(
        row, id=row["id"], public_id=row["public_id"], available=True, is_current=False
    )
    return terms, (options[0], chosen)


def _destination(address: Mapping[str, str] | None) -> dict[str, str]:
    fields = address or {}
    return {
        "zipcode": fields.get("zipcode", ""),
        "state": fields.get("state", ""),
        "country": fields.get("country") or BRAZIL,
        "city": fields.get("city", ""),
    }


def _shippings_by_vendor(lines: Sequence[PricedLine]) -> dict[int | None, Mapping[str, Any]]:
    """Return the choice of methods of each vendor whose lines are shipped."""
    return {line.offer.vendor_id: line.offer.vendor_shippings for line in lines if not line.offer.is_edp}


def _offered(quotes: Sequence[Quote], vendors: Mapping[int | None, Mapping[str, Any]]) -> list[ShippingOption]:
    return [
        ShippingOption(quote.shipping_method_id, quote.public_id, quote.name, quote.price_cents, quote.delivery_time)
        for quote in quotes
        if (quote.vendor_id is None or vendors.keys() == {quote.vendor_id})
        and all(offers_method(choice, quote.shipping_method_id, quote.public_id) for choice in vendors.values())
    ]


def apply_promotions(options: Sequence[ShippingOption], reward: Reward) -> list[ShippingOption]:
    """Return the options at their prices after promotions: some may be free."""
    free = reward.free_shipping_methods
    return [
        replace(option, price_cents=0) if free is None or option.shipping_method_id in free else option
        for option in options
    ]


async def load_shipping_option(scope: Scope, method_id: int, price_cents: int) -> ShippingOption | None:
    """Load the option of an ordered or expired cart, at the price it had then."""
    with active_scope(scope):
        record = await fetchrow(_LOAD, scope.store.id, method_id)
    if record is None:
        return None
    return ShippingOption(record["id"], record["public_id"], record["name"], price_cents, record["delivery_time"])
