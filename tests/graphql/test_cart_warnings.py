"""A cart warns of what the checkout would refuse and of prices that changed; what it shows is what the checkout accepts."""

from __future__ import annotations

from typing import Any

import pytest

from domain.promotions.promotions import PROMOTION_RECORDS
from kernel.scope import active_scope
from tests.graphql.test_cart_merge import cart_of
from tests.graphql.test_carts import CHECK_OUT, OPTIONS, SHIP, code, execute_query, key_of
from tests.harness.sample_store import SampleStore

WARNINGS = """warnings { code message quantity available_quantity previous_price_cents price_cents product_id
    product { name } item { name } }"""
SHOWN = f"query($id: ID!) {{ cart(id: $id) {{ {WARNINGS} items {{ id product_id }} }} }}"
METHODS = """query($id: ID!) { cart(id: $id) { payment_methods { id name } shipping_options { shipping_id price_cents
    shipping_method { name } } } }"""
ADDRESS = 'mutation($id: ID!) { cart_set_address(id: $id, input: {zipcode: "01001000", state: "SP"}) { id } }'
QUANTITY = f"mutation($id: ID!, $item: ID!, $n: BigInt!) {{ cart_item_update(id: $id, item_id: $item, quantity: $n) {{ {WARNINGS} }} }}"


async def warnings(sample: SampleStore, cart: str) -> list[Any]:
    shown: dict[str, list[Any]] = await execute_query(sample, SHOWN, sample.caio, id=cart)
    return shown["warnings"]


async def test_a_changed_price_is_reported_until_the_quantity_is_set(sample: SampleStore) -> None:
    cart = await cart_of(sample, sample.caio, (sample.mug, 1), (sample.plate, 1))
    assert await warnings(sample, cart) == []
    await sample.execute("UPDATE products SET price_cents = price_cents + 100 WHERE id = $1", sample.mug.number)
    [warning] = await warnings(sample, cart)
    assert warning == {
        "code": "PRICE_CHANGED",
        "message": f"O preço mudou: {warning['item']['name']}.",
        "quantity": 1,
        "available_quantity": None,
        "previous_price_cents": 4990,
        "price_cents": 5090,
        "product_id": sample.mug.id,
        "product": {"name": warning["item"]["name"]},
        "item": warning["item"],
    }
    shown = await execute_query(sample, SHOWN, sample.caio, id=cart)
    first, second = (item["id"] for item in shown["items"])
    # A change of another line doesn't hide it.
    changed = await execute_query(sample, QUANTITY, sample.caio, id=cart, item=second, n=2)
    assert [each["code"] for each in changed["warnings"]] == ["PRICE_CHANGED"]
    changed = await execute_query(sample, QUANTITY, sample.caio, id=cart, item=first, n=2)
    assert changed["warnings"] == []


@pytest.mark.parametrize(
    "change,quantity,expected,reason",
    [
        ("on_hand = 3", 4, ("LESS_AVAILABLE", 3), "out_of_stock"),
        ("on_hand = 0", 4, ("OUT_OF_STOCK", 0), "out_of_stock"),
        ("on_hand = 3, min_quantity = 4", 4, ("OUT_OF_STOCK", 3), "out_of_stock"),
        ("status = 'H'", 1, None, None),
        ("status = 'D'", 1, ("PRODUCT_UNAVAILABLE", 0), "product_unavailable"),
        ("deleted_at = now()", 1, ("PRODUCT_UNAVAILABLE", 0), "product_unavailable"),
        ("min_quantity = 2", 1, ("QUANTITY_TOO_SMALL", 2), "quantity_too_small"),
        ("max_quantity = 3", 4, ("QUANTITY_TOO_LARGE", 3), "quantity_too_large"),
        ("tracking = 'D', on_hand = 0", 4, None, None),
        ("on_hand = 4", 4, None, None),
    ],
)
async def test_what_the_checkout_refuses_was_a_warning(
    change: str, quantity: int, expected: tuple[str, int] | None, reason: str | None, sample: SampleStore
) -> None:
    product = await sample.add_product(name="Bule", on_hand=9, is_edp=True)
    cart = await cart_of(sample, sample.caio, (product, quantity))
    await sample.execute(f"UPDATE products SET {change} WHERE id = $1", product.number)
    shown = await warnings(sample, cart)
    assert [(each["code"], each["available_quantity"]) for each in shown] == ([expected] if expected else [])
    assert all("Bule" in each["message"] for each in shown)
    answer = await execute_query(sample, CHECK_OUT, sample.caio, id=cart, input={"payment_id": sample.pix.id})
    assert (code(answer)[1] if "extensions" in answer else None) == reason


async def test_two_lines_of_a_product_share_its_stock(sample: SampleStore) -> None:
    cart = await cart_of(sample, sample.caio, (sample.mug, 1))
    number = await sample.value("SELECT id FROM carts WHERE public_id = $1", cart)
    await sample.execute("UPDATE products SET on_hand = reserved + 1 WHERE id = $1", sample.mug.number)
    assert await warnings(sample, cart) == []
    insert = """INSERT INTO cart_items (tenant_id, public_id, cart_id, product_id, quantity, options_key)
        VALUES ($1, gen_random_uuid(), $2, $3, 1, 'x')"""
    await sample.execute(insert, sample.store.id, number, sample.mug.number)
    assert {each["code"] for each in await warnings(sample, cart)} == {"LESS_AVAILABLE"}


