"""A product is found by id or by slug, compiled and by the executor alike."""

from __future__ import annotations

import pytest

from tests.graphql.conftest import ExecuteQuery, StoreRecords

BY_SLUG = "query($slug: String) { product(slug: $slug) { id slug } }"


@pytest.mark.parametrize("caller", ["admin", "customer", "storefront"])
async def test_a_product_is_found_by_its_slug(caller: str, records: StoreRecords, execute_query: ExecuteQuery) -> None:
    response = await execute_query(records.callers[caller], BY_SLUG, slug="caneca")
    assert response.errors == []
    assert response.data == {"product": {"id": records.ids["product"], "slug": "caneca"}}


@pytest.mark.parametrize("slug", ["prato", "unknown", "", "CANECA", "a\x00b", "\ud800"])
async def test_a_hidden_or_absent_slug_is_null(slug: str, records: StoreRecords, execute_query: ExecuteQuery) -> None:
    response = await execute_query(records.callers["storefront"], BY_SLUG, slug=slug)
    assert (response.data, response.errors) == ({"product": None}, [])


@pytest.mark.parametrize("arguments", ["", '(id: "ID", slug: "caneca")', "(id: null)", "(id: null, slug: null)"])
async def test_exactly_one_of_id_and_slug_is_required(
    arguments: str, records: StoreRecords, execute_query: ExecuteQuery
) -> None:
    text = f"{{ product{arguments} {{ id }} store {{ name }} }}".replace("ID", records.ids["product"])
    response = await execute_query(records.callers["storefront"], text)
    assert response.data["product"] is None
    assert response.data["store"] is not None
    assert response.codes() == ["VALIDATION_FAILED"]
    assert response.errors[0]["message"] == "expected exactly one of id and slug"
