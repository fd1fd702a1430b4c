"""Checkouts that nobody paid in time give their stock back."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from domain.orders.expiry import expire_holds
from domain.orders.lifecycle import move
from domain.orders.payments import record_payment


async def checkout(shop, product, **given):
    payment = await shop.payment(hold_minutes=30)
    return await shop.order((product, 1), payment_method=payment, scope=shop.as_storefront(), **given)


def after(shop, minutes):
    return replace(shop.scope, now=shop.scope.now + timedelta(minutes=minutes))


async def test_an_unpaid_checkout_fails_when_its_time_is_up(shop):
    product = await shop.product(stock=5)
    order = await checkout(shop, product)

    assert await expire_holds(after(shop, 29)) == 0
    assert await expire_holds(after(shop, 31)) == 1

    assert await shop.status(order.id) == "F"
    assert await shop.figures(product) == (5, 0)
    [_, change] = await shop.rows(
        "SELECT * FROM order_status_changes WHERE tenant_id = $1 AND order_id = $2 ORDER BY id", order.id
    )
    assert (change["reason"], change["actor_kind"]) == ("payment expired", "system")
    assert (await shop.events(order.public_id))[-1]["data"]["previous_status"] == "O"
    assert await expire_holds(after(shop, 60)) == 0


@pytest.mark.parametrize("paid", [1, 1_000])
async def test_what_was_paid_even_in_part_does_not_expire(shop, paid):
    order = await checkout(shop, await shop.product())
    await record_payment(shop.scope, order.id, paid)
    assert await expire_holds(after(shop, 60)) == 0
    assert await shop.status(order.id) == "O"


async def test_an_order_that_was_moved_meanwhile_does_not_expire(shop):
    order = await checkout(shop, await shop.product())
    await move(shop.scope, order.id, "B")
    await move(shop.scope, order.id, "O")
    assert await expire_holds(after(shop, 60)) == 0


async def test_a_limit_is_kept_and_the_rest_comes_next(shop):
    product = await shop.product(stock=5)
    for _ in range(3):
        await checkout(shop, product)
    assert [await expire_holds(after(shop, 60), limit=2) for _ in range(3)] == [2, 1, 0]


async def test_two_workers_expire_each_order_once(shop):
    product = await shop.product(stock=10)
    for _ in range(5):
        await checkout(shop, product)
    done = await asyncio.gather(*(expire_holds(after(shop, 60)) for _ in range(3)))
    assert sum(done) == 5
    assert await shop.figures(product) == (10, 0)


async def test_other_stores_are_left_alone(shop, other_shop):
    order = await checkout(other_shop, await other_shop.product())
    assert await expire_holds(after(shop, 60)) == 0
    assert await other_shop.status(order.id) == "O"
