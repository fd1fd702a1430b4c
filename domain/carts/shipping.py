"""Say how a cart can travel and at which price."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from domain.orders.lines import PricedLine, need_shipping
from domain.promotions.deciding import Reward
from domain.shipping.quotes import quote
from kernel.places import BRAZIL
from kernel.scope import Scope, entered
from models.database import row

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
    scope: Scope,
    lines: Sequence[PricedLine],
    address: Mapping[str, str] | None,
    subtotal_cents: int,
    buyer: int | None = None,
) -> list[Way]:
    """List the ways in which the goods can travel to the address; none where nothing is shipped, or no warehouse sends it there.

    Without an address it is those that charge the same everywhere. A vendor's own way carries that vendor's goods only.
    """
    if not need_shipping(lines):
        return []
    senders = {line.offer.vendor_id for line in lines if line.goods.is_shipped}
    to = address or {}
    quotes = await quote(
        scope,
        [line.goods for line in lines],
        zipcode=to.get("zipcode", ""),
        state=to.get("state", ""),
        country=to.get("country") or BRAZIL,
        city=to.get("city", ""),
        subtotal_cents=subtotal_cents,
        vendors=senders,
        buyer=buyer,
    )
    return [
        Way(
            offered.shipping_method_id,
            offered.public_id,
            offered.name,
            offered.price_cents,
            offered.delivery_time,
        )
        for offered in quotes
        if offered.vendor_id is None or senders == {offered.vendor_id}
    ]


def promoted(offered: Sequence[Way], reward: Reward) -> list[Way]:
    """Give the ways at what they cost after promotions: some may be free."""
    free = reward.free_shipping_methods
    return [
        replace(way, price_cents=0) if free is None or way.shipping_method_id in free else way
        for way in offered
    ]


async def way_chosen(scope: Scope, method_id: int, price_cents: int) -> Way | None:
    """Give the way that a cart took in the end, at the price it had then."""
    with entered(scope):
        found = await row(_CHOSEN, scope.store.id, method_id)
    if found is None:
        return None
    return Way(found["id"], found["public_id"], found["name"], price_cents, found["delivery_time"])
