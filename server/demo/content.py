"""Create content of a demo store: pages, blocks, a language, a custom status; and subscribers, call requests and testimonials."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from server.demo.catalog import COMMON
from server.demo.customers import DemoCustomer
from server.demo.owner import DemoOwner
from server.demo.pictures.uploads import Image


async def create_content(
    owner: DemoOwner,
    customers: Sequence[DemoCustomer],
    customer_ids: Sequence[str],
    products: Sequence[str],
    banner: Image | None,
    now: datetime,
) -> dict[str, str]:
    """Create all of it, and return the ids of the pages by name; `customer_ids` and `products` are the ids of existing rows.

    The page that the banner links to has its picture.
    """
    created_at = now - timedelta(days=180)
    await owner.create("language", created_at, code="en", name="English", country_code="US", status="D")
    page_ids = await _create_pages(owner, banner, created_at)
    for block in COMMON["blocks"]:
        await owner.create("block", created_at, **block)
    await _create_audience(owner, customers, customer_ids, products, now)
    return page_ids


async def _create_pages(owner: DemoOwner, banner: Image | None, at: datetime) -> dict[str, str]:
    page_ids: dict[str, str] = {}
    for position, page in enumerate(COMMON["pages"]):
        values = {**page, "parent_id": page_ids.get(page.get("parent", "")), "image": None if position else banner}
        values.pop("parent", None)
        page_ids[page["name"]] = await owner.create("page", at, **values, position=position)
    return page_ids


async def _create_audience(
    owner: DemoOwner,
    customers: Sequence[DemoCustomer],
    customer_ids: Sequence[str],
    products: Sequence[str],
    now: datetime,
) -> None:
    for index, customer in enumerate(customers[:8]):
        at = now - timedelta(days=60 - 7 * index)
        await owner.create("subscriber", at, email=customer.email, status="D" if index == 7 else "A")
    for index, request in enumerate(COMMON["call_requests"]):
        customer = customers[index % len(customers)]
        await owner.create(
            "call_request",
            now - timedelta(days=4 - index),
            name=customer.firstname,
            phone=customer.phone,
            time_from="09:00",
            time_to="12:00",
            product_id=products[index % len(products)],
            **request,
        )
    for index, testimonial in enumerate(COMMON["testimonials"]):
        review = {"object_type": "E", "customer_id": customer_ids[index % len(customer_ids)], **testimonial}
        await owner.create("review", now - timedelta(days=20 - index), **review)
