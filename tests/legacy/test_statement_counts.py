"""Check that the number of SQL statements depends on the request, never on the number of rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from models.tables.carts import Cart, CartItem
from models.tables.catalog import ProductCategory, ProductImage
from models.tables.shipping import Destination, Shipment
from models.tables.users import Usergroup
from rest_facade.legacy.resources import RESOURCES
from tests.harness.sample_store import NewSampleStore, SampleStore
from tests.legacy.entities import create, resource_of

LISTS = {
    # Rows and their count; main images, more images; feature values and their features.
    "products": 6,
    # Rows and their count; lines.
    "orders": 3,
    "users": 2,
    "categories": 2,
    "payments": 2,
    "shippings": 2,
    # Rows and their count; rates or zip codes.
    "destinations": 3,
    "taxes": 3,
    "promotions": 2,
    # Rows and their count; variants.
    "features": 3,
    "options": 3,
    "combinations": 2,
    "exceptions": 2,
    # The product, the rows and their count.
    "products/{mug}/options/combinations": 3,
    "stores": 2,
    "usergroups": 2,
    "statuses": 2,
    "managers": 2,
    "payment_codes": 2,
    "business_partners": 2,
    "mix_products": 2,
    "manager_transactions": 2,
    # Rows and their count; lines.
    "carts": 3,
    "langvars": 2,
    "pages": 2,
    "blocks": 2,
    "subscribers": 2,
    "call_requests": 2,
    "discussions": 2,
    # Rows and their count; lines.
    "shipments": 3,
    # Rows and their count; areas, their zip codes, groups.
    "warehouses": 5,
    # The warehouse, the areas and their count, their zip codes.
    "warehouses/{warehouse}/delivery_areas": 4,
    # The warehouse, the groups and their count.
    "warehouses/{warehouse}/user_groups": 3,
    # The category, and as products.
    "categories/{home}/products": 7,
    # The product, the posts and their count.
    "products/{mug}/discussions": 3,
}
# Entities whose rows only their own route creates.
_CREATED_OTHERWISE = {"products", "orders", "users", "categories", "combinations", "exceptions", "shipments"}
CREATED_BY_ROUTE = [
    resource.path
    for resource in RESOURCES
    if "create" in resource.actions and resource.path in LISTS.keys() - _CREATED_OTHERWISE
]
SINGLES = {
    # The row, main and additional images, values, features, variants.
    "products/{mug}": 6,
    # The row, lines, their pictures, both addresses, both methods, taxes, payments, history.
    "orders/{shared}": 10,
    "users/{caio}": 1,
    "categories/{home}": 1,
    # The row, variants.
    "features/{colour}": 2,
    "options/{size}": 2,
    # The id of the hash, the row.
    "combinations/{combination}": 2,
    "products/{mug}/options/combinations/{combination.number}": 1,
    "exceptions/{exception}": 1,
    "productBoxes/{box}": 1,
    "productBoxesDescriptions/{box}": 1,
    "stores/{vendor}": 1,
    "usergroups/{team}": 1,
    # The row, lines.
    "carts/{cart}": 2,
    "langvars/{langvar}": 1,
    # The store's first language, the name, the row.
    "langvars/text_welcome": 3,
    "pages/{page}": 1,
    "blocks/{block}": 1,
    "languages/{language}": 1,
    "settings/{setting}": 1,
    "subscribers/{subscriber}": 1,
    "call_requests/{call_request}": 1,
    "statuses/{status_OP}": 1,
    "discussions/{review}": 1,
    "managers/{manager}": 1,
    "business_partners/{partner}": 1,
    "payments/{pix}": 1,
    "shippings/{sedex}": 1,
    "destinations/{south}": 2,
    "taxes/{icms}": 2,
    "promotions/{ten}": 1,
    # The row, lines.
    "shipments/{shipment}": 2,
    # The row, areas, their zip codes, groups.
    "warehouses/{warehouse}": 4,
    "products/{mug}/features": 4,
    "users/{caio}/usergroups": 2,
}


def address(sample: SampleStore, path: str) -> str:
    return f"/api/{path.format(shared=sample.shared_order, **sample.records)}"


async def count_statements(sample: SampleStore, path: str) -> tuple[int, int]:
    """Return the numbers of statements and of rows."""
    answer = await sample.get(path)
    assert answer.status == 200
    return answer.statements, answer.body.get("params", {}).get("total_items", 1)


async def add_combination_and_exception(sample: SampleStore, number: int) -> None:
    """Create another combination and another exception of the mug."""
    option = await sample.post(
        "/api/options", {"option_name": "x", "product_id": sample.mug.number, "variants": [f"{number}"]}
    )
    [variant] = (await sample.get(f"/api/options/{option.body['option_id']}")).body["variants"]
    body = {"product_id": sample.mug.number, "combination": {option.body["option_id"]: variant}}
    assert (await sample.post("/api/combinations", body)).status == 201
    assert (await sample.post("/api/exceptions", body | {"type": "F"})).status == 201


@dataclass(frozen=True)
class GrownStore:
    """A store that got 30 more rows of everything, and what its lists took before: statements and rows by path."""

    sample: SampleStore
    before: Mapping[str, tuple[int, int]]


@pytest.fixture(scope="module")
async def grown_store(new_sample: NewSampleStore) -> GrownStore:
    """Return a store that the read-only tests of this module share."""
    sample = await new_sample()
    await sample.get("/api/products")  # fills the credential cache
    before = {path: await count_statements(sample, list_address(sample, path)) for path in LISTS}
    for number in range(30):
        await add_rows(sample, number)
    for number in range(30):
        for path in CREATED_BY_ROUTE:
            if path != "statuses" or number < 15:  # there are only 26 codes
                await create(sample, resource_of(path), number)
    return GrownStore(sample, before)


async def add_rows(sample: SampleStore, number: int) -> None:
    """Add a product, an order, a cart, a customer and what belongs to them."""
    product = await sample.add_product(category_id=sample.home.number)
    await sample.add(ProductCategory, product_id=product.number, category_id=sample.home.number)
    await sample.add(ProductImage, product_id=product.number, url=f"https://img.example.com/{number}.jpg")
    order = await sample.place_order((product, 1), user=sample.caio.id)
    await sample.add(Shipment, order_id=order.number)
    await sample.post("/api/categories", {"category": f"Nova {number}"})
    await add_combination_and_exception(sample, number)
    group = await sample.add(Usergroup, name=f"Grupo {number}")
    await sample.post(f"/api/warehouses/{sample.warehouse}/user_groups", {"usergroup_id": group.number})
    area = {"area_name": "x", "zipcodes": [{"zipcode_from": "01000000", "zipcode_to": 2_000_000}]}
    await sample.post(f"/api/warehouses/{sample.warehouse}/delivery_areas", area)
    # No routes create carts and destinations.
    customer = await sample.add_user(key=False)
    expires_at = datetime.now(UTC) + timedelta(days=1)
    cart = await sample.add(Cart, public_id=uuid4(), user_id=customer.number, expires_at=expires_at)
    await sample.add(CartItem, cart_id=cart.number, product_id=product.number, quantity=1)
    await sample.add(Destination, name=f"Lugar {number}")


def list_address(sample: SampleStore, path: str) -> str:
    return address(sample, f"{path}?items_per_page=250")


@pytest.mark.parametrize("path", LISTS)
async def test_the_statements_of_a_list_do_not_depend_on_its_rows(grown_store: GrownStore, path: str):
    sample = grown_store.sample
    await sample.get("/api/products")
    few, before = grown_store.before[path]
    many, after = await count_statements(sample, list_address(sample, path))
    assert after > before or path.endswith("/discussions")
    assert (few, many) == (LISTS[path], LISTS[path])


@pytest.mark.parametrize("path", SINGLES)
async def test_a_single_record_takes_a_fixed_number_of_statements(shared_sample, path):
    await shared_sample.get("/api/products")
    # A compiled query takes one statement, the executor one a level.
    assert 1 <= (await count_statements(shared_sample, address(shared_sample, path)))[0] <= SINGLES[path]


async def test_an_unmatchable_filter_takes_no_statement(sample):
    await sample.get("/api/products")
    answer = await sample.get("/api/products?status=Z")
    assert (answer.body["products"], answer.statements) == ({}, 0)
