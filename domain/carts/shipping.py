"""Find the shipping options of a cart and their prices."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

import orjson

from domain.carts.locked import LockedCart
from domain.destinations.matching import DestinationAddress
from domain.promotions.calculation import Reward
from domain.purchase.lines import PricedLine, needs_shipping
from domain.purchase.references import ChosenShippingMethod, offers_method
from domain.purchase.terms import FIRST_PARAMETER, ExtraRead, Purchase, Terms, load_terms, terms_statement
from domain.purchase.totals import subtotal_cents
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
from models.connection.database import fetchrow

# What `load_terms` reads in addition: the selected method, and the warehouses that may dispatch to the address.
_SELECTED = terms_statement(
    f"""
, (SELECT json_agg(m) FROM ({method_sql("$4")}) AS m) AS methods,
(SELECT json_agg(w) FROM ({candidates_sql(*[f"${FIRST_PARAMETER + place}" for place in range(5)])}) AS w) AS warehouses
""",
    "EXISTS (SELECT FROM warehouse_usergroups g WHERE g.tenant_id = $1)",
)
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
    customer_id: int | None = None,
) -> list[ShippingOption]:
    """List the shipping options for the lines; none when nothing is shipped or no warehouse serves the address.

    Without an address, only methods with one price everywhere. A vendor's own method ships only that vendor's lines,
    and every vendor must offer the method.
    """
    totals_lines = [line.totals_line for line in lines]
    subtotal = subtotal_cents(totals_lines)
    if not needs_shipping(lines):
        return []
    vendors = _shippings_by_vendor(lines)
    quotes = await quote_shipping(
        scope,
        totals_lines,
        **_destination(address),
        subtotal_cents=subtotal,
        vendors=vendors,
        customer_id=customer_id,
    )
    return _offered(quotes, vendors)


async def load_selected_option(
    scope: Scope, purchase: Purchase, cart: LockedCart, method: int
) -> tuple[Terms, tuple[ShippingOption, ChosenShippingMethod] | None]:
    """Load what applies to the purchase of a cart by this shipping method, and its option, None when it isn't offered: one statement.

    The option is that of `find_shipping_options`.
    """
    totals_lines = [line.totals_line for line in purchase.lines]
    subtotal = subtotal_cents(totals_lines)
    vendors = _shippings_by_vendor(purchase.lines)
    arguments = partial(_candidate_arguments, vendors.keys(), cart)
    extra = ExtraRead(_SELECTED, arguments, frozenset(vendors), cart.user_id, partial(_selected_method, vendors.keys()))
    terms = await load_terms(scope, purchase, shipping_method=method, extra=extra)
    selected: _SelectedMethod | None = terms.store.extra
    if selected is None:
        return terms, None
    quotes = quote_methods(selected.methods, totals_lines, subtotal, selected.dispatch)
    options = _offered(quotes, vendors)
    return terms, (options[0], selected.chosen) if options else None


class _SelectedMethod(NamedTuple):
    """The selected method at an address, and its dispatch."""

    methods: MethodsForAddress
    dispatch: Dispatch
    chosen: ChosenShippingMethod


def _selected_method(
    vendors: Collection[int | None],
    record: Mapping[str, Any],
    address: DestinationAddress,
    destination: int | None,
    rates: Sequence[Mapping[str, Any]],
) -> _SelectedMethod | None:
    """Return the method of a row of `_SELECTED`; None where nothing is shipped, it isn't active, or a vendor can't dispatch."""
    [row] = orjson.loads(record["methods"] or "[null]")
    if not vendors or row is None:
        return None
    dispatch = Dispatch()
    if address.is_specified:
        dispatched = choose_dispatches(vendors, orjson.loads(record["warehouses"] or "[]"))
        if len(dispatched) < len(vendors):
            return None
        dispatch = slowest_dispatch(dispatched.values())
    row = {**row, "public_id": UUID(row["public_id"])}
    return _SelectedMethod(
        MethodsForAddress([method_to(row, rates, destination if address.is_specified else None)], address.is_specified),
        dispatch,
        ChosenShippingMethod.from_row(row, id=row["id"], public_id=row["public_id"], available=True, is_current=False),
    )


def _candidate_arguments(vendors: Collection[int | None], cart: LockedCart) -> Sequence[object]:
    return candidate_arguments(vendors, _destination(cart.address), cart.user_id)


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
