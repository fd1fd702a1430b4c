"""Check orders with product options in the legacy API and in GraphQL."""

from typing import Any

import pytest

from tests.harness.sample_store import SampleStore

pytestmark = pytest.mark.combination


def order_body(sample: SampleStore, **line: Any) -> dict[str, Any]:
    return {
        "user_id": sample.caio.number,
        "shipping_id": sample.sedex.number,
        "products": [{"product_id": sample.mug.number, "amount": 2, **line}],
    }


@pytest.mark.parametrize("location", ["line", "extra"])
async def test_order_lines_accept_options(sample, location):
    chosen = {str(sample.size): sample.large.number, str(sample.print): str(sample.plain)}
    line = {"product_options": chosen} if location == "line" else {"extra": {"product_options": chosen}}
    created = await sample.post("/api/orders", order_body(sample, **line))
    assert created.status == 201, created.raw
    [ordered] = (await sample.get(f"/api/orders/{created.body['order_id']}")).body["products"].values()
    # 49.90, 5.00 for the size and 2.00 for the combination
    assert (ordered["price"], ordered["base_price"], ordered["product_code"]) == ("56.90", "56.90", "CAN-1-G")
    assert ordered["extra"]["product_options"] == {
        str(sample.size): str(sample.large),
        str(sample.print): str(sample.plain),
    }
    assert [option["variant_name"] for option in ordered["extra"]["product_options_value"]] == [
        "Grande",
        "Lisa",
    ]
    assert (await sample.get(f"/api/combinations/{sample.combination}")).body["amount"] == "1"
    assert (await sample.put(f"/api/orders/{created.body['order_id']}", {"status": "I"})).status == 200
    assert (await sample.get(f"/api/combinations/{sample.combination}")).body["amount"] == "3"


@pytest.mark.parametrize("options", [{}, [], None, ""])
async def test_without_options_the_first_combination_is_ordered(sample, options):
    created = await sample.post("/api/orders", order_body(sample, product_options=options))
    assert created.status == 201, created.raw
    [ordered] = (await sample.get(f"/api/orders/{created.body['order_id']}")).body["products"].values()
    chosen = {str(sample.size): str(sample.large), str(sample.print): str(sample.plain)}
    assert (ordered["price"], ordered["extra"]["product_options"]) == ("56.90", chosen)


async def test_forbidden_combinations_are_422_and_invalid_options_400(sample):
    size, print_ = str(sample.size), str(sample.print)
    before = await sample.value("select count(*) from orders")
    for options, status in (
        ({size: sample.small.number, print_: sample.dotted.number}, 422),  # forbidden
        ({size: sample.small.number}, 422),  # no such combination
        ({size: sample.plain.number}, 400),
        ({size: "x"}, 400),
        ({"9": "9"}, 400),
        ("x", 400),
        (7, 400),
    ):
        answer = await sample.post("/api/orders", order_body(sample, product_options=options))
        assert answer.status == status, (options, answer.raw)
        assert set(answer.body) >= {"status", "message"}, (options, status)
    excessive = await sample.post(
        "/api/orders",
        order_body(sample, amount=4, product_options={size: sample.large.number, print_: sample.plain.number}),
    )
    assert (excessive.status, excessive.body["products"][0]["available"]) == (422, 3)
    assert await sample.value("select count(*) from orders") == before


async def test_refusals_name_products_by_their_numbers_here_and_by_uuid_in_graphql(sample):
    chosen = {str(sample.size): sample.small.number, str(sample.print): sample.dotted.number}
    await sample.put(f"/api/products/{sample.plate}", {"status": "D"})
    for line, product, reason in (
        ({"amount": 999}, sample.mug, "out_of_stock"),
        ({"product_options": chosen}, sample.mug, "option_exception"),
        ({"product_id": sample.plate.number}, sample.plate, "product_unavailable"),
    ):
        refused = await sample.post("/api/orders", order_body(sample, **line))
        [named] = refused.body["products"]
        assert (refused.status, named["product_id"]) == (422, str(product.number)), refused.raw
        item = {"product_id": product.id, "quantity": line.get("amount", 1)}
        if product is sample.mug:
            item["options"] = {sample.size.id: sample.large.id, sample.print.id: sample.plain.id}
        if "product_options" in line:
            item["options"] = {sample.size.id: sample.small.id, sample.print.id: sample.dotted.id}
        order_input = {"email": "g@example.com", "shipping_method_id": sample.sedex.id, "items": [item]}
        query = "mutation ($i: OrderInput!) { order_create(input: $i) { id } }"
        answer = await sample.post("/graphql", {"query": query, "variables": {"i": order_input}}, auth="bearer")
        [error] = answer.body["errors"]
        assert error["extensions"]["details"]["reason"] == reason
        assert error["extensions"]["details"]["products"][0]["product_id"] == product.id


