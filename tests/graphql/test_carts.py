"""Carts in GraphQL, with the access of storefront keys, customers and staff."""

from __future__ import annotations

from typing import Any

import pytest

from auth.storefront_keys import create_storefront_key
from kernel.scope import active_scope
from tests.harness.records import UNKNOWN_ID, UserRecord
from tests.harness.sample_store import SampleStore

CREATE = (
    "mutation($input: CartInput) { cart_create(input: $input) { id total_cents items { id product_id is_available } } }"
)
CART = "query($id: ID!) { cart(id: $id) { id status total_cents customer_email } }"
ADD = "mutation($id: ID!, $input: CartItemInput!) { cart_item_add(id: $id, input: $input) { total_cents items { id quantity } } }"
ADDRESS = (
    'mutation($id: ID!) { cart_set_address(id: $id, input: { name: "Ana", zipcode: "01001000", city: "São Paulo", state: "SP" })'
    " { address { zipcode country } } }"
)
OPTIONS = "query($id: ID!) { cart_shipping_options(id: $id) { shipping_id name price_cents } }"
SHIP = "mutation($id: ID!, $way: ID!) { cart_set_shipping_option(id: $id, shipping_id: $way) { shipping_cents } }"
CHECK_OUT = (
    "mutation($id: ID!, $input: CartCheckoutInput!) { cart_checkout(id: $id, input: $input)"
    " { token order { id total_cents customer { id name email } items { name } payment_method { name } } } }"
)
PLACED = "query($id: ID!, $token: String) { placed_order(id: $id, token: $token) { id status customer { email } } }"


async def key_of(sample: SampleStore, *scopes: str, **fields: Any) -> str:
    scope = sample.scope
    with active_scope(scope):
        return (await create_storefront_key(scope, {"scopes": list(scopes) or None, **fields})).key


async def execute_query(
    sample: SampleStore, query: str, by: UserRecord | str, headers: Any = None, **variables: Any
) -> Any:
    """ExecuteQuery as a person by token, or with a key; give data, or the first error."""
    sent = dict(headers or {})
    if isinstance(by, str):
        sent["X-API-Key"] = by
        answer = await sample.post("/graphql", {"query": query, "variables": variables}, auth=None, headers=sent)
    else:
        answer = await sample.post(
            "/graphql", {"query": query, "variables": variables}, auth="bearer", by=by, headers=sent
        )
    if "errors" in answer.body:
        return answer.body["errors"][0]
    return next(iter(answer.body["data"].values()))


def code(error: Any) -> tuple[str, str | None]:
    extensions = error["extensions"]
    return extensions["code"], extensions.get("details", {}).get("reason")


@pytest.mark.parametrize("who", ["key", "caio", "owner"])
async def test_a_cart_can_be_filled_and_checked_out(sample: SampleStore, who: str) -> None:
    by = await key_of(sample) if who == "key" else getattr(sample, who)
    cart_data = await execute_query(sample, CREATE, by, input={"items": [{"product_id": sample.mug.id, "quantity": 1}]})
    cart = cart_data["id"]
    assert cart_data["items"][0]["is_available"] is True
    assert (await execute_query(sample, ADD, by, id=cart, input={"product_id": sample.mug.id, "quantity": 1}))[
        "total_cents"
    ] == 9980
    assert (await execute_query(sample, ADDRESS, by, id=cart))["address"] == {
        "zipcode": "01001000",
        "country": "BR",
    }
    [option] = await execute_query(sample, OPTIONS, by, id=cart)
    assert (await execute_query(sample, SHIP, by, id=cart, way=option["shipping_id"]))["shipping_cents"] == 1500
    customer = {} if who == "caio" else {"customer_email": "ana@example.com"}
    checkout = await execute_query(sample, CHECK_OUT, by, id=cart, input={"payment_id": sample.pix.id, **customer})
    order = checkout["order"]
    assert (order["total_cents"], order["payment_method"]["name"]) == (11480, "Pix")
    email = "caio@example.com" if who == "caio" else "ana@example.com"
    assert order["customer"]["email"] == email
    placed = await execute_query(sample, PLACED, by, id=order["id"], token=checkout["token"])
    assert placed == {"id": order["id"], "status": "O", "customer": {"email": email}}
    again = await execute_query(sample, CHECK_OUT, by, id=cart, input={"payment_id": sample.pix.id, **customer})
    assert code(again) == ("CONFLICT", "cart_already_ordered")


