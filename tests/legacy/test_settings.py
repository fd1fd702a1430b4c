"""Check the setting routes and that changes take effect."""

from typing import Any

import pytest

from domain.store_settings import STORE_SETTINGS
from domain.stores import gateway_secret, set_gateway_secret
from tests.harness.sample_store import SampleStore
from tests.legacy.entities import resource_of, rows_in


async def read_setting(sample: SampleStore, name: str) -> dict[str, Any]:
    (setting,) = rows_in(resource_of("settings"), (await sample.get(f"/api/settings?name={name}")).body)
    return setting


async def update_setting(sample: SampleStore, name: str, value: Any, **kwargs: Any) -> Any:
    number = (await read_setting(sample, name))["object_id"]
    return await sample.put(f"/api/settings/{number}", {"value": value}, **kwargs)


async def test_every_store_setting_is_listed(sample):
    rows = (await sample.get("/api/settings?items_per_page=250")).body["settings"]
    assert {row["name"] for row in rows} == {*STORE_SETTINGS, "payment_gateway_secret"}
    assert len({row["object_id"] for row in rows}) == len(rows)
    assert [row["section_id"] for row in rows] == sorted(row["section_id"] for row in rows)
    for row in rows:
        assert all(isinstance(row[name], str) for name in row if name != "variants"), row
        assert row["type"] in "CSUIP"


@pytest.mark.parametrize(
    "name, value, expected",
    [
        ("legacy_lists", "cscart", "cscart"),
        ("legacy_vendor_keys", "Y", "Y"),
        ("legacy_vendor_keys", True, "Y"),
        ("products_require_category", "Y", "Y"),
        ("products_require_category", "n", "N"),
        ("products_require_category", 1, "Y"),
        ("support_email", "ajuda@example.com", "ajuda@example.com"),
        ("support_phone", 8133330000, "8133330000"),
        ("support_email", "", ""),
        ("account_url", "https://loja.example.com/conta", "https://loja.example.com/conta"),
    ],
)
async def test_a_value_is_set_and_read_back(sample, name, value, expected):
    before = await read_setting(sample, name)
    answer = await update_setting(sample, name, value)
    assert (answer.status, answer.body) == (200, {"setting_id": before["object_id"]})
    assert await read_setting(sample, name) == before | {"value": expected}


async def test_a_setting_is_addressed_by_number_uuid_or_name(sample):
    for identifier in (str(sample.setting), sample.setting.id, "legacy_lists"):
        assert (await sample.get(f"/api/settings/{identifier}")).body["name"] == "legacy_lists"


@pytest.mark.parametrize(
    "name, value, message",
    [
        ("legacy_lists", "magento", "value is 'magento'; expected one of contract, cscart"),
        ("legacy_vendor_keys", "maybe", "value is 'maybe'; expected Y or N"),
        ("products_require_category", "", "value is ''; expected Y or N"),
        ("products_require_category", 2, "value is '2'; expected Y or N"),
        ("account_url", "ftp://x", "value is 'ftp://x'; expected an https address without a fragment"),
        ("support_email", "x" * 256, "value has 256 characters; expected at most 255"),
        ("support_email", [], "value is []; expected a text"),
        ("support_email", {"a": 1}, "value is {'a': 1}; expected a text"),
    ],
)
async def test_an_invalid_value_changes_nothing(sample, name, value, message):
    before = await read_setting(sample, name)
    answer = await update_setting(sample, name, value)
    assert (answer.status, answer.body) == (400, {"status": 400, "message": message})
    assert await read_setting(sample, name) == before


async def test_a_form_encoded_body_updates_a_setting(sample):
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = await sample.put(f"/api/settings/{sample.setting}", data=b"value=cscart", headers=headers)
    assert answer.status == 200, answer.raw


