"""Say what it costs to send some goods to an address, by each way there is."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from domain.destinations.places import find_destination, place_of
from domain.orders.totals import Goods, Rate, shipping_cents, weight_grams
from domain.warehouses.dispatch import Dispatch, dispatches, later, slowest
from kernel.places import BRAZIL
from kernel.scope import Scope, entered
from models.database import rows


@dataclass(frozen=True, slots=True)
class Quote:
    """Offer a way to deliver at a price in cents.

    `destination_id` is where its rate is for, null for a method's own price; `warehouse_id` where the goods leave from, null when
    nobody said or they leave from several places.
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


async def quote(
    scope: Scope,
    goods: Sequence[Goods],
    *,
    zipcode: str,
    state: str = "",
    country: str = BRAZIL,
    city: str = "",
    subtotal_cents: int,
    vendors: Collection[int | None] = (),
    buyer: int | None = None,
) -> list[Quote]:
    """List the active methods that carry the goods to the address, by position, each with its price, in three statements at most.

    A method without any rate of a destination charges its own prices everywhere; one with rates charges that of the destination the
    address belongs to, and is not offered where it has none for it. To who names no place (no CEP, state or city) every method is
    offered at its own prices, as orders without a place pay them (`domain.orders.pricing`). Nothing is charged from `free_from` on, or
    for goods that ship free. Goods that are not shipped need no method, so there is none.

    `vendors` are the sellers of the goods (null: the store itself), `buyer` who buys: their warehouses decide whether the goods can
    get there and what they add to the time of delivery. Without sellers, or without a place, no warehouse is asked.
    """
    if not any(some.is_shipped for some in goods):
        return []
    address = {"zipcode": zipcode, "state": state, "country": country, "city": city}
    methods = await methods_to(scope, address)
    dispatch = Dispatch()
    if vendors and methods.place_is_known:
        asked = set(vendors)
        dispatched = await dispatches(scope, asked, buyer=buyer, **address)
        if len(dispatched) < len(asked):
            return []
        dispatch = slowest(dispatched.values())
    return priced(methods, goods, subtotal_cents, dispatch)


@dataclass(frozen=True, slots=True)
class Methods:
    """Hold the active methods with their rates for where an address belongs."""

    rows: Sequence[Mapping[str, Any]]
    place_is_known: bool

    def of(self, vendor_id: int | None) -> Methods:
        """Leave out what is another seller's own."""
        return Methods(
            [method for method in self.rows if method["vendor_id"] in (None, vendor_id)], self.place_is_known
        )


async def methods_to(scope: Scope, address: Mapping[str, str]) -> Methods:
    """Find the methods for an address, for `priced`, in two statements."""
    place = place_of(address)
    destination = await find_destination(scope, place) if place.is_known else None
    with entered(scope):
        return Methods(await rows(_METHODS, scope.store.id, destination), place.is_known)


def priced(methods: Methods, goods: Sequence[Goods], subtotal_cents: int, dispatch: Dispatch) -> list[Quote]:
    """List the methods that carry the goods, each with its price and its time."""
    weight = weight_grams(goods)
    return [
        Quote(
            shipping_method_id=method["id"],
            public_id=method["public_id"],
            name=method["name"],
            price_cents=shipping_cents(_rate(method), goods, subtotal_cents),
            delivery_time=later(method["delivery_time"], dispatch.days),
            vendor_id=method["vendor_id"],
            destination_id=method["destination_id"],
            warehouse_id=dispatch.warehouse_id,
        )
        for method in methods.rows
        if _carries(method, weight, anywhere=not methods.place_is_known)
    ]


def _carries(method: Mapping[str, Any], weight: int, *, anywhere: bool) -> bool:
    if method["has_rates"] and method["destination_id"] is None and not anywhere:
        return False
    heaviest = [most for most in (method["max_weight_grams"], method["rate_max_weight"]) if most]
    return method["min_weight_grams"] <= weight and all(weight <= most for most in heaviest)


def _rate(method: Mapping[str, Any]) -> Rate:
    if method["destination_id"] is None:
        return Rate(
            method["base_cents"], method["per_kg_cents"], method["per_item_cents"], method["free_from_cents"]
        )
    return Rate(
        method["rate_base"], method["rate_per_kg"], method["rate_per_item"], method["free_from_cents"]
    )
