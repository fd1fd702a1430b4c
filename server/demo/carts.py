"""Create carts in a demo store: a current one, one of yesterday with an address, and an expired one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from server.demo.catalog import DemoCatalog
from server.demo.customers import DemoCustomer
from server.demo.owner import DemoOwner

# Age and number of products; the oldest has expired.
_CARTS = ((timedelta(minutes=5), 1), (timedelta(days=1), 2), (timedelta(days=20), 3))


async def create_carts(
    owner: DemoOwner, catalog: DemoCatalog, customers: Sequence[DemoCustomer], products: Sequence[str], now: datetime
) -> None:
    """Create the carts, each for another customer; `products` are the ids of the catalog's products, in order."""
    product_ids = [
        product_id
        for product_id, product in zip(products, catalog.products, strict=True)
        if product.status == "A" and product.stock
    ]
    for (age, count), customer in zip(_CARTS, customers, strict=False):
        at = now - age
        values = {
            "customer_email": customer.email,
            "items": [{"product_id": product_id, "quantity": 1} for product_id in product_ids[:count]],
        }
        cart = await owner.execute("cart_create", at, input=values)
        address = {
            "name": f"{customer.firstname} {customer.lastname}",
            **{name: customer.address[name] for name in ("street", "number", "city", "state", "zipcode")},
        }
        await owner.execute("cart_set_address", at, id=cart["id"], input=address)
