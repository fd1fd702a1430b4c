"""Customers follow their own orders, and nobody else's."""

from __future__ import annotations

import asyncio

import pytest

from tests.events.test_subscriptions import connect, sse
from tests.harness.http import Client
from tests.harness.oauth import graphql_result
from tests.harness.sample_store import SampleStore

UPDATED = "subscription { order_updated { id status } }"
SET_STATUS = "mutation ($id: ID!, $status: OrderStatus!) { order_set_status(id: $id, status: $status) { id } }"


async def test_customers_see_the_changes_of_their_own_orders_alone(sample: SampleStore) -> None:
    admin = await sample.client(sample.owner)
    users = [await sample.add_user(user_type="C") for _ in range(2)]
    ana, bia = [await sample.client(user) for user in users]
    # Both send the same text, and the store has an order of a guest too.
    async with sse(ana, UPDATED) as of_ana, sse(bia, UPDATED) as of_bia, connect(ana) as socket:
        await socket.subscribe("1", UPDATED)
        await asyncio.sleep(0.2)
        orders = [await sample.place_order((sample.mug, 1), user=user.id) for user in users]
        guest = await sample.place_order((sample.mug, 1), email="guest@example.com")
        for order in (guest, *orders):
            await graphql_result(admin, SET_STATUS, id=order.id, status="P")
        await graphql_result(admin, SET_STATUS, id=orders[0].id, status="C")
        [paid, shipped], [other] = await of_ana.take(2), await of_bia.take(1)
        over_socket = [(await socket.receive())["payload"] for _ in range(2)]
    shown = [result["data"]["order_updated"]["id"] for result in (paid, shipped, *over_socket)]
    assert shown == [orders[0].id] * 4
    assert other["data"]["order_updated"]["id"] == orders[1].id


@pytest.mark.parametrize("caller", ["admin", "key"])
async def test_only_customers_follow_own_orders(sample: SampleStore, storefront: Client, caller: str) -> None:
    key = Client(sample.http, sample.store, {"X-API-Key": storefront.key or ""})  # type: ignore[attr-defined]
    client = await sample.client(sample.owner) if caller == "admin" else key
    async with sse(client, UPDATED) as stream:
        [refused] = await asyncio.wait_for(stream.take(1), 10)
    assert refused["errors"][0]["extensions"]["code"] == "FORBIDDEN"
