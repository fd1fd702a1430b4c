"""Payment methods, shipping methods, and secrets that are never returned."""

from __future__ import annotations

import pytest

from domain.payments.methods import MASK, PAYMENT_METHOD_RECORDS, decrypt_params, mask_params
from domain.shipping.methods import SHIPPING_METHOD_RECORDS
from kernel.errors import NotFound, ValidationFailed
from tests.harness.domain_store import unknown


async def stored_params(kit, method):
    return decrypt_params((await kit.record("payment_methods", method))["processor_params"])


async def test_a_payment_method_is_updated_partially(kit):
    vendor = await kit.vendor()
    method = await PAYMENT_METHOD_RECORDS.create(
        kit.scope,
        {
            "name": "Boleto",
            "processor": "pagarme",
            "surcharge_percent": 250,
            "hold_minutes": 0,
            "vendor": vendor,
        },
    )
    await PAYMENT_METHOD_RECORDS.update(kit.scope, method, {"status": "D", "settles_at_once": True})
    record = await kit.record("payment_methods", method)
    assert (record["name"], record["processor"], record["surcharge_percent"]) == ("Boleto", "pagarme", 250)
    assert (record["hold_minutes"], record["status"], record["settles_at_once"]) == (0, "D", True)
    assert record["vendor_id"] == vendor


async def test_parameters_are_encrypted_and_their_secrets_masked(kit):
    params = {
        "secret_key": "sk_live_1",
        "mode": "live",
        "nested": {"api_token": "t", "url": "u"},
        "empty_password": "",
    }
    method = await PAYMENT_METHOD_RECORDS.create(kit.scope, {"name": "x", "processor_params": params})
    raw = bytes((await kit.record("payment_methods", method))["processor_params"])
    assert b"sk_live_1" not in raw
    assert await stored_params(kit, method) == params
    assert mask_params(await stored_params(kit, method)) == {
        "secret_key": MASK,
        "mode": "live",
        "nested": {"api_token": MASK, "url": "u"},
        "empty_password": "",
    }


async def test_a_mask_in_the_input_keeps_the_stored_secret(kit):
    method = await PAYMENT_METHOD_RECORDS.create(
        kit.scope,
        {"name": "x", "processor_params": {"secret_key": "s", "old": "o", "nested": {"token": "t"}}},
    )
    await PAYMENT_METHOD_RECORDS.update(
        kit.scope,
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
    assert await stored_params(kit, method) == {
        "secret_key": "s",
        "mode": "test",
        "nested": {"token": "t", "n": 1},
    }
    await PAYMENT_METHOD_RECORDS.update(kit.scope, method, {"name": "y"})
    assert (await stored_params(kit, method))["secret_key"] == "s"
    await PAYMENT_METHOD_RECORDS.update(kit.scope, method, {"processor_params": None})
    assert await stored_params(kit, method) == {}


def test_missing_secrets_are_not_masked():
    assert mask_params({"api_key": None, "token": ""}) == {"api_key": None, "token": ""}


@pytest.mark.parametrize(
    "values, fields",
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
async def test_payment_method_field_errors_are_reported(kit, values, fields):
    with pytest.raises(ValidationFailed) as error:
        await PAYMENT_METHOD_RECORDS.create(kit.scope, {"name": "x", **values})
    assert error.value.fields == fields


async def test_a_deleted_payment_method_is_hidden_but_its_orders_show_it(kit):
    method = await kit.payment()
    order = await kit.order((await kit.product(), 1), payment_method=method)
    await PAYMENT_METHOD_RECORDS.delete(kit.scope, method)
    with pytest.raises(NotFound, match="payment method not found"):
        await PAYMENT_METHOD_RECORDS.update(kit.scope, method, {"name": "x"})
    assert (await kit.record("orders", order.id))["payment_method_id"] == method


async def test_a_shipping_method_is_updated_partially(kit):
    method = await SHIPPING_METHOD_RECORDS.create(
        kit.scope,
        {
            "name": "Sedex",
            "base_cents": 100,
            "free_from_cents": 5_000,
            "max_weight_grams": 30_000,
            "delivery_time": "2 d",
        },
    )
    await SHIPPING_METHOD_RECORDS.update(kit.scope, method, {"base_cents": 200, "free_from_cents": None})
    record = await kit.record("shipping_methods", method)
    assert (record["name"], record["base_cents"], record["free_from_cents"]) == ("Sedex", 200, None)
    assert (record["max_weight_grams"], record["delivery_time"], record["rate_calculation"]) == (
        30_000,
        "2 d",
        "M",
    )
    await SHIPPING_METHOD_RECORDS.delete(kit.scope, method)
    with pytest.raises(NotFound, match="shipping method not found"):
        await SHIPPING_METHOD_RECORDS.delete(kit.scope, method)


@pytest.mark.parametrize(
    "values, fields",
    [
        ({"name": None}, {"name": "name_required"}),
        ({"base_cents": -1}, {"base_cents": "price_invalid"}),
        ({"rate_calculation": "X"}, {"rate_calculation": "rate_invalid"}),
        ({"min_weight_grams": 2, "max_weight_grams": 1}, {"min_weight_grams": "weight_invalid"}),
    ],
)
async def test_shipping_method_field_errors_are_reported(kit, values, fields):
    with pytest.raises(ValidationFailed) as error:
        await SHIPPING_METHOD_RECORDS.create(kit.scope, {"name": "x", **values})
    assert error.value.fields == fields


async def test_weight_limits_are_validated_against_stored_ones(kit):
    method = await kit.shipping(max_weight_grams=1_000)
    with pytest.raises(ValidationFailed):
        await SHIPPING_METHOD_RECORDS.update(kit.scope, method, {"min_weight_grams": 2_000})
    await SHIPPING_METHOD_RECORDS.update(kit.scope, method, {"min_weight_grams": 2_000, "max_weight_grams": 0})


async def test_another_stores_methods_are_not_found(kit, other_kit):
    payment, shipping = await other_kit.payment(), await other_kit.shipping()
    for reference in (payment, await other_kit.public_id("payment_methods", payment), unknown()):
        with pytest.raises(NotFound):
            await PAYMENT_METHOD_RECORDS.update(kit.scope, reference, {"name": "x"})
        with pytest.raises(NotFound):
            await PAYMENT_METHOD_RECORDS.delete(kit.scope, reference)
    for reference in (shipping, await other_kit.public_id("shipping_methods", shipping), unknown()):
        with pytest.raises(NotFound):
            await SHIPPING_METHOD_RECORDS.update(kit.scope, reference, {"name": "x"})
    assert await stored_params(other_kit, payment) == {}


async def test_the_audit_log_has_no_values(kit):
    method = await PAYMENT_METHOD_RECORDS.create(kit.scope, {"name": "x"})
    await PAYMENT_METHOD_RECORDS.update(kit.scope, method, {"processor_params": {"secret": "hush"}})
    entries = await kit.rows("SELECT action, details::text FROM audit_entries WHERE tenant_id = $1 ORDER BY id")
    assert [entry["action"] for entry in entries] == ["payment_method.created", "payment_method.updated"]
    assert "hush" not in entries[1]["details"]
