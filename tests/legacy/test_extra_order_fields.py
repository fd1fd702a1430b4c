"""Check the invoice (nota fiscal) data of orders."""

import base64
from typing import Any

import pytest

from kernel.documents import chave_nota_check_digit
from tests.shop import Shop

FIRST_43 = "3526110112233300018155001000000123112345678"
KEY = FIRST_43 + str(chave_nota_check_digit(FIRST_43))
WRONG_KEY = FIRST_43 + str((chave_nota_check_digit(FIRST_43) + 1) % 10)
ALL_FIELDS = {
    "link_nota": "https://nfe.example.com/1",
    "codigo_pedido_erp": "ERP-77",
    "xml_nota": "<nfe/>",
    "pdf_nota": "https://nfe.example.com/1.pdf",
    "nota_fiscal": "000123",
    "base64_xml": base64.b64encode(b"<nfe/>").decode(),
}


async def put(shop: Shop, body: Any, **kwargs: Any) -> Any:
    return await shop.put(f"/api/extra_order_fields/{shop.order}", body, **kwargs)


async def fields(shop: Shop) -> dict[str, Any]:
    return (await shop.get(f"/api/orders/{shop.order}")).body["fields"]


async def test_all_fields_appear_in_the_orders_fields(shop):
    answer = await put(shop, ALL_FIELDS | {"chave_nota": KEY, "unknown_field": 1})
    assert (answer.status, answer.body) == (200, {"order_id": str(shop.order)})
    assert await fields(shop) == ALL_FIELDS | {"chave_nota": KEY, "chave_nota_valid": "Y"}


async def test_absent_fields_are_kept_and_null_removes_one(shop):
    await shop.put(f"/api/orders/{shop.order}", {"fields": {"mine": "x"}})
    await put(shop, ALL_FIELDS | {"chave_nota": KEY})
    await put(shop, {"nota_fiscal": 124, "chave_nota": None})
    assert await fields(shop) == ALL_FIELDS | {"nota_fiscal": "124", "mine": "x"}


async def test_spaces_are_removed_from_the_access_key(shop):
    spaced = " ".join(KEY[start : start + 4] for start in range(0, 44, 4))
    assert (await put(shop, {"chave_nota": spaced})).status == 200
    assert (await fields(shop))["chave_nota"] == KEY


async def test_a_wrong_check_digit_is_stored_and_flagged(shop):
    assert (await put(shop, {"chave_nota": WRONG_KEY})).status == 200
    assert await fields(shop) == {"chave_nota": WRONG_KEY, "chave_nota_valid": "N"}
    await put(shop, {"chave_nota": KEY, "chave_nota_valid": "N"})
    assert (await fields(shop))["chave_nota_valid"] == "Y"


@pytest.mark.parametrize("key", ["", "1", KEY[:-1], KEY + "1", "x" * 44, KEY[:-1] + "x", 44, [], {}, True])
async def test_anything_but_44_digits_is_rejected(shop, key):
    answer = await put(shop, {"chave_nota": key, "nota_fiscal": "9"})
    assert (answer.status, answer.body["status"]) == (400, 400)
    assert answer.body["message"].startswith("chave_nota is ")
    assert await fields(shop) == {}


@pytest.mark.parametrize("value", ["é", "a", "a===", "<nfe/>", "YQ", 5, []])
async def test_invalid_base64_is_rejected(shop, value):
    answer = await put(shop, {"base64_xml": value})
    assert answer.status == 400, value
    assert answer.body["message"].startswith("base64_xml is ")


async def test_base64_may_contain_line_breaks(shop):
    encoded = base64.encodebytes(b"<nfe>" * 40).decode()
    assert (await put(shop, {"base64_xml": encoded})).status == 200
    assert (await fields(shop))["base64_xml"] == encoded


@pytest.mark.parametrize("name", ["link_nota", "codigo_pedido_erp", "xml_nota", "pdf_nota", "nota_fiscal"])
async def test_the_other_fields_are_free_text(shop, name):
    assert (await put(shop, {name: "qualquer coisa, 1/2"})).status == 200
    assert (await fields(shop))[name] == "qualquer coisa, 1/2"
    assert (await put(shop, {name: ["x"]})).status == 400
    assert (await put(shop, {name: {"a": "x"}})).status == 400


async def test_the_update_emits_an_event_and_is_audited(shop):
    await put(shop, {"nota_fiscal": "1"})
    events = await shop.rows(
        "select name from outbox_events where tenant_id = $1 and subject_id = $2 order by id desc limit 1",
        shop.store.id,
        shop.order.id,
    )
    assert [row["name"] for row in events] == ["order.updated"]
    assert await shop.value(
        "select count(*) from audit_entries where tenant_id = $1 and action = 'order.fiscal_data_set'",
        shop.store.id,
    )


async def test_other_methods_are_not_allowed(shop):
    for method in ("GET", "POST", "DELETE"):
        answer = await shop.call(method, f"/api/extra_order_fields/{shop.order}")
        assert (answer.status, answer.headers["Allow"]) == (405, "PUT")
        assert answer.body == {"status": 405, "message": "Method not allowed"}
