"""A category counts and lists what lies below it, when it is asked to: for each caller as many as a search finds there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from kernel.scope import Scope
from models.tables.catalog import Category, ProductCategory
from tests.graphql.test_product_pricing import callers, execute, respond
from tests.harness.records import Record
from tests.harness.sample_store import SampleStore

CATEGORY = """query($id: ID!, $deep: Boolean) { category(id: $id) { product_count(include_descendants: $deep)
    products(first: 100, include_descendants: $deep) { edges { node { name } } } } }"""
SEARCH = """query($filter: ProductSearchFilter) { product_search(filter: $filter, first: 100) { total edges { node { name } } } }"""


async def set_path(sample: SampleStore, category: Record, path: str) -> None:
    await sample.execute("UPDATE categories SET id_path = $2 WHERE id = $1", category.number, path)


@pytest.fixture
async def tree(sample: SampleStore) -> Mapping[str, Record]:
    """Return a tree `root > middle > leaf`, with a hidden and a disabled category below the root, and one whose path begins alike."""
    tree: dict[str, Record] = {}
    for name, parent, status in (
        ("root", None, "A"), ("middle", "root", "A"), ("leaf", "middle", "A"), ("hidden", "root", "H"), ("disabled", "root", "D"),
    ):  # fmt: skip
        above = tree[parent] if parent else None
        category = await sample.add(
            Category, name=name, slug=name, status=status, parent_id=None if above is None else above.number
        )
        path = await sample.value("SELECT id_path FROM categories WHERE id = $1", above.number) if above else ""
        await set_path(sample, category, f"{path}/{category}".strip("/"))
        tree[name] = category
    tree["alike"] = await sample.add(Category, name="alike", slug="alike")
    await set_path(sample, tree["alike"], f"{tree['root']}5")
    for name, status, categories in (
        ("of root", "A", ["root"]), ("of all", "A", ["root", "middle", "leaf"]), ("of leaf", "A", ["leaf"]), ("of alike", "A", ["alike"]),
        ("of hidden", "A", ["hidden"]), ("of disabled", "A", ["disabled"]), ("inactive", "D", ["leaf"]),
    ):  # fmt: skip
        product = await sample.add_product(name=name, status=status)
        await sample.execute("DELETE FROM product_categories WHERE product_id = $1", product.number)
        for category_name in categories:
            await sample.add(ProductCategory, product_id=product.number, category_id=tree[category_name].number)
    return tree


async def shown(scope: Scope, category: Record, *, deep: bool | None) -> tuple[int, list[str]]:
    data = (await execute(scope, CATEGORY, id=category.id, deep=deep))["category"]
    return data["product_count"], sorted(edge["node"]["name"] for edge in data["products"]["edges"])


async def searched(scope: Scope, category: Record, **filter: Any) -> tuple[int, list[str]]:
    data = (await execute(scope, SEARCH, filter={"below_category_id": [category.id], **filter}))["product_search"]
    return data["total"], sorted(edge["node"]["name"] for edge in data["edges"])


EXPECTED = {
    ("root", True): ["of all", "of leaf", "of root"],
    ("root", False): ["of all", "of root"],
    ("root", None): ["of all", "of root"],
    ("middle", True): ["of all", "of leaf"],
    ("middle", False): ["of all"],
    ("leaf", True): ["of all", "of leaf"],
    ("hidden", True): ["of hidden"],
    ("hidden", False): ["of hidden"],
}


@pytest.mark.parametrize("name, deep", EXPECTED)
async def test_a_category_shows_what_a_search_finds(
    sample: SampleStore, tree: Mapping[str, Record], name: str, deep: bool | None
) -> None:
    names = EXPECTED[name, deep]
    for caller, scope in callers(sample).items():
        assert await shown(scope, tree[name], deep=deep) == (len(names), names), caller
        assert await searched(scope, tree[name], include_descendants=bool(deep)) == (len(names), names), caller
    if deep:
        assert await searched(callers(sample)["guest"], tree[name]) == (len(names), names)


async def test_administrators_count_and_list_all_products_below(
    sample: SampleStore, tree: Mapping[str, Record]
) -> None:
    data = (await execute(sample.scope, CATEGORY, id=tree["root"].id, deep=True))["category"]
    names = sorted(edge["node"]["name"] for edge in data["products"]["edges"])
    assert names == ["inactive", "of all", "of disabled", "of hidden", "of leaf", "of root"]
    assert data["product_count"] == len(names)


async def test_the_products_below_are_paged_newest_first_or_sorted(
    sample: SampleStore, tree: Mapping[str, Record]
) -> None:
    scope = callers(sample)["guest"]
    text = """query($id: ID!, $after: String, $sort: ProductSort) { category(id: $id) {
        products(first: 2, after: $after, sort: $sort, include_descendants: true) {
            edges { node { name } } page_info { end_cursor has_next_page } } } }"""
    await sample.execute("UPDATE products SET created_at = now() + id * interval '1 second'")
    for sort, expected in ((None, ["of leaf", "of all", "of root"]), ("NAME_ASC", ["of all", "of leaf", "of root"])):
        names, after = [], None
        for is_last in (False, True):
            page = (await execute(scope, text, id=tree["root"].id, after=after, sort=sort))["category"]["products"]
            names += [edge["node"]["name"] for edge in page["edges"]]
            assert page["page_info"]["has_next_page"] is not is_last, sort
            after = page["page_info"]["end_cursor"]
        assert names == expected, sort


async def test_a_menu_takes_as_many_statements_however_many_categories_it_has(
    sample: SampleStore, tree: Mapping[str, Record]
) -> None:
    text = """query($n: Int!) { categories(limit: $n, sort: ID_ASC) { product_count(include_descendants: true)
        products(first: 3, include_descendants: true) { edges { node { name } } } } }"""
    counts = {(await respond(callers(sample)["guest"], text, n=size))[2] for size in (1, 3, 5)}
    assert len(counts) == 1
