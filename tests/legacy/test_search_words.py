"""Words of a product that searches match and nobody reads: CS-Cart's `search_words`."""

from __future__ import annotations

from typing import Any

import pytest

from tests.harness.sample_store import NewSampleStore, SampleStore
from tests.harness.storefront import open_storefront

SEARCH = """query($query: String!) { product_search(query: $query) { corrected_query edges { node { id } } } }"""


@pytest.fixture
async def cscart(new_sample: NewSampleStore) -> SampleStore:
    return await new_sample(legacy_lists="cscart")


async def search(sample: SampleStore, words: str) -> dict[str, Any]:
    answer = await sample.post("/graphql", {"query": SEARCH, "variables": {"query": words}}, auth="bearer")
    result: dict[str, Any] = answer.body["data"]["product_search"]
    return result


async def test_searches_match_the_words_of_a_product(cscart: SampleStore) -> None:
    path = f"/api/products/{cscart.mug}"
    assert (await cscart.put(path, {"search_words": "xícara Chávena"})).status == 200
    assert (await cscart.get(path)).body["search_words"] == "xícara Chávena"
    for words in ("xicara", "caneca chavena", "chav"):
        result = await search(cscart, words)
        assert [edge["node"]["id"] for edge in result["edges"]] == [cscart.mug.id], words
    for query in ("q=xicara", "q=xicara&pname=Y"):
        rows = (await cscart.get(f"/api/products?{query}")).body["products"]
        assert [row["product_id"] for row in rows] == [str(cscart.mug)], query
    assert (await cscart.get("/api/products?q=xicara&pshort=Y")).body["products"] == []
    assert (await cscart.put(path, {"search_words": ""})).status == 200
    assert (await search(cscart, "xicara"))["edges"] == []


async def test_shoppers_do_not_read_them(cscart: SampleStore) -> None:
    await cscart.execute("update products set search_words = 'rival' where id = $1", cscart.mug.number)
    shop = await open_storefront(cscart)
    query = "query($id: ID!) { product(id: $id) { name search_words } }"
    body = {"query": query, "variables": {"id": cscart.mug.id}}
    answer = await cscart.post("/graphql", body, headers={"X-API-Key": str(shop.key)}, auth=None)
    assert "rival" not in answer.raw.decode()


@pytest.mark.parametrize("column", ["name", "sku", "short_description", "description"])
async def test_a_correction_shows_words_of_visible_texts_only(cscart: SampleStore, column: str) -> None:
    """Also where the same word is in the hidden words, in those of another product, or in no other."""
    await cscart.execute("update products set search_words = 'Concorrente' where id = $1", cscart.mug.number)
    result = await search(cscart, "concorente")
    assert (result["corrected_query"], result["edges"]) == (None, [])
    await cscart.execute(f"update products set {column} = 'concorrente' where id = $1", cscart.mug.number)
    assert (await search(cscart, "concorente"))["corrected_query"] == "concorrente"
