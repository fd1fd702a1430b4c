"""Products that are sold in advance (`out_of_stock_action` `B`), and those that are not sold yet (`available_since`)."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from domain.catalog.combinations import create_combination
from domain.catalog.options import create_option
from domain.catalog.products import update_product
from domain.orders.lifecycle import change_status
from domain.purchase.edit import update_order
from domain.purchase.placement import place_order
from kernel.clock import now
from kernel.errors import RuleViolation
from kernel.scope import active_scope
from models.connection.database import retry_conflicts
from tests.harness.domain_store import DomainStore

SOON, PAST = timedelta(days=3), timedelta(days=-3)


async def marks(kit: DomainStore, order: int) -> list[tuple[bool, bool]]:
    return [(line["tracked"], line["in_advance"]) for line in await kit.lines(order)]


async def test_what_the_stock_does_not_cover_is_sold_in_advance_and_takes_none_of_it(kit: DomainStore) -> None:
    product = await kit.product(stock=3, out_of_stock_action="B")
    covered = await kit.order((product, 2))
    beyond = await kit.order((product, 5))
    assert await marks(kit, covered.id) == [(True, False)]
    assert await marks(kit, beyond.id) == [(False, True)]
    assert await kit.figures(product) == (3, 2)
    await change_status(kit.scope, beyond.id, "P")
    assert await kit.figures(product) == (3, 2)


async def test_the_lines_of_a_product_are_covered_together(kit: DomainStore) -> None:
    product = await kit.product(stock=3, out_of_stock_action="B")
    lines = [{"product": product, "quantity": 2, "extra": {"n": number}} for number in range(2)]
    order = await kit.order(*lines)
    assert await marks(kit, order.id) == [(False, True)] * 2
    assert await kit.figures(product) == (3, 0)


@pytest.mark.parametrize(
    "action, since, is_sold, is_marked",
    [
        ("B", SOON, True, True),
        ("B", PAST, True, False),
        ("N", PAST, True, False),
        ("N", SOON, False, False),
        ("S", SOON, False, False),
    ],
)
async def test_a_product_is_not_sold_before_it_is_available_unless_in_advance(
    kit: DomainStore, action: str, since: timedelta, is_sold: bool, is_marked: bool
) -> None:
    product = await kit.product(out_of_stock_action=action, available_since=now() + since)
    if not is_sold:
        with pytest.raises(RuleViolation) as refusal:
            await kit.order((product, 1))
        assert refusal.value.reason == "product_unavailable"
        return
    order = await kit.order((product, 1))
    assert await marks(kit, order.id) == [(True, is_marked)]
    assert await kit.figures(product) == (10, 1)


async def test_orders_at_once_for_the_last_unit_are_all_placed(kit: DomainStore) -> None:
    product = await kit.product(stock=1, out_of_stock_action="B")
    draft: dict[str, Any] = {
        "email": "guest@example.com",
        "shipping_method": await kit.delivery(),
        "lines": [{"product": product, "quantity": 1}],
    }

    async def place() -> int:
        with active_scope(kit.scope):
            return (await retry_conflicts(lambda: place_order(kit.scope, draft))).id

    orders = await asyncio.gather(*(place() for _ in range(6)))
    placed = [mark for order in orders for mark in await marks(kit, order)]
    assert sorted(placed) == [(False, True)] * 5 + [(True, False)]
    assert await kit.figures(product) == (1, 1)


async def test_an_edited_order_keeps_the_stock_that_it_has(kit: DomainStore) -> None:
    product, other = await kit.product(stock=3, out_of_stock_action="B"), await kit.product()
    order = await kit.order((product, 3))
    lines = [{"product": product, "quantity": 3}, {"product": other, "quantity": 1}]
    await update_order(kit.scope, order.id, {"lines": lines})
    assert await marks(kit, order.id) == [(True, False), (True, False)]
    assert await kit.figures(product) == (3, 3)
    await update_order(kit.scope, order.id, {"lines": [{"product": product, "quantity": 4}]})
    assert await marks(kit, order.id) == [(False, True)]
    assert await kit.figures(product) == (3, 0)


async def test_a_reopened_order_is_sold_in_advance_when_its_stock_is_gone(kit: DomainStore) -> None:
    product = await kit.product(stock=3, out_of_stock_action="B")
    order = await kit.order((product, 3))
    await change_status(kit.scope, order.id, "I")
    await kit.order((product, 2))
    await change_status(kit.scope, order.id, "O", force=True)
    assert await marks(kit, order.id) == [(False, True)]
    assert await kit.figures(product) == (3, 2)
    await update_product(kit.scope, product, {"out_of_stock_action": "N"})
    await change_status(kit.scope, order.id, "I")
    with pytest.raises(RuleViolation) as refusal:
        await change_status(kit.scope, order.id, "O", force=True)
    assert refusal.value.reason == "out_of_stock"


async def test_a_combination_beyond_its_stock_is_sold_in_advance(kit: DomainStore) -> None:
    product = await kit.product(stock=0, out_of_stock_action="B")
    option = await create_option(
        kit.scope, {"name": "Cor", "product": product, "variants": [{"name": "Azul"}, {"name": "Rosa"}]}
    )
    variants = [row["id"] for row in await kit.rows("SELECT id FROM option_variants WHERE tenant_id = $1 ORDER BY id")]
    for variant, units in zip(variants, (0, 2), strict=True):
        await create_combination(kit.scope, {"product": product, "choices": {option: variant}, "stock": units})
    lines = [{"product": product, "quantity": 1, "options": {option: variant}} for variant in variants]
    order = await kit.order(*lines)
    assert await marks(kit, order.id) == [(False, True), (True, False)]
    stocks = [row["stock"] for row in await kit.rows("SELECT stock FROM combinations WHERE tenant_id = $1 ORDER BY id")]
    assert stocks == [0, 1]
