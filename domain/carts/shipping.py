"""List the shipping options of a cart and their prices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from domain.promotions.calculation import Reward
from domain.purchase.chosen_methods import shipped_units
from domain.purchase.lines import PricedLine, needs_shipping
from domain.purchase.totals import subtotal_cents
from domain.shipping.address_quotes import quote_shipping
from domain.shipping.quotes import Quote, full_address, shippings_by_vendor
from kernel.scope import Scope, active_scope
from models.connection.database import fetchrow

_LOAD = "SELECT id, public_id, name, delivery_time FROM shipping_methods WHERE tenant_id = $1 AND id = $2"


async def find_shipping_options(
    scope: Scope,
    lines: Sequence[PricedLine],
    address: Mapping[str, str] | None,
    customer_id: int | None = None,
) -> list[Quote]:
    """List the shipping options for the lines; none when nothing is shipped or no warehouse serves the address.

    Without an address, only methods with one price everywhere.
    """
    totals_lines = [line.totals_line for line in lines]
    subtotal = subtotal_cents(totals_lines)
    if not needs_shipping(lines):
        return []
    return await quote_shipping(
        scope,
        totals_lines,
        **full_address(address),
        subtotal_cents=subtotal,
        vendors=shippings_by_vendor(lines),
        customer_id=customer_id,
        content=shipped_units(lines),
    )


def apply_promotions(options: Sequence[Quote], reward: Reward) -> list[Quote]:
    """Return the options at their prices after promotions: some may be free."""
    free = reward.free_shipping_methods
    return [
        replace(option, price_cents=0) if free is None or option.shipping_method_id in free else option
        for option in options
    ]


async def load_shipping_option(scope: Scope, method_id: int, price_cents: int) -> Quote | None:
    """Load the option of an ordered or expired cart, at the price it had then."""
    with active_scope(scope):
        record = await fetchrow(_LOAD, scope.store.id, method_id)
    if record is None:
        return None
    return Quote(record["id"], record["public_id"], record["name"], price_cents, record["delivery_time"])
