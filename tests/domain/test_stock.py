"""Stock under concurrency: no oversell and no deadlock."""

from __future__ import annotations

import asyncio
import random

import pytest

from domain.catalog import stock
from domain.catalog.products import bulk_upsert_products, update_product
from domain.catalog.stock import StockChange
from domain.orders.lifecycle import change_status
from kernel.errors import RuleViolation
from models.connection.database import transaction


def refused(results):
    return [result for result in results if isinstance(result, BaseException)]


def total(*changes: StockChange) -> StockChange:
    return StockChange(sum(change.on_hand for change in changes), sum(change.reserved for change in changes))


def test_every_stock_change_is_reversible():
    for (one, other), figures in stock.CHANGE_PER_UNIT.items():
        back = stock.CHANGE_PER_UNIT.get((other, one))
        if back is not None:
            assert total(figures, back) == StockChange()


def test_indirect_transitions_change_stock_like_direct_ones():
    direct = stock.CHANGE_PER_UNIT["N", "D"]
    assert total(stock.CHANGE_PER_UNIT["N", "R"], stock.CHANGE_PER_UNIT["R", "D"]) == direct


async def test_thirty_concurrent_orders_do_not_oversell_the_last_five_units(kit):
    product = await kit.product(stock=5)
    await kit.delivery()

    results = await asyncio.gather(*(kit.order((product, 1)) for _ in range(30)), return_exceptions=True)

    assert len(refused(results)) == 25
    assert {error.reason for error in refused(results)} == {"out_of_stock"}
    assert await kit.figures(product) == (5, 5)
    assert await kit.value("SELECT count(*) FROM orders WHERE tenant_id = $1") == 5
    assert await kit.value("SELECT count(*) FROM outbox_events WHERE tenant_id = $1 AND name = 'order.created'") == 5


async def test_concurrent_orders_of_several_units_do_not_oversell(kit):
    product = await kit.product(stock=17)
    await kit.delivery()
    results = await asyncio.gather(*(kit.order((product, 3)) for _ in range(20)), return_exceptions=True)
    assert len(results) - len(refused(results)) == 5
    assert await kit.figures(product) == (17, 15)


async def test_orders_of_the_same_products_in_any_order_do_not_deadlock(kit):
    products = [await kit.product(stock=20) for _ in range(5)]
    await kit.delivery()
    orders = []
    for turn in range(30):
        shuffled = random.Random(turn).sample(products, k=4)
        orders.append(kit.order(*((product, 1) for product in shuffled)))

    results = await asyncio.gather(*orders, return_exceptions=True)

    # No deadlock and no lock timeout: only out-of-stock orders are rejected.
    assert {getattr(error, "reason", repr(error)) for error in refused(results)} <= {"out_of_stock"}
    sold = 4 * (len(results) - len(refused(results)))
    figures = [await kit.figures(product) for product in products]
    assert sum(reserved for _, reserved in figures) == sold
    assert all(reserved <= on_hand == 20 for on_hand, reserved in figures)


async def test_concurrent_orders_transitions_and_stock_updates_are_consistent(kit):
    products = [await kit.product(stock=50) for _ in range(3)]
    await kit.delivery()
    orders = [await kit.order(*((product, 1) for product in products)) for _ in range(10)]
    work = [change_status(kit.scope, order.id, status) for order, status in zip(orders, "PPCCIIDDFF", strict=True)]
    work += [kit.order(*((product, 2) for product in reversed(products))) for _ in range(10)]

    results = await asyncio.gather(*work, return_exceptions=True)

    assert refused(results) == []
    # Of the first ten orders four are deducted and none is reserved; the ten new ones reserve two each.
    assert [await kit.figures(product) for product in products] == [(46, 20)] * 3


async def test_setting_stock_during_concurrent_orders_never_fails(kit):
    product = await kit.product(stock=40)
    await kit.delivery()
    work = [kit.order((product, 1)) for _ in range(20)] + [
        update_product(kit.scope, product, {"stock": 40}) for _ in range(10)
    ]
    results = await asyncio.gather(*work, return_exceptions=True)
    assert refused(results) == []
    on_hand, reserved = await kit.figures(product)
    assert reserved == 20
    assert on_hand - reserved <= 40


async def test_a_product_in_several_lines_is_counted_together(kit):
    product = await kit.product(stock=5)
    with pytest.raises(RuleViolation) as error:
        await kit.order((product, 3), (product, 3))
    assert error.value.reason == "out_of_stock"
    order = await kit.order((product, 2), (product, 3))
    assert await kit.figures(product) == (5, 5)
    await change_status(kit.scope, order.id, "P")
    assert await kit.figures(product) == (0, 0)


async def test_the_error_names_every_product_out_of_stock(kit):
    enough, short, gone = (
        await kit.product(stock=9),
        await kit.product(stock=1),
        await kit.product(stock=0),
    )
    with pytest.raises(RuleViolation) as error:
        await kit.order((gone, 1), (enough, 9), (short, 2))
    assert [product["available"] for product in error.value.details["products"]] == [1, 0]
    assert [await kit.figures(product) for product in (enough, short, gone)] == [(9, 0), (1, 0), (0, 0)]


async def test_stock_changes_are_all_or_nothing(kit):
    one, other = await kit.product(stock=5), await kit.product(stock=0)
    with pytest.raises(RuleViolation):
        async with transaction(kit.scope):
            await stock.adjust_stock(kit.scope, {one: StockChange(reserved=1), other: StockChange(reserved=1)})
    assert await kit.figures(one) == (5, 0)


async def test_products_are_locked_in_id_order(kit):
    made = await bulk_upsert_products(
        kit.scope, [{"name": f"p{number}", "price_cents": 1, "stock": 1_000} for number in range(120)]
    )
    products = [row.id for row in made]

    async def take(turn):
        mine = products if turn % 2 else products[::-1]
        async with transaction(kit.scope):
            await stock.adjust_stock(kit.scope, {product: StockChange(reserved=1) for product in mine})

    await asyncio.gather(*(take(turn) for turn in range(40)))
    assert await kit.value("SELECT array_agg(DISTINCT reserved) FROM products WHERE tenant_id = $1") == [40]


async def test_another_stores_product_never_changes(kit, other_kit):
    product = await other_kit.product(stock=5)
    with pytest.raises(RuleViolation):
        async with transaction(kit.scope):
            await stock.adjust_stock(kit.scope, {product: StockChange(reserved=1)})
    assert await other_kit.figures(product) == (5, 0)


async def test_setting_stock_keeps_reservations(kit):
    product = await kit.product(stock=10)
    await kit.order((product, 4))

    await update_product(kit.scope, product, {"stock": 0})

    assert await kit.figures(product) == (4, 4)
    assert (await kit.record("products", product))["stock"] == 0
    with pytest.raises(RuleViolation):
        await kit.order((product, 1))


async def test_orders_emit_no_product_events(kit):
    product = await kit.product()
    order = await kit.order((product, 1))
    await change_status(kit.scope, order.id, "P")
    await change_status(kit.scope, order.id, "I")
    assert await kit.event_names(await kit.public_id("products", product)) == ["product.created"]
