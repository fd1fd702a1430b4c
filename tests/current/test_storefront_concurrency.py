"""Concurrent checkouts: one order per cart and no oversell (docs/reference/current.md#checkout, docs/reference/shared.md#stock)."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace
from datetime import timedelta

import pytest

from domain.orders.expiry import expire_orders
from domain.stores import set_gateway_secret
from tests.harness.gateway import SECRET, charge, event, raw, signature
from tests.harness.http import Response
from tests.harness.records import Record
from tests.harness.sample_store import SampleStore
from tests.harness.storefront import StorefrontClient

ROUNDS = 2


def statuses(answers: list[Response]) -> Counter[tuple[int, str]]:
    """Count responses by status and error code."""
    return Counter((answer.status, error_code(answer)) for answer in answers)


def error_code(answer: Response) -> str:
    error = answer.body.get("error", "")
    return error["code"] if isinstance(error, dict) else error


async def orders(sample: SampleStore) -> int:
    return int(await sample.value("SELECT count(*) FROM orders WHERE origin = 'storefront'"))


async def stock_levels(sample: SampleStore, product: Record) -> tuple[int, int]:
    [row] = await sample.rows("SELECT on_hand, reserved FROM products WHERE id = $1", product.number)
    return row["on_hand"], row["reserved"]


@pytest.mark.parametrize("_", range(ROUNDS))
async def test_fifty_checkouts_of_one_cart_make_one_order(storefront: StorefrontClient, _: int) -> None:
    product = await storefront.sample.add_product(on_hand=100)
    cart = await storefront.cart((product, 2))
    answers = await asyncio.gather(*(storefront.check_out(cart) for _ in range(50)))
    assert statuses(answers) == {(201, ""): 1, (409, "cart_already_ordered"): 49}
    assert await orders(storefront.sample) == 1
    assert await stock_levels(storefront.sample, product) == (100, 2)


@pytest.mark.parametrize("_", range(ROUNDS))
async def test_thirty_concurrent_checkouts_sell_the_last_five_units_once(storefront: StorefrontClient, _: int) -> None:
    last = await storefront.sample.add_product(on_hand=5)
    carts = [await storefront.cart((last, 1)) for _ in range(30)]
    answers = await asyncio.gather(
        *(
            storefront.check_out(cart, customer_email=f"buyer{index}@example.com", key=f"k{index}")
            for index, cart in enumerate(carts)
        )
    )
    assert statuses(answers) == {(201, ""): 5, (422, "out_of_stock"): 25}
    assert await stock_levels(storefront.sample, last) == (5, 5)
    for cart, answer in zip(carts, answers, strict=True):
        status = (await storefront.get(f"carts/{cart}")).body["status"]
        assert status == ("ordered" if answer.status == 201 else "open")


@pytest.mark.parametrize("_", range(ROUNDS))
async def test_concurrent_checkouts_with_one_idempotency_key_take_effect_once(
    storefront: StorefrontClient, _: int
) -> None:
    product = await storefront.sample.add_product()
    cart = await storefront.cart((product, 1))
    answers = await asyncio.gather(*(storefront.check_out(cart, key="k") for _ in range(20)))
    assert set(statuses(answers)) <= {(201, ""), (409, "in_progress")}
    assert len({answer.raw for answer in answers if answer.status == 201}) == 1
    for answer in answers:
        if answer.status == 409:
            assert answer.body["retry_after_ms"] > 0
    assert await stock_levels(storefront.sample, product) == (100, 1)


@pytest.mark.parametrize("_", range(ROUNDS))
async def test_the_same_purchase_from_many_carts_creates_one_order(storefront: StorefrontClient, _: int) -> None:
    product = await storefront.sample.add_product()
    carts = [await storefront.cart((product, 1)) for _ in range(10)]
    answers = await asyncio.gather(*(storefront.check_out(cart, key=f"k{index}") for index, cart in enumerate(carts)))
    assert statuses(answers) == {(201, ""): 1, (409, "duplicate_order"): 9}
    assert await stock_levels(storefront.sample, product) == (100, 1)


@pytest.mark.parametrize("_", range(ROUNDS))
async def test_an_item_added_during_checkout_is_ordered_or_rejected(storefront: StorefrontClient, _: int) -> None:
    product, other = (
        await storefront.sample.add_product(),
        await storefront.sample.add_product(price_cents=777),
    )
    cart = await storefront.cart((product, 1))
    more = {"product_id": other.id, "quantity": 1}
    ordered, *added = await asyncio.gather(
        storefront.check_out(cart), *(storefront.post(f"carts/{cart}/items", more) for _ in range(10))
    )
    assert ordered.status == 201
    put_in = sum(answer.status == 201 for answer in added)
    assert statuses(list(added))[409, "cart_already_ordered"] == 10 - put_in
    units = {item["product_id"]: item["quantity"] for item in ordered.body["items"]}
    assert units.get(other.id, 0) == put_in
    assert await stock_levels(storefront.sample, other) == (100, put_in)
    shown = (await storefront.get(f"carts/{cart}")).body
    assert shown["total_cents"] == ordered.body["total_cents"] == 1_000 + 777 * put_in + 1_500


async def test_concurrently_added_items_are_all_stored(storefront: StorefrontClient) -> None:
    cart = await storefront.cart(ready=False)
    items = [storefront.sample.mug, storefront.sample.plate]
    answers = await asyncio.gather(
        *(
            storefront.post(f"carts/{cart}/items", {"product_id": item.id, "quantity": 1})
            for item in items
            for _ in range(10)
        )
    )
    assert {answer.status for answer in answers} == {201}
    shown = (await storefront.get(f"carts/{cart}")).body
    assert sorted(item["quantity"] for item in shown["items"]) == [10, 10]


# --- Payments after the reservation expired -----------------------------------------------------------------------


async def pay(storefront: StorefrontClient, order: str, cents: int) -> None:
    body = event("charge.paid", charge(order, cents))
    answer = await storefront.sample.post(
        "/api/v1/webhooks/gateway",
        data=raw(body),
        auth=None,
        headers={"X-Hub-Signature-256": signature(body), "Content-Type": "application/json"},
    )
    assert answer.status == 200


async def test_a_payment_after_the_reservation_expired_takes_the_stock_or_reports_it_missing(
    storefront: StorefrontClient,
) -> None:
    sample = storefront.sample
    await set_gateway_secret(sample.scope, SECRET)
    last = await sample.add_product(on_hand=1)
    later = replace(sample.scope, now=sample.scope.now + timedelta(days=4))
    first = (await storefront.order((last, 1))).body
    await expire_orders(later)
    assert await stock_levels(sample, last) == (1, 0)
    shown = await storefront.get(f"orders/{first['id']}?token={first['token']}")
    assert shown.body["status"] == "F"

    second = (await storefront.order((last, 1), customer_email="bia@example.com")).body
    await pay(storefront, first["id"], first["total_cents"])
    shown = await storefront.get(f"orders/{first['id']}?token={first['token']}")
    assert (shown.body["status"], shown.body["payment_status"]) == ("F", "paid")
    problem = await sample.value("SELECT error_message FROM gateway_notifications")
    assert problem.startswith("out_of_stock:")
    assert await stock_levels(sample, last) == (1, 1)

    await expire_orders(later)
    await pay(storefront, second["id"], second["total_cents"])
    shown = await storefront.get(f"orders/{second['id']}?token={second['token']}")
    assert (shown.body["status"], shown.body["payment_status"]) == ("P", "paid")
    assert await stock_levels(sample, last) == (0, 0)


@pytest.mark.parametrize("_", range(ROUNDS))
async def test_concurrent_payment_expiry_and_checkout_sell_one_unit_once(storefront: StorefrontClient, _: int) -> None:
    sample = storefront.sample
    await set_gateway_secret(sample.scope, SECRET)
    last = await sample.add_product(on_hand=1)
    made = (await storefront.order((last, 1))).body
    cart = await storefront.cart((last, 1))
    later = replace(sample.scope, now=sample.scope.now + timedelta(days=4))
    answer, *_rest = await asyncio.gather(
        storefront.check_out(cart, customer_email="bia@example.com"),
        expire_orders(later),
        pay(storefront, made["id"], made["total_cents"]),
    )
    first = await sample.value("SELECT status FROM orders WHERE id = $1", made["number"])
    on_hand, reserved = await stock_levels(sample, last)
    sold = (first == "P") + (answer.status == 201)
    assert sold == 1
    assert (on_hand, reserved) == ((0, 0) if first == "P" else (1, 1))
    assert await sample.value("SELECT payment_status FROM orders WHERE id = $1", made["number"]) == "paid"
