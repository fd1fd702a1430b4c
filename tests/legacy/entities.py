"""Say of each entity which record of the test's shop stands for it and what creation takes; the rest is in its description."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rest_facade.legacy.resource import Resource
from rest_facade.legacy.resources import RESOURCES
from tests.shop import Shop

Body = Callable[[Shop, int], dict[str, Any]]


@dataclass(frozen=True)
class Sample:
    """Name the shop's record of an entity, and make a body that creation takes, another one for each number.

    `change` makes one for an update of that record where creation's doesn't fit it.
    """

    record: str
    body: Body
    change: Body | None = None


SAMPLES: dict[str, Sample] = {
    "categories": Sample("kitchen", lambda shop, number: {"category": "x"}),
    "discussions": Sample(
        "review", lambda shop, number: {"object_type": "P", "object_id": shop.mug.number, "message": "x"}
    ),
    "extra_order_fields": Sample("order", lambda shop, number: {"nota_fiscal": "1"}),
    "orders": Sample(
        "order",
        lambda shop, number: {
            "user_id": shop.caio.number,
            "shipping_id": shop.sedex.number,
            "products": [{"product_id": shop.ebook.number, "amount": 1}],
        },
    ),
    "products": Sample("mug", lambda shop, number: {"product": "x", "price": "1"}),
    "shipments": Sample(
        "shipment",
        lambda shop, number: {
            "order_id": shop.order.number,
            "user_id": shop.caio.number,
            "products": {str(shop.order_line): 1},
        },
        lambda shop, number: {"carrier": "x", "products": {str(shop.shipped_line): 1}},
    ),
    "statuses": Sample("status_OP", lambda shop, number: {"description": "Separado"}),
    "stores": Sample("vendor", lambda shop, number: {"company": "x", "email": f"loja{number}@example.com"}),
    "usergroups": Sample("wholesale", lambda shop, number: {"usergroup": "x"}),
    "users": Sample(
        "caio",
        lambda shop, number: {"email": f"nova{number}@example.com", "password": "a good long password"},
    ),
}

BY_PATH: dict[str, Resource] = {
    path: resource for resource in RESOURCES for path in (resource.path, *resource.aliases)
}
"""Each entity by its path, and by its other names."""
LISTED: tuple[Resource, ...] = tuple(resource for resource in RESOURCES if "list" in resource.does)


def resource_of(path: str) -> Resource:
    """Give the entity that an address below `/api` is of."""
    return BY_PATH[path.strip("/").partition("/")[0].partition("?")[0]]


def record_of(shop: Shop, resource: Resource) -> Any:
    """Give the shop's record of an entity."""
    return getattr(shop, SAMPLES[resource.path].record)


def body_of(shop: Shop, resource: Resource, number: int = 0) -> dict[str, Any]:
    """Give a body that creation takes."""
    return SAMPLES[resource.path].body(shop, number)


def change_of(shop: Shop, resource: Resource) -> dict[str, Any]:
    """Give a body that an update of the shop's record takes."""
    sample = SAMPLES[resource.path]
    return (sample.change or sample.body)(shop, 0)


async def create(shop: Shop, resource: Resource, number: int = 0, **fields: Any) -> str:
    """Make a record as the owner and give its id."""
    answer = await shop.post(f"/api/{resource.path}", body_of(shop, resource, number) | fields)
    assert answer.status == 201, answer.raw
    return next(iter(answer.body.values()))


def does(resource: Resource, word: str) -> bool:
    """Say whether the entity has the operation."""
    return word in resource.does


def rows_in(resource: Resource, body: Any) -> list[dict[str, Any]]:
    """Give the rows of a list in whichever of its forms."""
    found = body[resource.name] if isinstance(body, dict) and "params" in body else body
    if isinstance(found, dict):
        assert list(found) == [row[resource.key] for row in found.values()]
        return list(found.values())
    return found
