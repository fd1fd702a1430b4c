"""Payments and stock stay consistent under concurrency: payment and expiry, refund and payment, reprocessing and receipt."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from domain.gateway import notifications
from domain.orders.expiry import expire_orders
from domain.orders.lifecycle import change_status
from domain.stores import set_gateway_secret
from kernel.errors import DomainError
from tests.harness.gateway import SECRET, charge, event, order_event, raw, signature

ROUNDS = 10


@pytest.fixture(autouse=True)
async def gateway_secret(kit):
    await set_gateway_secret(kit.scope, SECRET)


async def send(kit, kind, data, **more):
    body = event(kind, data, **more)
    return await notifications.receive(kit.scope, raw(body), [signature(body)])


async def checkout(kit, product):
    payment = await kit.payment(hold_minutes=30)
    return await kit.order((product, 1), payment_method=payment, scope=kit.as_storefront())


def late(kit):
    return replace(kit.scope, now=kit.scope.now + timedelta(minutes=31))


async def record(kit, order):
    result = await kit.record("orders", order)
    return result["status"], result["paid_cents"], result["refunded_cents"], result["payment_status"]


async def all_processed(kit):
    waiting = "SELECT count(*) FROM gateway_notifications WHERE tenant_id = $1 AND NOT processed"
    assert await kit.value(waiting) == 0


@pytest.mark.parametrize("_", range(ROUNDS))
async def test_a_payment_concurrent_with_expiry_wins(kit, _):
    product = await kit.product(stock=1)
    order = await checkout(kit, product)
    await asyncio.gather(expire_orders(late(kit)), send(kit, "charge.paid", charge(order.id)), expire_orders(late(kit)))
    assert await record(kit, order.id) == ("P", 1_000, 0, "paid")
    assert await kit.figures(product) == (0, 0)
    await all_processed(kit)


@pytest.mark.parametrize("_", range(ROUNDS))
async def test_a_late_payment_and_another_order_compete_for_the_last_unit(kit, _):
    product = await kit.product(stock=1)
    order = await checkout(kit, product)
    await expire_orders(late(kit))
    _, other = await asyncio.gather(
        send(kit, "charge.paid", charge(order.id)), kit.order((product, 1)), return_exceptions=True
    )
    status, *money = await record(kit, order.id)
    assert money == [1_000, 0, "paid"]
    if isinstance(other, DomainError):
        assert (status, await kit.figures(product)) == ("P", (0, 0))
    else:
        assert (status, await kit.figures(product)) == ("F", (1, 1))
        [message] = await kit.rows("SELECT error_message FROM gateway_notifications WHERE tenant_id = $1")
        assert message["error_message"].startswith("out_of_stock:")
    await all_processed(kit)


@pytest.mark.parametrize("_", range(ROUNDS))
async def test_concurrent_payment_and_refund_end_refunded(kit, _):
    product = await kit.product(stock=5)
    order = await kit.order((product, 1))
    paid = charge(order.id)
    back = {**paid, "canceled_amount": 1_000}
    events = [
        ("charge.paid", paid),
        ("charge.refunded", back),
        ("charge.paid", paid),
        ("charge.refunded", back),
    ]
    await asyncio.gather(*(send(kit, kind, data) for kind, data in events))
    assert await record(kit, order.id) == ("I", 1_000, 1_000, "refunded")
    assert await kit.figures(product) == (5, 0)
    assert await kit.value("SELECT sum(amount_cents)::bigint FROM payments WHERE tenant_id = $1") == 1_000
    await all_processed(kit)


@pytest.mark.parametrize("_", range(ROUNDS))
async def test_concurrent_receipt_sweep_and_reprocessing_count_once(kit, _):
    product = await kit.product(stock=5)
    order = await kit.order((product, 1))
    data = charge(order.id)
    await send(kit, "charge.paid", data)
    number = await kit.value("SELECT max(id) FROM gateway_notifications WHERE tenant_id = $1")
    await change_status(kit.scope, order.id, "I")
    await kit.rows("UPDATE gateway_notifications SET processed = false WHERE tenant_id = $1")
    await asyncio.gather(
        notifications.reprocess(kit.scope, number),
        notifications.apply_pending(late(kit), limit=10),
        notifications.reprocess(kit.scope, number),
        notifications.apply_pending(late(kit), limit=10),
    )
    assert await record(kit, order.id) == ("P", 1_000, 0, "paid")
    assert await kit.figures(product) == (4, 0)
    await all_processed(kit)


@pytest.mark.parametrize("_", range(ROUNDS))
async def test_charges_of_several_orders_do_not_deadlock(kit, _):
    product = await kit.product(stock=50)
    orders = [await kit.order((product, 1)) for _ in range(6)]
    charges = [charge(order.id) for order in orders]
    bodies = [order_event("order.paid", order.id, *charges) for order in orders]
    bodies += [order_event("order.paid", order.id, *charges[::-1]) for order in orders]
    await asyncio.gather(*(notifications.receive(kit.scope, raw(body), [signature(body)]) for body in bodies))
    await all_processed(kit)
    # Each charge counts in one order only, the first.
    counted = "SELECT sum(paid_cents)::bigint FROM orders WHERE tenant_id = $1"
    assert await kit.value(counted) == 6_000
