"""Destinations, rates, taxes and promotions over GraphQL, and their effect on orders."""

from __future__ import annotations

from typing import Any

import pytest

from tests.harness.records import UNKNOWN_ID
from tests.harness.sample_store import SampleStore


async def post(sample: SampleStore, text: str, by: Any = None, at: Any = None, **variables: Any) -> dict[str, Any]:
    body = {"query": text, "variables": variables}
    answer = await sample.post("/graphql", body, by=by, at=at, auth="bearer")
    assert answer.status == 200, answer.raw
    return answer.body


async def execute(sample: SampleStore, text: str, **how: Any) -> Any:
    body = await post(sample, text, **how)
    assert "errors" not in body, body
    return next(iter(body["data"].values()))


async def code(sample: SampleStore, text: str, **how: Any) -> str:
    body = await post(sample, text, **how)
    return body["errors"][0]["extensions"]["code"]


INPUTS = {
    "destination": "DestinationInput",
    "tax": "TaxInput",
    "promotion": "PromotionInput",
    "shipping_method": "ShippingMethodInput",
    "payment_method": "PaymentMethodInput",
}
PLURALS = {"destination": "destinations", "tax": "taxes", "promotion": "promotions"}


async def create(sample: SampleStore, entity: str, selection: str = "id", **fields: Any) -> Any:
    text = f"mutation M($input: {INPUTS[entity]}!) {{ {entity}_create(input: $input) {{ {selection} }} }}"
    return await execute(sample, text, input={"name": "Nome", **fields})


async def test_a_destination_is_created_read_updated_and_deleted(sample):
    selection = "id name status countries states cities zipcodes { zipcode_from zipcode_to }"
    created = await create(
        sample,
        "destination",
        selection,
        countries=["br"],
        states=["SP"],
        cities=["São Paulo"],
        zipcodes=[{"zipcode_from": "01000-000", "zipcode_to": "05999-999"}, {"zipcode_from": "08000000"}],
    )
    expected = {
        "id": created["id"],
        "name": "Nome",
        "status": "A",
        "countries": ["BR"],
        "states": ["SP"],
        "cities": ["São Paulo"],
        "zipcodes": [
            {"zipcode_from": "01000000", "zipcode_to": "05999999"},
            {"zipcode_from": "08000000", "zipcode_to": "08000000"},
        ],
    }
    assert created == expected
    assert await execute(sample, f'{{ destination(id: "{created["id"]}") {{ {selection} }} }}') == expected
    page = await execute(
        sample, f'{{ destination_page(filter: {{state: ["SP"]}}) {{ total items {{ {selection} }} }} }}'
    )
    assert page == {"total": 1, "items": [expected]}
    changed = await execute(
        sample,
        f'mutation {{ destination_update(id: "{created["id"]}", input: {{zipcodes: [], status: "disabled"}}) {{ {selection} }} }}',
    )
    assert changed == expected | {"zipcodes": [], "status": "D"}
    await execute(sample, f'mutation {{ destination_delete(id: "{created["id"]}") {{ id }} }}')
    assert await execute(sample, f'{{ destination(id: "{created["id"]}") {{ id }} }}') is None


async def test_a_tax_is_assigned_to_products_and_methods(sample):
    destination = await create(sample, "destination", states=["SP"])
    selection = "id name rate_type rate_value rates { rate_type rate_value destination { id } }"
    tax = await create(
        sample,
        "tax",
        selection,
        rate_value=18_000,
        rates=[{"destination_id": destination["id"], "rate_value": 12_000}],
    )
    assert tax["rates"] == [{"rate_type": "P", "rate_value": 12_000, "destination": {"id": destination["id"]}}]
    for entity in ("shipping_method", "payment_method"):
        created = await create(sample, entity, "taxes { id name }", tax_ids=[tax["id"]])
        assert created == {"taxes": [{"id": tax["id"], "name": "Nome"}]}, entity
    text = 'mutation M($ids: [ID!]) { product_update(id: "%s", input: {tax_ids: $ids}) { taxes { id } } }'
    assert await execute(sample, text % sample.mug.id, ids=[tax["id"]]) == {"taxes": [{"id": tax["id"]}]}
    products = await execute(sample, f'{{ products(filter: {{tax_id: ["{tax["id"]}"]}}) {{ id }} }}')
    assert products == [{"id": sample.mug.id}]
    refused = await post(sample, text % sample.mug.id, ids=[UNKNOWN_ID])
    [error] = refused["errors"]
    assert error["extensions"]["code"] == "VALIDATION_FAILED"
    assert error["extensions"]["field"] == "tax_ids"


