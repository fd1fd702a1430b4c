"""Whatever meets at once, money and stock end right: payment and expiry, refund and payment, reprocessing and arrival."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from domain.gateway import notifications
from domain.orders.expiry import expire_holds
from domain.orders.lifecycle import move
from domain.stores import set_gateway_secret
from kernel.errors import DomainError
from tests.gateway import SECRET, charge, event, order_event, raw, signature

ROUNDS = 10


@pytest.fixture(autouse=True)
async def gateway_secret(shop):
    await set_gateway_secret(shop.scope, SECRET)


async def send(shop, kind, data, **more):
    body = event(kind, data, **more)
    return await notifications.receive(shop.scope, raw(body), [signature(body)])


async def checkout(shop, product):
    payment = await shop.payment(hold_minutes=30)
    return await shop.order((product, 1), payment_method=payment, scope=shop.as_storefront())


def late(shop):
    return replace(shop.scope, now=shop.scope.now + timedelta(minutes=31))


async def record(shop, order):
    found = await shop.record("orders", order)
    return found["status"], found["paid_cents"], found["refunded_cents"], found["payment_status"]


async def all_processed(shop):
    waiting = "SELECT count(*) FROM gateway_notifications WHERE tenant_id = $1 AND NOT processed"
    assert await shop.value(waiting) == 0


@pytest.mark.parametrize("_", range(ROUNDS))
async def test_a_payment_that_meets_the_end_of_its_hold_wins(shop, _):
    product = await shop.product(stock=1)
    order = await checkout(shop, product)
    await asyncio.gather(
        expire_holds(late(shop)), send(shop, "charge.paid", charge(order.id)), expire_holds(late(shop))
    )
    assert await record(shop, order.id) == ("P", 1_000, 0, "paid")
    assert await shop.figures(product) == (0, 0)
    await all_processed(shop)


@pytest.mark.parametrize("_", range(ROUNDS))
async def test_a_late_payment_and_another_buyer_want_the_last_unit(shop, _):
    product = await shop.product(stock=1)
    order = await checkout(shop, product)
    await expire_holds(late(shop))
    _, other = await asyncio.gather(
        send(shop, "charge.paid", charge(order.id)), shop.order((product, 1)), return_exceptions=True
    )
    status, *money = await record(shop, order.id)
    assert money == [1_000, 0, "paid"]
    if isinstance(other, DomainError):
        assert (status, await shop.figures(product)) == ("P", (0, 0))
    else:
        assert (status, await shop.figures(product)) == ("F", (1, 1))
        [message] = await shop.rows("SELECT error_message FROM gateway_notifications WHERE tenant_id = $1")
        assert message["error_message"].startswith("out_of_stock:")
    await all_processed(shop)


@pytest.mark.parametrize("_", range(ROUNDS))
async def test_a_payment_and_its_refund_in_any_order_end_refunded(shop, _):
    product = await shop.product(stock=5)
    order = await shop.order((product, 1))
    paid = charge(order.id)
    back = {**paid, "canceled_amount": 1_000}
    events = [
        ("charge.paid", paid),
        ("charge.refunded", back),
        ("charge.paid", paid),
        ("charge.refunded", back),
    ]
    await asyncio.gather(*(send(shop, kind, data) for kind, data in events))
    assert await record(shop, order.id) == ("I", 1_000, 1_000, "refunded")
    assert await shop.figures(product) == (5, 0)
    assert await shop.value("SELECT sum(amount_cents)::bigint FROM payments WHERE tenant_id = $1") == 1_000
    await all_processed(shop)


@pytest.mark.parametrize("_", range(ROUNDS))
async def test_arrival_sweep_and_reprocessing_count_once(shop, _):
    product = await shop.product(stock=5)
    order = await shop.order((product, 1))
    data = charge(order.id)
    await send(shop, "charge.paid", data)
    number = await shop.value("SELECT max(id) FROM gateway_notifications WHERE tenant_id = $1")
    await move(shop.scope, order.id, "I")
    await shop.rows("UPDATE gateway_notifications SET processed = false WHERE tenant_id = $1")
    await asyncio.gather(
        notifications.reprocess(shop.scope, number),
        notifications.apply_pending(late(shop), limit=10),
        notifications.reprocess(shop.scope, number),
        notifications.apply_pending(late(shop), limit=10),
    )
    assert await record(shop, order.id) == ("P", 1_000, 0, "paid")
    assert await shop.figures(product) == (4, 0)
    await all_processed(shop)


@pytest.mark.parametrize("_", range(ROUNDS))
async def test_charges_of_several_orders_told_together_never_wait_in_a_circle(shop, _):
    product = await shop.product(stock=50)
    orders = [await shop.order((product, 1)) for _ in range(6)]
    charges = [charge(order.id) for order in orders]
    bodies = [order_event("order.paid", order.id, *charges) for order in orders]
    bodies += [order_event("order.paid", order.id, *charges[::-1]) for order in orders]
    await asyncio.gather(
        *(notifications.receive(shop.scope, raw(body), [signature(body)]) for body in bodies)
    )
    await all_processed(shop)
    # Each charge counted in one order only, whichever came first.
    counted = "SELECT sum(paid_cents)::bigint FROM orders WHERE tenant_id = $1"
    assert await shop.value(counted) == 6_000
