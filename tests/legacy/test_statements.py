"""Count SQL statements: they depend on what is asked, never on how many rows there are."""

import pytest

from models.catalog import ProductCategory, ProductImage
from models.people import Usergroup
from models.shipping import Destination, Shipment
from tests.legacy.entities import create, resource_of
from tests.shop import Shop

LISTS = {
    # Rows and their number; main pictures.
    "products": 3,
    # Rows and their number; lines.
    "orders": 3,
    "users": 2,
    "categories": 2,
    "payments": 2,
    "shippings": 2,
    # Rows and their number; rates, or ranges.
    "destinations": 3,
    "taxes": 3,
    "promotions": 2,
    # Rows and their number; variants.
    "features": 3,
    "options": 3,
    "combinations": 2,
    "exceptions": 2,
    # The product, the rows and their number.
    "products/{mug}/options/combinations": 3,
    "stores": 2,
    "usergroups": 2,
    "statuses": 2,
    "managers": 2,
    "payment_codes": 2,
    "business_partners": 2,
    "mix_products": 2,
    "manager_transactions": 2,
    "pages": 2,
    "blocks": 2,
    "subscribers": 2,
    "call_requests": 2,
    "discussions": 2,
    # Rows and their number; what they hold.
    "shipments": 3,
    # Rows and their number; areas, their postal codes, groups.
    "warehouses": 5,
    # The warehouse, the areas and their number, their postal codes.
    "warehouses/{warehouse}/delivery_areas": 4,
    # The warehouse, the groups and their number.
    "warehouses/{warehouse}/user_groups": 3,
    # The category, the rows and their number, main pictures.
    "categories/{home}/products": 4,
    # The product, the posts and their number.
    "products/{mug}/discussions": 3,
}
# Those of which nothing but their own route makes more.
OTHERS = (
    "payments",
    "shippings",
    "taxes",
    "promotions",
    "stores",
    "usergroups",
    "discussions",
    "statuses",
    "managers",
    "payment_codes",
    "business_partners",
    "mix_products",
    "manager_transactions",
    "features",
    "options",
    "pages",
    "blocks",
    "subscribers",
    "call_requests",
    "warehouses",
)
SINGLES = {
    # The row, both kinds of pictures, values, features, variants.
    "products/{mug}": 6,
    # The row, lines, both addresses, both methods, history.
    "orders/{shared}": 7,
    "users/{caio}": 1,
    "categories/{home}": 1,
    # The row, variants.
    "features/{colour}": 2,
    "options/{size}": 2,
    # What the hash names, the row.
    "combinations/{combination}": 2,
    "products/{mug}/options/combinations/{combination.number}": 1,
    "exceptions/{exception}": 1,
    "productBoxes/{box}": 1,
    "productBoxesDescriptions/{box}": 1,
    "stores/{vendor}": 1,
    "usergroups/{team}": 1,
    "pages/{page}": 1,
    "blocks/{block}": 1,
    "languages/{tongue}": 1,
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
    # The row, what it holds.
    "shipments/{shipment}": 2,
    # The row, areas, their postal codes, groups.
    "warehouses/{warehouse}": 4,
    "products/{mug}/features": 4,
    "users/{caio}/usergroups": 2,
}


def at(shop: Shop, path: str) -> str:
    return f"/api/{path.format(shared=shop.shared_order, **shop.made)}"


async def counted(shop: Shop, path: str) -> tuple[int, int]:
    answer = await shop.get(path)
    assert answer.status == 200
    found = answer.body.get("params", {}).get("total_items", 1)
    return answer.statements, found


async def choose_more(shop: Shop, number: int) -> None:
    """Make one more combination of the mug, and one more exception."""
    option = await shop.post(
        "/api/options", {"option_name": "x", "product_id": shop.mug.number, "variants": [f"{number}"]}
    )
    [variant] = (await shop.get(f"/api/options/{option.body['option_id']}")).body["variants"]
    chosen = {"product_id": shop.mug.number, "combination": {option.body["option_id"]: variant}}
    assert (await shop.post("/api/combinations", chosen)).status == 201
    assert (await shop.post("/api/exceptions", chosen | {"type": "F"})).status == 201


@pytest.mark.parametrize("path", LISTS)
async def test_a_list_takes_as_many_statements_for_few_rows_as_for_many(shop, path):
    await shop.get("/api/products")  # the credential is remembered from here on
    few, before = await counted(shop, at(shop, f"{path}?items_per_page=250"))
    for number in range(30):
        product = await shop.new_product(category_id=shop.home.number)
        await shop.add(ProductCategory, product_id=product.number, category_id=shop.home.number)
        await shop.add(ProductImage, product_id=product.number, url=f"https://img.example.com/{number}.jpg")
        order = await shop.new_order((product, 1), user=shop.caio.id)
        await shop.add(Shipment, order_id=order.number)
        await shop.new_person(key=False)
        await shop.post("/api/categories", {"category": f"Nova {number}"})
        if path in OTHERS and (path != "statuses" or number < 15):  # the alphabet ends
            await create(shop, resource_of(path), number)
        if path.endswith("combinations") or path == "exceptions":
            await choose_more(shop, number)
        if path.startswith("warehouses/"):
            group = await shop.add(Usergroup, name=f"Grupo {number}")
            await shop.post(f"/api/warehouses/{shop.warehouse}/user_groups", {"usergroup_id": group.number})
            area = {"area_name": "x", "zipcodes": [{"zipcode_from": "01000000", "zipcode_to": 2_000_000}]}
            await shop.post(f"/api/warehouses/{shop.warehouse}/delivery_areas", area)
        if path == "destinations":  # which no route makes
            await shop.add(Destination, name=f"Lugar {number}")
    many, after = await counted(shop, at(shop, f"{path}?items_per_page=250"))
    assert after > before or path.endswith("/discussions")
    assert (few, many) == (LISTS[path], LISTS[path])


@pytest.mark.parametrize("path", SINGLES)
async def test_a_single_record_takes_a_fixed_number(shop, path):
    await shop.get("/api/products")
    # One in all where no executor is asked, else one a level.
    assert 1 <= (await counted(shop, at(shop, path)))[0] <= SINGLES[path]


async def test_a_filter_nothing_can_match_asks_nothing(shop):
    await shop.get("/api/products")
    answer = await shop.get("/api/products?status=Z")
    assert (answer.body["products"], answer.statements) == ({}, 0)
