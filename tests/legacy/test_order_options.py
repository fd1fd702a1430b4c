"""Check orders with product options in the legacy API and in GraphQL."""

from typing import Any

import pytest

from tests.shop import Shop


def order_body(shop: Shop, **line: Any) -> dict[str, Any]:
    return {
        "user_id": shop.caio.number,
        "shipping_id": shop.sedex.number,
        "products": [{"product_id": shop.mug.number, "amount": 2, **line}],
    }


@pytest.mark.parametrize("location", ["line", "extra"])
async def test_order_lines_accept_options(shop, location):
    chosen = {str(shop.size): shop.large.number, str(shop.print): str(shop.plain)}
    line = {"product_options": chosen} if location == "line" else {"extra": {"product_options": chosen}}
    created = await shop.post("/api/orders", order_body(shop, **line))
    assert created.status == 201, created.raw
    [ordered] = (await shop.get(f"/api/orders/{created.body['order_id']}")).body["products"].values()
    # 49.90, 5.00 for the size and 2.00 for the combination
    assert (ordered["price"], ordered["base_price"], ordered["product_code"]) == ("56.90", "56.90", "CAN-1-G")
    assert ordered["extra"]["product_options"] == {
        str(shop.size): str(shop.large),
        str(shop.print): str(shop.plain),
    }
    assert [option["variant_name"] for option in ordered["extra"]["product_options_value"]] == [
        "Grande",
        "Lisa",
    ]
    assert (await shop.get(f"/api/combinations/{shop.combination}")).body["amount"] == "1"
    assert (await shop.put(f"/api/orders/{created.body['order_id']}", {"status": "I"})).status == 200
    assert (await shop.get(f"/api/combinations/{shop.combination}")).body["amount"] == "3"


@pytest.mark.parametrize("options", [{}, [], None, ""])
async def test_without_options_the_product_itself_is_ordered(shop, options):
    created = await shop.post("/api/orders", order_body(shop, product_options=options))
    assert created.status == 201, created.raw
    [ordered] = (await shop.get(f"/api/orders/{created.body['order_id']}")).body["products"].values()
    assert (ordered["price"], ordered["extra"]) == ("49.90", {})


async def test_forbidden_combinations_are_422_and_invalid_options_400(shop):
    size, print_ = str(shop.size), str(shop.print)
    before = await shop.value("select count(*) from orders")
    for options, status in (
        ({size: shop.small.number, print_: shop.dotted.number}, 422),  # forbidden
        ({size: shop.small.number}, 422),  # no such combination
        ({size: shop.plain.number}, 400),
        ({size: "x"}, 400),
        ({"9": "9"}, 400),
        ("x", 400),
        (7, 400),
    ):
        answer = await shop.post("/api/orders", order_body(shop, product_options=options))
        assert answer.status == status, (options, answer.raw)
        assert set(answer.body) >= {"status", "message"}
    excessive = await shop.post(
        "/api/orders",
        order_body(shop, amount=4, product_options={size: shop.large.number, print_: shop.plain.number}),
    )
    assert (excessive.status, excessive.body["products"][0]["available"]) == (422, 3)
    assert await shop.value("select count(*) from orders") == before


async def test_a_required_option_must_be_chosen(shop):
    await shop.put(f"/api/options/{shop.engraving}", {"required": "Y"})
    answer = await shop.post("/api/orders", order_body(shop))
    assert (answer.status, "Gravação is required" in answer.body["message"]) == (400, True)


async def test_graphql_returns_the_chosen_options(shop):
    text = """mutation($i: OrderInput!) { order_create(input: $i) {
        total_cents items { price_cents options combination { sku stock choices { option_name variant_name } } } } }"""
    order_input = {
        "email": "g@example.com",
        "shipping_method_id": shop.sedex.id,
        "items": [
            {
                "product_id": shop.mug.id,
                "quantity": 1,
                "options": {shop.size.id: shop.large.id, shop.print.id: shop.plain.id},
            }
        ],
    }
    answer = await shop.post("/graphql", {"query": text, "variables": {"i": order_input}}, auth="bearer")
    assert "errors" not in answer.body, answer.body
    [item] = answer.body["data"]["order_create"]["items"]
    assert item["price_cents"] == 5_690
    assert item["options"] == [
        {
            "option_id": shop.size.id,
            "name": "Tamanho",
            "variant_id": shop.large.id,
            "value": "Grande",
            "modifier": 500,
            "modifier_type": "A",
        },
        {
            "option_id": shop.print.id,
            "name": "Estampa",
            "variant_id": shop.plain.id,
            "value": "Lisa",
            "modifier": 0,
            "modifier_type": "A",
        },
    ]
    assert item["combination"]["sku"] == "CAN-1-G"
    assert item["combination"]["stock"] == 2
    refused = await shop.post(
        "/graphql",
        {
            "query": text,
            "variables": {"i": order_input | {"items": [order_input["items"][0] | {"options": {"x": 1}}]}},
        },
        auth="bearer",
    )
    assert refused.body["errors"][0]["extensions"]["code"] == "VALIDATION_FAILED"


async def test_graphql_returns_the_available_options(shop):
    text = """query($id: ID!) { product(id: $id) {
        options { name type required inventory variants { name modifier modifier_type } }
        combinations { sku price_cents stock choices { option_id option_name variant_id variant_name } }
        attachments { filename url filesize } required_products { name } } }"""
    set_ = "mutation($id: ID!, $ids: [ID!]!) { product_required_products_set(id: $id, product_ids: $ids) { name } }"
    await shop.post(
        "/graphql", {"query": set_, "variables": {"id": shop.mug.id, "ids": [shop.plate.id]}}, auth="bearer"
    )
    answer = await shop.post("/graphql", {"query": text, "variables": {"id": shop.mug.id}}, auth="bearer")
    product = answer.body["data"]["product"]
    assert [option["name"] for option in product["options"]] == ["Tamanho", "Estampa", "Gravação"]
    assert product["options"][1]["variants"][1] == {"name": "Poá", "modifier": 1_000, "modifier_type": "P"}
    [combination] = product["combinations"]
    assert combination["choices"][0]["variant_id"] == shop.large.id
    assert product["attachments"] == [
        {"filename": "cuidados.pdf", "url": "https://files.example.com/c.pdf", "filesize": 9}
    ]
    assert product["required_products"] == [{"name": "Prato Raso"}]
    assert answer.statements <= 8
