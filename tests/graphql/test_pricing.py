"""Destinations, rates, taxes and promotions over GraphQL, and what they make of an order."""

from __future__ import annotations

from typing import Any

import pytest

from tests.shop import NOBODY, Shop


async def sent(shop: Shop, text: str, by: Any = None, at: Any = None, **variables: Any) -> dict[str, Any]:
    body = {"query": text, "variables": variables}
    answer = await shop.post("/graphql", body, by=by, at=at, auth="bearer")
    assert answer.status == 200, answer.raw
    return answer.body


async def done(shop: Shop, text: str, **how: Any) -> Any:
    body = await sent(shop, text, **how)
    assert "errors" not in body, body
    return next(iter(body["data"].values()))


async def code(shop: Shop, text: str, **how: Any) -> str:
    body = await sent(shop, text, **how)
    return body["errors"][0]["extensions"]["code"]


INPUTS = {
    "destination": "DestinationInput",
    "tax": "TaxInput",
    "promotion": "PromotionInput",
    "shipping_method": "ShippingMethodInput",
    "payment_method": "PaymentMethodInput",
}
PLURALS = {"destination": "destinations", "tax": "taxes", "promotion": "promotions"}


async def create(shop: Shop, what: str, shown: str = "id", **given: Any) -> Any:
    text = f"mutation M($input: {INPUTS[what]}!) {{ {what}_create(input: $input) {{ {shown} }} }}"
    return await done(shop, text, input={"name": "Nome", **given})


