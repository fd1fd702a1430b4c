"""What the tests of the gateway's domain share: a shop with a secret, notifications sent to it, and what became of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from domain.gateway import notifications
from domain.orders.lifecycle import move
from domain.stores import set_gateway_secret
from kernel.scope import ANONYMOUS
from tests.gateway import SECRET, raw, signature


@pytest.fixture(autouse=True)
async def gateway_secret(shop):
    """Give the shop the secret of the tests; imported, it works for every test of a module."""
    await set_gateway_secret(shop.scope, SECRET)


async def send(shop, body, *, scope=None):
    visitor = scope or replace(shop.scope, actor=ANONYMOUS, family="current")
    return await notifications.receive(visitor, raw(body), [signature(body)])


async def told(shop):
    """Give the last notification that was stored."""
    [found] = await shop.rows(
        "SELECT * FROM gateway_notifications WHERE tenant_id = $1 ORDER BY id DESC LIMIT 1"
    )
    return dict(found)


async def outcome(shop):
    found = await told(shop)
    assert found["processed"]
    return found["error_message"]


async def charges(shop):
    return [dict(row) for row in await shop.rows("SELECT * FROM charges WHERE tenant_id = $1 ORDER BY id")]


async def money(shop, order):
    record = await shop.record("orders", order)
    assert record["refunded_cents"] <= record["paid_cents"]
    received = await shop.value(
        "SELECT coalesce(sum(amount_cents), 0)::bigint FROM payments WHERE tenant_id = $1 AND order_id = $2",
        order,
    )
    assert received == record["paid_cents"]
    return record["status"], record["paid_cents"], record["refunded_cents"], record["payment_status"]


async def an_order(shop, status="O", quantity=1, stock=10):
    """Place an order of 1,000 cents a unit; one that is further along was paid through the charge it gives."""
    product = await shop.product(stock=stock)
    order = await shop.order((product, quantity))
    if status != "O":
        await move(shop.scope, order.id, status)
    return order, product
