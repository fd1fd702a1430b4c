"""Check the routes of payments, shippings, destinations, taxes and promotions, and their effect on order totals."""

from __future__ import annotations

from typing import Any

import pytest

from domain.payments.methods import decrypt_params
from tests.harness.records import UNKNOWN_ID, UNKNOWN_NUMBER
from tests.harness.sample_store import SampleStore

REQUIRED = {
    "payments": {"payment": "Nova"},
    "shippings": {"shipping": "Nova"},
    "taxes": {"tax": "Nova"},
    "promotions": {"name": "Nova"},
}
ID_FIELDS = {
    "payments": "payment_id",
    "shippings": "shipping_id",
    "taxes": "tax_id",
    "promotions": "promotion_id",
}
RECORDS = {"payments": "pix", "shippings": "sedex", "taxes": "icms", "promotions": "ten"}


async def create(sample: SampleStore, path: str, **body: Any) -> str:
    answer = await sample.post(f"/api/{path}", REQUIRED[path] | body)
    assert answer.status == 201, answer.raw
    assert set(answer.body) == {ID_FIELDS[path]}
    return answer.body[ID_FIELDS[path]]


async def read(sample: SampleStore, path: str, number: Any) -> dict[str, Any]:
    answer = await sample.get(f"/api/{path}/{number}")
    assert answer.status == 200, answer.raw
    return answer.body


def with_ids(sample: SampleStore, value: Any) -> Any:
    """Replace names in braces by the ids of the store's records."""
    if isinstance(value, dict):
        return {with_ids(sample, key): with_ids(sample, item) for key, item in value.items()}
    if isinstance(value, list):
        return [with_ids(sample, item) for item in value]
    if isinstance(value, str) and value.startswith("{"):
        return str(getattr(sample, value.strip("{}")))
    return value


_RATE = {
    "destination_id": "{south}",
    "base": "10.00",
    "per_kg": "1.50",
    "per_item": "0.25",
    "max_weight": "30.000",
}
_DEFAULT_RATE = {
    "destination_id": "0",
    "base": "5.00",
    "per_kg": "0.00",
    "per_item": "0.00",
    "max_weight": "0.000",
}
_ZERO_RATE = {
    "destination_id": "{south}",
    "base": "0.00",
    "per_kg": "0.00",
    "per_item": "0.00",
    "max_weight": "0.000",
}
_CONDITION_SET = {
    "set": "any",
    "set_value": "1",
    "conditions": {"1": {"operator": "gte", "condition": "subtotal", "value": "100"}},
}

