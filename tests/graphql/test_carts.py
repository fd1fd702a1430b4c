"""Carts in GraphQL: open to storefront keys, customers and staff, each as far as it may go."""

from __future__ import annotations

from typing import Any

import pytest

from auth.storefront_keys import create_storefront_key
from kernel.scope import entered
from tests.shop import NOBODY, Person, Shop

CREATE = "mutation($input: CartInput) { cart_create(input: $input) { id total_cents items { id product_id is_available } } }"
CART = "query($id: ID!) { cart(id: $id) { id status total_cents customer_email } }"
ADD = "mutation($id: ID!, $input: CartItemInput!) { cart_item_add(id: $id, input: $input) { total_cents items { id quantity } } }"
ADDRESS = (
    'mutation($id: ID!) { cart_set_address(id: $id, input: { zipcode: "01001000", city: "São Paulo", state: "SP" })'
    " { address { zipcode country } } }"
)
OPTIONS = "query($id: ID!) { cart_shipping_options(id: $id) { shipping_id name price_cents } }"
SHIP = "mutation($id: ID!, $way: ID!) { cart_set_shipping_option(id: $id, shipping_id: $way) { shipping_cents } }"
CHECK_OUT = (
    "mutation($id: ID!, $input: CartCheckoutInput!) { cart_checkout(id: $id, input: $input)"
    " { token order { id total_cents customer { id name email } items { name } payment_method { name } } } }"
)
PLACED = "query($id: ID!, $token: String) { placed_order(id: $id, token: $token) { id status customer { email } } }"


async def key_of(shop: Shop, *scopes: str, **given: Any) -> str:
    scope = shop.scope()
    with entered(scope):
        return (await create_storefront_key(scope, {"scopes": list(scopes) or None, **given})).key


async def ask(shop: Shop, query: str, by: Person | str, headers: Any = None, **variables: Any) -> Any:
    """Ask as a person by token, or with a key; give data, or the first error."""
    sent = dict(headers or {})
    if isinstance(by, str):
        sent["X-API-Key"] = by
        answer = await shop.post(
            "/graphql", {"query": query, "variables": variables}, auth=None, headers=sent
        )
    else:
        answer = await shop.post(
            "/graphql", {"query": query, "variables": variables}, auth="bearer", by=by, headers=sent
        )
    if "errors" in answer.body:
        return answer.body["errors"][0]
    return next(iter(answer.body["data"].values()))


def code(error: Any) -> tuple[str, str | None]:
    extensions = error["extensions"]
    return extensions["code"], extensions.get("details", {}).get("reason")


@pytest.mark.parametrize("who", ["key", "caio", "owner"])
async def test_a_purchase_from_the_first_item_to_the_order(shop: Shop, who: str) -> None:
    by = await key_of(shop) if who == "key" else getattr(shop, who)
    made = await ask(shop, CREATE, by, input={"items": [{"product_id": shop.mug.id, "quantity": 1}]})
    cart = made["id"]
    assert made["items"][0]["is_available"] is True
    assert (await ask(shop, ADD, by, id=cart, input={"product_id": shop.mug.id, "quantity": 1}))[
        "total_cents"
    ] == 9980
    assert (await ask(shop, ADDRESS, by, id=cart))["address"] == {"zipcode": "01001000", "country": "BR"}
    [way] = await ask(shop, OPTIONS, by, id=cart)
    assert (await ask(shop, SHIP, by, id=cart, way=way["shipping_id"]))["shipping_cents"] == 1500
    who_buys = {} if who == "caio" else {"customer_email": "ana@example.com"}
    done = await ask(shop, CHECK_OUT, by, id=cart, input={"payment_id": shop.pix.id, **who_buys})
    order = done["order"]
    assert (order["total_cents"], order["payment_method"]["name"]) == (11480, "Pix")
    email = "caio@example.com" if who == "caio" else "ana@example.com"
    assert order["customer"]["email"] == email
    shown = await ask(shop, PLACED, by, id=order["id"], token=done["token"])
    assert shown == {"id": order["id"], "status": "O", "customer": {"email": email}}
    again = await ask(shop, CHECK_OUT, by, id=cart, input={"payment_id": shop.pix.id, **who_buys})
    assert code(again) == ("CONFLICT", "cart_already_ordered")


async def test_absent_carts_and_orders_are_null(shop: Shop, other_shop: Shop) -> None:
    key = await key_of(shop)
    elsewhere = (await ask(other_shop, CREATE, await key_of(other_shop)))["id"]
    for cart in (NOBODY, "nonsense", "1", elsewhere):
        assert await ask(shop, CART, key, id=cart) is None
        assert code(await ask(shop, OPTIONS, key, id=cart))[0] == "NOT_FOUND"
        assert (
            code(await ask(shop, ADD, key, id=cart, input={"product_id": shop.mug.id, "quantity": 1}))[0]
            == "NOT_FOUND"
        )
        assert await ask(shop, PLACED, key, id=cart, token="x") is None
    assert await ask(shop, PLACED, shop.caio, id=shop.order.id) is None  # not placed through a storefront


