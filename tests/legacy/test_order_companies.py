"""The company and the fax number of an order, as CS-Cart's orders have them."""

from __future__ import annotations

from tests.harness.sample_store import NewSampleStore, SampleStore

CONTACT = {"company": "Padaria Sol", "fax": "11 3333-0000"}


def body(sample: SampleStore) -> dict[str, object]:
    return {
        "user_id": sample.caio.number,
        "products": {str(sample.ebook): {"amount": 1}},
        "payment_id": sample.pix.number,
    }


async def test_company_and_fax_are_stored_and_read_back(new_sample: NewSampleStore) -> None:
    sample = await new_sample(legacy_lists="cscart")
    created = await sample.post("/api/orders", {**body(sample), "user_data": CONTACT})
    assert (created.status, created.headers.get("X-Ignored-Fields")) == (201, None), created.body
    path = f"/api/orders/{created.body['order_id']}"
    record = (await sample.get(path)).body
    assert {name: record[name] for name in CONTACT} == CONTACT
    [row] = (await sample.get("/api/orders", params={"company": "Padaria Sol"})).body["orders"]
    assert {name: row[name] for name in CONTACT} == CONTACT
    assert (await sample.put(path, {"company": "Padaria Lua"})).status == 200
    record = (await sample.get(path)).body
    assert (record["company"], record["fax"]) == ("Padaria Lua", CONTACT["fax"])
    assert (await sample.put(path, record)).status == 200
    assert (await sample.get(path)).body == record, "a record sent back changes nothing"
    query = "query ($id: ID!) { order(id: $id) { customer { company_name fax } } }"
    order = await sample.value("select public_id from orders where id = $1", int(record["order_id"]))
    answer = await sample.post("/graphql", {"query": query, "variables": {"id": str(order)}}, auth="bearer")
    assert answer.body["data"]["order"]["customer"] == {"company_name": "Padaria Lua", "fax": CONTACT["fax"]}


async def test_the_other_dialect_names_them_as_ignored(new_sample: NewSampleStore) -> None:
    sample = await new_sample()
    created = await sample.post("/api/orders", {**body(sample), **CONTACT})
    assert created.headers["X-Ignored-Fields"] == "company, fax"
    record = (await sample.get(f"/api/orders/{created.body['order_id']}")).body
    assert not CONTACT.keys() & record.keys()
