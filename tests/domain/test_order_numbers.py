"""Orders get their store's next number without waiting for each other, and no number is given out twice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import Context
from typing import Any, TypeVar

import pytest

from domain.people.accounts import create_user
from domain.purchase.placement import PlacedOrder
from kernel.ids import uuid7
from kernel.scope import Scope
from models.connection.database import count_statements, execute, transaction
from models.connection.transactions import retry_conflicts
from models.numbers import raise_numbers
from tests.harness.domain_store import DomainStore

T = TypeVar("T")

INSERT_ORDER = "insert into orders (tenant_id, id, public_id, email) values ($1, $2, $3, 'cliente@example.com')"


@pytest.fixture
def kit(scope: Scope) -> DomainStore:
    return DomainStore(scope)


@pytest.fixture
def other_kit(other_scope: Scope) -> DomainStore:
    return DomainStore(other_scope)


async def test_fifty_concurrent_orders_get_fifty_numbers(kit: DomainStore, other_kit: DomainStore):
    async def place(at: DomainStore, products: list[int]) -> PlacedOrder:
        return await retry_conflicts(lambda: at.order(*((product, 1) for product in products)))

    stores = []
    for each in (kit, other_kit):
        await each.delivery()
        stores.append((each, [await each.product(stock=100) for _ in range(2)]))
    placed = await asyncio.gather(*(place(*each) for _ in range(50) for each in stores))
    for index, (each, products) in enumerate(stores):
        assert sorted(order.id for order in placed[index::2]) == list(range(1, 51))
        lines = await each.rows("SELECT id FROM order_lines WHERE tenant_id = $1 ORDER BY id")
        assert [line["id"] for line in lines] == list(range(1, 101)), (index, each, products)
        assert await each.figures(products[0]) == (100, 50)


async def test_an_order_does_not_wait_for_one_that_has_its_number_already(kit: DomainStore):
    await kit.delivery()
    mug, plate = await kit.product(), await kit.product()
    async with transaction(kit.scope):
        first = await kit.order((mug, 1))
        # Of another product, because stock is locked until the commit.
        second = await _in_parallel(lambda: kit.order((plate, 1)))
        third = await _in_parallel(lambda: create_user(kit.scope, {"email": "a@example.com"}))
    assert (first.id, second.id, third.id) == (1, 2, 1)
    assert (await kit.order((mug, 1))).id == 3


async def test_a_rolled_back_order_leaves_a_gap(kit: DomainStore):
    await kit.delivery()
    mug = await kit.product()
    with pytest.raises(ZeroDivisionError):
        await _place_and_fail(kit, mug)
    assert (await kit.order((mug, 1))).id == 2


async def test_the_number_of_a_deleted_order_is_not_given_out_again(kit: DomainStore):
    mug = await kit.product()
    placed = await kit.order((mug, 1))
    await kit.rows("DELETE FROM orders WHERE tenant_id = $1 AND id = $2", placed.id)
    assert (await kit.order((mug, 1))).id == placed.id + 1


async def test_orders_are_placed_while_an_import_with_numbers_is_under_way(kit: DomainStore):
    await kit.delivery()
    mug = await kit.product()
    await raise_numbers(kit.scope, {"orders": 7_000})
    async with transaction(kit.scope):
        await execute(INSERT_ORDER, kit.store.id, 7_000, uuid7())
        placed = await _in_parallel(lambda: kit.order((mug, 1)))
        await execute(INSERT_ORDER, kit.store.id, 6_999, uuid7())
    assert placed.id == 7_001


async def test_numbers_cost_one_statement_however_many_lines_an_order_has(kit: DomainStore):
    await kit.delivery()
    products = [await kit.product() for _ in range(8)]
    for lines in (1, 8):
        with count_statements() as counter:
            await kit.order(*((product, 1) for product in products[:lines]))
        assert sum("number_counters" in sql for sql in counter.statements) == 1, lines


async def _place_and_fail(kit: DomainStore, product: int) -> None:
    async with transaction(kit.scope):
        await kit.order((product, 1))
        raise ZeroDivisionError


async def _in_parallel(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run the work outside of the caller's transaction, for at most two seconds."""
    return await asyncio.wait_for(asyncio.get_running_loop().create_task(work(), context=Context()), 2)
