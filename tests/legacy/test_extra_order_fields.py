"""Check the invoice (nota fiscal) data of orders."""

import base64
from typing import Any

import pytest

from kernel.documents import chave_nota_check_digit
from tests.harness.sample_store import SampleStore

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


async def put(sample: SampleStore, body: Any, **kwargs: Any) -> Any:
    return await sample.put(f"/api/extra_order_fields/{sample.order}", body, **kwargs)


async def fields(sample: SampleStore) -> dict[str, Any]:
    return (await sample.get(f"/api/orders/{sample.order}")).body["fields"]


async def test_all_fields_appear_in_the_orders_fields(sample):
    answer = await put(sample, ALL_FIELDS | {"chave_nota": KEY, "unknown_field": 1})
    assert (answer.status, answer.body) == (200, {"order_id": str(sample.order)})
    assert await fields(sample) == ALL_FIELDS | {"chave_nota": KEY, "chave_nota_valid": "Y"}


async def test_absent_fields_are_kept_and_null_removes_one(sample):
    await sample.put(f"/api/orders/{sample.order}", {"fields": {"mine": "x"}})
    await put(sample, ALL_FIELDS | {"chave_nota": KEY})
    await put(sample, {"nota_fiscal": 124, "chave_nota": None})
    assert await fields(sample) == ALL_FIELDS | {"nota_fiscal": "124", "mine": "x"}


async def test_spaces_are_removed_from_the_access_key(sample):
    spaced = " ".join(KEY[start : start + 4] for start in range(0, 44, 4))
    assert (await put(sample, {"chave_nota": spaced})).status == 200
    assert (await fields(sample))["chave_nota"] == KEY


@pytest.mark.parametrize(
    "key", ["35260712ABC34501DE35550010000000011123456784", "35260712abc34501de35550010000000011123456784"]
)
async def test_the_cnpj_in_an_access_key_may_have_letters(sample, key):
    assert (await put(sample, {"chave_nota": key})).status == 200
    assert await fields(sample) == {
        "chave_nota": "35260712ABC34501DE35550010000000011123456784", "chave_nota_valid": "Y",
    }  # fmt: skip


async def test_a_wrong_check_digit_is_stored_and_flagged(sample):
    assert (await put(sample, {"chave_nota": WRONG_KEY})).status == 200
    assert await fields(sample) == {"chave_nota": WRONG_KEY, "chave_nota_valid": "N"}
    await put(sample, {"chave_nota": KEY, "chave_nota_valid": "N"})
    assert (await fields(sample))["chave_nota_valid"] == "Y"


@pytest.mark.parametrize("key", ["", "1", KEY[:-1], KEY + "1", "x" * 44, KEY[:-1] + "x", 44, [], {}, True])
async def test_anything_but_44_digits_is_rejected(sample, key):
    answer = await put(sample, {"chave_nota": key, "nota_fiscal": "9"})
    assert (answer.status, answer.body["status"]) == (400, 400)
    assert answer.body["message"].startswith("chave_nota is ")
    assert await fields(sample) == {}


async def test_the_check_of_a_key_among_the_fields_of_an_order_is_calculated_too(sample):
    await put(sample, {"chave_nota": KEY})
    order = f"/api/orders/{sample.order}"
    for key, check in ((WRONG_KEY, "N"), ("123", "N"), (KEY, "Y")):
        assert (await sample.put(order, {"fields": {"chave_nota": key}})).status == 200, key
        assert await fields(sample) == {"chave_nota": key, "chave_nota_valid": check}
    assert (await sample.put(order, {"fields": {"chave_nota_valid": "N", "mine": "x"}})).status == 200
    assert await fields(sample) == {"chave_nota": KEY, "chave_nota_valid": "Y", "mine": "x"}


async def test_the_fields_of_an_order_have_a_size_together(sample):
    order = f"/api/orders/{sample.order}"
    for number in range(4):
        assert (await sample.put(order, {"fields": {f"field_{number}": "x" * 2_000_000}})).status == 200, number
    refused = await sample.put(order, {"notes": "x", "fields": {"field_4": "x" * 500_000}})
    assert (refused.status, refused.body["status"]) == (400, 400)
    assert refused.body["message"].endswith("expected at most 8388608")
    record = (await sample.get(order)).body
    assert (len(record["fields"]), record["notes"]) == (4, "")
    assert (await sample.put(order, {"fields": {"field_3": ""}})).status == 200


@pytest.mark.parametrize("value", ["é", "a", "a===", "<nfe/>", "YQ", 5, []])
async def test_invalid_base64_is_rejected(sample, value):
    answer = await put(sample, {"base64_xml": value})
    assert answer.status == 400, value
    assert answer.body["message"].startswith("base64_xml is ")


async def test_base64_may_contain_line_breaks(sample):
    encoded = base64.encodebytes(b"<nfe>" * 40).decode()
    assert (await put(sample, {"base64_xml": encoded})).status == 200
    assert (await fields(sample))["base64_xml"] == encoded


@pytest.mark.parametrize("name", ["link_nota", "codigo_pedido_erp", "xml_nota", "pdf_nota", "nota_fiscal"])
async def test_the_other_fields_are_free_text(sample, name):
    assert (await put(sample, {name: "qualquer coisa, 1/2"})).status == 200
    assert (await fields(sample))[name] == "qualquer coisa, 1/2"
    assert (await put(sample, {name: ["x"]})).status == 400
    assert (await put(sample, {name: {"a": "x"}})).status == 400


async def test_the_update_emits_an_event_and_is_audited(sample):
    await put(sample, {"nota_fiscal": "1"})
    events = await sample.rows(
        "select name from outbox_events where tenant_id = $1 and subject_id = $2 order by id desc limit 1",
        sample.store.id,
        sample.order.id,
    )
    assert [row["name"] for row in events] == ["order.updated"]
    assert await sample.value(
        "select count(*) from audit_entries where tenant_id = $1 and action = 'order.fiscal_data_set'",
        sample.store.id,
    )


async def test_other_methods_are_not_allowed(sample):
    for method in ("GET", "POST", "DELETE"):
        answer = await sample.request(method, f"/api/extra_order_fields/{sample.order}")
        assert (answer.status, answer.headers["Allow"]) == (405, "PUT"), method
        assert answer.body == {"status": 405, "message": "Method not allowed"}, method
