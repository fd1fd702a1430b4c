"""Quote the shipping of lines by all of a store's methods that ship them to an address."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from domain.carriers.quotes import ShippedUnits, find_answers
from domain.destinations.matching import cep_of, destination_address, find_destination
from domain.purchase.totals import TotalsLine
from domain.shipping.quotes import NO_VENDORS, Quote, ShippingFacts, methods_to_ask, quote_methods, slowest
from domain.warehouses.dispatch import find_dispatches
from kernel.geography import BRAZIL
from kernel.scope import Scope, active_scope
from models.connection.database import fetch

_METHODS = """
SELECT m.id, m.public_id, m.name, m.delivery_time, m.vendor_id, m.min_weight_grams, m.max_weight_grams, m.free_from_cents,
    m.base_cents, m.per_kg_cents, m.per_item_cents, m.rate_source,
    EXISTS (SELECT 1 FROM shipping_rates x WHERE x.tenant_id = m.tenant_id AND x.shipping_method_id = m.id) AS has_rates,
    r.destination_id, r.base_cents AS rate_base, r.per_kg_cents AS rate_per_kg, r.per_item_cents AS rate_per_item,
    r.max_weight_grams AS rate_max_weight
FROM shipping_methods m LEFT JOIN shipping_rates r
    ON r.tenant_id = m.tenant_id AND r.shipping_method_id = m.id AND r.destination_id = $2
WHERE m.tenant_id = $1 AND m.status = 'A' AND m.deleted_at IS NULL
ORDER BY m.position, m.id
"""


async def quote_shipping(
    scope: Scope,
    lines: Sequence[TotalsLine],
    *,
    zipcode: str,
    state: str = "",
    country: str = BRAZIL,
    city: str = "",
    subtotal_cents: int,
    vendors: Mapping[int | None, Mapping[str, Any]] = NO_VENDORS,
    customer_id: int | None = None,
    content: Sequence[ShippedUnits] = (),
) -> list[Quote]:
    """Return the active methods that ship the lines to the address, by position, with prices, in three statements at most.

    Methods whose source of rates is asked take one more, and further ones if it isn't kept what the sources say of the `content`.

    A method without rates charges its own prices everywhere, also without an address; one with rates charges that of the address's
    destination, and is omitted without one. Shipping is free from `free_from` on, and for lines with free shipping. Unshipped lines get no
    quotes.

    `vendors` are the vendors of the lines (None: the store itself) with their choice of methods, `customer_id` the customer: warehouses
    decide whether the lines can be delivered and what they add to the delivery time. Without vendors or an address, warehouses are ignored.
    """
    if not any(line.is_shipped for line in lines):
        return []
    address = {"zipcode": zipcode, "state": state, "country": country, "city": city}
    facts = await find_methods(scope, address)
    if vendors and facts.has_address:
        dispatched = await find_dispatches(scope, vendors.keys(), customer_id=customer_id, **address)
        facts = replace(facts, dispatch=slowest(vendors, dispatched))
    asked = methods_to_ask(facts, lines, vendors)
    facts = replace(facts, answers=await find_answers(scope, asked, content, cep_of(address)))
    return quote_methods(facts, lines, subtotal_cents, vendors)


async def find_methods(scope: Scope, address: Mapping[str, str]) -> ShippingFacts:
    """Load the methods for an address, in two statements."""
    parsed = destination_address(address)
    destination = await find_destination(scope, parsed) if parsed.is_specified else None
    with active_scope(scope):
        return ShippingFacts(await fetch(_METHODS, scope.store.id, destination), parsed.is_specified)
