"""Who sees and changes what can be chosen: shoppers what is on sale, vendors their own, nobody another store's."""

from __future__ import annotations

from typing import Any

import pytest

from tests.shop import Person, Shop, new_shop, other_shop, shop, shop_client

__all__ = ["new_shop", "other_shop", "shop", "shop_client"]

SEEN = """query($p: ID!, $o: ID!, $c: ID!, $e: ID!) {
    option(id: $o) { name } combination(id: $c) { sku stock } option_exception(id: $e) { type }
    product(id: $p) { options { name } combinations { sku } attachments { filename } required_products { id } }
    options { id } combinations { id } option_exceptions { id } attachments { id } }"""


async def ask(shop: Shop, text: str, by: Person | None = None, **variables: Any) -> Any:
    answer = await shop.post("/graphql", {"query": text, "variables": variables}, auth="bearer", by=by)
    assert answer.status == 200, answer.raw
    return answer.body


async def seen(shop: Shop, by: Person | None = None, of: Shop | None = None) -> Any:
    of = of or shop
    named = {"p": of.mug.id, "o": of.size.id, "c": of.combination.id, "e": of.exception.id}
    answer = await ask(shop, SEEN, by, **named)
    assert "errors" not in answer, answer
    return answer["data"]


NOTHING = {"option": None, "combination": None, "option_exception": None, "product": None}


async def test_shoppers_see_what_they_can_choose_until_its_product_is_hidden(shop):
    found = await seen(shop, shop.caio)
    assert found["option"] == {"name": "Tamanho"}
    assert found["combination"] == {"sku": "CAN-1-G", "stock": 3}
    assert len(found["product"]["options"]) == 3
    assert len(found["attachments"]) == 1
    await shop.put(f"/api/products/{shop.mug}", {"status": "H"})
    found = await seen(shop, shop.caio)
    assert found == NOTHING | {
        name: [] for name in ("options", "combinations", "option_exceptions", "attachments")
    }


async def test_a_disabled_option_is_not_offered(shop):
    await shop.put(f"/api/options/{shop.size}", {"status": "D"})
    found = await seen(shop, shop.caio)
    assert found["option"] is None
    assert [option["name"] for option in found["product"]["options"]] == ["Estampa", "Gravação"]


async def test_vendors_see_and_change_their_own(shop):
    assert (await seen(shop, shop.seller))["combination"]["sku"] == "CAN-1-G"
    found = await seen(shop, shop.rival_seller)
    assert found == NOTHING | {
        name: [] for name in ("options", "combinations", "option_exceptions", "attachments")
    }


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
async def test_nobody_else_changes_them(shop, other_shop, name):
    text, record = WRITES[name]
    admin = await shop.new_person("view_catalog", "manage_products")
    before = await shop.rows("select id, on_hand from combinations union all select id, 0 from options")
    for who, by, named, codes in (
        ("a shopper", shop.caio, getattr(shop, record).id, {"FORBIDDEN"}),
        (
            "an administrator without the right",
            admin,
            getattr(shop, record).id,
            {"INSUFFICIENT_PRIVILEGES", "FORBIDDEN"},
        ),
        ("another vendor", shop.rival_seller, getattr(shop, record).id, {"NOT_FOUND", "VALIDATION_FAILED"}),
        ("another store", shop.owner, getattr(other_shop, record).id, {"NOT_FOUND", "VALIDATION_FAILED"}),
        ("anybody, of nothing", shop.owner, "x", {"NOT_FOUND", "VALIDATION_FAILED"}),
    ):
        answer = await ask(shop, text, by, id=named)
        assert answer.get("errors"), (who, answer)
        assert answer["errors"][0]["extensions"]["code"] in codes, (who, answer)
    assert (
        await shop.rows("select id, on_hand from combinations union all select id, 0 from options") == before
    )


async def test_a_batch_tells_each_mistake_by_its_place(shop):
    text = """mutation($p: ID!, $i: [CombinationInput!]!) { combination_batch_create(product_id: $p, inputs: $i) { sku } }"""
    small = [{"option_id": shop.size.id, "variant_id": shop.small.id}]
    wrong = [{"choices": small}, {"choices": small}, {"choices": small, "stock": -1}]
    answer = await ask(shop, text, p=shop.mug.id, i=wrong)
    errors = answer["errors"][0]["extensions"]["details"]["errors"]
    assert [(error["index"], error["field"]) for error in errors] == [(1, "choices"), (2, "stock")]
    right = [
        {"choices": small, "sku": "B"},
        {"choices": [{"option_id": shop.print.id, "variant_id": shop.dotted.id}], "sku": "A"},
    ]
    answer = await ask(shop, text, p=shop.mug.id, i=right)
    assert [each["sku"] for each in answer["data"]["combination_batch_create"]] == ["B", "A"]


async def test_a_combination_that_changes_is_news_of_its_product(shop):
    async def told() -> list[str]:
        found = await shop.rows(
            "select name from outbox_events where subject_id = $1 order by id", shop.mug.id
        )
        return [row["name"] for row in found]

    before = await told()
    path = f"/api/combinations/{shop.combination}"
    assert (await shop.put(path, {"amount": 4})).status == 200
    assert await told() == [*before, "product.updated"]
    assert (await shop.put(path, {"amount": "x"})).status == 400
    assert (await shop.delete(path)).status == 204
    assert await told() == [*before, "product.updated", "product.updated"]


async def test_what_is_written_is_in_the_audit_log(shop):
    await shop.put(f"/api/options/{shop.size}", {"position": 4})
    await shop.put(f"/api/combinations/{shop.combination}", {"amount": 4})
    await shop.delete(f"/api/exceptions/{shop.exception}")
    found = await shop.rows("select action from audit_entries order by id desc limit 3")
    assert [row["action"] for row in found] == ["exception.deleted", "combination.updated", "option.updated"]
