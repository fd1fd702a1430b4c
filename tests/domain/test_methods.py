"""Ways to pay and to deliver, and secrets that nobody reads back."""

from __future__ import annotations

import pytest

from domain.payments.methods import (
    MASK,
    create_payment_method,
    delete_payment_method,
    masked,
    opened,
    shown_params,
    update_payment_method,
)
from domain.shipping.methods import create_shipping_method, delete_shipping_method, update_shipping_method
from kernel.errors import NotFound, ValidationFailed
from tests.domain.kit import unknown


async def stored_params(shop, method):
    return opened((await shop.record("payment_methods", method))["processor_params"])


async def test_a_way_to_pay_changes_partially(shop):
    vendor = await shop.vendor()
    method = await create_payment_method(
        shop.scope,
        {
            "name": "Boleto",
            "processor": "pagarme",
            "surcharge_percent": 250,
            "hold_minutes": 0,
            "vendor": vendor,
        },
    )
    await update_payment_method(shop.scope, method, {"status": "D", "settles_at_once": True})
    record = await shop.record("payment_methods", method)
    assert (record["name"], record["processor"], record["surcharge_percent"]) == ("Boleto", "pagarme", 250)
    assert (record["hold_minutes"], record["status"], record["settles_at_once"]) == (0, "D", True)
    assert record["vendor_id"] == vendor


async def test_parameters_are_encrypted_and_their_secrets_masked(shop):
    params = {
        "secret_key": "sk_live_1",
        "mode": "live",
        "nested": {"api_token": "t", "url": "u"},
        "empty_password": "",
    }
    method = await create_payment_method(shop.scope, {"name": "x", "processor_params": params})
    raw = bytes((await shop.record("payment_methods", method))["processor_params"])
    assert b"sk_live_1" not in raw
    assert await stored_params(shop, method) == params
    assert await shown_params(shop.scope, method) == {
        "secret_key": MASK,
        "mode": "live",
        "nested": {"api_token": MASK, "url": "u"},
        "empty_password": "",
    }


async def test_a_mask_sent_back_leaves_the_secret_as_it_is(shop):
    method = await create_payment_method(
        shop.scope,
        {"name": "x", "processor_params": {"secret_key": "s", "old": "o", "nested": {"token": "t"}}},
    )
    await update_payment_method(
        shop.scope,
        method,
        {
            "processor_params": {
                "secret_key": MASK,
                "mode": "test",
                "never_was": MASK,
                "nested": {"token": MASK, "n": 1},
            }
        },
    )
    assert await stored_params(shop, method) == {
        "secret_key": "s",
        "mode": "test",
        "nested": {"token": "t", "n": 1},
    }
    await update_payment_method(shop.scope, method, {"name": "y"})
    assert (await stored_params(shop, method))["secret_key"] == "s"
    await update_payment_method(shop.scope, method, {"processor_params": None})
    assert await stored_params(shop, method) == {}


def test_a_mask_hides_no_absence():
    assert masked({"api_key": None, "token": ""}) == {"api_key": None, "token": ""}


@pytest.mark.parametrize(
    "given, fields",
    [
        ({"name": " "}, {"name": "name_required"}),
        ({"processor": ""}, {"processor": "processor_invalid"}),
        ({"processor": "x" * 65}, {"processor": "processor_invalid"}),
        ({"surcharge_cents": -1}, {"surcharge_cents": "surcharge_invalid"}),
        ({"hold_minutes": -1}, {"hold_minutes": "hold_invalid"}),
        ({"status": "Z"}, {"status": "status_invalid"}),
        ({"processor_params": "x"}, {"processor_params": "processor_params_invalid"}),
        ({"vendor": 10**12}, {"vendor": "not_found"}),
    ],
)
async def test_what_is_wrong_with_a_way_to_pay_is_named(shop, given, fields):
    with pytest.raises(ValidationFailed) as refusal:
        await create_payment_method(shop.scope, {"name": "x", **given})
    assert refusal.value.fields == fields


async def test_a_deleted_way_to_pay_is_absent_and_its_orders_show_it(shop):
    method = await shop.payment()
    order = await shop.order((await shop.product(), 1), payment_method=method)
    await delete_payment_method(shop.scope, method)
    with pytest.raises(NotFound, match="payment method not found"):
        await update_payment_method(shop.scope, method, {"name": "x"})
    assert (await shop.record("orders", order.id))["payment_method_id"] == method


async def test_a_way_to_deliver_changes_partially(shop):
    method = await create_shipping_method(
        shop.scope,
        {
            "name": "Sedex",
            "base_cents": 100,
            "free_from_cents": 5_000,
            "max_weight_grams": 30_000,
            "delivery_time": "2 d",
        },
    )
    await update_shipping_method(shop.scope, method, {"base_cents": 200, "free_from_cents": None})
    record = await shop.record("shipping_methods", method)
    assert (record["name"], record["base_cents"], record["free_from_cents"]) == ("Sedex", 200, None)
    assert (record["max_weight_grams"], record["delivery_time"], record["rate_calculation"]) == (
        30_000,
        "2 d",
        "M",
    )
    await delete_shipping_method(shop.scope, method)
    with pytest.raises(NotFound, match="shipping method not found"):
        await delete_shipping_method(shop.scope, method)


@pytest.mark.parametrize(
    "given, fields",
    [
        ({"name": None}, {"name": "name_required"}),
        ({"base_cents": -1}, {"base_cents": "price_invalid"}),
        ({"rate_calculation": "X"}, {"rate_calculation": "rate_invalid"}),
        ({"min_weight_grams": 2, "max_weight_grams": 1}, {"min_weight_grams": "weight_invalid"}),
    ],
)
async def test_what_is_wrong_with_a_way_to_deliver_is_named(shop, given, fields):
    with pytest.raises(ValidationFailed) as refusal:
        await create_shipping_method(shop.scope, {"name": "x", **given})
    assert refusal.value.fields == fields


async def test_weights_are_checked_with_those_that_stay(shop):
    method = await shop.shipping(max_weight_grams=1_000)
    with pytest.raises(ValidationFailed):
        await update_shipping_method(shop.scope, method, {"min_weight_grams": 2_000})
    await update_shipping_method(shop.scope, method, {"min_weight_grams": 2_000, "max_weight_grams": 0})


async def test_another_stores_methods_are_not_found(shop, other_shop):
    payment, shipping = await other_shop.payment(), await other_shop.shipping()
    for reference in (payment, await other_shop.public_id("payment_methods", payment), unknown()):
        with pytest.raises(NotFound):
            await update_payment_method(shop.scope, reference, {"name": "x"})
        with pytest.raises(NotFound):
            await delete_payment_method(shop.scope, reference)
    for reference in (shipping, await other_shop.public_id("shipping_methods", shipping), unknown()):
        with pytest.raises(NotFound):
            await update_shipping_method(shop.scope, reference, {"name": "x"})
    assert await shown_params(shop.scope, payment) == {}


async def test_changes_are_in_the_audit_log_without_values(shop):
    method = await create_payment_method(shop.scope, {"name": "x"})
    await update_payment_method(shop.scope, method, {"processor_params": {"secret": "hush"}})
    entries = await shop.rows(
        "SELECT action, details::text FROM audit_entries WHERE tenant_id = $1 ORDER BY id"
    )
    assert [entry["action"] for entry in entries] == ["payment_method.created", "payment_method.updated"]
    assert "hush" not in entries[1]["details"]
