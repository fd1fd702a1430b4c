"""Name each entity's record in the test store and the bodies that creation and update accept."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rest_facade.legacy import boxes, product_combinations
from rest_facade.legacy.resource import Resource
from rest_facade.legacy.resources import RESOURCES
from tests.b2b_records import CNPJ
from tests.shop import Shop

Body = Callable[[Shop, int], dict[str, Any]]


@dataclass(frozen=True)
class Sample:
    """The record of an entity and a body for its creation, a different one for each number.

    `update_body` is the body of an update of that record where the creation body doesn't fit.
    """

    record: str
    body: Body
    update_body: Body | None = None


def _combination(shop: Shop, number: int) -> dict[str, Any]:
    """Return variants of the mug that no combination of the store has."""
    option, variant = [(shop.size, shop.small), (shop.print, shop.dotted), (shop.print, shop.plain)][
        number % 3
    ]
    return {"combination": {str(option): variant.number}}


SAMPLES: dict[str, Sample] = {
    "business_partners": Sample("partner", lambda shop, number: {"company": "x", "CNPJ": CNPJ}),
    "credit_score": Sample("partner", lambda shop, number: {"CNPJ": CNPJ}),
    "manager_transactions": Sample(
        "transaction", lambda shop, number: {"manager_id": shop.manager.number, "amount": "1.00"}
    ),
    "managers": Sample("manager", lambda shop, number: {"name": "x", "email": "x@example.com"}),
    "mix_products": Sample("mix", lambda shop, number: {"product_id": shop.mug.number}),
    "order_limit": Sample(
        "partner",
        lambda shop, number: {
            "user_id": shop.caio.number,
            "company_id": shop.vendor.number,
            "limit_amount": "9000.00",
        },
    ),
    "payment_codes": Sample("terms", lambda shop, number: {"code": f"C{number}"}),
    "blocks": Sample("block", lambda shop, number: {"type": "banner", "name": "x"}),
    "call_requests": Sample("call_request", lambda shop, number: {"phone": "81999990000"}),
    "languages": Sample("language", lambda shop, number: {}),
    "pages": Sample("page", lambda shop, number: {"page": "x"}),
    "settings": Sample("setting", lambda shop, number: {}),
    "subscribers": Sample("subscriber", lambda shop, number: {"email": f"leitor{number}@example.com"}),
    "categories": Sample("kitchen", lambda shop, number: {"category": "x"}),
    "combinations": Sample(
        "combination",
        lambda shop, number: {"product_id": shop.mug.number, **_combination(shop, number)},
    ),
    product_combinations.COMBINATIONS.path: Sample(
        "combination",
        lambda shop, number: {**_combination(shop, number), "combinations": [_combination(shop, number)]},
    ),
    boxes.BOXES.path: Sample("box", lambda shop, number: {}),
    "exceptions": Sample(
        "exception",
        lambda shop, number: {"product_id": shop.mug.number, "type": "F", **_combination(shop, number)},
    ),
    "features": Sample("material", lambda shop, number: {"description": "x"}),
    "options": Sample("print", lambda shop, number: {"option_name": "x"}),
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
    "payments": Sample("pix", lambda shop, number: {"payment": "x"}),
    "shippings": Sample("sedex", lambda shop, number: {"shipping": "x"}),
    "destinations": Sample("south", lambda shop, number: {}),
    "taxes": Sample("icms", lambda shop, number: {"tax": "x"}),
    "promotions": Sample("ten", lambda shop, number: {"name": "x"}),
    "statuses": Sample("status_OP", lambda shop, number: {"description": "Separado"}),
    "stores": Sample("vendor", lambda shop, number: {"company": "x", "email": f"loja{number}@example.com"}),
    "usergroups": Sample("wholesale", lambda shop, number: {"usergroup": "x"}),
    "users": Sample(
        "caio",
        lambda shop, number: {"email": f"nova{number}@example.com", "password": "a good long password"},
    ),
    "warehouses": Sample("warehouse", lambda shop, number: {"name": f"Galpão {number}"}),
}

BY_PATH: dict[str, Resource] = {
    path: resource for resource in RESOURCES for path in (resource.path, *resource.aliases)
}
BY_PATH |= {
    product_combinations.COMBINATIONS.path: product_combinations.COMBINATIONS,
    "productBoxes": boxes.BOXES,
    "productBoxesDescriptions": boxes.BOXES,
}
"""Each entity by its path and its aliases."""
LISTED: tuple[Resource, ...] = tuple(resource for resource in RESOURCES if "list" in resource.actions)


def resource_of(path: str) -> Resource:
    """Return the entity of an address below `/api`."""
    name = path.strip("/").partition("?")[0]
    return BY_PATH[name if name in BY_PATH else name.partition("/")[0]]


def record_of(shop: Shop, resource: Resource) -> Any:
    """Return the store's record of an entity."""
    return getattr(shop, SAMPLES[resource.path].record)


def path_of(shop: Shop, resource: Resource) -> str:
    """Return the address of an entity's list, below `/api`."""
    return resource.path.replace("{product_id}", str(shop.mug))


def body_of(shop: Shop, resource: Resource, number: int = 0) -> dict[str, Any]:
    """Return a body for creation."""
    return SAMPLES[resource.path].body(shop, number)


def update_body_of(shop: Shop, resource: Resource) -> dict[str, Any]:
    """Return a body for an update of the store's record."""
    sample = SAMPLES[resource.path]
    return (sample.update_body or sample.body)(shop, 0)


async def create(shop: Shop, resource: Resource, number: int = 0, **fields: Any) -> str:
    """Create a record as the owner and return its id."""
    answer = await shop.post(f"/api/{path_of(shop, resource)}", body_of(shop, resource, number) | fields)
    assert answer.status == 201, answer.raw
    return next(iter(answer.body.values()))


def supports(resource: Resource, action: str) -> bool:
    """Return whether the entity has the action."""
    return action in resource.actions


def rows_in(resource: Resource, body: Any) -> list[dict[str, Any]]:
    """Return the rows of a list in any of its forms."""
    rows = body[resource.name] if isinstance(body, dict) and "params" in body else body
    if isinstance(rows, dict):
        assert list(rows) == [row[resource.key] for row in rows.values()]
        return list(rows.values())
    return rows
