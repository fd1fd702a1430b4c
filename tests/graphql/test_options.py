"""Access to options and combinations: customers see active ones, vendors their own, no one another store's."""

from __future__ import annotations

from typing import Any

import pytest

from tests.harness.records import UserRecord
from tests.harness.sample_store import SampleStore

pytestmark = pytest.mark.combination

QUERY = """query($p: ID!, $o: ID!, $c: ID!, $e: ID!) {
    option(id: $o) { name } combination(id: $c) { sku stock } option_exception(id: $e) { type }
    product(id: $p) { options { name } combinations { sku } attachments { filename } required_products { id } }
    options { id } combinations { id } option_exceptions { id } attachments { id } }"""


async def execute_query(sample: SampleStore, text: str, by: UserRecord | None = None, **variables: Any) -> Any:
    answer = await sample.post("/graphql", {"query": text, "variables": variables}, auth="bearer", by=by)
    assert answer.status == 200, answer.raw
    return answer.body


async def visible_options(sample: SampleStore, by: UserRecord | None = None, of: SampleStore | None = None) -> Any:
    of = of or sample
    record_id = {"p": of.mug.id, "o": of.size.id, "c": of.combination.id, "e": of.exception.id}
    answer = await execute_query(sample, QUERY, by, **record_id)
    assert "errors" not in answer, answer
    return answer["data"]


HIDDEN = {"option": None, "combination": None, "option_exception": None, "product": None}


async def test_customers_see_options_until_the_product_is_disabled(sample):
    data = await visible_options(sample, sample.caio)
    assert data["option"] == {"name": "Tamanho"}
    assert data["combination"] == {"sku": "CAN-1-G", "stock": 3}
    assert len(data["product"]["options"]) == 3
    assert len(data["attachments"]) == 1
    await sample.put(f"/api/products/{sample.mug}", {"status": "H"})
    assert await visible_options(sample, sample.caio) == data
    await sample.put(f"/api/products/{sample.mug}", {"status": "D"})
    data = await visible_options(sample, sample.caio)
    assert data == HIDDEN | {name: [] for name in ("options", "combinations", "option_exceptions", "attachments")}


async def test_a_disabled_option_is_not_offered(sample):
    await sample.put(f"/api/options/{sample.size}", {"status": "D"})
    data = await visible_options(sample, sample.caio)
    assert data["option"] is None
    assert [option["name"] for option in data["product"]["options"]] == ["Estampa", "Gravação"]


async def test_vendors_see_only_their_own_combinations(sample):
    assert (await visible_options(sample, sample.vendor_user))["combination"]["sku"] == "CAN-1-G"
    data = await visible_options(sample, sample.rival_vendor_user)
    assert data == HIDDEN | {name: [] for name in ("options", "combinations", "option_exceptions", "attachments")}


WRITES = {
    "option_update": (
        'mutation($id: ID!) { done: option_update(id: $id, input: {name: "x"}) { id } }',
        "size",
    ),
    "option_delete": ("mutation($id: ID!) { done: option_delete(id: $id) { id } }", "size"),
    "combination_update": (
        "mutation($id: ID!) { done: combination_update(id: $id, input: {stock: 9}) { id } }",
        "combination",
    ),
    "combination_delete": ("mutation($id: ID!) { done: combination_delete(id: $id) { id } }", "combination"),
    "option_exception_delete": (
        "mutation($id: ID!) { done: option_exception_delete(id: $id) { id } }",
        "exception",
    ),
    "attachment_create": (
        'mutation($id: ID!) { done: attachment_create(input: {product_id: $id, filename: "x", url: "https://x.example"}) { id } }',
        "mug",
    ),
    "required_products": (
        "mutation($id: ID!) { done: product_required_products_set(id: $id, product_ids: []) { id } }",
        "mug",
    ),
    "combination_batch_create": (
        "mutation($id: ID!) { done: combination_batch_create(product_id: $id, inputs: [{choices: []}]) { id } }",
        "mug",
    ),
}


@pytest.mark.parametrize("name", WRITES)
async def test_other_callers_cannot_change_options(sample, other_sample, name):
    text, record = WRITES[name]
    admin = await sample.add_user("view_catalog", "manage_products")
    before = await sample.rows("select id, on_hand from combinations union all select id, 0 from options")
    for who, by, record_id, codes in (
        ("a customer", sample.caio, getattr(sample, record).id, {"FORBIDDEN"}),
        (
            "an administrator without the privilege",
            admin,
            getattr(sample, record).id,
            {"INSUFFICIENT_PRIVILEGES", "FORBIDDEN"},
        ),
        (
            "another vendor",
            sample.rival_vendor_user,
            getattr(sample, record).id,
            {"NOT_FOUND", "VALIDATION_FAILED"},
        ),
        ("another store", sample.owner, getattr(other_sample, record).id, {"NOT_FOUND", "VALIDATION_FAILED"}),
        ("a missing record", sample.owner, "x", {"NOT_FOUND", "VALIDATION_FAILED"}),
    ):
        answer = await execute_query(sample, text, by, id=record_id)
        assert answer.get("errors"), (who, answer)
        assert answer["errors"][0]["extensions"]["code"] in codes, (who, answer)
    assert await sample.rows("select id, on_hand from combinations union all select id, 0 from options") == before


async def test_a_batch_reports_each_error_with_its_index(sample):
    text = """mutation($p: ID!, $i: [CombinationInput!]!) { combination_batch_create(product_id: $p, inputs: $i) { sku } }"""
    small = [{"option_id": sample.size.id, "variant_id": sample.small.id}]
    invalid = [{"choices": small}, {"choices": small}, {"choices": small, "stock": -1}]
    answer = await execute_query(sample, text, p=sample.mug.id, i=invalid)
    errors = answer["errors"][0]["extensions"]["details"]["errors"]
    assert [(error["index"], error["field"]) for error in errors] == [(1, "choices"), (2, "stock")]
    valid = [
        {"choices": small, "sku": "B"},
        {"choices": [{"option_id": sample.print.id, "variant_id": sample.dotted.id}], "sku": "A"},
    ]
    answer = await execute_query(sample, text, p=sample.mug.id, i=valid)
    assert [combination["sku"] for combination in answer["data"]["combination_batch_create"]] == ["B", "A"]


async def test_a_changed_combination_emits_product_updated(sample):
    async def event_names() -> list[str]:
        rows = await sample.rows("select name from outbox_events where subject_id = $1 order by id", sample.mug.id)
        return [row["name"] for row in rows]

    before = await event_names()
    path = f"/api/combinations/{sample.combination}"
    assert (await sample.put(path, {"amount": 4})).status == 200
    assert await event_names() == [*before, "product.updated"]
    assert (await sample.put(path, {"amount": "x"})).status == 400
    assert (await sample.delete(path)).status == 204
    assert await event_names() == [*before, "product.updated", "product.updated"]


async def test_option_changes_are_in_the_audit_log(sample):
    await sample.put(f"/api/options/{sample.size}", {"position": 4})
    await sample.put(f"/api/combinations/{sample.combination}", {"amount": 4})
    await sample.delete(f"/api/exceptions/{sample.exception}")
    rows = await sample.rows("select action from audit_entries order by id desc limit 3")
    assert [row["action"] for row in rows] == ["exception.deleted", "combination.updated", "option.updated"]
