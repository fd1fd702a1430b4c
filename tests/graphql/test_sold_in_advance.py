"""What storefronts and programs see of products that are sold in advance, or not yet."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from kernel.clock import now
from tests.harness.sample_store import SampleStore

SHOWN = "query($id: ID!) { product(id: $id) { is_available in_advance available_quantity } }"
FACETS = '{ product_search(query: "caneca") { total facets { availability { is_available count } } } }'
CART = """mutation($input: CartInput!) { cart_create(input: $input) {
    id items { is_available } warnings { code available_quantity } } }"""


async def ask(sample: SampleStore, query: str, **variables: Any) -> dict[str, Any]:
    answer = await sample.post("/graphql", {"query": query, "variables": variables}, auth="bearer")
    assert "errors" not in answer.body, answer.body
    data: dict[str, Any] = answer.body["data"]
    return data


async def set_sale(sample: SampleStore, stock: int, action: str, days: int | None) -> None:
    since = None if days is None else now() + timedelta(days=days)
    await sample.execute(
        "update products set on_hand = reserved + $2, out_of_stock_action = $3, available_since = $4 where id = $1",
        sample.mug.number,
        stock,
        action,
        since,
    )


@pytest.mark.parametrize(
    "stock, action, days, shown",
    [
        (5, "N", None, (True, False, 5)),
        (0, "N", None, (False, False, 0)),
        (0, "B", None, (True, True, None)),
        (5, "B", None, (True, False, None)),
        (5, "B", 2, (True, True, None)),
        (5, "N", 2, (False, False, 0)),
        (5, "N", -2, (True, False, 5)),
        (0, "B", -2, (True, True, None)),
    ],
)
async def test_a_product_shows_whether_it_can_be_bought(
    sample: SampleStore, stock: int, action: str, days: int | None, shown: tuple[bool, bool, int | None]
) -> None:
    await set_sale(sample, stock, action, days)
    product = (await ask(sample, SHOWN, id=sample.mug.id))["product"]
    assert (product["is_available"], product["in_advance"], product["available_quantity"]) == shown
    facets = (await ask(sample, FACETS))["product_search"]["facets"]["availability"]
    assert facets == [{"is_available": shown[0], "count": 1}]


async def test_a_cart_takes_what_is_sold_in_advance_without_a_warning_and_becomes_an_order(sample: SampleStore) -> None:
    await set_sale(sample, 1, "B", None)
    items = [{"product_id": sample.mug.id, "quantity": 3}]
    cart = (await ask(sample, CART, input={"items": items}))["cart_create"]
    assert (cart["items"], cart["warnings"]) == ([{"is_available": True}], [])
    await set_sale(sample, 1, "N", None)
    cart = (await ask(sample, CART, input={"items": items}))["cart_create"]
    assert cart["warnings"] == [{"code": "LESS_AVAILABLE", "available_quantity": 1}]


async def test_a_program_of_cs_cart_orders_in_advance(sample: SampleStore) -> None:
    created = await sample.post("/api/products", {"product": "Livro", "price": "1", "is_edp": "Y", "amount": 0})
    number = created.body["product_id"]
    body = {"user_id": sample.caio.number, "products": {number: {"amount": 2}}}
    refused = await sample.post("/api/orders", body)
    assert refused.status == 422
    assert (await sample.put(f"/api/products/{number}", {"out_of_stock_actions": "B"})).status == 200
    placed = await sample.post("/api/orders", body)
    assert placed.status == 201
    lines = await sample.rows(
        "select in_advance, tracked from order_lines where order_id = $1", int(placed.body["order_id"])
    )
    assert [tuple(line) for line in lines] == [(True, False)]
    query = "query($id: ID!) { order(id: $id) { items { in_advance } } }"
    order = await sample.value("select public_id from orders where id = $1", int(placed.body["order_id"]))
    assert (await ask(sample, query, id=str(order)))["order"] == {"items": [{"in_advance": True}]}
