"""Find the shipping options of a cart and their prices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from domain.orders.lines import PricedLine, needs_shipping
from domain.orders.vendor_shippings import offers_method
from domain.promotions.calculation import Reward
from domain.shipping.quotes import quote_shipping
from kernel.geography import BRAZIL
from kernel.scope import Scope, active_scope
from models.database import fetchrow

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
    vendors = {line.offer.vendor_id: line.offer.vendor_shippings for line in lines if line.totals_line.is_shipped}
    destination = address or {}
    quotes = await quote_shipping(
        scope,
        [line.totals_line for line in lines],
        zipcode=destination.get("zipcode", ""),
        state=destination.get("state", ""),
        country=destination.get("country") or BRAZIL,
        city=destination.get("city", ""),
        subtotal_cents=subtotal_cents,
        vendors=vendors,
        customer_id=customer_id,
    )
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
