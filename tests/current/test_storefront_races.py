"""Whatever checkouts meet at once, no cart becomes two orders, nothing is sold twice, and every answer is true."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace
from datetime import timedelta

import pytest

from domain.orders.expiry import expire_holds
from domain.stores import set_gateway_secret
from tests.current.fronts import Front
from tests.gateway import SECRET, charge, event, raw, signature
from tests.shop import Answer, Made, Shop

ROUNDS = 2


def statuses(answers: list[Answer]) -> Counter[tuple[int, str]]:
    """Count answers by status and what they say."""
    return Counter((answer.status, said(answer)) for answer in answers)


def said(answer: Answer) -> str:
    error = answer.body.get("error", "")
    return error["code"] if isinstance(error, dict) else error


async def orders(shop: Shop) -> int:
    return int(await shop.value("SELECT count(*) FROM orders WHERE origin = 'storefront'"))


async def figures(shop: Shop, product: Made) -> tuple[int, int]:
    [row] = await shop.rows("SELECT on_hand, reserved FROM products WHERE id = $1", product.number)
    return row["on_hand"], row["reserved"]


@pytest.mark.parametrize("_", range(ROUNDS))
async def test_fifty_checkouts_of_one_cart_make_one_order(front: Front, _: int) -> None:
    product = await front.shop.new_product(on_hand=100)
    cart = await front.cart((product, 2))
    answers = await asyncio.gather(*(front.check_out(cart) for _ in range(50)))
    assert statuses(answers) == {(201, ""): 1, (409, "cart_already_ordered"): 49}
    assert await orders(front.shop) == 1
    assert await figures(front.shop, product) == (100, 2)


@pytest.mark.parametrize("_", range(ROUNDS))
async def test_thirty_buyers_of_the_last_five_units(front: Front, _: int) -> None:
    last = await front.shop.new_product(on_hand=5)
    carts = [await front.cart((last, 1)) for _ in range(30)]
    answers = await asyncio.gather(
        *(
            front.check_out(cart, customer_email=f"buyer{place}@example.com", key=f"k{place}")
            for place, cart in enumerate(carts)
        )
    )
    assert statuses(answers) == {(201, ""): 5, (422, "out_of_stock"): 25}
    assert await figures(front.shop, last) == (5, 5)
    for cart, answer in zip(carts, answers, strict=True):
        status = (await front.get(f"carts/{cart}")).body["status"]
        assert status == ("ordered" if answer.status == 201 else "open")


@pytest.mark.parametrize("_", range(ROUNDS))
async def test_one_checkout_sent_many_times_with_one_key_has_one_effect(front: Front, _: int) -> None:
    product = await front.shop.new_product()
    cart = await front.cart((product, 1))
    answers = await asyncio.gather(*(front.check_out(cart, key="k") for _ in range(20)))
    assert set(statuses(answers)) <= {(201, ""), (409, "in_progress")}
    assert len({answer.raw for answer in answers if answer.status == 201}) == 1
    for answer in answers:
        if answer.status == 409:
            assert answer.body["retry_after_ms"] > 0
    assert await figures(front.shop, product) == (100, 1)


@pytest.mark.parametrize("_", range(ROUNDS))
async def test_one_purchase_from_many_carts_under_many_keys_is_made_once(front: Front, _: int) -> None:
    product = await front.shop.new_product()
    carts = [await front.cart((product, 1)) for _ in range(10)]
    answers = await asyncio.gather(
        *(front.check_out(cart, key=f"k{place}") for place, cart in enumerate(carts))
    )
    assert statuses(answers) == {(201, ""): 1, (409, "duplicate_order"): 9}
    assert await figures(front.shop, product) == (100, 1)


@pytest.mark.parametrize("_", range(ROUNDS))
async def test_what_is_put_in_while_the_cart_is_ordered_is_in_the_order_or_refused(
    front: Front, _: int
) -> None:
    product, other = await front.shop.new_product(), await front.shop.new_product(price_cents=777)
    cart = await front.cart((product, 1))
    more = {"product_id": other.id, "quantity": 1}
    ordered, *added = await asyncio.gather(
        front.check_out(cart), *(front.post(f"carts/{cart}/items", more) for _ in range(10))
    )
    assert ordered.status == 201
    put_in = sum(answer.status == 201 for answer in added)
    assert statuses(list(added))[409, "cart_already_ordered"] == 10 - put_in
    units = {item["product_id"]: item["quantity"] for item in ordered.body["items"]}
    assert units.get(other.id, 0) == put_in
    assert await figures(front.shop, other) == (100, put_in)
    shown = (await front.get(f"carts/{cart}")).body
    assert shown["total_cents"] == ordered.body["total_cents"] == 1_000 + 777 * put_in + 1_500


async def test_items_put_in_at_once_are_all_there(front: Front) -> None:
    cart = await front.cart(ready=False)
    items = [front.shop.mug, front.shop.plate]
    answers = await asyncio.gather(
        *(
            front.post(f"carts/{cart}/items", {"product_id": item.id, "quantity": 1})
            for item in items
            for _ in range(10)
        )
    )
    assert {answer.status for answer in answers} == {201}
    shown = (await front.get(f"carts/{cart}")).body
    assert sorted(item["quantity"] for item in shown["items"]) == [10, 10]


# --- A payment that arrives after the hold expired -----------------------------------------------------------------------


async def pay(front: Front, order: str, cents: int) -> None:
    body = event("charge.paid", charge(order, cents))
    answer = await front.shop.post(
        "/api/v1/webhooks/gateway",
        data=raw(body),
        auth=None,
        headers={"X-Hub-Signature-256": signature(body), "Content-Type": "application/json"},
    )
    assert answer.status == 200


async def test_a_payment_after_the_hold_expired_takes_the_stock_again_or_says_that_it_is_gone(
    front: Front,
) -> None:
    shop = front.shop
    await set_gateway_secret(shop.scope(), SECRET)
    last = await shop.new_product(on_hand=1)
    late = replace(shop.scope(), now=shop.scope().now + timedelta(days=4))
    first = (await front.order((last, 1))).body
    await expire_holds(late)
    assert await figures(shop, last) == (1, 0)
    shown = await front.get(f"orders/{first['id']}?token={first['token']}")
    assert shown.body["status"] == "F"

    second = (await front.order((last, 1), customer_email="bia@example.com")).body
    await pay(front, first["id"], first["total_cents"])
    shown = await front.get(f"orders/{first['id']}?token={first['token']}")
    assert (shown.body["status"], shown.body["payment_status"]) == ("F", "paid")
    problem = await shop.value("SELECT error_message FROM gateway_notifications")
    assert problem.startswith("out_of_stock:")
    assert await figures(shop, last) == (1, 1)

    await expire_holds(late)
    await pay(front, second["id"], second["total_cents"])
    shown = await front.get(f"orders/{second['id']}?token={second['token']}")
    assert (shown.body["status"], shown.body["payment_status"]) == ("P", "paid")
    assert await figures(shop, last) == (0, 0)


@pytest.mark.parametrize("_", range(ROUNDS))
async def test_a_payment_an_expiry_and_another_buyer_at_once_sell_one_unit_once(front: Front, _: int) -> None:
    shop = front.shop
    await set_gateway_secret(shop.scope(), SECRET)
    last = await shop.new_product(on_hand=1)
    made = (await front.order((last, 1))).body
    cart = await front.cart((last, 1))
    late = replace(shop.scope(), now=shop.scope().now + timedelta(days=4))
    answer, *_rest = await asyncio.gather(
        front.check_out(cart, customer_email="bia@example.com"),
        expire_holds(late),
        pay(front, made["id"], made["total_cents"]),
    )
    first = await shop.value("SELECT status FROM orders WHERE id = $1", made["number"])
    on_hand, reserved = await figures(shop, last)
    sold = (first == "P") + (answer.status == 201)
    assert sold == 1
    assert (on_hand, reserved) == ((0, 0) if first == "P" else (1, 1))
    assert await shop.value("SELECT payment_status FROM orders WHERE id = $1", made["number"]) == "paid"