async def test_missing_carts_and_orders_are_null(sample: SampleStore, other_sample: SampleStore) -> None:
    key = await key_of(sample)
    foreign_cart = (await execute_query(other_sample, CREATE, await key_of(other_sample)))["id"]
    for cart in (UNKNOWN_ID, "nonsense", "1", foreign_cart):
        assert await execute_query(sample, CART, key, id=cart) is None
        assert code(await execute_query(sample, OPTIONS, key, id=cart))[0] == "NOT_FOUND"
        assert (
            code(await execute_query(sample, ADD, key, id=cart, input={"product_id": sample.mug.id, "quantity": 1}))[0]
            == "NOT_FOUND"
        )
        assert await execute_query(sample, PLACED, key, id=cart, token="x") is None
    assert (
        await execute_query(sample, PLACED, sample.caio, id=sample.order.id) is None
    )  # not placed through a storefront


async def test_a_key_needs_the_scope_of_each_field(sample: SampleStore) -> None:
    cart = (await execute_query(sample, CREATE, await key_of(sample, "storefront:cart")))["id"]
    read_key = await key_of(sample, "storefront:read")
    cart_key = await key_of(sample, "storefront:cart")
    checkout_key = await key_of(sample, "storefront:checkout")
    for by, query, variables, scope in (
        (read_key, CART, {"id": cart}, "storefront:cart"),
        (checkout_key, CART, {"id": cart}, "storefront:cart"),
        (read_key, CREATE, {}, "storefront:cart"),
        (checkout_key, ADDRESS, {"id": cart}, "storefront:cart"),
        (cart_key, CHECK_OUT, {"id": cart, "input": {}}, "storefront:checkout"),
        (cart_key, PLACED, {"id": UNKNOWN_ID}, "storefront:checkout"),
    ):
        error = await execute_query(sample, query, by, **variables)
        assert error["extensions"] == {"code": "FORBIDDEN", "path": error["path"], "details": {"scope": scope}}, query


async def test_customers_access_their_own_carts_and_carts_without_a_customer(sample: SampleStore) -> None:
    own = (await execute_query(sample, CREATE, sample.caio))["id"]
    anonymous_cart = (await execute_query(sample, CREATE, await key_of(sample)))["id"]
    assert (await execute_query(sample, CART, sample.caio, id=own))["id"] == own
    assert (await execute_query(sample, CART, sample.bia, id=anonymous_cart))["id"] == anonymous_cart
    assert await execute_query(sample, CART, sample.bia, id=own) is None
    assert (await execute_query(sample, CART, await key_of(sample), id=own))["customer_email"] is None


async def test_staff_need_a_privilege_and_vendors_cannot_access_carts(sample: SampleStore) -> None:
    cart = (await execute_query(sample, CREATE, sample.caio))["id"]
    assert (await execute_query(sample, CART, sample.staff, id=cart))["id"] == cart
    assert code(await execute_query(sample, ADDRESS, sample.staff, id=cart))[0] == "FORBIDDEN"
    assert code(await execute_query(sample, CART, sample.vendor_user, id=cart))[0] == "FORBIDDEN"


