"""Payments of an order by the routes of storefronts and of administrators (docs/reference/current.md#payments)."""

from __future__ import annotations

from typing import Any

import pytest

from domain.payments.sandbox import actions
from kernel.ids import uuid7
from tests.harness.http import Client
from tests.harness.payments import add_sandbox_methods, enabled_sandbox
from tests.harness.records import UNKNOWN_ID
from tests.harness.sample_store import SampleStore
from tests.harness.storefront import StorefrontClient, open_storefront

PAYMENT = {
    "id", "number", "kind", "status", "amount_cents", "currency", "installments", "surcharge_cents", "paid_cents", "refunded_cents",
    "gateway", "gateway_charge_id", "expires_at", "failure", "pix", "boleto", "card", "refunds", "created_at", "paid_at",
}  # fmt: skip


@pytest.fixture(autouse=True)
def sandbox():
    with enabled_sandbox():
        yield


@pytest.fixture
async def shop(sample: SampleStore) -> StorefrontClient:
    await add_sandbox_methods(sample.scope)
    return await open_storefront(sample)


@pytest.fixture
async def order(shop: StorefrontClient) -> dict[str, Any]:
    return (await shop.order((shop.sample.mug, 1))).body


@pytest.fixture
async def admin(sample: SampleStore) -> Client:
    return await sample.client(sample.owner)


def paths(order: dict[str, Any]) -> tuple[str, dict[str, str]]:
    return f"orders/{order['id']}/payments", {"token": order["token"]}


async def test_a_guest_pays_by_pix(shop, order):
    path, token = paths(order)
    created = await shop.post(path, {"kind": "PIX", **token})
    assert created.status == 201
    assert set(created.body) == PAYMENT
    assert (created.body["status"], created.body["amount_cents"]) == ("PENDING", order["total_cents"])
    await actions.act(shop.sample.scope, created.body["gateway_charge_id"], "pay")
    listed = await shop.get(path, **token)
    assert [each["status"] for each in listed.body["payments"]] == ["PAID"]
    assert (await shop.get(f"orders/{order['id']}", **token)).body["payment_status"] == "paid"


async def test_options_show_the_kinds_of_an_order_and_of_a_cart(shop, order):
    options = await shop.get(f"orders/{order['id']}/payment-options", token=order["token"])
    assert [each["kind"] for each in options.body["payment_options"]] == ["PIX", "BOLETO", "CARD"]
    cart = await shop.cart((shop.sample.mug, 1))
    of_cart = await shop.get(f"carts/{cart}/payment-options")
    assert [each["total_cents"] for each in of_cart.body["payment_options"]] == [order["total_cents"]] * 3
    assert (await shop.check_out(cart)).status == 201
    of_ordered = await shop.get(f"carts/{cart}/payment-options")
    assert (of_ordered.status, of_ordered.body) == (200, {"payment_options": []})


async def test_a_repeated_request_gets_the_same_payment(shop, order):
    path, token = paths(order)
    headers = {"Idempotency-Key": str(uuid7())}
    first = await shop.post(path, {"kind": "PIX", **token}, headers=headers)
    again = await shop.post(path, {"kind": "PIX", **token}, headers=headers)
    assert (again.status, again.body) == (201, first.body)
    assert again.headers["Idempotent-Replayed"] == "true"


async def test_a_guest_cancels_a_payment(shop, order):
    path, token = paths(order)
    payment = (await shop.post(path, {"kind": "PIX", **token})).body
    assert (await shop.post(f"{path}/{payment['id']}/cancel")).status == 404
    cancelled = await shop.post(f"{path}/{payment['id']}/cancel", token)
    assert (cancelled.status, cancelled.body["status"]) == (200, "CANCELLED")


@pytest.mark.parametrize(
    "body, fields",
    [
        ({}, {"kind": "required"}),
        ({"kind": "pix"}, {"kind": "kind_invalid"}),
        ({"kind": 7}, {"kind": "kind_invalid"}),
        ({"kind": "CARD"}, {"card_token": "card_token_invalid"}),
        ({"kind": "PIX", "card_token": "tok_approved"}, {"card_token": "card_token_invalid"}),
        ({"kind": "PIX", "installments": 2}, {"installments": "installments_invalid"}),
        ({"kind": "CARD", "card_token": "x", "installments": 0}, {"installments": "installments_invalid"}),
        ({"kind": "CARD", "card_token": "x", "installments": "2"}, {"installments": "installments_invalid"}),
        ({"kind": "BOLETO", "billing": {"document": "123"}}, {"billing.document": "document_invalid"}),
        ({"kind": "CARD", "card_token": "4111111111111111"}, {"card_token": "card_number"}),
        ({"kind": "CARD", "card": {"number": "4111 1111 1111 1111"}}, {"number": "card_number"}),
        ({"kind": "CARD", "numbers": [5555555555554444]}, {"numbers": "card_number"}),
    ],
)
async def test_bad_input_is_refused_by_field(shop, order, body, fields):
    path, token = paths(order)
    refused = await shop.post(path, {**body, **token})
    assert (refused.status, refused.body["fields"]) == (400, fields)
    assert "4111" not in str(refused.body)
    assert (await shop.get(path, **token)).body["payments"] == []