async def test_a_key_needs_the_scope_of_each_field(shop: Shop) -> None:
    cart = (await ask(shop, CREATE, await key_of(shop, "storefront:cart")))["id"]
    reader = await key_of(shop, "storefront:read")
    cartier = await key_of(shop, "storefront:cart")
    payer = await key_of(shop, "storefront:checkout")
    for by, query, variables, scope in (
        (reader, CART, {"id": cart}, "storefront:cart"),
        (payer, CART, {"id": cart}, "storefront:cart"),
        (reader, CREATE, {}, "storefront:cart"),
        (payer, ADDRESS, {"id": cart}, "storefront:cart"),
        (cartier, CHECK_OUT, {"id": cart, "input": {}}, "storefront:checkout"),
        (cartier, PLACED, {"id": NOBODY}, "storefront:checkout"),
    ):
        error = await ask(shop, query, by, **variables)
        assert error["extensions"] == {"code": "FORBIDDEN", "details": {"scope": scope}}, query


async def test_customers_open_their_own_carts_and_those_of_nobody(shop: Shop) -> None:
    own = (await ask(shop, CREATE, shop.caio))["id"]
    nobodys = (await ask(shop, CREATE, await key_of(shop)))["id"]
    assert (await ask(shop, CART, shop.caio, id=own))["id"] == own
    assert (await ask(shop, CART, shop.bia, id=nobodys))["id"] == nobodys
    assert await ask(shop, CART, shop.bia, id=own) is None
    assert (await ask(shop, CART, await key_of(shop), id=own))["customer_email"] is None


async def test_staff_need_a_privilege_and_vendors_see_no_carts(shop: Shop) -> None:
    cart = (await ask(shop, CREATE, shop.caio))["id"]
    assert (await ask(shop, CART, shop.staff, id=cart))["id"] == cart
    assert code(await ask(shop, ADDRESS, shop.staff, id=cart))[0] == "FORBIDDEN"
    assert code(await ask(shop, CART, shop.seller, id=cart))[0] == "FORBIDDEN"


async def test_refusals_tell_reason_and_fields(shop: Shop) -> None:
    key = await key_of(shop)
    few = await shop.new_product(on_hand=1, is_edp=True)
    cart = (await ask(shop, CREATE, key, input={"items": [{"product_id": few.id, "quantity": 2}]}))["id"]
    who = {"customer_email": "ana@example.com", "payment_id": shop.pix.id}
    refused = await ask(shop, CHECK_OUT, key, id=cart, input=who)
    assert code(refused) == ("RULE_VIOLATION", "out_of_stock")
    assert refused["extensions"]["details"]["products"][0]["product_id"] == few.id
    nobody = await ask(shop, CHECK_OUT, key, id=cart, input={"payment_id": shop.pix.id})
    assert (code(nobody)[0], nobody["message"]) == (
        "VALIDATION_FAILED",
        "customer_id or customer_email is required",
    )
    named = await ask(
        shop, CHECK_OUT, key, id=cart, input={"customer_id": shop.caio.id, "payment_id": shop.pix.id}
    )
    assert code(named)[0] == "FORBIDDEN"
    wrong = await ask(shop, ADD, key, id=cart, input={"product_id": few.id, "quantity": 0})
    assert wrong["extensions"]["details"]["fields"] == {"quantity": "quantity_invalid"}


async def test_a_checkout_takes_an_idempotency_key(shop: Shop) -> None:
    key = await key_of(shop)
    cart = (await ask(shop, CREATE, key, input={"items": [{"product_id": shop.ebook.id, "quantity": 1}]}))[
        "id"
    ]
    body = {"customer_email": "ana@example.com", "payment_id": shop.pix.id}
    first, again = [
        await ask(shop, CHECK_OUT, key, headers={"Idempotency-Key": "k"}, id=cart, input=body)
        for _ in range(2)
    ]
    assert first == again
    assert first["token"]


async def test_a_storefront_key_sees_no_orders_people_or_other_carts(shop: Shop) -> None:
    key = await key_of(shop)
    for query in ("{ orders { id } }", "{ users { id } }", "{ payments { id } }", "{ audit_entries { id } }"):
        assert code(await ask(shop, query, key))[0] == "FORBIDDEN", query
    for query in ("{ carts { id } }", "{ cart_page { total } }", "{ placed_orders { id } }"):
        assert "Cannot query field" in (await ask(shop, query, key))["message"]
    assert await ask(shop, "{ products { status } }", key) == [{"status": "A"}] * 3
