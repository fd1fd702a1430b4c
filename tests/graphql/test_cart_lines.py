"""Lines of a cart are added, changed and removed in lists, by product or by combination: all of a request or none of it."""

from __future__ import annotations

from typing import Any

import pytest

from models.connection import database
from tests.graphql.test_carts import code, execute_query
from tests.graphql.test_storefront_fields import add_combination
from tests.harness.records import UNKNOWN_ID, Record
from tests.harness.sample_store import SampleStore

LINES = "id items { id product_id combination_id combination { id } quantity warnings { code available_quantity } } warnings { code }"
CREATE = f"mutation($items: [CartItemInput!]) {{ cart_create(input: {{items: $items}}) {{ {LINES} }} }}"
ADD = f"mutation($id: ID!, $items: [CartItemInput!]!) {{ cart_items_add(id: $id, items: $items) {{ {LINES} }} }}"
UPDATE = (
    f"mutation($id: ID!, $items: [CartItemUpdateInput!]!) {{ cart_items_update(id: $id, items: $items) {{ {LINES} }} }}"
)
REMOVE = f"mutation($id: ID!, $items: [ID!]!) {{ cart_items_remove(id: $id, item_ids: $items) {{ {LINES} }} }}"
SHOWN = f"query($id: ID!) {{ cart(id: $id) {{ {LINES} }} }}"


@pytest.fixture
async def shirt(sample: SampleStore) -> tuple[str, str]:
    """Return the ids of the two combinations of a product, of which there are 3 and 7 units."""
    product = await sample.add_product(name="Camisa", is_edp=True)
    await add_combination(sample, product, stock=3)
    await add_combination(sample, product, stock=7)
    rows = await sample.rows("select public_id from combinations where product_id = $1 order by id", product.number)
    first, second = (str(row["public_id"]) for row in rows)
    return first, second


async def cart_with(sample: SampleStore, *items: dict[str, Any]) -> Any:
    return await execute_query(sample, CREATE, sample.caio, items=list(items))


async def change(sample: SampleStore, query: str, cart: Any, items: list[Any]) -> Any:
    return await execute_query(sample, query, sample.caio, id=cart["id"], items=items)


def choices(cart: Any) -> list[tuple[str | None, int]]:
    return [(item["combination_id"], item["quantity"]) for item in cart["items"]]


async def test_a_combination_is_added_by_its_id_alone(sample: SampleStore, shirt: tuple[str, str]) -> None:
    cart = await cart_with(sample, {"combination_id": shirt[0], "quantity": 1})
    assert choices(cart) == [(shirt[0], 1)]
    added = [{"combination_id": shirt[1], "quantity": 2}, {"combination_id": shirt[0], "quantity": 1}]
    cart = await change(sample, ADD, cart, [*added, {"product_id": sample.mug.id, "quantity": 1}])
    assert choices(cart) == [(shirt[0], 2), (shirt[1], 2), (None, 1)]
    assert [item["combination"] and item["combination"]["id"] for item in cart["items"]] == [*shirt, None]
    assert await execute_query(sample, SHOWN, sample.caio, id=cart["id"]) == cart


async def test_one_line_that_is_refused_leaves_all_as_they_were(sample: SampleStore, shirt: tuple[str, str]) -> None:
    cart = await cart_with(sample, {"combination_id": shirt[0], "quantity": 1})
    mug, [line] = {"product_id": sample.mug.id, "quantity": 1}, cart["items"]
    refused = await change(sample, ADD, cart, [mug, {"product_id": sample.mug.id, "quantity": 0}])
    assert refused["extensions"]["details"]["fields"] == {"items.1.quantity": "quantity_invalid"}
    for item in ({"combination_id": UNKNOWN_ID}, {"combination_id": "x"}, {"combination_id": shirt[0], **mug}):
        refused = await change(sample, ADD, cart, [mug, {"quantity": 1, **item}])
        assert (code(refused)[0], refused["message"]) == ("NOT_FOUND", "combination not found"), item
    keeps = {"id": line["id"], "quantity": 9}
    for items, expected in (
        ([keeps, {"id": UNKNOWN_ID, "quantity": 1}], "NOT_FOUND"),
        ([keeps, {"id": "x", "quantity": 1}], "NOT_FOUND"),
        ([keeps, keeps], "VALIDATION_FAILED"),
        ([{**keeps, "quantity": -1}], "VALIDATION_FAILED"),
        ([{**keeps, "combination_id": UNKNOWN_ID}], "NOT_FOUND"),
        ([{**keeps, "options": {}}], "VALIDATION_FAILED"),
    ):
        assert code(await change(sample, UPDATE, cart, items))[0] == expected, items
    assert code(await change(sample, REMOVE, cart, [line["id"], UNKNOWN_ID]))[0] == "NOT_FOUND"
    assert await execute_query(sample, SHOWN, sample.caio, id=cart["id"]) == cart


