"""Unpaid checkouts expire and release their stock."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from domain.orders.expiry import expire_orders
from domain.orders.lifecycle import change_status
from domain.orders.payments import record_payment
from domain.purchase.edit import update_order


async def checkout(kit, product, **values):
    payment = await kit.payment(hold_minutes=30)
    return await kit.order((product, 1), payment_method=payment, scope=kit.as_storefront(), **values)


def after(kit, minutes):
    return replace(kit.scope, now=kit.scope.now + timedelta(minutes=minutes))


async def test_an_unpaid_checkout_expires(kit):
    product = await kit.product(stock=5)
    order = await checkout(kit, product)

    assert await expire_orders(after(kit, 29)) == 0
    assert await expire_orders(after(kit, 31)) == 1

    assert await kit.status(order.id) == "F"
    assert await kit.figures(product) == (5, 0)
    [_, change] = await kit.rows(
        "SELECT * FROM order_status_changes WHERE tenant_id = $1 AND order_id = $2 ORDER BY id", order.id
    )
    assert (change["reason"], change["actor_kind"]) == ("payment expired", "system")
    assert (await kit.events(order.public_id))[-1]["data"]["previous_status"] == "O"
    assert await expire_orders(after(kit, 60)) == 0


@pytest.mark.parametrize("paid", [1, 1_000])
async def test_a_partially_paid_order_does_not_expire(kit, paid):
    order = await checkout(kit, await kit.product())
    await record_payment(kit.scope, order.id, paid)
    assert await expire_orders(after(kit, 60)) == 0
    assert await kit.status(order.id) == "O"


@pytest.mark.parametrize("minutes, expires_after", [(120, 120), (10, 30), (0, None)])
async def test_an_order_with_another_payment_method_waits_as_long_as_that_says(kit, minutes, expires_after):
    order = await checkout(kit, await kit.product())
    await update_order(kit.as_admin(), order.id, {"payment_method": await kit.payment(hold_minutes=minutes)})
    if expires_after is None:
        assert await expire_orders(after(kit, 100_000)) == 0
    else:
        assert await expire_orders(after(kit, expires_after - 1)) == 0
        assert await expire_orders(after(kit, expires_after + 1)) == 1


async def test_an_order_that_costs_nothing_any_more_does_not_expire(kit):
    order = await checkout(kit, await kit.product())
    await update_order(kit.as_admin(), order.id, {"discount_cents": 1_000})
    assert await expire_orders(after(kit, 60)) == 0
    assert await kit.status(order.id) == "O"


async def test_an_order_whose_status_changed_does_not_expire(kit):
    order = await checkout(kit, await kit.product())
    await change_status(kit.scope, order.id, "B")
    await change_status(kit.scope, order.id, "O")
    assert await expire_orders(after(kit, 60)) == 0


async def test_expiry_respects_the_batch_limit(kit):
    product = await kit.product(stock=5)
    for _ in range(3):
        await checkout(kit, product)
    assert [await expire_orders(after(kit, 60), limit=2) for _ in range(3)] == [2, 1, 0]


async def test_two_workers_expire_each_order_once(kit):
    product = await kit.product(stock=10)
    for _ in range(5):
        await checkout(kit, product)
    done = await asyncio.gather(*(expire_orders(after(kit, 60)) for _ in range(3)))
    assert sum(done) == 5
    assert await kit.figures(product) == (10, 0)


async def test_other_stores_are_not_expired(kit, other_kit):
    order = await checkout(other_kit, await other_kit.product())
    assert await expire_orders(after(kit, 60)) == 0
    assert await other_kit.status(order.id) == "O"