@pytest.mark.parametrize(
    "billing, field",
    [
        ("x", "billing"),
        (1, "billing"),
        ([], "billing"),
        ({"address": "x"}, "billing.address"),
        ({"address": []}, "billing.address"),
        ({"name": 5}, "billing.name"),
        ({"address": {"street": 5}}, "billing.address.street"),
    ],
)
async def test_wrong_types_in_billing_are_named(shop, order, billing, field):
    path, token = paths(order)
    refused = await shop.post(path, {"kind": "PIX", "billing": billing, **token})
    assert (refused.status, refused.body.get("fields")) == (400, {field: "invalid"})


async def test_a_payment_is_of_the_order_in_the_path(shop, order, admin):
    path, token = paths(order)
    payment = (await shop.post(path, {"kind": "PIX", **token})).body
    other = (await shop.order((shop.sample.ebook, 1))).body
    refused = await shop.post(f"orders/{other['id']}/payments/{payment['id']}/cancel", {"token": other["token"]})
    assert refused.status == 404
    refused = await admin.post(
        f"/api/v1/admin/orders/{other['id']}/payments/{payment['id']}/refund", {"amount_cents": 1}
    )
    assert refused.status == 404
    assert (await shop.get(f"orders/{UNKNOWN_ID}/payments", token=order["token"])).status == 404


async def test_an_administrator_creates_lists_cancels_and_refunds(shop, order, admin):
    path = f"/api/v1/admin/orders/{order['id']}/payments"
    pix = await admin.post(path, {"kind": "PIX"})
    assert (pix.status, set(pix.body)) == (201, PAYMENT)
    assert (await admin.post(f"{path}/{pix.body['id']}/cancel")).body["status"] == "CANCELLED"
    card = (await admin.post(path, {"kind": "CARD", "card_token": "tok_approved"})).body
    assert card["status"] == "PAID"
    refused = await admin.post(f"{path}/{card['id']}/refund", {"amount_cents": card["amount_cents"] + 1})
    assert (refused.status, refused.body["remains"]) == (422, card["amount_cents"])
    assert (await admin.post(f"{path}/{card['id']}/refund", {})).body["fields"] == {"amount_cents": "required"}
    refunded = await admin.post(f"{path}/{card['id']}/refund", {"amount_cents": 100})
    assert (refunded.body["refunded_cents"], refunded.body["status"]) == (100, "PARTIALLY_REFUNDED")
    assert [each["status"] for each in (await admin.get(path)).body["payments"]] == ["CANCELLED", "PARTIALLY_REFUNDED"]


async def test_a_recorded_payment_is_neither_refunded_nor_cancelled(shop, order, admin):
    record = 'mutation($id: ID!) { payment_record(order_id: $id, amount_cents: 500, kind: "cash") { id } }'
    answer = await admin.post("/graphql", {"query": record, "variables": {"id": order["id"]}})
    path = f"/api/v1/admin/orders/{order['id']}/payments/{answer.body['data']['payment_record']['id']}"
    refund, cancel = await admin.post(f"{path}/refund", {"amount_cents": 1}), await admin.post(f"{path}/cancel")
    assert (refund.status, refund.body["error"]) == (422, "payment_not_refundable")
    assert (cancel.status, cancel.body["error"]) == (422, "payment_not_cancellable")


async def test_a_recorded_payment_has_an_amount(order, admin):
    record = 'mutation($id: ID!) { payment_record(order_id: $id, amount_cents: 0, kind: "cash") { id } }'
    answer = await admin.post("/graphql", {"query": record, "variables": {"id": order["id"]}})
    assert answer.body["errors"][0]["message"].startswith("the amount is 0 cents; expected 1 to ")
    assert (await admin.get(f"/api/v1/admin/orders/{order['id']}/payments")).body["payments"] == []


async def test_an_order_is_paid_once(shop, order):
    path, token = paths(order)
    await shop.post(path, {"kind": "CARD", "card_token": "tok_approved", **token})
    again = await shop.post(path, {"kind": "PIX", **token})
    assert (again.status, again.body["error"]) == (409, "order_paid")


async def test_received_payments_are_those_of_the_legacy_order(shop, order, sample):
    path, token = paths(order)
    await shop.post(path, {"kind": "PIX", **token})
    legacy = f"/api/v1.0/orders/{order['number']}"
    assert (await sample.get(legacy)).body["payment_info"] == {}
    await shop.post(path, {"kind": "CARD", "card_token": "tok_approved", **token})
    info = (await sample.get(legacy)).body["payment_info"]
    assert (info["kind"], info["installments"]) == ("credit_card", "1")