FIELDS: list[tuple[str, str, Any, Any]] = [
    ("payments", "payment", "Boleto", "Boleto"),
    ("payments", "company_id", "{rival}", "{rival}"),
    ("payments", "description", "Vence em 3 dias", "Vence em 3 dias"),
    ("payments", "instructions", "<b>Pague</b>", "<b>Pague</b>"),
    ("payments", "processor_type", "mercado pago", "mercado pago"),
    ("payments", "processor_type", "x" * 64, "x" * 64),
    ("payments", "processor_params", {"mode": "live", "n": 3}, {"mode": "live", "n": 3}),
    ("payments", "processor_params", [], {}),
    ("payments", "a_surcharge", 2.5, "2.50"),
    ("payments", "p_surcharge", "3.000", "3.00"),
    ("payments", "tax_ids", ["{icms}"], ["{icms}"]),
    ("payments", "tax_ids", "{icms}", ["{icms}"]),
    ("payments", "position", "7", "7"),
    ("payments", "status", "disabled", "D"),
    ("shippings", "shipping", "PAC", "PAC"),
    ("shippings", "company_id", "{vendor}", "{vendor}"),
    ("shippings", "delivery_time", "2 dias", "2 dias"),
    ("shippings", "rate_calculation", "realtime", "R"),
    ("shippings", "min_weight", "0.5", "0.500"),
    ("shippings", "max_weight", 30, "30.000"),
    ("shippings", "free_from", "299.00", "299.00"),
    ("shippings", "free_from", "0", "0.00"),
    ("shippings", "tax_ids", ["{icms}"], ["{icms}"]),
    ("shippings", "position", 3, "3"),
    ("shippings", "status", "D", "D"),
    (
        "shippings",
        "service",
        {"module": "correios", "code": "04014"},
        {"module": "correios", "code": "04014"},
    ),
    ("shippings", "rates", [_RATE], [_RATE]),
    ("shippings", "rates", [_DEFAULT_RATE, _RATE], [_DEFAULT_RATE, _RATE]),
    ("shippings", "rates", [{"base": "5"}], [_DEFAULT_RATE]),
    (
        "shippings",
        "rates",
        {"{south}": {"base": "10", "per_kg": 1.5, "per_item": "0.25", "max_weight": 30}},
        [_RATE],
    ),
    ("shippings", "rates", [{"destination_id": "{south}"}], [_ZERO_RATE]),
    ("shippings", "rates", [], []),
    ("taxes", "tax", "ISS", "ISS"),
    ("taxes", "address_type", "billing", "B"),
    ("taxes", "rate_value", 7.125, "7.125"),
    ("taxes", "rate_value", "12.000", "12.00"),
    ("taxes", "price_includes_tax", "Y", "Y"),
    ("taxes", "regnumber", "98-7", "98-7"),
    ("taxes", "priority", "2", "2"),
    ("taxes", "status", "inactive", "D"),
    (
        "taxes",
        "rates",
        [{"destination_id": "{south}", "rate_type": "F", "rate_value": "5"}],
        [{"destination_id": "{south}", "rate_type": "F", "rate_value": "5.00"}],
    ),
    (
        "taxes",
        "rates",
        {"{south}": {"rate_value": "12"}},
        [{"destination_id": "{south}", "rate_type": "P", "rate_value": "12.00"}],
    ),
    (
        "taxes",
        "rates",
        {"{south}": "9.5"},
        [{"destination_id": "{south}", "rate_type": "P", "rate_value": "9.50"}],
    ),
    ("taxes", "rates", [], []),
    ("promotions", "name", "Natal", "Natal"),
    ("promotions", "conditions", _CONDITION_SET, _CONDITION_SET),
    ("promotions", "conditions", {"products": ["{mug}"]}, {"products": ["{mug}"]}),
    ("promotions", "conditions", [], {}),
    ("promotions", "bonuses", {"free_shipping": "Y"}, {"free_shipping": "Y"}),
    (
        "promotions",
        "bonuses",
        {"free_products": [{"product_id": "{mug}", "amount": "1"}]},
        {"free_products": [{"product_id": "{mug}", "amount": "1"}]},
    ),
    (
        "promotions",
        "bonuses",
        [{"bonus": "order_discount", "discount_bonus": "by_fixed", "discount_value": "5"}],
        [{"bonus": "order_discount", "discount_bonus": "by_fixed", "discount_value": "5"}],
    ),
    ("promotions", "coupon_code", "NATAL", "NATAL"),
    ("promotions", "usage_limit", "5", "5"),
    ("promotions", "from_date", "1700000000", "1700000000"),
    ("promotions", "from_date", 1_700_000_000, "1700000000"),
    ("promotions", "from_date", "2023-11-14", "1699920000"),
    ("promotions", "from_date", "0", "0"),
    ("promotions", "to_date", "1900000000", "1900000000"),
    ("promotions", "priority", 4, "4"),
    ("promotions", "stop", "Y", "Y"),
    ("promotions", "status", "disabled", "D"),
]


@pytest.mark.parametrize("path, name, value, expected", FIELDS)
async def test_a_field_is_read_back_after_create_and_update(sample, path, name, value, expected):
    value, expected = with_ids(sample, value), with_ids(sample, expected)
    assert (await read(sample, path, await create(sample, path, **{name: value})))[name] == expected
    record = getattr(sample, RECORDS[path])
    before = await read(sample, path, record)
    answer = await sample.put(f"/api/{path}/{record.id}", {name: value})
    assert (answer.status, answer.body) == (200, {ID_FIELDS[path]: str(record)})
    assert await read(sample, path, record) == before | {name: expected}


@pytest.mark.parametrize("path", REQUIRED)
async def test_updating_a_record_with_itself_changes_nothing(sample, path):
    number = await create(
        sample, path, **({"rates": with_ids(sample, [_DEFAULT_RATE, _RATE])} if path == "shippings" else {})
    )
    for record in (number, getattr(sample, RECORDS[path])):
        before = await read(sample, path, record)
        assert (await sample.put(f"/api/{path}/{record}", before)).status == 200
        assert await read(sample, path, record) == before


