"""An order can be put into a cart again by its customer, the holder of its token or staff; what can't be added is a warning."""

from __future__ import annotations

from typing import Any

import pytest

from tests.graphql.test_cart_merge import cart_of, quantities
from tests.graphql.test_carts import code, execute_query, key_of
from tests.harness.records import UNKNOWN_ID
from tests.harness.sample_store import SampleStore

REORDER = """mutation($id: ID!, $cart: ID, $token: String) { order_reorder(id: $id, cart_id: $cart, token: $token) {
    id status total_cents items { product_id quantity price_cents options { value } }
    warnings { code quantity available_quantity product_id item { id } } } }"""


async def order_of(sample: SampleStore, *lines: tuple[Any, int]) -> str:
    return str((await sample.place_order(*lines, user=sample.caio.id)).id)


async def test_a_customer_orders_again_at_todays_prices(sample: SampleStore) -> None:
    order = await order_of(sample, (sample.mug, 2), (sample.plate, 1))
    await sample.execute("UPDATE products SET price_cents = 7000 WHERE id = $1", sample.mug.number)
    cart = await execute_query(sample, REORDER, sample.caio, id=order)
    assert (cart["status"], quantities(cart), cart["warnings"]) == (
        "open",
        {sample.mug.id: 2, sample.plate.id: 1},
        [],
    )
    assert cart["items"][0]["price_cents"] == 7000
    again = await execute_query(sample, REORDER, sample.caio, id=order, cart=cart["id"])
    assert (again["id"], quantities(again)) == (cart["id"], {sample.mug.id: 4, sample.plate.id: 2})


async def test_what_is_not_sold_or_in_stock_is_a_warning(sample: SampleStore) -> None:
    gone, disabled, short = [await sample.add_product(name=name, on_hand=9) for name in ("Bule", "Jarra", "Copo")]
    order = await order_of(sample, (gone, 1), (disabled, 2), (short, 5), (sample.mug, 1))
    await sample.execute("UPDATE products SET on_hand = reserved WHERE id = $1", gone.number)
    await sample.execute("UPDATE products SET status = 'D' WHERE id = $1", disabled.number)
    await sample.execute("UPDATE products SET on_hand = reserved + 2 WHERE id = $1", short.number)
    cart = await execute_query(sample, REORDER, sample.caio, id=order)
    assert quantities(cart) == {short.id: 2, sample.mug.id: 1}
    assert cart["warnings"] == [
        {"code": each[0], "quantity": each[1], "available_quantity": each[2], "product_id": each[3].id, "item": None}
        for each in (
            ("OUT_OF_STOCK", 1, 0, gone),
            ("PRODUCT_UNAVAILABLE", 2, 0, disabled),
            ("LESS_AVAILABLE", 5, 2, short),
        )
    ]


async def test_an_order_of_which_nothing_is_left_gives_an_empty_cart(sample: SampleStore) -> None:
    product = await sample.add_product(name="Bule", on_hand=9)
    order = await order_of(sample, (product, 1))
    await sample.execute("UPDATE products SET deleted_at = now() WHERE id = $1", product.number)
    cart = await execute_query(sample, REORDER, sample.caio, id=order)
    assert (cart["items"], [each["code"] for each in cart["warnings"]]) == ([], ["PRODUCT_UNAVAILABLE"])


async def test_orders_and_carts_of_others_are_absent(sample: SampleStore, other_sample: SampleStore) -> None:
    order = await order_of(sample, (sample.mug, 1))
    key = await key_of(sample)
    bias = await cart_of(sample, sample.bia, (sample.mug, 1))
    foreign = await order_of(other_sample, (other_sample.mug, 1))
    for by, variables in (
        (sample.bia, {"id": order}),
        (key, {"id": order}),
        (key, {"id": order, "token": "x"}),
        (sample.caio, {"id": order, "cart": bias}),
        (sample.caio, {"id": UNKNOWN_ID}),
        (sample.caio, {"id": "1"}),
        (sample.owner, {"id": foreign}),
    ):
        assert code(await execute_query(sample, REORDER, by, **variables))[0] == "NOT_FOUND", variables


async def test_staff_and_the_holder_of_the_token_order_again(sample: SampleStore) -> None:
    from auth.secrets import order_token

    order = await order_of(sample, (sample.mug, 1))
    token = order_token(sample.scope, order)
    for by, extra in ((sample.owner, {}), (await key_of(sample), {"token": token}), (sample.bia, {"token": token})):
        assert quantities(await execute_query(sample, REORDER, by, id=order, **extra)) == {sample.mug.id: 1}


@pytest.mark.parametrize("length", [1, 40])
async def test_the_statements_of_a_reorder_do_not_grow_with_the_order(length: int, sample: SampleStore) -> None:
    products = [await sample.add_product(on_hand=9) for _ in range(length)]
    order = await order_of(sample, *((product, 1) for product in products))
    answer = await sample.post(
        "/graphql", {"query": REORDER, "variables": {"id": order}}, auth="bearer", by=sample.caio
    )
    assert len(answer.body["data"]["order_reorder"]["items"]) == length
    assert answer.statements <= 25
