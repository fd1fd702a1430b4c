"""Choose options in a storefront: they are in the price, in the order, and in what a rule refuses."""

from __future__ import annotations

from typing import Any

import pytest

from tests.current.fronts import ADDRESS, Front, open_front
from tests.shop import NOBODY

__all__ = ["open_front"]


def chosen(front: Front, *names: str) -> dict[str, str]:
    owners = {"small": "size", "large": "size", "plain": "print", "dotted": "print"}
    return {getattr(front.shop, owners[name]).id: getattr(front.shop, name).id for name in names}


async def put_in(front: Front, cart: str, options: Any, quantity: int = 1) -> Any:
    return await front.post(
        f"carts/{cart}/items", {"product_id": front.shop.mug.id, "quantity": quantity, "options": options}
    )


async def send(front: Front, cart: str) -> None:
    await front.put(f"carts/{cart}/address", ADDRESS)
    answer = await front.put(f"carts/{cart}/shipping-option", {"shipping_id": front.shop.sedex.id})
    assert answer.status == 200, answer.raw


async def test_each_choice_is_an_item_of_its_own_at_its_own_price(front: Front) -> None:
    cart = await front.cart((front.shop.mug, 1))
    both = chosen(front, "large", "plain")
    for options in (both, dict(reversed(both.items())), {front.shop.engraving.id: "Ana"}):
        answer = await put_in(front, cart, options)
        assert answer.status == 201, answer.raw
    items = answer.body["items"]
    assert [(item["quantity"], item["price_cents"], item["options"]) for item in items] == [
        (1, 4_990, {}),
        (2, 5_690, both),
        (1, 4_990, {front.shop.engraving.id: "Ana"}),
    ]
    assert (await front.get(f"carts/{cart}")).body["items"] == items


async def test_what_is_chosen_goes_into_the_order(front: Front) -> None:
    cart = await front.cart()
    await put_in(front, cart, chosen(front, "large", "plain"), 2)
    await send(front, cart)
    answer = await front.check_out(cart)
    assert answer.status == 201, answer.raw
    assert answer.body["items"][0]["price_cents"] == 5_690
    assert (await front.shop.get(f"/api/combinations/{front.shop.combination}")).body["amount"] == "1"
    shown = await front.shop.get(f"/api/orders/{answer.body['number']}")
    [line] = shown.body["products"].values()
    assert line["product_code"] == "CAN-1-G"
    assert line["extra"]["product_options"] == {
        str(front.shop.size): str(front.shop.large),
        str(front.shop.print): str(front.shop.plain),
    }


async def test_more_than_the_combination_holds_is_out_of_stock(front: Front) -> None:
    cart = await front.cart()
    await put_in(front, cart, chosen(front, "large", "plain"), 4)
    await send(front, cart)
    answer = await front.check_out(cart)
    assert (answer.status, answer.body["error"]["code"]) == (422, "out_of_stock")
    assert answer.body["error"]["details"]["products"][0]["available"] == 3


@pytest.mark.parametrize("names", [("small", "dotted"), ("small",)])
async def test_what_can_not_be_chosen_together_is_refused_in_portuguese(front: Front, names: Any) -> None:
    cart = await front.cart()
    answer = await put_in(front, cart, chosen(front, *names))
    assert answer.status == 422, answer.raw
    assert "Caneca de Ágata" in str(answer.body)
    assert "Estas opções" in str(answer.body) or "Não existe" in str(answer.body)
    assert (await front.get(f"carts/{cart}")).body["items"] == []


@pytest.mark.parametrize("options", [{NOBODY: NOBODY}, {"x": "y"}, 7, [1], "x", {"1": {}}])
async def test_wrong_options_are_refused(front: Front, options: Any) -> None:
    cart = await front.cart()
    answer = await put_in(front, cart, options)
    assert (answer.status, answer.body["error"]) == (400, "validation_failed")
    assert set(answer.body["fields"]) == {"options"}
    made = await front.post(
        "carts", {"items": [{"product_id": front.shop.mug.id, "quantity": 1, "options": options}]}
    )
    assert made.status == 400
    assert [name.rpartition(".")[2] for name in made.body["fields"]] == ["options"]


async def test_a_required_option_has_to_be_chosen(front: Front) -> None:
    await front.shop.put(f"/api/options/{front.shop.size}", {"required": "Y"})
    cart = await front.cart()
    answer = await put_in(front, cart, {})
    assert (answer.status, answer.body["fields"]) == (400, {"options": "option_required"})


async def test_an_item_whose_choice_is_gone_stays_to_be_seen_and_is_not_sold(front: Front) -> None:
    cart = await front.cart()
    await put_in(front, cart, chosen(front, "large", "plain"))
    await front.shop.delete(f"/api/options/{front.shop.size}")
    shown = (await front.get(f"carts/{cart}")).body
    assert [item["price_cents"] for item in shown["items"]] == [5_690]
    answer = await front.check_out(cart)
    assert (answer.status, answer.body["error"]["code"]) == (422, "product_unavailable")


async def test_a_product_is_checked_out_together_with_those_it_requires(front: Front) -> None:
    shop = front.shop
    text = "mutation($id: ID!, $ids: [ID!]!) { product_required_products_set(id: $id, product_ids: $ids) { id } }"
    given = {"query": text, "variables": {"id": shop.mug.id, "ids": [shop.plate.id]}}
    assert "errors" not in (await shop.post("/graphql", given, auth="bearer")).body
    cart = await front.cart((shop.mug, 1))
    answer = await front.check_out(cart)
    assert (answer.status, answer.body["error"]["code"]) == (422, "required_products")
    assert answer.body["error"]["details"]["products"][0]["product_id"] == shop.mug.id
    await front.post(f"carts/{cart}/items", {"product_id": shop.plate.id, "quantity": 1})
    assert (await front.check_out(cart)).status == 201