async def test_a_shipping_method_has_rates_by_destination(sample):
    destination = await create(sample, "destination", states=["SP"])
    rate = {"base_cents": 1, "per_kg_cents": 2, "per_item_cents": 3, "max_weight_grams": 4}
    selection = "service rates { base_cents per_kg_cents per_item_cents max_weight_grams destination { id } }"
    created = await create(
        sample,
        "shipping_method",
        selection,
        rates=[{"destination_id": destination["id"], **rate}],
        service={"module": "correios", "code": ["04014"]},
    )
    assert created == {
        "service": {"module": "correios", "code": ["04014"]},
        "rates": [{**rate, "destination": {"id": destination["id"]}}],
    }
    refused = await post(
        sample,
        "mutation M($input: ShippingMethodInput!) { shipping_method_create(input: $input) { id } }",
        input={"name": "x", "rates": [{"destination_id": UNKNOWN_ID}]},
    )
    assert refused["errors"][0]["extensions"]["field"] == "destination_id"


async def test_processor_secrets_are_masked(sample):
    params = {"secret_key": "sk_live", "mode": "live"}
    created = await create(sample, "payment_method", "id processor_params", processor_params=params)
    assert created["processor_params"] == {"secret_key": "****", "mode": "live"}
    text = '{ payment_methods(sort: ID_DESC, limit: 1) { processor_params } payment_method(id: "%s") { processor_params } }'
    body = await post(sample, text % created["id"])
    assert body["data"]["payment_method"] == body["data"]["payment_methods"][0]
    assert body["data"]["payment_method"]["processor_params"]["secret_key"] == "****"
    sealed = await sample.value("select processor_params from payment_methods where public_id = $1", created["id"])
    assert b"sk_live" not in bytes(sealed)
    for person in (sample.caio, sample.vendor_user, sample.staff):
        body = await post(sample, "{ payment_methods { name processor_params } }", by=person)
        assert "sk_live" not in str(body), person
        assert "live" not in str(body), person
        assert body["errors"], person


async def test_a_promotion_applies_to_an_order_with_its_coupon(sample):
    conditions = {
        "set": "all",
        "set_value": "1",
        "conditions": {"1": {"condition": "subtotal", "operator": "gte", "value": "50"}},
    }
    selection = "id zone conditions bonuses coupon_code usage_limit used from_at to_at priority stop status"
    created = await create(
        sample,
        "promotion",
        selection,
        conditions=conditions,
        bonuses={"order_discount": "10%"},
        coupon_code="NOVE",
        usage_limit=1,
        from_at="2020-01-01T00:00:00Z",
    )
    assert created == {
        "id": created["id"],
        "zone": "cart",
        "conditions": conditions,
        "bonuses": {"order_discount": "10%"},
        "coupon_code": "NOVE",
        "usage_limit": 1,
        "used": 0,
        "from_at": "2020-01-01T00:00:00Z",
        "to_at": None,
        "priority": 0,
        "stop": False,
        "status": "A",
    }
    destination = """
    mutation M($input: OrderInput!) { order_create(input: $input) {
        coupon_code discount_cents tax_cents total_cents taxes { name amount_cents included } } }"""
    fields = {
        "email": "ana@example.com",
        "items": [{"product_id": sample.mug.id, "quantity": 2}],
        "shipping_method_id": sample.sedex.id,
        "coupon_code": "nove",
    }
    assert await execute(sample, destination, input=fields) == {
        "coupon_code": "nove",
        "discount_cents": 998,
        "tax_cents": 0,
        "total_cents": 2 * 4_990 - 998 + 1_500,
        "taxes": [],
    }
    body = await post(sample, destination, input=fields)
    assert body["errors"][0]["extensions"]["code"] == "RULE_VIOLATION"
    assert (await execute(sample, f'{{ promotion(id: "{created["id"]}") {{ used }} }}')) == {"used": 1}


