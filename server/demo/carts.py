"""Leave some carts standing in a demo store: one of just now, one of yesterday with an address, one that nobody came back to."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from server.demo.acting import StoreOwner
from server.demo.assortment import DemoCatalog
from server.demo.population import DemoCustomer

# How long ago, and how many products; the oldest has expired.
_LEFT = ((timedelta(minutes=5), 1), (timedelta(days=1), 2), (timedelta(days=20), 3))


async def leave(
    owner: StoreOwner,
    shop: DemoCatalog,
    people: Sequence[DemoCustomer],
    products: Sequence[str],
    now: datetime,
) -> None:
    """Put the carts together, each for another customer; `products` are the ids of the shop's products, in their order."""
    sold = [
        product_id
        for product_id, product in zip(products, shop.products, strict=True)
        if product.status == "A" and product.stock
    ]
    for (ago, count), customer in zip(_LEFT, people, strict=False):
        at = now - ago
        given = {
            "customer_email": customer.email,
            "items": [{"product_id": product_id, "quantity": 1} for product_id in sold[:count]],
        }
        cart = await owner.do("DemoCart", at, input=given)
        address = {
            "name": f"{customer.firstname} {customer.lastname}",
            **{name: customer.address[name] for name in ("street", "number", "city", "state", "zipcode")},
        }
        await owner.do("DemoCartAddress", at, id=cart["id"], input=address)