async def test_quantities_and_choices_change_together_and_0_removes(
    sample: SampleStore, shirt: tuple[str, str]
) -> None:
    cart = await cart_with(
        sample,
        {"combination_id": shirt[0], "quantity": 1},
        {"combination_id": shirt[1], "quantity": 2},
        {"product_id": sample.mug.id, "quantity": 1},
    )
    first, second, mug = (item["id"] for item in cart["items"])
    exchanged = [
        {"id": first, "combination_id": shirt[1]},
        {"id": second, "combination_id": shirt[0], "quantity": 3},
        {"id": mug, "quantity": 0},
    ]
    cart = await change(sample, UPDATE, cart, exchanged)
    assert [item["id"] for item in cart["items"]] == [first, second]
    assert choices(cart) == [(shirt[1], 1), (shirt[0], 3)]
    cart = await change(sample, UPDATE, cart, [{"id": second, "combination_id": shirt[1]}])
    assert [item["id"] for item in cart["items"]] == [first]
    assert choices(cart) == [(shirt[1], 4)]
    assert choices(await change(sample, REMOVE, cart, [first])) == []


@pytest.mark.combination
async def test_a_combination_takes_further_options_and_no_other_choice_of_its_own(sample: SampleStore) -> None:
    [row] = await sample.rows("select public_id from combinations where product_id = $1", sample.mug.number)
    combination = {"combination_id": str(row["public_id"]), "quantity": 1}
    cart = await cart_with(sample, combination, {**combination, "options": {sample.engraving.id: "Ana"}})
    assert choices(cart) == [(combination["combination_id"], 1)] * 2
    refused = await change(sample, ADD, cart, [{**combination, "options": {sample.size.id: sample.small.id}}])
    assert refused["extensions"]["details"]["fields"] == {"items.0.options": "duplicate"}


async def test_a_line_has_its_own_warnings(sample: SampleStore, shirt: tuple[str, str]) -> None:
    cart = await cart_with(
        sample, {"combination_id": shirt[0], "quantity": 4}, {"combination_id": shirt[1], "quantity": 1}
    )
    assert [item["warnings"] for item in cart["items"]] == [[{"code": "LESS_AVAILABLE", "available_quantity": 3}], []]
    assert cart["warnings"] == [{"code": "LESS_AVAILABLE"}]
    assert await execute_query(sample, SHOWN, sample.caio, id=cart["id"]) == cart


async def test_the_statements_do_not_grow_with_the_lines(sample: SampleStore, shirt: tuple[str, str]) -> None:
    counts: dict[str, list[int]] = {"add": [], "update": [], "remove": []}
    products: list[Record] = [await sample.add_product(name=f"Produto {number}") for number in range(30)]
    for length in (1, 30):
        cart = await cart_with(sample)
        added = [{"product_id": product.id, "quantity": 1} for product in products[:length]]
        steps = (
            ("add", ADD, lambda _, added=added: [*added, {"combination_id": shirt[0], "quantity": 1}]),
            ("update", UPDATE, lambda cart: [{"id": item["id"], "quantity": 2} for item in cart["items"]]),
            ("remove", REMOVE, lambda cart: [item["id"] for item in cart["items"]]),
        )
        for name, query, items in steps:
            with database.count_statements() as counted:
                cart = await change(sample, query, cart, items(cart))
            counts[name].append(counted.count)
    assert all(len(set(each)) == 1 for each in counts.values()), counts