@pytest.mark.parametrize("path", REQUIRED)
async def test_a_deleted_record_is_not_found(sample, path):
    number = await create(sample, path)
    answer = await sample.delete(f"/api/{path}/{number}")
    assert (answer.status, answer.raw) == (204, b"")
    entity = ID_FIELDS[path].removesuffix("_id").capitalize()
    for method, body in (("GET", None), ("PUT", {}), ("DELETE", None)):
        missing = await sample.request(method, f"/api/{path}/{number}", body)
        assert (missing.status, missing.body) == (404, {"status": 404, "message": f"{entity} not found"}), (
            method,
            body,
        )
    assert number not in [row[ID_FIELDS[path]] for row in (await sample.get(f"/api/{path}")).body[path]]


async def test_destinations_are_read_only(sample):
    for method, path in (("POST", ""), ("PUT", f"/{sample.south}"), ("DELETE", f"/{sample.south}")):
        answer = await sample.request(method, f"/api/destinations{path}", {})
        assert answer.status == 405, (method, path)
        assert "GET" in answer.headers["Allow"], (method, path)
    assert (await sample.get(f"/api/destinations/{UNKNOWN_NUMBER}")).body == {
        "status": 404,
        "message": "Destination not found",
    }


async def test_processor_secrets_are_masked_and_writing_the_mask_keeps_them(sample):
    params = {
        "secret_key": "sk_live_1",
        "mode": "live",
        "nested": {"token": "t"},
        "accounts": [{"token": "u", "id": 7}, 8],
    }
    number = await create(sample, "payments", processor_params=params)
    masked = {
        "secret_key": "****",
        "mode": "live",
        "nested": {"token": "****"},
        "accounts": [{"token": "****", "id": 7}, 8],
    }
    assert (await read(sample, "payments", number))["processor_params"] == masked
    listed = (await sample.get(f"/api/payments?payment_id={number}")).body["payments"][number]
    assert listed["processor_params"] == masked
    answer = await sample.put(f"/api/payments/{number}", {"processor_params": masked | {"mode": "test"}})
    assert answer.status == 200
    encrypted = bytes(await sample.value("select processor_params from payment_methods where id = $1", int(number)))
    assert b"sk_live_1" not in encrypted
    assert decrypt_params(encrypted) == params | {"mode": "test"}


async def test_lists_are_filtered_by_record_fields(sample):
    for path, query in (
        ("payments", "payment=Cartão"),
        ("payments", "processor_type=pagarme&position=1"),
        ("shippings", "delivery_time=3 dias&free_from=0&company_id=0"),
        ("shippings", "q=SEDEX"),
        ("taxes", "tax=ICMS&regnumber=123&price_includes_tax=N&priority=0"),
        ("promotions", "name=Dez por cento&usage_limit=100&stop=N&from_date=1577836800&used=0"),
        ("destinations", "states=rs&countries=br&destination=Sul"),
    ):
        answer = await sample.get(f"/api/{path}?{query}")
        assert answer.status == 200, (path, query)
        assert isinstance(answer.body[path], dict), (path, query)
        assert answer.body["params"]["total_items"] == len(answer.body[path]) == 1, (path, query)
    for path, query in (("taxes", "rate_value=abc"), ("payments", "status=Z"), ("shippings", "tax_ids=x")):
        assert (await sample.get(f"/api/{path}?{query}")).body[path] == {}


async def test_taxes_of_a_product_apply_to_orders(sample):
    answer = await sample.put(f"/api/products/{sample.mug}", {"tax_ids": [sample.icms.number]})
    assert answer.status == 200
    assert (await read(sample, "products", sample.mug))["tax_ids"] == [str(sample.icms)]
    filtered = (await sample.get(f"/api/products?tax_ids={sample.icms}")).body["products"]
    assert list(filtered) == [str(sample.mug)]
    order = await sample.post(
        "/api/orders",
        {
            "user_id": sample.caio.number,
            "shipping_id": sample.sedex.number,
            "payment_id": sample.pix.number,
            "products": [{"product_id": sample.mug.number, "amount": 1}],
            "user_data": {"s_state": "PR", "s_zipcode": "80010-000"},
        },
    )
    assert order.status == 201, order.raw
    record = await read(sample, "orders", order.body["order_id"])
    # 17.5 % of 49.90 is 8.7325; the shipping method has no tax.
    assert (record["tax_subtotal"], record["total"]) == ("8.73", "73.63")
    refused = await sample.put(f"/api/products/{sample.mug}", {"tax_ids": [UNKNOWN_NUMBER]})
    assert (refused.status, refused.body["message"]) == (400, f"tax_ids '{UNKNOWN_NUMBER}' not found")