@pytest.mark.parametrize("entity", PLURALS)
async def test_only_authorized_callers_read_and_write(sample, entity):
    created = await create(sample, entity)
    write = f'mutation {{ {entity}_update(id: "{created["id"]}", input: {{name: "x"}}) {{ id }} }}'
    for person in (sample.staff, sample.vendor_user, sample.caio):
        assert await code(sample, write, by=person) == "FORBIDDEN"
        assert await code(sample, f'mutation {{ {entity}_delete(id: "{created["id"]}") {{ id }} }}', by=person)
    read = f"{{ {PLURALS[entity]} {{ id }} }}"
    assert await code(sample, read, by=sample.staff) == "FORBIDDEN"
    if entity == "promotion":
        for person in (sample.vendor_user, sample.caio):
            assert await code(sample, read, by=person) == "FORBIDDEN"
    else:
        await execute(sample, f'mutation {{ {entity}_update(id: "{created["id"]}", input: {{status: "D"}}) {{ id }} }}')
        for person in (sample.vendor_user, sample.caio):
            assert created["id"] not in [row["id"] for row in await execute(sample, read, by=person)]


@pytest.mark.parametrize("entity", PLURALS)
async def test_another_stores_records_are_not_found(sample, other_sample, entity):
    created = await create(other_sample, entity)
    assert await execute(sample, f'{{ {entity}(id: "{created["id"]}") {{ id }} }}') is None
    for mutation in (f'{entity}_update(id: "%s", input: {{name: "x"}})', f'{entity}_delete(id: "%s")'):
        assert await code(sample, f"mutation {{ {mutation % created['id']} {{ id }} }}") == "NOT_FOUND"
    assert await execute(other_sample, f'{{ {entity}(id: "{created["id"]}") {{ id }} }}') == created


@pytest.mark.parametrize(
    "entity, fields",
    [
        ("destination", {"name": None}),
        ("destination", {"zipcodes": [{"zipcode_from": "x"}]}),
        ("destination", {"states": ["ZZ"]}),
        ("tax", {"rate_type": "Z"}),
        ("tax", {"rate_value": 2**62}),
        ("tax", {"rates": [{"destination_id": "nonsense"}]}),
        ("promotion", {"zone": "moon"}),
        ("promotion", {"conditions": {"moon": 1}}),
        ("promotion", {"conditions": [1]}),
        ("promotion", {"bonuses": {"order_discount": []}}),
        ("promotion", {"usage_limit": 2**62}),
        ("shipping_method", {"rates": [{"destination_id": UNKNOWN_ID}]}),
        ("shipping_method", {"service": [1]}),
        ("payment_method", {"tax_ids": [UNKNOWN_ID]}),
    ],
)
async def test_invalid_input_is_refused_and_nothing_is_stored(sample, entity, fields):
    text = f"mutation M($input: {INPUTS[entity]}!) {{ {entity}_create(input: $input) {{ id }} }}"
    table = {"tax": "taxes"}.get(entity, f"{entity}s")
    before = await sample.value(f"select count(*) from {table}")
    assert await code(sample, text, input={"name": "Nome", **fields}) == "VALIDATION_FAILED"
    assert await sample.value(f"select count(*) from {table}") == before


async def test_lists_take_one_statement_per_level(sample):
    text = """{ shipping_methods(limit: 50) { name rates { base_cents destination { name zipcodes { zipcode_from } } } taxes { name } } }"""
    await post(sample, text)
    counts = []
    for number in range(2):
        for index in range(1 + 5 * number):
            destination = await create(
                sample, "destination", zipcodes=[{"zipcode_from": "01000000"}], name=f"{number}{index}"
            )
            tax = await create(sample, "tax")
            await create(sample, "shipping_method", tax_ids=[tax["id"]], rates=[{"destination_id": destination["id"]}])
        answer = await sample.post("/graphql", {"query": text}, auth="bearer")
        counts.append(answer.statements)
    assert counts[0] == counts[1] <= 5