async def test_errors_contain_reason_and_fields(sample: SampleStore) -> None:
    key = await key_of(sample)
    scarce = await sample.add_product(on_hand=1, is_edp=True)
    cart = (await execute_query(sample, CREATE, key, input={"items": [{"product_id": scarce.id, "quantity": 2}]}))["id"]
    who = {"customer_email": "ana@example.com", "payment_id": sample.pix.id}
    refused = await execute_query(sample, CHECK_OUT, key, id=cart, input=who)
    assert code(refused) == ("RULE_VIOLATION", "out_of_stock")
    assert refused["extensions"]["details"]["products"][0]["product_id"] == scarce.id
    missing_customer = await execute_query(sample, CHECK_OUT, key, id=cart, input={"payment_id": sample.pix.id})
    assert (code(missing_customer)[0], missing_customer["message"]) == (
        "VALIDATION_FAILED",
        "customer_id or customer_email is required",
    )
    assert missing_customer["extensions"]["details"]["fields"] == {"customer_email": "required"}
    foreign_customer = await execute_query(
        sample, CHECK_OUT, key, id=cart, input={"customer_id": sample.caio.id, "payment_id": sample.pix.id}
    )
    assert code(foreign_customer)[0] == "FORBIDDEN"
    invalid = await execute_query(sample, ADD, key, id=cart, input={"product_id": scarce.id, "quantity": 0})
    assert invalid["extensions"]["details"]["fields"] == {"quantity": "quantity_invalid"}


async def test_a_checkout_accepts_an_idempotency_key(sample: SampleStore) -> None:
    key = await key_of(sample)
    cart = (
        await execute_query(sample, CREATE, key, input={"items": [{"product_id": sample.ebook.id, "quantity": 1}]})
    )["id"]
    body = {"customer_email": "ana@example.com", "payment_id": sample.pix.id}
    first, again = [
        await execute_query(sample, CHECK_OUT, key, headers={"Idempotency-Key": "k"}, id=cart, input=body)
        for _ in range(2)
    ]
    assert first == again
    assert first["token"]


async def test_a_storefront_key_cannot_list_orders_users_or_carts(sample: SampleStore) -> None:
    key = await key_of(sample)
    for query in ("{ orders { id } }", "{ users { id } }", "{ payments { id } }", "{ audit_entries { id } }"):
        assert code(await execute_query(sample, query, key))[0] == "FORBIDDEN", query
    for query in ("{ carts { id } }", "{ cart_page { total } }", "{ placed_orders { id } }"):
        assert "Cannot query field" in (await execute_query(sample, query, key))["message"]
    assert await execute_query(sample, "{ products { status } }", key) == [{"status": "A"}] * 3


@pytest.mark.parametrize("kind", ["billing_address", "shipping_address"])
async def test_an_order_s_address_names_the_field_that_is_refused(sample: SampleStore, kind: str) -> None:
    text = "mutation($input: OrderInput!) { order_create(input: $input) { id } }"
    line = {"product_id": sample.ebook.id, "quantity": 1}
    address = {"state": "XX", "phone": "none"}
    refused = await execute_query(
        sample, text, sample.owner, input={"email": "ana@example.com", "items": [line], kind: address}
    )
    assert refused["extensions"]["details"]["fields"] == {
        f"{kind}.state": "state_invalid",
        f"{kind}.phone": "phone_invalid",
    }


@pytest.mark.parametrize("arguments", ["", ", quantity: null"])
async def test_an_item_update_without_a_quantity_names_it(sample: SampleStore, arguments: str) -> None:
    item = {"product_id": sample.mug.id, "quantity": 1}
    cart = await execute_query(sample, CREATE, sample.owner, input={"items": [item]})
    document = f"mutation($id: ID!, $item: ID!) {{ cart_item_update(id: $id, item_id: $item{arguments}) {{ id }} }}"
    error = await execute_query(sample, document, sample.owner, id=cart["id"], item=cart["items"][0]["id"])
    assert error["extensions"]["code"] == "VALIDATION_FAILED", error
    assert "quantity is required" in error["message"]