@pytest.mark.parametrize("state", ["RS", "Rio Grande do Sul", "rio grande do sul"])
async def test_the_state_of_an_address_may_be_a_name(sample, state):
    await sample.put(f"/api/shippings/{sample.sedex}", {"rates": with_ids(sample, [_DEFAULT_RATE, _RATE])})
    body = {
        "user_id": sample.caio.number,
        "shipping_id": sample.sedex.number,
        "products": {str(sample.mug): {"amount": 2}},
        "user_data": {"s_state": state, "s_zipcode": "90010-000"},
    }
    created = await sample.post("/api/orders", body)
    record = await read(sample, "orders", created.body["order_id"])
    assert (record["shipping_cost"], record["s_state"]) == ("11.55", state)


async def test_a_destination_rate_and_a_coupon_change_the_order_totals(sample):
    await sample.put(f"/api/shippings/{sample.sedex}", {"rates": with_ids(sample, [_DEFAULT_RATE, _RATE])})
    body = {
        "user_id": sample.caio.number,
        "shipping_id": sample.sedex.number,
        "products": {str(sample.mug): {"amount": 2}},
        "user_data": {"s_state": "RS", "s_zipcode": "90010-000"},
        "coupon_code": "dez",
    }
    created = await sample.post("/api/orders", body)
    record = await read(sample, "orders", created.body["order_id"])
    # 10.00 + 0.7 kg × 1.50 + 2 × 0.25; 10 % off 99.80.
    assert (record["shipping_cost"], record["discount"]) == ("11.55", "9.98")
    assert (await read(sample, "promotions", sample.ten))["used"] == "1"
    assert (await sample.delete(f"/api/orders/{created.body['order_id']}")).status == 204
    assert (await read(sample, "promotions", sample.ten))["used"] == "0"
    for change, message in (
        ({"coupon_code": "x"}, "the coupon x is not available for this order"),
        (
            {"user_data": {"s_state": "SP", "s_zipcode": "01310100"}},
            "the shipping method does not deliver to this address",
        ),
    ):
        answer = await sample.post("/api/orders", body | change)
        assert (answer.status, answer.body["message"]) == (422, message)
    plain = {key: body[key] for key in ("user_id", "shipping_id", "products")}
    for unknown_place in ({}, {"user_data": {"s_firstname": "Ana", "s_city": "Recife"}}):
        placed = await sample.post("/api/orders", plain | unknown_place)
        assert (await read(sample, "orders", placed.body["order_id"]))["shipping_cost"] == "5.00", unknown_place


