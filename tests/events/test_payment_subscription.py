"""The subscription to an order's payments, by the shopper who pays it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from domain.payments.sandbox import actions
from tests.events.test_subscriptions import sse
from tests.graphql.test_carts import execute_query
from tests.harness.http import Client
from tests.harness.payments import add_sandbox_methods, enabled_sandbox
from tests.harness.records import UNKNOWN_ID
from tests.harness.sample_store import SampleStore
from tests.harness.storefront import StorefrontClient, open_storefront

CHANGED = """subscription($order: ID!, $token: String) {
    payment_changed(order_id: $order, token: $token) { id status number order { id } }
}"""
SET_PRIVILEGES = "mutation($id: ID!) { user_set_privileges(id: $id, privileges: []) { id } }"
WITHOUT_ORDER = CHANGED.replace(" order { id }", "")


@pytest.fixture(autouse=True)
def sandbox():
    with enabled_sandbox():
        yield


@pytest.fixture
async def shop(sample: SampleStore) -> StorefrontClient:
    await add_sandbox_methods(sample.scope)
    return await open_storefront(sample)


@pytest.fixture
def key(shop: StorefrontClient) -> Client:
    sample = shop.sample
    return Client(sample.http, sample.store, {"X-API-Key": shop.key or ""}, sample.ip)


async def pay(shop: StorefrontClient, order: dict[str, Any]) -> str:
    path = f"orders/{order['id']}/payments"
    payment = (await shop.post(path, {"kind": "PIX", "token": order["token"]})).body
    await actions.act(shop.sample.scope, payment["gateway_charge_id"], "pay")
    return str(payment["id"])


async def place_two(shop: StorefrontClient) -> list[dict[str, Any]]:
    orders = []
    for product in (shop.sample.mug, shop.sample.ebook):
        orders.append((await shop.order((product, 1))).body)
    return orders


async def test_a_shopper_sees_the_payments_of_its_order_alone(shop, key):
    mine, others = await place_two(shop)
    async with sse(key, WITHOUT_ORDER, order=mine["id"], token=mine["token"]) as stream:
        await pay(shop, others)
        payment = await pay(shop, mine)
        results = await stream.take(2)
    # A payment is shown as it is when the event is sent.
    shown = [result["data"]["payment_changed"] for result in results]
    assert {each["id"] for each in shown} == {payment}
    assert shown[-1]["status"] == "PAID"


async def test_without_the_token_there_is_no_stream(shop, key):
    mine, others = await place_two(shop)
    for token in (None, "wrong", others["token"]):
        async with sse(key, WITHOUT_ORDER, order=mine["id"], token=token) as stream:
            [refused] = await asyncio.wait_for(stream.take(1), 10)
        assert refused["errors"][0]["extensions"]["code"] == "NOT_FOUND", token


async def test_who_may_pay_no_order_has_no_stream_of_one(shop, sample):
    [mine, _] = await place_two(shop)
    for user in (sample.staff, sample.vendor_user):
        client = await sample.client(user)
        for order, token in ((mine["id"], None), (mine["id"], mine["token"]), (UNKNOWN_ID, None)):
            async with sse(client, WITHOUT_ORDER, order=order, token=token) as stream:
                [refused] = await asyncio.wait_for(stream.take(1), 10)
            assert refused["errors"][0]["extensions"]["code"] == "FORBIDDEN", (user, order, token)


async def test_a_stream_ends_with_the_privilege(shop, sample):
    [mine, _] = await place_two(shop)
    payer = await sample.add_user("manage_orders", user_type="A")
    async with sse(await sample.client(payer), WITHOUT_ORDER, order=mine["id"]) as stream:
        await execute_query(sample, SET_PRIVILEGES, sample.owner, id=payer.id)
        await pay(shop, mine)
        [refused] = await asyncio.wait_for(stream.take(1), 10)
    assert (refused.get("data"), refused["errors"][0]["extensions"]["code"]) == (None, "FORBIDDEN")


async def test_each_caller_gets_a_result_of_its_own(shop, key, sample):
    mine, _ = await place_two(shop)
    admin = await sample.client(sample.owner)
    variables = {"order": mine["id"], "token": mine["token"]}
    async with sse(key, CHANGED, **variables) as shopper, sse(admin, CHANGED, **variables) as staff:
        await pay(shop, mine)
        [of_shopper, *_], [of_staff, *_] = await shopper.take(1), await staff.take(1)
    assert of_staff["data"]["payment_changed"]["order"] == {"id": mine["id"]}
    assert of_shopper["data"]["payment_changed"]["order"] is None
