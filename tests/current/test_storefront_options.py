"""Options in a storefront: prices, orders and exceptions (docs/reference/current.md#carts)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.harness.records import UNKNOWN_ID
from tests.harness.storefront import ADDRESS, StorefrontClient

pytestmark = pytest.mark.combination


def chosen(storefront: StorefrontClient, *names: str) -> dict[str, str]:
    owners = {"small": "size", "large": "size", "plain": "print", "dotted": "print"}
    return {getattr(storefront.sample, owners[name]).id: getattr(storefront.sample, name).id for name in names}


async def add_item(storefront: StorefrontClient, cart: str, options: Any, quantity: int = 1) -> Any:
    return await storefront.post(
        f"carts/{cart}/items",
        {"product_id": storefront.sample.mug.id, "quantity": quantity, "options": options},
    )


async def send(storefront: StorefrontClient, cart: str) -> None:
    await storefront.put(f"carts/{cart}/address", ADDRESS)
    answer = await storefront.put(f"carts/{cart}/shipping-option", {"shipping_id": storefront.sample.sedex.id})
    assert answer.status == 200, answer.raw


async def test_each_choice_of_options_is_a_separate_item_with_its_price(storefront: StorefrontClient) -> None:
    both = chosen(storefront, "large", "plain")
    cart = await storefront.cart()
    engraved = {**both, storefront.sample.engraving.id: "Ana"}
    for options in (both, dict(reversed(both.items())), engraved):
        answer = await add_item(storefront, cart, options)
        assert answer.status == 201, (options, answer.raw)
    items = answer.body["items"]
    assert [(item["quantity"], item["price_cents"], item["options"]) for item in items] == [
        (2, 5_690, both),
        (1, 5_690, engraved),
    ]
    assert (await storefront.get(f"carts/{cart}")).body["items"] == items


async def test_selected_options_are_copied_to_the_order(storefront: StorefrontClient) -> None:
    cart = await storefront.cart()
    await add_item(storefront, cart, chosen(storefront, "large", "plain"), 2)
    await send(storefront, cart)
    answer = await storefront.check_out(cart)
    assert answer.status == 201, answer.raw
    assert answer.body["items"][0]["price_cents"] == 5_690
    assert (await storefront.sample.get(f"/api/combinations/{storefront.sample.combination}")).body["amount"] == "1"
    shown = await storefront.sample.get(f"/api/orders/{answer.body['number']}")
    [line] = shown.body["products"].values()
    assert line["product_code"] == "CAN-1-G"
    assert line["extra"]["product_options"] == {
        str(storefront.sample.size): str(storefront.sample.large),
        str(storefront.sample.print): str(storefront.sample.plain),
    }


async def test_a_quantity_above_the_combination_stock_is_out_of_stock(storefront: StorefrontClient) -> None:
    cart = await storefront.cart()
    await add_item(storefront, cart, chosen(storefront, "large", "plain"), 4)
    await send(storefront, cart)
    answer = await storefront.check_out(cart)
    assert (answer.status, answer.body["error"]["code"]) == (422, "out_of_stock")
    assert answer.body["error"]["details"]["products"][0]["available"] == 3


@pytest.mark.parametrize("names", [("small", "dotted"), ("small",)])
async def test_an_excluded_combination_is_rejected_in_portuguese(storefront: StorefrontClient, names: Any) -> None:
    cart = await storefront.cart()
    answer = await add_item(storefront, cart, chosen(storefront, *names))
    assert answer.status == 422, answer.raw
    assert "Caneca de Ágata" in str(answer.body)
    assert "Estas opções" in str(answer.body) or "Não existe" in str(answer.body)
    assert (await storefront.get(f"carts/{cart}")).body["items"] == []


@pytest.mark.parametrize("options", [{UNKNOWN_ID: UNKNOWN_ID}, {"x": "y"}, 7, [1], "x", {"1": {}}])
async def test_invalid_options_are_rejected(storefront: StorefrontClient, options: Any) -> None:
    cart = await storefront.cart()
    answer = await add_item(storefront, cart, options)
    assert (answer.status, answer.body["error"]) == (400, "validation_failed")
    assert set(answer.body["fields"]) == {"options"}
    made = await storefront.post(
        "carts", {"items": [{"product_id": storefront.sample.mug.id, "quantity": 1, "options": options}]}
    )
    assert made.status == 400
    assert [name.rpartition(".")[2] for name in made.body["fields"]] == ["options"]


async def test_a_required_option_must_be_selected(storefront: StorefrontClient) -> None:
    await storefront.sample.put(f"/api/options/{storefront.sample.size}", {"required": "Y"})
    cart = await storefront.cart()
    answer = await add_item(storefront, cart, {})
    assert (answer.status, answer.body["fields"]) == (400, {"options": "option_required"})


async def test_an_item_with_a_deleted_option_remains_visible_and_cannot_be_checked_out(
    storefront: StorefrontClient,
) -> None:
    cart = await storefront.cart()
    await add_item(storefront, cart, chosen(storefront, "large", "plain"))
    await storefront.sample.delete(f"/api/options/{storefront.sample.size}")
    shown = (await storefront.get(f"carts/{cart}")).body
    assert [item["price_cents"] for item in shown["items"]] == [5_690]
    answer = await storefront.check_out(cart)
    assert (answer.status, answer.body["error"]["code"]) == (422, "product_unavailable")


async def test_a_product_is_checked_out_only_with_its_required_products(storefront: StorefrontClient) -> None:
    sample = storefront.sample
    text = "mutation($id: ID!, $ids: [ID!]!) { product_required_products_set(id: $id, product_ids: $ids) { id } }"
    request = {"query": text, "variables": {"id": sample.mug.id, "ids": [sample.plate.id]}}
    assert "errors" not in (await sample.post("/graphql", request, auth="bearer")).body
    cart = await storefront.cart()
    await add_item(storefront, cart, chosen(storefront, "large", "plain"))
    await send(storefront, cart)
    answer = await storefront.check_out(cart)
    assert (answer.status, answer.body["error"]["code"]) == (422, "required_products")
    assert answer.body["error"]["details"]["products"][0]["product_id"] == sample.mug.id
    await storefront.post(f"carts/{cart}/items", {"product_id": sample.plate.id, "quantity": 1})
    assert (await storefront.check_out(cart)).status == 201
