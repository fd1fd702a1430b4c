"""Check settings over every route: they are the store's own, and a change of one is a change of what the shop does."""

from typing import Any

import pytest

from domain.store_settings import STORE_SETTINGS
from domain.stores import gateway_secret, set_gateway_secret
from tests.legacy.entities import resource_of, rows_in
from tests.shop import Shop


async def record(shop: Shop, name: str) -> dict[str, Any]:
    (found,) = rows_in(resource_of("settings"), (await shop.get(f"/api/settings?name={name}")).body)
    return found


async def put(shop: Shop, name: str, value: Any, **how: Any) -> Any:
    number = (await record(shop, name))["object_id"]
    return await shop.put(f"/api/settings/{number}", {"value": value}, **how)


async def test_every_setting_of_a_store_is_there(shop):
    rows = (await shop.get("/api/settings?items_per_page=250")).body["settings"]
    assert {row["name"] for row in rows} == {*STORE_SETTINGS, "payment_gateway_secret"}
    assert len({row["object_id"] for row in rows}) == len(rows)
    assert [row["section_id"] for row in rows] == sorted(row["section_id"] for row in rows)
    for row in rows:
        assert all(isinstance(row[name], str) for name in row if name != "variants"), row
        assert row["type"] in "CSUIP"


@pytest.mark.parametrize(
    "name, given, read_back",
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
async def test_a_value_is_set_and_read_back(shop, name, given, read_back):
    before = await record(shop, name)
    answer = await put(shop, name, given)
    assert (answer.status, answer.body) == (200, {"setting_id": before["object_id"]})
    assert await record(shop, name) == before | {"value": read_back}


async def test_a_setting_is_named_by_number_uuid_and_name(shop):
    for name in (str(shop.setting), shop.setting.id, "legacy_lists"):
        assert (await shop.get(f"/api/settings/{name}")).body["name"] == "legacy_lists"


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
async def test_a_value_that_can_not_be_changes_nothing(shop, name, value, message):
    before = await record(shop, name)
    answer = await put(shop, name, value)
    assert (answer.status, answer.body) == (400, {"status": 400, "message": message})
    assert await record(shop, name) == before


async def test_a_php_form_sets_a_setting_too(shop):
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = await shop.put(f"/api/settings/{shop.setting}", data=b"value=cscart", headers=headers)
    assert answer.status == 200, answer.raw


async def test_a_change_is_what_the_shop_does_from_then_on(shop):
    assert isinstance((await shop.get("/api/usergroups")).body["usergroups"], dict)
    await put(shop, "legacy_lists", "cscart")
    assert "usergroups" not in (await shop.get("/api/usergroups")).body
    product = {"query": 'mutation { product_create(input: {name: "x", price_cents: 1}) { id } }'}
    assert "errors" not in (await shop.post("/graphql", product, auth="bearer")).body
    number = (await shop.get("/api/settings/products_require_category")).body["object_id"]
    await shop.put(f"/api/settings/{number}", {"value": "Y"})
    (error,) = (await shop.post("/graphql", product, auth="bearer")).body["errors"]
    assert error["extensions"]["code"] == "VALIDATION_FAILED"


async def test_a_secret_is_masked_and_its_mask_leaves_it(shop):
    scope = shop.scope()
    await set_gateway_secret(scope, "the gateway's key")
    secret = await record(shop, "payment_gateway_secret")
    assert (secret["type"], secret["value"]) == ("P", "****")
    assert (await put(shop, "payment_gateway_secret", "****")).status == 200
    assert await gateway_secret(scope) == "the gateway's key"
    assert (await put(shop, "payment_gateway_secret", "another")).status == 200
    assert await gateway_secret(scope) == "another"
    manager = await shop.new_person("manage_settings")
    answer = await put(shop, "payment_gateway_secret", "", by=manager)
    assert (answer.status, answer.body["message"]) == (403, "Forbidden: privilege manage_payments required")
    assert (await put(shop, "payment_gateway_secret", "")).status == 200
    assert (await record(shop, "payment_gateway_secret"))["value"] == ""


async def test_a_secret_among_the_settings_is_sealed(shop):
    assert (await put(shop, "credit_bureau_token", "bureau-token-1")).status == 200
    for value in ("****", None):
        assert (await put(shop, "credit_bureau_token", value)).status == 200
        assert (await record(shop, "credit_bureau_token"))["value"] == "****"
    kept = await shop.value("select settings::text from tenants where id = $1", shop.store.id)
    assert "credit_bureau_token" in kept
    assert "bureau-token-1" not in kept
    assert (await put(shop, "credit_bureau_token", "")).status == 200
    assert (await record(shop, "credit_bureau_token"))["value"] == ""


async def test_settings_are_neither_made_nor_deleted(shop):
    assert (await shop.post("/api/settings", {"value": "x"})).status == 405
    assert (await shop.delete(f"/api/settings/{shop.setting}")).status == 405


async def test_each_store_has_its_own(shop, other_shop):
    await put(shop, "legacy_lists", "cscart")
    assert (await record(other_shop, "legacy_lists"))["value"] == "contract"


async def test_a_change_is_audited(shop):
    await put(shop, "support_phone", "81")
    assert await shop.value("select count(*) from audit_entries where action = 'settings.updated'") == 1
