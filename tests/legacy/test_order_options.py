"""Order with options as CS-Cart's clients do, and in the storefront."""

from typing import Any

import pytest

from tests.shop import Shop


def order(shop: Shop, **line: Any) -> dict[str, Any]:
    return {
        "user_id": shop.caio.number,
        "shipping_id": shop.sedex.number,
        "products": [{"product_id": shop.mug.number, "amount": 2, **line}],
    }


@pytest.mark.parametrize("place", ["line", "extra"])
async def test_an_order_takes_the_options_of_its_lines(shop, place):
    chosen = {str(shop.size): shop.large.number, str(shop.print): str(shop.plain)}
    line = {"product_options": chosen} if place == "line" else {"extra": {"product_options": chosen}}
    made = await shop.post("/api/orders", order(shop, **line))
    assert made.status == 201, made.raw
    [shown] = (await shop.get(f"/api/orders/{made.body['order_id']}")).body["products"].values()
    # 49.90 and 5.00 for the size and 2.00 for the combination
    assert (shown["price"], shown["base_price"], shown["product_code"]) == ("56.90", "56.90", "CAN-1-G")
    assert shown["extra"]["product_options"] == {
        str(shop.size): str(shop.large),
        str(shop.print): str(shop.plain),
    }
    assert [each["variant_name"] for each in shown["extra"]["product_options_value"]] == ["Grande", "Lisa"]
    assert (await shop.get(f"/api/combinations/{shop.combination}")).body["amount"] == "1"
    assert (await shop.put(f"/api/orders/{made.body['order_id']}", {"status": "I"})).status == 200
    assert (await shop.get(f"/api/combinations/{shop.combination}")).body["amount"] == "3"


@pytest.mark.parametrize("options", [{}, [], None, ""])
async def test_nothing_chosen_takes_the_product_itself(shop, options):
    made = await shop.post("/api/orders", order(shop, product_options=options))
    assert made.status == 201, made.raw
    [shown] = (await shop.get(f"/api/orders/{made.body['order_id']}")).body["products"].values()
    assert (shown["price"], shown["extra"]) == ("49.90", {})


async def test_what_rules_forbid_is_422_and_what_is_wrong_400(shop):
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
        answer = await shop.post("/api/orders", order(shop, product_options=options))
        assert answer.status == status, (options, answer.raw)
        assert set(answer.body) >= {"status", "message"}
    more = await shop.post(
        "/api/orders",
        order(shop, amount=4, product_options={size: shop.large.number, print_: shop.plain.number}),
    )
    assert (more.status, more.body["products"][0]["available"]) == (422, 3)
    assert await shop.value("select count(*) from orders") == before


async def test_a_required_option_is_asked_for(shop):
    await shop.put(f"/api/options/{shop.engraving}", {"required": "Y"})
    answer = await shop.post("/api/orders", order(shop))
    assert (answer.status, "Gravação is required" in answer.body["message"]) == (400, True)


async def test_graphql_shows_what_was_chosen(shop):
    text = """mutation($i: OrderInput!) { order_create(input: $i) {
        total_cents items { price_cents options combination { sku stock choices { option_name variant_name } } } } }"""
    given = {
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
    answer = await shop.post("/graphql", {"query": text, "variables": {"i": given}}, auth="bearer")
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
        {"query": text, "variables": {"i": given | {"items": [given["items"][0] | {"options": {"x": 1}}]}}},
        auth="bearer",
    )
    assert refused.body["errors"][0]["extensions"]["code"] == "VALIDATION_FAILED"


async def test_graphql_shows_what_can_be_chosen(shop):
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