async def test_a_change_takes_effect_immediately(sample):
    assert isinstance((await sample.get("/api/usergroups")).body["usergroups"], dict)
    await update_setting(sample, "legacy_lists", "cscart")
    assert "usergroups" not in (await sample.get("/api/usergroups")).body
    product = {"query": 'mutation { product_create(input: {name: "x", price_cents: 1}) { id } }'}
    assert "errors" not in (await sample.post("/graphql", product, auth="bearer")).body
    number = (await sample.get("/api/settings/products_require_category")).body["object_id"]
    await sample.put(f"/api/settings/{number}", {"value": "Y"})
    (error,) = (await sample.post("/graphql", product, auth="bearer")).body["errors"]
    assert error["extensions"]["code"] == "VALIDATION_FAILED"


async def test_a_secret_is_masked_and_writing_the_mask_keeps_it(sample):
    scope = sample.scope
    await set_gateway_secret(scope, "the gateway's key")
    secret = await read_setting(sample, "payment_gateway_secret")
    assert (secret["type"], secret["value"]) == ("P", "****")
    assert (await update_setting(sample, "payment_gateway_secret", "****")).status == 200
    assert await gateway_secret(scope) == "the gateway's key"
    assert (await update_setting(sample, "payment_gateway_secret", "another")).status == 200
    assert await gateway_secret(scope) == "another"
    manager = await sample.add_user("manage_settings")
    answer = await update_setting(sample, "payment_gateway_secret", "", by=manager)
    assert (answer.status, answer.body["message"]) == (403, "Forbidden: privilege manage_payments required")
    assert (await update_setting(sample, "payment_gateway_secret", "")).status == 200
    assert (await read_setting(sample, "payment_gateway_secret"))["value"] == ""


@pytest.mark.parametrize(
    "name, value, privilege",
    [
        ("account_url", "https://x.example", "manage_apps"),  # the first that is missing: tokens of every account
        ("order_url", "https://x.example", "manage_orders"),
        ("split_recipient_id", "rp_1", "manage_payments"),
        ("split_liable", "recipients", "manage_payments"),
        ("split_fees", "recipients", "manage_payments"),
    ],
)
async def test_a_setting_that_gets_tokens_or_money_needs_the_privilege_for_them(sample, name, value, privilege):
    manager = await sample.add_user("manage_settings")
    before = (await read_setting(sample, name))["value"]
    answer = await update_setting(sample, name, value, by=manager)
    assert (answer.status, answer.body["message"]) == (403, f"Forbidden: privilege {privilege} required")
    mutation = "mutation ($settings: JSON!) { store_settings_update(settings: $settings) { id } }"
    body = {"query": mutation, "variables": {"settings": {"support_phone": "81", name: value}}}
    (error,) = (await sample.post("/graphql", body, auth="bearer", by=manager)).body["errors"]
    assert error["extensions"]["code"] == "FORBIDDEN"
    assert (await read_setting(sample, name))["value"] == before
    assert (await update_setting(sample, name, before, by=manager)).status == 200
    assert (await update_setting(sample, name, value)).status == 200


async def test_a_secret_setting_is_stored_encrypted(sample):
    assert (await update_setting(sample, "credit_bureau_token", "bureau-token-1")).status == 200
    for value in ("****", None):
        assert (await update_setting(sample, "credit_bureau_token", value)).status == 200
        assert (await read_setting(sample, "credit_bureau_token"))["value"] == "****", value
    stored = await sample.value("select settings::text from tenants where id = $1", sample.store.id)
    assert "credit_bureau_token" in stored
    assert "bureau-token-1" not in stored
    assert (await update_setting(sample, "credit_bureau_token", "")).status == 200
    assert (await read_setting(sample, "credit_bureau_token"))["value"] == ""


async def test_settings_are_neither_created_nor_deleted(sample):
    assert (await sample.post("/api/settings", {"value": "x"})).status == 405
    assert (await sample.delete(f"/api/settings/{sample.setting}")).status == 405


async def test_each_store_has_its_own_settings(sample, other_sample):
    await update_setting(sample, "legacy_lists", "cscart")
    assert (await read_setting(other_sample, "legacy_lists"))["value"] == "contract"


async def test_a_change_is_audited(sample):
    await update_setting(sample, "support_phone", "81")
    assert await sample.value("select count(*) from audit_entries where action = 'settings.updated'") == 1
