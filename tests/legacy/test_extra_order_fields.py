"""Check the fiscal note's data of orders."""

import base64
from typing import Any

import pytest

from kernel.documents import chave_nota_check_digit
from tests.shop import Shop

FIRST_43 = "3526110112233300018155001000000123112345678"
KEY = FIRST_43 + str(chave_nota_check_digit(FIRST_43))
WRONG_KEY = FIRST_43 + str((chave_nota_check_digit(FIRST_43) + 1) % 10)
WHOLE = {
    "link_nota": "https://nfe.example.com/1",
    "codigo_pedido_erp": "ERP-77",
    "xml_nota": "<nfe/>",
    "pdf_nota": "https://nfe.example.com/1.pdf",
    "nota_fiscal": "000123",
    "base64_xml": base64.b64encode(b"<nfe/>").decode(),
}


async def put(shop: Shop, body: Any, **how: Any) -> Any:
    return await shop.put(f"/api/extra_order_fields/{shop.order}", body, **how)


async def fields(shop: Shop) -> dict[str, Any]:
    return (await shop.get(f"/api/orders/{shop.order}")).body["fields"]


async def test_every_field_is_shown_under_the_orders_fields(shop):
    answer = await put(shop, WHOLE | {"chave_nota": KEY, "nobody_knows": 1})
    assert (answer.status, answer.body) == (200, {"order_id": str(shop.order)})
    assert await fields(shop) == WHOLE | {"chave_nota": KEY, "chave_nota_valid": "Y"}


async def test_what_is_not_given_stays_and_null_takes_away(shop):
    await shop.put(f"/api/orders/{shop.order}", {"fields": {"mine": "x"}})
    await put(shop, WHOLE | {"chave_nota": KEY})
    await put(shop, {"nota_fiscal": 124, "chave_nota": None})
    assert await fields(shop) == WHOLE | {"nota_fiscal": "124", "mine": "x"}


async def test_spaces_are_dropped_from_the_access_key(shop):
    spaced = " ".join(KEY[place : place + 4] for place in range(0, 44, 4))
    assert (await put(shop, {"chave_nota": spaced})).status == 200
    assert (await fields(shop))["chave_nota"] == KEY


async def test_a_wrong_check_digit_is_kept_and_shown(shop):
    assert (await put(shop, {"chave_nota": WRONG_KEY})).status == 200
    assert await fields(shop) == {"chave_nota": WRONG_KEY, "chave_nota_valid": "N"}
    await put(shop, {"chave_nota": KEY, "chave_nota_valid": "N"})
    assert (await fields(shop))["chave_nota_valid"] == "Y"


@pytest.mark.parametrize("key", ["", "1", KEY[:-1], KEY + "1", "x" * 44, KEY[:-1] + "x", 44, [], {}, True])
async def test_anything_but_44_digits_is_refused(shop, key):
    answer = await put(shop, {"chave_nota": key, "nota_fiscal": "9"})
    assert (answer.status, answer.body["status"]) == (400, 400)
    assert answer.body["message"].startswith("chave_nota is ")
    assert await fields(shop) == {}


@pytest.mark.parametrize("given", ["é", "a", "a===", "<nfe/>", "YQ", 5, []])
async def test_what_is_no_base64_is_refused(shop, given):
    answer = await put(shop, {"base64_xml": given})
    assert answer.status == 400, given
    assert answer.body["message"].startswith("base64_xml is ")


async def test_base64_may_be_broken_into_lines(shop):
    given = base64.encodebytes(b"<nfe>" * 40).decode()
    assert (await put(shop, {"base64_xml": given})).status == 200
    assert (await fields(shop))["base64_xml"] == given


@pytest.mark.parametrize("name", ["link_nota", "codigo_pedido_erp", "xml_nota", "pdf_nota", "nota_fiscal"])
async def test_the_rest_are_free_texts(shop, name):
    assert (await put(shop, {name: "qualquer coisa, 1/2"})).status == 200
    assert (await fields(shop))[name] == "qualquer coisa, 1/2"
    assert (await put(shop, {name: ["x"]})).status == 400
    assert (await put(shop, {name: {"a": "x"}})).status == 400


async def test_the_order_is_told_of_and_the_change_audited(shop):
    await put(shop, {"nota_fiscal": "1"})
    last = await shop.rows(
        "select name from outbox_events where tenant_id = $1 and subject_id = $2 order by id desc limit 1",
        shop.store.id,
        shop.order.id,
    )
    assert [row["name"] for row in last] == ["order.updated"]
    assert await shop.value(
        "select count(*) from audit_entries where tenant_id = $1 and action = 'order.fiscal_data_set'",
        shop.store.id,
    )


async def test_nothing_else_can_be_done_there(shop):
    for method in ("GET", "POST", "DELETE"):
        answer = await shop.call(method, f"/api/extra_order_fields/{shop.order}")
        assert (answer.status, answer.headers["Allow"]) == (405, "PUT")
        assert answer.body == {"status": 405, "message": "Method not allowed"}
