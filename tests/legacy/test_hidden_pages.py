"""Hidden pages: lists for shoppers leave them out, their id and slug open them; CS-Cart's status `H`."""

from __future__ import annotations

from typing import Any

from tests.harness.sample_store import NewSampleStore, SampleStore
from tests.harness.storefront import open_storefront

LIST = "{ pages(limit: 100) { slug } }"
ONE = "query($slug: String!) { page(slug: $slug) { name hidden } }"


async def read(sample: SampleStore, query: str, key: str = "", **variables: Any) -> dict[str, Any]:
    headers = {"X-API-Key": key} if key else {}
    body = {"query": query, "variables": variables}
    answer = await sample.post("/graphql", body, headers=headers, auth=None if key else "bearer")
    assert "errors" not in answer.body, answer.body
    data: dict[str, Any] = answer.body["data"]
    return data


async def test_a_hidden_page_is_opened_and_not_listed(new_sample: NewSampleStore) -> None:
    sample = await new_sample(legacy_lists="cscart")
    created = await sample.post("/api/pages", {"page": "Oferta", "status": "H"})
    assert created.status == 201, created.body
    path = f"/api/pages/{created.body['page_id']}"
    record = (await sample.get(path)).body
    assert record["status"] == "H"
    shop = await open_storefront(sample)
    key = str(shop.key)
    assert {"slug": "oferta"} not in (await read(sample, LIST, key))["pages"]
    assert {"slug": "oferta"} in (await read(sample, LIST))["pages"], "the staff sees it"
    assert (await read(sample, ONE, key, slug="oferta"))["page"] == {"name": "Oferta", "hidden": True}
    assert (await sample.put(path, record)).status == 200
    assert (await sample.get(path)).body == record, "a record sent back changes nothing"
    for query, count in (("status=H", 1), ("status=hidden", 1), ("status=A&q=Oferta", 0), ("status=D&q=Oferta", 0)):
        pages = (await sample.get(f"/api/pages?{query}")).body["pages"]
        assert len(pages) == count, query
    assert (await sample.put(path, {"page": "Oferta do mês"})).status == 200
    assert (await sample.get(path)).body["status"] == "H", "what is not named stays"
    assert (await sample.put(path, {"status": "A"})).status == 200
    assert (await sample.get(path)).body["status"] == "A"
    assert {"slug": "oferta"} in (await read(sample, LIST, key))["pages"]
    refused = await sample.put(path, {"status": "X"})
    assert (refused.status, refused.body["message"]) == (400, "status is 'X'; expected one of A, D, H")


async def test_the_contract_has_no_hidden_pages(new_sample: NewSampleStore) -> None:
    sample = await new_sample()
    refused = await sample.post("/api/pages", {"page": "Oferta", "status": "H"})
    assert (refused.status, refused.body["message"]) == (400, "status is 'H'; expected one of A, D")
    await sample.execute("update pages set hidden = true where id = $1", sample.page.number)
    path = f"/api/pages/{sample.page}"
    record = (await sample.get(path)).body
    assert record["status"] == "A"
    for status, is_listed in (("A", True), ("active", True), ("D", False), ("H", False)):
        pages = (await sample.get(f"/api/pages?status={status}&items_per_page=250")).body["pages"]
        assert (record["page_id"] in pages) is is_listed, status
    assert (await sample.put(path, {**record, "page": "Outra"})).status == 200
    assert await sample.value("select hidden from pages where id = $1", sample.page.number) is True