async def test_a_destination_is_made_read_changed_and_deleted(shop):
    shown = "id name status countries states cities zipcodes { zipcode_from zipcode_to }"
    made = await create(
        shop,
        "destination",
        shown,
        countries=["br"],
        states=["SP"],
        cities=["São Paulo"],
        zipcodes=[{"zipcode_from": "01000-000", "zipcode_to": "05999-999"}, {"zipcode_from": "08000000"}],
    )
    expected = {
        "id": made["id"],
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
    assert made == expected
    assert await done(shop, f'{{ destination(id: "{made["id"]}") {{ {shown} }} }}') == expected
    page = await done(
        shop, f'{{ destination_page(filter: {{state: ["SP"]}}) {{ total items {{ {shown} }} }} }}'
    )
    assert page == {"total": 1, "items": [expected]}
    changed = await done(
        shop,
        f'mutation {{ destination_update(id: "{made["id"]}", input: {{zipcodes: [], status: "disabled"}}) {{ {shown} }} }}',
    )
    assert changed == expected | {"zipcodes": [], "status": "D"}
    await done(shop, f'mutation {{ destination_delete(id: "{made["id"]}") {{ id }} }}')
    assert await done(shop, f'{{ destination(id: "{made["id"]}") {{ id }} }}') is None


async def test_a_tax_and_what_it_lies_on(shop):
    place = await create(shop, "destination", states=["SP"])
    shown = "id name rate_type rate_value rates { rate_type rate_value destination { id } }"
    tax = await create(
        shop, "tax", shown, rate_value=18_000, rates=[{"destination_id": place["id"], "rate_value": 12_000}]
    )
    assert tax["rates"] == [{"rate_type": "P", "rate_value": 12_000, "destination": {"id": place["id"]}}]
    for what in ("shipping_method", "payment_method"):
        made = await create(shop, what, "taxes { id name }", tax_ids=[tax["id"]])
        assert made == {"taxes": [{"id": tax["id"], "name": "Nome"}]}
    text = 'mutation M($ids: [ID!]) { product_update(id: "%s", input: {tax_ids: $ids}) { taxes { id } } }'
    assert await done(shop, text % shop.mug.id, ids=[tax["id"]]) == {"taxes": [{"id": tax["id"]}]}
    found = await done(shop, f'{{ products(filter: {{tax_id: ["{tax["id"]}"]}}) {{ id }} }}')
    assert found == [{"id": shop.mug.id}]
    refused = await sent(shop, text % shop.mug.id, ids=[NOBODY])
    [error] = refused["errors"]
    assert error["extensions"]["code"] == "VALIDATION_FAILED"
    assert error["extensions"]["field"] == "tax_ids"


async def test_rates_of_a_shipping_method(shop):
    place = await create(shop, "destination", states=["SP"])
    rate = {"base_cents": 1, "per_kg_cents": 2, "per_item_cents": 3, "max_weight_grams": 4}
    shown = "service rates { base_cents per_kg_cents per_item_cents max_weight_grams destination { id } }"
    made = await create(
        shop,
        "shipping_method",
        shown,
        rates=[{"destination_id": place["id"], **rate}],
        service={"module": "correios", "code": ["04014"]},
    )
    assert made == {
        "service": {"module": "correios", "code": ["04014"]},
        "rates": [{**rate, "destination": {"id": place["id"]}}],
    }
    refused = await sent(
        shop,
        "mutation M($input: ShippingMethodInput!) { shipping_method_create(input: $input) { id } }",
        input={"name": "x", "rates": [{"destination_id": NOBODY}]},
    )
    assert refused["errors"][0]["extensions"]["field"] == "destination_id"


async def test_secrets_of_a_processor_are_masked(shop):
    params = {"secret_key": "sk_live", "mode": "live"}
    made = await create(shop, "payment_method", "id processor_params", processor_params=params)
    assert made["processor_params"] == {"secret_key": "****", "mode": "live"}
    text = '{ payment_methods(sort: ID_DESC, limit: 1) { processor_params } payment_method(id: "%s") { processor_params } }'
    body = await sent(shop, text % made["id"])
    assert body["data"]["payment_method"] == body["data"]["payment_methods"][0]
    assert body["data"]["payment_method"]["processor_params"]["secret_key"] == "****"
    sealed = await shop.value("select processor_params from payment_methods where public_id = $1", made["id"])
    assert b"sk_live" not in bytes(sealed)
    for person in (shop.caio, shop.seller, shop.staff):
        body = await sent(shop, "{ payment_methods { name processor_params } }", by=person)
        assert "sk_live" not in str(body)
        assert "live" not in str(body)
        assert body["errors"]


async def test_a_promotion_and_a_coupon_of_an_order(shop):
    conditions = {
        "set": "all",
        "set_value": "1",
        "conditions": {"1": {"condition": "subtotal", "operator": "gte", "value": "50"}},
    }
    shown = "id zone conditions bonuses coupon_code usage_limit used from_at to_at priority stop status"
    made = await create(
        shop,
        "promotion",
        shown,
        conditions=conditions,
        bonuses={"order_discount": "10%"},
        coupon_code="NOVE",
        usage_limit=1,
        from_at="2020-01-01T00:00:00Z",
    )
    assert made == {
        "id": made["id"],
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
    place = """
    mutation M($input: OrderInput!) { order_create(input: $input) {
        coupon_code discount_cents tax_cents total_cents taxes { name amount_cents included } } }"""
    given = {
        "email": "ana@example.com",
        "items": [{"product_id": shop.mug.id, "quantity": 2}],
        "shipping_method_id": shop.sedex.id,
        "coupon_code": "nove",
    }
    assert await done(shop, place, input=given) == {
        "coupon_code": "nove",
        "discount_cents": 998,
        "tax_cents": 0,
        "total_cents": 2 * 4_990 - 998 + 1_500,
        "taxes": [],
    }
    body = await sent(shop, place, input=given)
    assert body["errors"][0]["extensions"]["code"] == "RULE_VIOLATION"
    assert (await done(shop, f'{{ promotion(id: "{made["id"]}") {{ used }} }}')) == {"used": 1}


@pytest.mark.parametrize("what", PLURALS)
async def test_who_may_read_and_write(shop, what):
    made = await create(shop, what)
    write = f'mutation {{ {what}_update(id: "{made["id"]}", input: {{name: "x"}}) {{ id }} }}'
    for person in (shop.staff, shop.seller, shop.caio):
        assert await code(shop, write, by=person) == "FORBIDDEN"
        assert await code(shop, f'mutation {{ {what}_delete(id: "{made["id"]}") {{ id }} }}', by=person)
    read = f"{{ {PLURALS[what]} {{ id }} }}"
    assert await code(shop, read, by=shop.staff) == "FORBIDDEN"
    if what == "promotion":
        for person in (shop.seller, shop.caio):
            assert await code(shop, read, by=person) == "FORBIDDEN"
    else:
        await done(shop, f'mutation {{ {what}_update(id: "{made["id"]}", input: {{status: "D"}}) {{ id }} }}')
        for person in (shop.seller, shop.caio):
            assert made["id"] not in [row["id"] for row in await done(shop, read, by=person)]


@pytest.mark.parametrize("what", PLURALS)
async def test_another_stores_records_are_absent(shop, other_shop, what):
    made = await create(other_shop, what)
    assert await done(shop, f'{{ {what}(id: "{made["id"]}") {{ id }} }}') is None
    for act in (f'{what}_update(id: "%s", input: {{name: "x"}})', f'{what}_delete(id: "%s")'):
        assert await code(shop, f"mutation {{ {act % made['id']} {{ id }} }}") == "NOT_FOUND"
    assert await done(other_shop, f'{{ {what}(id: "{made["id"]}") {{ id }} }}') == made


@pytest.mark.parametrize(
    "what, given",
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
        ("shipping_method", {"rates": [{"destination_id": NOBODY}]}),
        ("shipping_method", {"service": [1]}),
        ("payment_method", {"tax_ids": [NOBODY]}),
    ],
)
async def test_bad_input_is_a_clear_refusal_and_nothing_is_half_done(shop, what, given):
    text = f"mutation M($input: {INPUTS[what]}!) {{ {what}_create(input: $input) {{ id }} }}"
    table = {"tax": "taxes"}.get(what, f"{what}s")
    before = await shop.value(f"select count(*) from {table}")
    assert await code(shop, text, input={"name": "Nome", **given}) == "VALIDATION_FAILED"
    assert await shop.value(f"select count(*) from {table}") == before


async def test_lists_take_one_statement_a_level(shop):
    text = """{ shipping_methods(limit: 50) { name rates { base_cents destination { name zipcodes { zipcode_from } } } taxes { name } } }"""
    await sent(shop, text)
    counts = []
    for number in range(2):
        for each in range(1 + 5 * number):
            place = await create(
                shop, "destination", zipcodes=[{"zipcode_from": "01000000"}], name=f"{number}{each}"
            )
            tax = await create(shop, "tax")
            await create(
                shop, "shipping_method", tax_ids=[tax["id"]], rates=[{"destination_id": place["id"]}]
            )
        answer = await shop.post("/graphql", {"query": text}, auth="bearer")
        counts.append(answer.statements)
    assert counts[0] == counts[1] <= 5
