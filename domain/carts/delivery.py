"""Say how a cart can travel and at which price."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from domain.orders.totals import Goods, Rate, shipping_cents, weight_grams
from kernel.scope import Scope, entered
from models.database import row, rows

_METHODS = """
SELECT id, public_id, name, delivery_time, min_weight_grams, max_weight_grams,
    base_cents, per_kg_cents, per_item_cents, free_from_cents
FROM shipping_methods
WHERE tenant_id = $1 AND status = 'A' AND deleted_at IS NULL
ORDER BY position, id
"""


_CHOSEN = "SELECT id, public_id, name, delivery_time FROM shipping_methods WHERE tenant_id = $1 AND id = $2"


@dataclass(frozen=True, slots=True)
class Way:
    """Offer a way to deliver, at a price in cents."""

    shipping_method_id: int
    public_id: UUID
    name: str
    price_cents: int
    delivery_time: str


async def ways(
    scope: Scope, goods: Sequence[Goods], address: Mapping[str, str] | None, subtotal_cents: int
) -> list[Way]:
    """List the ways in which the goods can travel to the address; none where nothing is shipped."""
    if not any(some.is_shipped for some in goods):
        return []
    with entered(scope):
        methods = await rows(_METHODS, scope.store.id)
    weight = weight_grams(goods)
    return [_way(method, goods, subtotal_cents) for method in methods if _carries(method, weight)]


async def way_chosen(scope: Scope, method_id: int, price_cents: int) -> Way | None:
    """Give the way that a cart took in the end, at the price it had then."""
    with entered(scope):
        found = await row(_CHOSEN, scope.store.id, method_id)
    if found is None:
        return None
    return Way(found["id"], found["public_id"], found["name"], price_cents, found["delivery_time"])


def _carries(method: Mapping[str, Any], weight: int) -> bool:
    heaviest = method["max_weight_grams"]
    return bool(method["min_weight_grams"] <= weight and not (heaviest and weight > heaviest))


def _way(method: Mapping[str, Any], goods: Sequence[Goods], subtotal_cents: int) -> Way:
    rate = Rate(
        method["base_cents"], method["per_kg_cents"], method["per_item_cents"], method["free_from_cents"]
    )
    return Way(
        shipping_method_id=method["id"],
        public_id=method["public_id"],
        name=method["name"],
        price_cents=shipping_cents(rate, goods, subtotal_cents),
        delivery_time=method["delivery_time"],
    )