async def test_a_required_option_must_be_chosen(sample):
    await sample.put(f"/api/options/{sample.engraving}", {"required": "Y"})
    answer = await sample.post("/api/orders", order_body(sample))
    assert (answer.status, "Gravação is required" in answer.body["message"]) == (400, True)


async def test_graphql_returns_the_chosen_options(sample):
    text = """mutation($i: OrderInput!) { order_create(input: $i) {
        total_cents items { price_cents options { option_id name variant_id value modifier modifier_type }
        combination { sku stock choices { option_name variant_name } } } } }"""
    order_input = {
        "email": "g@example.com",
        "shipping_method_id": sample.sedex.id,
        "items": [
            {
                "product_id": sample.mug.id,
                "quantity": 1,
                "options": {sample.size.id: sample.large.id, sample.print.id: sample.plain.id},
            }
        ],
    }
    answer = await sample.post("/graphql", {"query": text, "variables": {"i": order_input}}, auth="bearer")
    assert "errors" not in answer.body, answer.body
    [item] = answer.body["data"]["order_create"]["items"]
    assert item["price_cents"] == 5_690
    assert item["options"] == [
        {
            "option_id": sample.size.id,
            "name": "Tamanho",
            "variant_id": sample.large.id,
            "value": "Grande",
            "modifier": 500,
            "modifier_type": "A",
        },
        {
            "option_id": sample.print.id,
            "name": "Estampa",
            "variant_id": sample.plain.id,
            "value": "Lisa",
            "modifier": 0,
            "modifier_type": "A",
        },
    ]
    assert item["combination"]["sku"] == "CAN-1-G"
    assert item["combination"]["stock"] == 2
    refused = await sample.post(
        "/graphql",
        {
            "query": text,
            "variables": {"i": order_input | {"items": [order_input["items"][0] | {"options": {"x": 1}}]}},
        },
        auth="bearer",
    )
    assert refused.body["errors"][0]["extensions"]["code"] == "VALIDATION_FAILED"


async def test_graphql_returns_the_available_options(sample):
    text = """query($id: ID!) { product(id: $id) {
        options { name type required inventory variants { name modifier modifier_type } }
        combinations { sku price_cents stock choices { option_id option_name variant_id variant_name } }
        attachments { filename url filesize } required_products { name } } }"""
    set_ = "mutation($id: ID!, $ids: [ID!]!) { product_required_products_set(id: $id, product_ids: $ids) { name } }"
    await sample.post(
        "/graphql",
        {"query": set_, "variables": {"id": sample.mug.id, "ids": [sample.plate.id]}},
        auth="bearer",
    )
    answer = await sample.post("/graphql", {"query": text, "variables": {"id": sample.mug.id}}, auth="bearer")
    product = answer.body["data"]["product"]
    assert [option["name"] for option in product["options"]] == ["Tamanho", "Estampa", "Gravação"]
    assert product["options"][1]["variants"][1] == {"name": "Poá", "modifier": 1_000, "modifier_type": "P"}
    [combination] = product["combinations"]
    assert combination["choices"][0]["variant_id"] == sample.large.id
    assert product["attachments"] == [
        {"filename": "cuidados.pdf", "url": "https://files.example.com/c.pdf", "filesize": 9}
    ]
    assert product["required_products"] == [{"name": "Prato Raso"}]
    assert answer.statements <= 8
