"""That nothing is sold twice, whoever asks for it at the same time, and that nobody waits for ever."""

from __future__ import annotations

import asyncio
import random

import pytest

from domain.catalog import stock
from domain.catalog.products import bulk_upsert_products, update_product
from domain.catalog.stock import Figures
from domain.orders.lifecycle import move
from kernel.errors import RuleViolation
from models.database import transaction


def refused(results):
    return [result for result in results if isinstance(result, BaseException)]


def test_what_a_change_does_can_be_undone_by_its_opposite():
    for (one, other), figures in stock.PER_UNIT.items():
        back = stock.PER_UNIT.get((other, one))
        if back is not None:
            assert figures.plus(back) == Figures()


def test_a_way_round_about_moves_the_same_goods_as_the_direct_one():
    direct = stock.PER_UNIT["N", "D"]
    assert stock.PER_UNIT["N", "R"].plus(stock.PER_UNIT["R", "D"]) == direct


async def test_thirty_buyers_of_the_last_five_units_buy_five(shop):
    product = await shop.product(stock=5)
    await shop.delivery()

    results = await asyncio.gather(*(shop.order((product, 1)) for _ in range(30)), return_exceptions=True)

    assert len(refused(results)) == 25
    assert {refusal.reason for refusal in refused(results)} == {"out_of_stock"}
    assert await shop.figures(product) == (5, 5)
    assert await shop.value("SELECT count(*) FROM orders WHERE tenant_id = $1") == 5
    assert (
        await shop.value("SELECT count(*) FROM outbox_events WHERE tenant_id = $1 AND name = 'order.created'")
        == 5
    )


async def test_buyers_of_several_units_leave_at_most_what_nobody_fits(shop):
    product = await shop.product(stock=17)
    await shop.delivery()
    results = await asyncio.gather(*(shop.order((product, 3)) for _ in range(20)), return_exceptions=True)
    assert len(results) - len(refused(results)) == 5
    assert await shop.figures(product) == (17, 15)


async def test_buyers_of_the_same_products_in_different_order_all_come_through(shop):
    products = [await shop.product(stock=20) for _ in range(5)]
    await shop.delivery()
    orders = []
    for turn in range(30):
        shuffled = random.Random(turn).sample(products, k=4)
        orders.append(shop.order(*((product, 1) for product in shuffled)))

    results = await asyncio.gather(*orders, return_exceptions=True)

    # No deadlock and no lock time-out: only what was gone is refused.
    assert {getattr(refusal, "reason", repr(refusal)) for refusal in refused(results)} <= {"out_of_stock"}
    sold = 4 * (len(results) - len(refused(results)))
    figures = [await shop.figures(product) for product in products]
    assert sum(reserved for _, reserved in figures) == sold
    assert all(reserved <= on_hand == 20 for on_hand, reserved in figures)


async def test_buying_moving_and_setting_stock_at_once_adds_up(shop):
    products = [await shop.product(stock=50) for _ in range(3)]
    await shop.delivery()
    orders = [await shop.order(*((product, 1) for product in products)) for _ in range(10)]
    work = [move(shop.scope, order.id, letter) for order, letter in zip(orders, "PPCCIIDDFF", strict=True)]
    work += [shop.order(*((product, 2) for product in reversed(products))) for _ in range(10)]

    results = await asyncio.gather(*work, return_exceptions=True)

    assert refused(results) == []
    # Of the first ten, four left the house and none is reserved any more; the ten new ones hold two each.
    assert [await shop.figures(product) for product in products] == [(46, 20)] * 3


async def test_setting_stock_while_orders_come_in_never_fails(shop):
    product = await shop.product(stock=40)
    await shop.delivery()
    work = [shop.order((product, 1)) for _ in range(20)] + [
        update_product(shop.scope, product, {"stock": 40}) for _ in range(10)
    ]
    results = await asyncio.gather(*work, return_exceptions=True)
    assert refused(results) == []
    on_hand, reserved = await shop.figures(product)
    assert reserved == 20
    assert on_hand - reserved <= 40


async def test_a_product_in_several_lines_is_counted_together(shop):
    product = await shop.product(stock=5)
    with pytest.raises(RuleViolation) as refusal:
        await shop.order((product, 3), (product, 3))
    assert refusal.value.reason == "out_of_stock"
    order = await shop.order((product, 2), (product, 3))
    assert await shop.figures(product) == (5, 5)
    await move(shop.scope, order.id, "P")
    assert await shop.figures(product) == (0, 0)


async def test_the_refusal_names_every_product_that_is_short(shop):
    enough, short, gone = (
        await shop.product(stock=9),
        await shop.product(stock=1),
        await shop.product(stock=0),
    )
    with pytest.raises(RuleViolation) as refusal:
        await shop.order((gone, 1), (enough, 9), (short, 2))
    assert [product["available"] for product in refusal.value.details["products"]] == [1, 0]
    assert [await shop.figures(product) for product in (enough, short, gone)] == [(9, 0), (1, 0), (0, 0)]


async def test_all_products_change_or_none(shop):
    one, other = await shop.product(stock=5), await shop.product(stock=0)
    with pytest.raises(RuleViolation):
        async with transaction(shop.scope):
            await stock.change(shop.scope, {one: Figures(reserved=1), other: Figures(reserved=1)})
    assert await shop.figures(one) == (5, 0)


async def test_many_products_are_locked_in_one_order_whatever_order_they_come_in(shop):
    made = await bulk_upsert_products(
        shop.scope, [{"name": f"p{number}", "price_cents": 1, "stock": 1_000} for number in range(120)]
    )
    products = [row.id for row in made]

    async def take(turn):
        mine = products if turn % 2 else products[::-1]
        async with transaction(shop.scope):
            await stock.change(shop.scope, {product: Figures(reserved=1) for product in mine})

    await asyncio.gather(*(take(turn) for turn in range(40)))
    assert await shop.value("SELECT array_agg(DISTINCT reserved) FROM products WHERE tenant_id = $1") == [40]


async def test_another_stores_product_is_never_touched(shop, other_shop):
    product = await other_shop.product(stock=5)
    with pytest.raises(RuleViolation):
        async with transaction(shop.scope):
            await stock.change(shop.scope, {product: Figures(reserved=1)})
    assert await other_shop.figures(product) == (5, 0)


async def test_writing_stock_keeps_what_open_orders_reserved(shop):
    product = await shop.product(stock=10)
    await shop.order((product, 4))

    await update_product(shop.scope, product, {"stock": 0})

    assert await shop.figures(product) == (4, 4)
    assert (await shop.record("products", product))["stock"] == 0
    with pytest.raises(RuleViolation):
        await shop.order((product, 1))


async def test_orders_tell_nothing_of_products(shop):
    product = await shop.product()
    order = await shop.order((product, 1))
    await move(shop.scope, order.id, "P")
    await move(shop.scope, order.id, "I")
    assert await shop.event_names(await shop.public_id("products", product)) == ["product.created"]
