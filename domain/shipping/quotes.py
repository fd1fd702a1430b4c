"""Quote shipping: the price of shipping lines to an address by each available method."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from domain.destinations.matching import destination_address, find_destination
from domain.purchase.totals import MethodRate, TotalsLine, shipping_cents, weight_grams
from domain.warehouses.dispatch import Dispatch, find_dispatches, slowest_dispatch
from kernel.geography import BRAZIL
from kernel.scope import Scope, active_scope
from models.connection.database import fetch

_NUMBERS = re.compile(r"[0-9]+")


@dataclass(frozen=True, slots=True)
class Quote:
    """A shipping method offered at a price in cents.

    `destination_id` is the destination of its rate, None for the method's own price; `warehouse_id` is None when unknown or when several
    warehouses dispatch.
    """

    shipping_method_id: int
    public_id: UUID
    name: str
    price_cents: int
    delivery_time: str
    vendor_id: int | None
    destination_id: int | None
    warehouse_id: int | None = None


_METHODS = """
SELECT m.id, m.public_id, m.name, m.delivery_time, m.vendor_id, m.min_weight_grams, m.max_weight_grams, m.free_from_cents,
    m.base_cents, m.per_kg_cents, m.per_item_cents,
    EXISTS (SELECT 1 FROM shipping_rates x WHERE x.tenant_id = m.tenant_id AND x.shipping_method_id = m.id) AS has_rates,
    r.destination_id, r.base_cents AS rate_base, r.per_kg_cents AS rate_per_kg, r.per_item_cents AS rate_per_item,
    r.max_weight_grams AS rate_max_weight
FROM shipping_methods m LEFT JOIN shipping_rates r
    ON r.tenant_id = m.tenant_id AND r.shipping_method_id = m.id AND r.destination_id = $2
WHERE m.tenant_id = $1 AND m.status = 'A' AND m.deleted_at IS NULL
ORDER BY m.position, m.id
"""


def method_sql(method: str) -> str:
    """Return the SQL of an active method by its id (trusted SQL, such as `$2`), for `method_to`; parameter 1 is the store."""
    return f"""
SELECT m.id, m.public_id, m.name, m.delivery_time, m.vendor_id, m.min_weight_grams, m.max_weight_grams, m.free_from_cents,
    m.base_cents, m.per_kg_cents, m.per_item_cents
FROM shipping_methods m WHERE m.tenant_id = $1 AND m.id = {method} AND m.status = 'A' AND m.deleted_at IS NULL"""


def method_to(
    method: Mapping[str, Any], rates: Sequence[Mapping[str, Any]], destination: int | None
) -> Mapping[str, Any]:
    """Return a row of `method_sql` with its rate for a destination, as `_METHODS` does; `rates` are all rows of its rates."""
    rate = next((rate for rate in rates if rate["destination_id"] == destination), {}) if destination else {}
    return {
        **method,
        "has_rates": bool(rates),
        "destination_id": rate.get("destination_id"),
        "rate_base": rate.get("base_cents"),
        "rate_per_kg": rate.get("per_kg_cents"),
        "rate_per_item": rate.get("per_item_cents"),
        "rate_max_weight": rate.get("max_weight_grams"),
    }


async def quote_shipping(
    scope: Scope,
    lines: Sequence[TotalsLine],
    *,
    zipcode: str,
    state: str = "",
    country: str = BRAZIL,
    city: str = "",
    subtotal_cents: int,
    vendors: Collection[int | None] = (),
    customer_id: int | None = None,
) -> list[Quote]:
    """Return the active methods that ship the lines to the address, by position, with prices, in three statements at most.

    A method without rates charges its own prices everywhere, also without an address; one with rates charges that of the address's
    destination, and is omitted without one. Shipping is free from `free_from` on, and for lines with free shipping. Unshipped lines get no
    quotes.

    `vendors` are the vendors of the lines (None: the store itself), `customer_id` the customer: warehouses decide whether the lines can be
    delivered and what they add to the delivery time. Without vendors or an address, warehouses are ignored.
    """
    if not any(line.is_shipped for line in lines):
        return []
    address = {"zipcode": zipcode, "state": state, "country": country, "city": city}
    methods = await find_methods(scope, address)
    dispatch = Dispatch()
    if vendors and methods.has_address:
        vendor_ids = set(vendors)
        dispatched = await find_dispatches(scope, vendor_ids, customer_id=customer_id, **address)
        if len(dispatched) < len(vendor_ids):
            return []
        dispatch = slowest_dispatch(dispatched.values())
    return quote_methods(methods, lines, subtotal_cents, dispatch)


@dataclass(frozen=True, slots=True)
class MethodsForAddress:
    """The active methods with their rates for an address's destination."""

    rows: Sequence[Mapping[str, Any]]
    has_address: bool

    def for_vendor(self, vendor_id: int | None) -> MethodsForAddress:
        """Return the methods without other vendors' own ones."""
        return MethodsForAddress(
            [method for method in self.rows if method["vendor_id"] in (None, vendor_id)], self.has_address
        )


async def find_methods(scope: Scope, address: Mapping[str, str]) -> MethodsForAddress:
    """Load the methods for an address, for `quote_methods`, in two statements."""
    parsed = destination_address(address)
    destination = await find_destination(scope, parsed) if parsed.is_specified else None
    with active_scope(scope):
        return MethodsForAddress(await fetch(_METHODS, scope.store.id, destination), parsed.is_specified)


def quote_methods(
    methods: MethodsForAddress, lines: Sequence[TotalsLine], subtotal_cents: int, dispatch: Dispatch
) -> list[Quote]:
    """Return the methods that ship the lines, with price and delivery time."""
    weight = weight_grams(lines)
    return [
        Quote(
            shipping_method_id=method["id"],
            public_id=method["public_id"],
            name=method["name"],
            price_cents=shipping_cents(_rate(method), lines, subtotal_cents),
            delivery_time=_add_days(method["delivery_time"], dispatch.days),
            vendor_id=method["vendor_id"],
            destination_id=method["destination_id"],
            warehouse_id=dispatch.warehouse_id,
        )
        for method in methods.rows
        if _is_available(method, weight)
    ]


def _is_available(method: Mapping[str, Any], weight: int) -> bool:
    if method["has_rates"] and method["destination_id"] is None:
        return False
    max_weights = [limit for limit in (method["max_weight_grams"], method["rate_max_weight"]) if limit]
    return method["min_weight_grams"] <= weight and all(weight <= limit for limit in max_weights)


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
