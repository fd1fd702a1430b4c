"""Name each entity's record in the test store and the bodies that creation and update accept."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rest_facade.legacy import boxes, product_combinations
from rest_facade.legacy.resource import Resource
from rest_facade.legacy.resources import RESOURCES
from tests.harness.sample_records import CNPJ
from tests.harness.sample_store import SampleStore

Body = Callable[[SampleStore, int], dict[str, Any]]


@dataclass(frozen=True)
class Sample:
    """The record of an entity and a body for its creation, a different one for each number.

    `update_body` is the body of an update of that record where the creation body doesn't fit.
    """

    record: str
    body: Body
    update_body: Body | None = None


def _combination(sample: SampleStore, number: int) -> dict[str, Any]:
    """Return variants of the mug that no combination of the store has."""
    option, variant = [
        (sample.size, sample.small),
        (sample.print, sample.dotted),
        (sample.print, sample.plain),
    ][number % 3]
    return {"combination": {str(option): variant.number}}


SAMPLES: dict[str, Sample] = {
    "business_partners": Sample("partner", lambda sample, number: {"company": "x", "CNPJ": CNPJ}),
    "credit_score": Sample("partner", lambda sample, number: {"CNPJ": CNPJ}),
    "manager_transactions": Sample(
        "transaction", lambda sample, number: {"manager_id": sample.manager.number, "amount": "1.00"}
    ),
    "managers": Sample("manager", lambda sample, number: {"name": "x", "email": "x@example.com"}),
    "mix_products": Sample("mix", lambda sample, number: {"product_id": sample.mug.number}),
    "order_limit": Sample(
        "partner",
        lambda sample, number: {
            "user_id": sample.caio.number,
            "company_id": sample.vendor.number,
            "limit_amount": "9000.00",
        },
    ),
    "payment_codes": Sample("terms", lambda sample, number: {"code": f"C{number}"}),
    "blocks": Sample("block", lambda sample, number: {"type": "banner", "name": "x"}),
    "call_requests": Sample("call_request", lambda sample, number: {"phone": "81999990000"}),
    "carts": Sample("cart", lambda sample, number: {}),
    "languages": Sample(
        "language",
        lambda sample, number: {"lang_code": f"x{chr(97 + number)}", "name": "x"},
        lambda sample, number: {"name": "x"},
    ),
    "langvars": Sample(
        "langvar", lambda sample, number: {"name": f"text_{number}"}, lambda sample, number: {"value": "x"}
    ),
    "pages": Sample("page", lambda sample, number: {"page": "x"}),
    "settings": Sample("setting", lambda sample, number: {}),
    "subscribers": Sample("subscriber", lambda sample, number: {"email": f"leitor{number}@example.com"}),
    "categories": Sample("kitchen", lambda sample, number: {"category": "x"}),
    "combinations": Sample(
        "combination",
        lambda sample, number: {"product_id": sample.mug.number, **_combination(sample, number)},
    ),
    product_combinations.COMBINATIONS.path: Sample(
        "combination",
        lambda sample, number: {
            **_combination(sample, number),
            "combinations": [_combination(sample, number)],
        },
    ),
    boxes.BOXES.path: Sample("box", lambda sample, number: {}),
    "exceptions": Sample(
        "exception",
        lambda sample, number: {"product_id": sample.mug.number, "type": "F", **_combination(sample, number)},
    ),
    "features": Sample("material", lambda sample, number: {"description": "x"}),
    "options": Sample("print", lambda sample, number: {"option_name": "x"}),
    "discussions": Sample(
        "review", lambda sample, number: {"object_type": "P", "object_id": sample.mug.number, "message": "x"}
    ),
    "extra_order_fields": Sample("order", lambda sample, number: {"nota_fiscal": "1"}),
    "orders": Sample(
        "order",
        lambda sample, number: {
            "user_id": sample.caio.number,
            "shipping_id": sample.sedex.number,
            "products": [{"product_id": sample.ebook.number, "amount": 1}],
        },
    ),
    "products": Sample("mug", lambda sample, number: {"product": "x", "price": "1"}),
    "shipments": Sample(
        "shipment",
        lambda sample, number: {
            "order_id": sample.order.number,
            "user_id": sample.caio.number,
            "products": {str(sample.order_line): 1},
        },
        lambda sample, number: {"carrier": "x", "products": {str(sample.shipped_line): 1}},
    ),
    "payments": Sample("pix", lambda sample, number: {"payment": "x"}),
    "shippings": Sample("sedex", lambda sample, number: {"shipping": "x"}),
    "destinations": Sample("south", lambda sample, number: {}),
    "taxes": Sample("icms", lambda sample, number: {"tax": "x"}),
    "promotions": Sample("ten", lambda sample, number: {"name": "x"}),
    "statuses": Sample("status_OP", lambda sample, number: {"description": "Separado"}),
    "stores": Sample("vendor", lambda sample, number: {"company": "x", "email": f"loja{number}@example.com"}),
    "usergroups": Sample("wholesale", lambda sample, number: {"usergroup": "x"}),
    "users": Sample(
        "caio",
        lambda sample, number: {"email": f"nova{number}@example.com", "password": "a good long password"},
    ),
    "warehouses": Sample("warehouse", lambda sample, number: {"name": f"Galpão {number}"}),
}

BY_PATH: dict[str, Resource] = {path: resource for resource in RESOURCES for path in (resource.path, *resource.aliases)}
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


def record_of(sample: SampleStore, resource: Resource) -> Any:
    """Return the store's record of an entity."""
    return getattr(sample, SAMPLES[resource.path].record)


def path_of(sample: SampleStore, resource: Resource) -> str:
    """Return the address of an entity's list, below `/api`."""
    return resource.path.replace("{product_id}", str(sample.mug))


def body_of(sample: SampleStore, resource: Resource, number: int = 0) -> dict[str, Any]:
    """Return a body for creation."""
    return SAMPLES[resource.path].body(sample, number)


def update_body_of(sample: SampleStore, resource: Resource) -> dict[str, Any]:
    """Return a body for an update of the store's record."""
    entity = SAMPLES[resource.path]
    return (entity.update_body or entity.body)(sample, 0)


async def create(sample: SampleStore, resource: Resource, number: int = 0, **fields: Any) -> str:
    """Create a record as the owner and return its id."""
    answer = await sample.post(f"/api/{path_of(sample, resource)}", body_of(sample, resource, number) | fields)
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
