"""Helpers of the gateway tests: a store with a webhook secret, sending notifications, reading the results."""

from __future__ import annotations

from dataclasses import replace

import pytest

from domain.gateway import notifications
from domain.orders.lifecycle import change_status
from domain.stores import set_gateway_secret
from kernel.scope import ANONYMOUS
from tests.harness.gateway import SECRET, raw, signature


@pytest.fixture(autouse=True)
async def gateway_secret(kit):
    """Set the store's webhook secret; importing it applies it to every test of a module."""
    await set_gateway_secret(kit.scope, SECRET)


async def send(kit, body, *, scope=None):
    visitor = scope or replace(kit.scope, actor=ANONYMOUS, family="current")
    return await notifications.receive(visitor, raw(body), [signature(body)])


async def last_notification(kit):
    """Return the last stored notification."""
    [notification] = await kit.rows("SELECT * FROM gateway_notifications WHERE tenant_id = $1 ORDER BY id DESC LIMIT 1")
    return dict(notification)


async def outcome(kit):
    notification = await last_notification(kit)
    assert notification["processed"]
    return notification["error_message"]


async def charges(kit):
    return [dict(row) for row in await kit.rows("SELECT * FROM charges WHERE tenant_id = $1 ORDER BY id")]


async def payment_state(kit, order):
    record = await kit.record("orders", order)
    assert record["refunded_cents"] <= record["paid_cents"]
    received = await kit.value(
        "SELECT coalesce(sum(amount_cents), 0)::bigint FROM payments WHERE tenant_id = $1 AND order_id = $2",
        order,
    )
    assert received == record["paid_cents"]
    return record["status"], record["paid_cents"], record["refunded_cents"], record["payment_status"]


async def create_order(kit, status="O", quantity=1, stock=10):
    """Place an order of 1,000 cents per unit in a status; return it and its product."""
    product = await kit.product(stock=stock)
    order = await kit.order((product, quantity))
    if status != "O":
        await change_status(kit.scope, order.id, status)
    return order, product
