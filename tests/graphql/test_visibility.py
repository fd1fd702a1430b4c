"""What shoppers find, open and buy of a vendor that isn't active and of disabled and hidden categories (docs/reference/shared.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from models.tables.catalog import Category, ProductCategory
from models.tables.marketplace import Vendor
from tests.graphql.test_cart_warnings import warnings
from tests.graphql.test_carts import CHECK_OUT, CREATE, code, execute_query, key_of
from tests.harness.records import Record
from tests.harness.sample_store import SampleStore
from tests.harness.storefront import StorefrontClient, open_storefront

LISTED, UNLISTED, CLOSED = "listed", "unlisted", "closed"
# Statements that restrict the product $1, in the category $2 below $3, of the vendor $4; and what is left of it.
RESTRICTIONS = {
    "nothing": ("", LISTED),
    "pending vendor": ("update vendors set status = 'P' where id = $4", CLOSED),
    "new vendor": ("update vendors set status = 'N' where id = $4", CLOSED),
    "disabled vendor": ("update vendors set status = 'D' where id = $4", CLOSED),
    "deleted vendor": ("update vendors set deleted_at = now() where id = $4", CLOSED),
    "disabled category": ("update categories set status = 'D' where id = $2", CLOSED),
    "disabled parent": ("update categories set status = 'D' where id = $3", CLOSED),
    "hidden category": ("update categories set status = 'H' where id = $2", UNLISTED),
    "hidden parent": ("update categories set status = 'H' where id = $3", UNLISTED),
    "hidden product": ("update products set status = 'H' where id = $1", UNLISTED),
    "disabled product": ("update products set status = 'D' where id = $1", CLOSED),
    "pending product": ("update products set status = 'P' where id = $1", CLOSED),
}
EVERYWHERE = """query($id: ID!, $slug: String!, $vendor: [ID!], $words: String!) {
  products(limit: 100, filter: {vendor_id: $vendor}) { id }
  product_page(filter: {vendor_id: $vendor}) { total items { id } }
  product_connection(filter: {vendor_id: $vendor}) { edges { node { id } } }
  product_search(query: $words) { total edges { node { id } }
    facets { availability { count } vendors { count } categories { count } prices { count } } }
  by_id: product(id: $id) { id is_available category { products { edges { node { id } } } } }
  by_slug: product(slug: $slug) { id }
}"""


class PlacedProduct:
    """A product in a category below another, of a vendor of its own."""

    def __init__(self, sample: SampleStore, vendor: Record, parent: Record, category: Record, product: Record) -> None:
        self.sample, self.vendor, self.parent, self.category, self.product = sample, vendor, parent, category, product

    async def restrict(self, sql: str) -> None:
        numbers = [str(each.number) for each in (self.product, self.category, self.parent, self.vendor)]
        for index, number in enumerate(numbers, 1):
            sql = sql.replace(f"${index}", number)
        if sql:
            await self.sample.execute(sql)

    async def ask(self, by: Any) -> Mapping[str, Any]:
        slug = await self.sample.value("select slug from products where id = $1", self.product.number)
        variables = {"id": self.product.id, "slug": slug, "vendor": [self.vendor.id], "words": "zarabatana"}
        headers = {"X-API-Key": by} if isinstance(by, str) else {}
        auth = {"auth": None} if headers else {"auth": "bearer", "by": by}
        body = {"query": EVERYWHERE, "variables": variables}
        answer = await self.sample.post("/graphql", body, headers=headers, **auth)
        assert "errors" not in answer.body, answer.body
        data: Mapping[str, Any] = answer.body["data"]
        return data


async def category_of(sample: SampleStore, name: str, parent: Record | None = None) -> Record:
    category = await sample.add(Category, name=name, slug=name, parent_id=parent.number if parent else None)
    path = f"{parent.number}/{category.number}" if parent else str(category.number)
    await sample.execute("update categories set id_path = $2 where id = $1", category.number, path)
    return category


@pytest.fixture
async def placed_product(sample: SampleStore) -> PlacedProduct:
    vendor = await sample.add(Vendor, name="Feira Livre", email="feira@example.com")
    parent = await category_of(sample, "esporte")
    category = await category_of(sample, "caca", parent)
    product = await sample.add_product(
        name="Zarabatana", on_hand=9, is_edp=True, vendor_id=vendor.number, category_id=category.number
    )
    await sample.add(ProductCategory, product_id=product.number, category_id=category.number)
    return PlacedProduct(sample, vendor, parent, category, product)


@pytest.mark.parametrize("name", RESTRICTIONS)
@pytest.mark.parametrize("who", ["key", "caio"])
async def test_lists_searches_counts_and_single_records_agree(
    placed_product: PlacedProduct, name: str, who: str
) -> None:
    sample, (sql, expected) = placed_product.sample, RESTRICTIONS[name]
    await placed_product.restrict(sql)
    data = await placed_product.ask(await key_of(sample) if who == "key" else sample.caio)
    matches = [{"id": placed_product.product.id}] if expected == LISTED else []
    assert data["products"] == matches
    assert data["product_page"] == {"total": len(matches), "items": matches}
    assert [edge["node"] for edge in data["product_connection"]["edges"]] == matches
    search = data["product_search"]
    assert (search["total"], [edge["node"] for edge in search["edges"]]) == (len(matches), matches)
    for facet, values in search["facets"].items():
        assert sum(value["count"] for value in values) == len(matches), facet
    assert (data["by_id"] is not None, data["by_slug"] is not None) == (expected != CLOSED, expected != CLOSED)
    if data["by_id"]:
        assert data["by_id"]["is_available"] is True


@pytest.mark.parametrize("name", RESTRICTIONS)
async def test_the_back_office_sees_all_and_what_can_be_bought(placed_product: PlacedProduct, name: str) -> None:
    sample, (sql, expected) = placed_product.sample, RESTRICTIONS[name]
    await placed_product.restrict(sql)
    data = await placed_product.ask(sample.owner)
    matches = [{"id": placed_product.product.id}]
    assert (data["products"], data["product_search"]["total"]) == (matches, 1)
    assert data["by_id"]["is_available"] is (expected != CLOSED)
    assert (await sample.get(f"/api/products/{placed_product.product.number}")).status == 200
    listed = await sample.get("/api/products?q=zarabatana")
    assert [product["product"] for product in listed.body["products"].values()] == ["Zarabatana"]
    text = 'query($listed: Boolean!) { products(filter: {search: "zarabatana", is_listed: $listed}) { id } }'
    for value in (True, False):
        products = await execute_query(sample, text, sample.owner, listed=value)
        assert products == (matches if value is (expected == LISTED) else []), value


@pytest.mark.parametrize("name", RESTRICTIONS)
async def test_what_opens_can_be_bought_and_nothing_else(placed_product: PlacedProduct, name: str) -> None:
    sample, (sql, expected) = placed_product.sample, RESTRICTIONS[name]
    items = {"items": [{"product_id": placed_product.product.id, "quantity": 1}]}
    before = (await execute_query(sample, CREATE, sample.caio, input=items))["id"]
    await placed_product.restrict(sql)
    # A cart that was filled before shows why its checkout is refused.
    expected_codes = ["PRODUCT_UNAVAILABLE"] if expected == CLOSED else []
    assert [warning["code"] for warning in await warnings(sample, before)] == expected_codes
    placed = await execute_query(sample, CHECK_OUT, sample.caio, id=before, input={"payment_id": sample.pix.id})
    created = await execute_query(sample, CREATE, sample.caio, input=items)
    legacy = await sample.post(
        "/api/orders",
        {
            "user_id": str(sample.caio.number),
            "payment_id": str(sample.pix.number),
            "products": {"1": {"product_id": str(placed_product.product.number), "amount": "1"}},
        },
    )
    if expected == CLOSED:
        assert code(placed)[1] == "product_unavailable"
        assert code(created)[0] == "NOT_FOUND"
        assert legacy.status in (400, 422), legacy.body
        assert (
            await sample.value("select count(*) from order_lines where product_id = $1", placed_product.product.number)
            == 0
        )
    else:
        assert placed["order"]["items"] == [{"name": "Zarabatana"}]
        assert created["items"][0]["is_available"] is True
        assert legacy.status == 201, legacy.body


@pytest.mark.parametrize("name", RESTRICTIONS)
async def test_the_rest_storefront_agrees(placed_product: PlacedProduct, name: str) -> None:
    sample, (sql, expected) = placed_product.sample, RESTRICTIONS[name]
    shop: StorefrontClient = await open_storefront(sample)
    await shop.get("products")  # the answer of the cache
    await placed_product.restrict(sql)
    names = {
        path: [product["name"] for product in (await shop.get(path)).body["products"]]
        for path in ("products?limit=100&search=zarabatana", "search?q=zarabatana")
    }
    for path, matches in names.items():
        assert matches == (["Zarabatana"] if expected == LISTED else []), path
    assert (await shop.get(f"products/{placed_product.product.id}")).status == (404 if expected == CLOSED else 200)


async def test_a_product_in_another_active_category_stays(placed_product: PlacedProduct) -> None:
    sample = placed_product.sample
    other = await category_of(sample, "jogos")
    await sample.add(ProductCategory, product_id=placed_product.product.number, category_id=other.number)
    for status in ("D", "H"):
        await sample.execute("update categories set status = $2 where id = $1", placed_product.parent.number, status)
        assert (await placed_product.ask(sample.caio))["product_search"]["total"] == 1, status
    await sample.execute("delete from product_categories where category_id = $1", other.number)
    data = await placed_product.ask(sample.caio)
    assert (data["products"], data["by_id"] is None) == ([], False)
    await sample.execute("update categories set status = 'A' where id = $1", placed_product.parent.number)
    assert (await placed_product.ask(sample.caio))["product_search"]["total"] == 1
    await sample.execute("delete from product_categories where product_id = $1", placed_product.product.number)
    assert (await placed_product.ask(sample.caio))["product_search"]["total"] == 1, "without a category"


CATEGORIES = """query($id: ID!, $slug: String!, $ids: [ID!]) { categories(limit: 100) { name } category_page { total }
  by_id: category(id: $id) { name product_count path { name } products { edges { node { name } } } }
  by_slug: category(slug: $slug) { name }
  filtered: products(filter: {category_id: $ids}) { name }
  below: products(filter: {below_category_id: $ids}) { name }
  product_search(filter: {below_category_slug: [$slug]}) { total edges { node { name } } }
}"""


@pytest.mark.parametrize(
    "parent,own,is_listed,is_open",
    [
        ("A", "A", True, True),
        ("A", "H", False, True),
        ("H", "A", False, True),
        ("H", "H", False, True),
        ("A", "D", False, False),
        ("D", "A", False, False),
        ("H", "D", False, False),
        ("D", "H", False, False),
    ],
)
async def test_a_category_is_as_restricted_as_those_above(
    placed_product: PlacedProduct, parent: str, own: str, *, is_listed: bool, is_open: bool
) -> None:
    sample = placed_product.sample
    for record, status in ((placed_product.parent, parent), (placed_product.category, own)):
        await sample.execute("update categories set status = $2 where id = $1", record.number, status)
    variables = {"id": placed_product.category.id, "ids": [placed_product.category.id], "slug": "caca"}
    body = {"query": CATEGORIES, "variables": variables}
    data = (await sample.post("/graphql", body, auth="bearer", by=sample.caio)).body["data"]
    names = [category["name"] for category in data["categories"]]
    assert ("caca" in names, len(names)) == (is_listed, data["category_page"]["total"])
    assert (data["by_id"] is not None, data["by_slug"] is not None) == (is_open, is_open)
    # Who opens a hidden category finds its products there, and only there.
    matches = [{"name": "Zarabatana"}] if is_open else []
    assert (data["filtered"], data["below"]) == (matches, matches)
    search = data["product_search"]
    assert (search["total"], [edge["node"] for edge in search["edges"]]) == (len(matches), matches)
    if is_open:
        assert [edge["node"] for edge in data["by_id"]["products"]["edges"]] == matches
        assert (data["by_id"]["product_count"], data["by_id"]["path"]) == (1, [{"name": "esporte"}, {"name": "caca"}])
    shop = await open_storefront(sample)
    assert (await shop.get("categories/caca")).status == (200 if is_open else 404)
    listed = await shop.get("categories/caca/products")
    assert listed.status == (200 if is_open else 404)
    if is_open:
        assert [product["name"] for product in listed.body["products"]] == ["Zarabatana"]
    assert ("caca" in str((await shop.get("categories")).body)) is is_listed


async def test_a_list_of_the_category_above_leaves_out_hidden_ones_below(placed_product: PlacedProduct) -> None:
    sample = placed_product.sample
    await sample.execute("update categories set status = 'H' where id = $1", placed_product.category.number)
    variables = {"id": placed_product.parent.id, "ids": [placed_product.parent.id], "slug": "esporte"}
    body = {"query": CATEGORIES, "variables": variables}
    data = (await sample.post("/graphql", body, auth="bearer", by=sample.caio)).body["data"]
    assert (data["filtered"], data["below"], data["product_search"]["total"]) == ([], [], 0)


RELATED = """query($id: ID!, $vendor: ID!) { product(id: $id) { related(first: 50) { name } required_products { name } }
    vendor(id: $vendor) { name product_count } }"""


async def test_related_products_vendors_and_their_counts_follow(placed_product: PlacedProduct) -> None:
    sample = placed_product.sample
    other = await sample.add_product(
        name="Dardo", vendor_id=sample.vendor.number, category_id=placed_product.category.number
    )
    await sample.add(ProductCategory, product_id=other.number, category_id=placed_product.category.number)
    variables = {"id": other.id, "vendor": placed_product.vendor.id}
    body = {"query": RELATED, "variables": variables}

    async def seen() -> tuple[Any, Any]:
        data = (await sample.post("/graphql", body, auth="bearer", by=sample.caio)).body["data"]
        return data["product"]["related"], data["vendor"] and data["vendor"]["product_count"]

    assert await seen() == ([{"name": "Zarabatana"}], 1)
    await sample.execute("update vendors set status = 'D' where id = $1", placed_product.vendor.number)
    assert await seen() == ([], None)
    await sample.execute("update vendors set status = 'A' where id = $1", placed_product.vendor.number)
    await sample.execute("update categories set status = 'H' where id = $1", placed_product.category.number)
    assert await seen() == ([], 0)