INVALID: list[tuple[str, dict[str, Any], str]] = [
    ("payments", {"payment": ""}, "payment is required"),
    ("payments", {"status": "H"}, "status is 'H'; expected one of A, D"),
    ("payments", {"processor_type": "x" * 65}, "processor_type has 65 characters; expected at most 64"),
    ("payments", {"processor_params": "x"}, "processor_params is 'x'; expected an object"),
    ("payments", {"a_surcharge": "1.999"}, "a_surcharge is '1.999'; expected at most two decimal places"),
    ("payments", {"a_surcharge": -1}, "a_surcharge is -1; expected zero or more"),
    ("payments", {"tax_ids": [UNKNOWN_NUMBER]}, f"tax_ids '{UNKNOWN_NUMBER}' not found"),
    ("payments", {"company_id": UNKNOWN_ID}, f"company_id '{UNKNOWN_ID}' not found"),
    ("shippings", {"shipping": None}, "shipping is required"),
    ("shippings", {"rate_calculation": "X"}, "rate_calculation is 'X'; expected one of M, R"),
    (
        "shippings",
        {"min_weight": "2", "max_weight": "1"},
        "min_weight is 2000; expected at most max_weight_grams, 1000",
    ),
    ("shippings", {"rates": "x"}, "rates is 'x'; expected an array of rates"),
    ("shippings", {"rates": ["x"]}, "rates holds 'x'; expected objects such as {destination_id, base}"),
    (
        "shippings",
        {"rates": [{"destination_id": UNKNOWN_NUMBER}]},
        f"destination_id '{UNKNOWN_NUMBER}' not found",
    ),
    ("shippings", {"rates": [{"destination_id": "abc"}]}, "rates: destination_id is 'abc'; expected an id"),
    ("shippings", {"rates": [{"base": "-1"}]}, "rates: base is '-1'; expected zero or more"),
    # Two prices of the method itself: the destinations were forgotten.
    ("shippings", {"rates": [{"base": "10"}, {"base": "20"}]}, "rates names a destination twice; expected each once"),
    ("shippings", {"service": "x"}, "service is 'x'; expected an object"),
    ("taxes", {"tax": " "}, "tax is required"),
    ("taxes", {"address_type": "X"}, "address_type is 'X'; expected one of S, B"),
    ("taxes", {"rate_type": "X"}, "rate_type is 'X'; expected one of P, F"),
    (
        "taxes",
        {"rate_value": "-1"},
        "rate_value is '-1'; expected a rate such as \"18.00\", of at most three decimal places",
    ),
    ("taxes", {"rates": [{"rate_value": "1"}]}, "rates: destination_id is required"),
    ("taxes", {"rates": {UNKNOWN_ID: "1"}}, f"destination_id '{UNKNOWN_ID}' not found"),
    ("promotions", {"name": ""}, "name is required"),
    ("promotions", {"zone": "shop"}, "zone is 'shop'; expected one of cart, catalog"),
    ("promotions", {"conditions": "x"}, "conditions is 'x'; expected an object"),
    ("promotions", {"bonuses": {"gold": 1}}, None),  # type: ignore[list-item]  # the message lists every bonus
    ("promotions", {"conditions": {"moon": "full"}}, None),  # type: ignore[list-item]
    ("promotions", {"conditions": {"products": [UNKNOWN_NUMBER]}}, f"product {UNKNOWN_NUMBER} not found"),
    ("promotions", {"from_date": "soon"}, "from_date is 'soon'; expected Unix seconds"),
    ("promotions", {"from_date": "2026-99-99"}, "from_date is '2026-99-99'; expected Unix seconds"),
    ("promotions", {"from_date": 10**18}, f"from_date is {10**18}; expected Unix seconds"),
    ("promotions", {"usage_limit": "many"}, "usage_limit is 'many'; expected a whole number"),
]


@pytest.mark.parametrize("path, body, message", INVALID)
async def test_invalid_input_is_rejected_with_the_legacy_field_name(sample, path, body, message):
    before = (await sample.get(f"/api/{path}")).body["params"]["total_items"]
    answer = await sample.post(f"/api/{path}", REQUIRED[path] | body)
    assert answer.status == 400, answer.raw
    assert set(answer.body) == {"status", "message"}
    if message is not None:
        assert answer.body["message"] == message
    assert (await sample.get(f"/api/{path}")).body["params"]["total_items"] == before


async def test_another_stores_destinations_and_taxes_are_not_found(sample, distant_sample):
    for path, body in (
        ("shippings", {"rates": [{"destination_id": distant_sample.south.number}]}),
        ("taxes", {"rates": [{"destination_id": distant_sample.south.id, "rate_value": 1}]}),
        ("payments", {"tax_ids": [distant_sample.icms.number]}),
        ("promotions", {"conditions": {"products": [distant_sample.mug.number]}}),
    ):
        assert (await sample.post(f"/api/{path}", REQUIRED[path] | body)).status == 400
    for path, name in {**RECORDS, "destinations": "south"}.items():
        for reference in (getattr(distant_sample, name), getattr(distant_sample, name).id):
            assert (await sample.get(f"/api/{path}/{reference}")).status == 404


async def test_a_form_encoded_body_creates_a_shipping_with_rates(sample):
    form = f"shipping=PAC&rates[0][destination_id]={sample.south}&rates[0][base]=10.00&tax_ids[]={sample.icms}"
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = await sample.post("/api/shippings", data=form.encode(), headers=headers)
    assert answer.status == 201, answer.raw
    record = await read(sample, "shippings", answer.body["shipping_id"])
    assert record["rates"] == with_ids(sample, [{**_ZERO_RATE, "base": "10.00"}])
    assert record["tax_ids"] == [str(sample.icms)]