async def test_a_missing_required_product_is_reported(sample: SampleStore) -> None:
    text = "mutation ($id: ID!, $ids: [ID!]!) { product_required_products_set(id: $id, product_ids: $ids) { id } }"
    cart = await cart_of(sample, sample.caio, (sample.mug, 1))
    await execute_query(sample, text, sample.owner, id=sample.mug.id, ids=[sample.plate.id])
    assert [each["code"] for each in await warnings(sample, cart)] == ["REQUIRED_PRODUCTS"]


async def test_a_coupon_and_a_shipping_option_that_no_longer_apply_are_reported(sample: SampleStore) -> None:
    cart = await cart_of(sample, sample.caio, (sample.mug, 1))
    await execute_query(sample, ADDRESS, sample.caio, id=cart)
    [option] = await execute_query(sample, OPTIONS, sample.caio, id=cart)
    await execute_query(sample, SHIP, sample.caio, id=cart, way=option["shipping_id"])
    assert await warnings(sample, cart) == []
    await sample.execute("UPDATE carts SET coupon_code = 'VELHO' WHERE public_id = $1", cart)
    await sample.execute("UPDATE shipping_methods SET status = 'D'")
    assert [each["code"] for each in await warnings(sample, cart)] == ["COUPON_UNAVAILABLE", "SHIPPING_UNAVAILABLE"]


async def test_a_cart_shows_the_methods_that_its_checkout_accepts(sample: SampleStore) -> None:
    cart = await cart_of(sample, sample.caio, (sample.mug, 1))
    await execute_query(sample, ADDRESS, sample.caio, id=cart)
    shown = await execute_query(sample, METHODS, sample.caio, id=cart)
    listed = await execute_query(sample, OPTIONS, sample.caio, id=cart)
    assert [option["shipping_id"] for option in shown["shipping_options"]] == [
        option["shipping_id"] for option in listed
    ]
    assert shown["shipping_options"][0]["shipping_method"] is not None
    assert sample.pix.id in {method["id"] for method in shown["payment_methods"]}
    await sample.execute("UPDATE payment_methods SET status = 'D' WHERE id = $1", sample.pix.number)
    shown = await execute_query(sample, METHODS, sample.owner, id=cart)
    assert sample.pix.id not in {method["id"] for method in shown["payment_methods"]}


async def test_a_key_without_the_catalogue_sees_the_cart_and_not_the_methods(sample: SampleStore) -> None:
    key = await key_of(sample, "storefront:cart")
    text = """mutation($input: CartInput) { cart_create(input: $input) { id quantity_total payment_methods { id }
        shipping_options { price_cents } } }"""
    body = {"query": text, "variables": {"input": {"items": [{"product_id": sample.mug.id, "quantity": 2}]}}}
    answer = await sample.post("/graphql", body, auth=None, headers={"X-API-Key": key})
    created = answer.body["data"]["cart_create"]
    assert (created["quantity_total"], created["payment_methods"]) == (2, None)
    [error] = answer.body["errors"]
    assert (error["path"], error["extensions"]["code"]) == (["cart_create", "payment_methods"], "FORBIDDEN")
    assert await sample.value("SELECT count(*) FROM carts WHERE public_id = $1", created["id"]) == 1


SET_EMAIL = f"""mutation($id: ID!, $email: String!) {{ cart_set_customer_email(id: $id, email: $email) {{
    discount_cents {WARNINGS} }} }}"""


async def test_setting_the_email_warns_of_a_coupon_that_the_customer_has_used(sample: SampleStore) -> None:
    with active_scope(sample.scope):
        await PROMOTION_RECORDS.create(
            sample.scope,
            {
                "name": "Boas-vindas",
                "coupon_code": "OI",
                "conditions": {"once_per_customer": "Y"},
                "bonuses": {"order_discount": "10%"},
            },
        )
    await sample.place_order((sample.ebook, 1), user=None, email="ana@example.com", coupon_code="OI")
    key = await key_of(sample)
    cart = await cart_of(sample, key, (sample.ebook, 1))
    coupon = 'mutation($id: ID!) { cart_apply_coupon(id: $id, code: "OI") { discount_cents } }'
    assert (await execute_query(sample, coupon, key, id=cart))["discount_cents"] > 0
    changed = await execute_query(sample, SET_EMAIL, key, id=cart, email="ana@example.com")
    assert changed["discount_cents"] == 0
    assert [(each["code"], each["message"]) for each in changed["warnings"]] == [
        ("COUPON_UNAVAILABLE", "O cupom vale uma única vez por cliente e já foi usado.")
    ]
    other = await execute_query(sample, SET_EMAIL, key, id=cart, email="bia@example.com")
    assert (other["discount_cents"] > 0, other["warnings"]) == (True, [])
