"""Checkout of a cart (docs/reference/current.md#checkout)."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from auth.secrets import order_token
from domain.destinations.destinations import DESTINATION_RECORDS
from domain.shipping.methods import SHIPPING_METHOD_RECORDS
from kernel.scope import active_scope
from tests.harness.http import Response
from tests.harness.records import UNKNOWN_ID
from tests.harness.sample_store import SampleStore
from tests.harness.storefront import ADDRESS, ORDER, StorefrontClient, open_storefront

REUSED = "idempotency key reused with a different checkout session"


def error_of(answer: Response) -> tuple[int, str]:
    """Return status and code of an error in the object format, checking its members."""
    error = answer.body["error"]
    assert set(answer.body) == {"error"}
    assert set(error) == {"code", "message", "details"}
    assert error["message"]
    return answer.status, error["code"]


async def test_a_checkout_returns_the_order_with_its_token(storefront: StorefrontClient) -> None:
    cart = await storefront.cart((storefront.sample.mug, 2), (storefront.sample.ebook, 1))
    answer = await storefront.check_out(cart, customer_name="Ana Maria Souza", notes="Portão azul")
    assert answer.status == 201
    assert set(answer.body) == ORDER | {"token"}
    assert answer.headers["Cache-Control"] == "no-store"
    values = {name: answer.body[name] for name in ORDER - {"id", "number", "created_at", "updated_at"}}
    assert values == {
        "status": "O",
        "total_cents": 12980,
        "subtotal_cents": 11480,
        "shipping_cents": 1500,
        "discount_cents": 0,
        "currency": "BRL",
        "payment_status": "unpaid",
        "delivery_time": "3 dias",
        "tracking_code": None,
        "customer": {"id": None, "name": "Ana Maria Souza", "email": "ana@example.com"},
        "items": [
            {
                "product_id": storefront.sample.mug.id,
                "name": "Caneca de Ágata",
                "quantity": 2,
                "price_cents": 4990,
            },
            {
                "product_id": storefront.sample.ebook.id,
                "name": "Livro de Receitas",
                "quantity": 1,
                "price_cents": 1500,
            },
        ],
    }
    [order] = await storefront.sample.rows(
        "SELECT *, hold_until - created_at AS hold_time FROM orders WHERE id = $1", answer.body["number"]
    )
    assert (order["origin"], order["user_id"], order["notes"]) == ("storefront", None, "Portão azul")
    assert order["hold_time"].total_seconds() == 4320 * 60
    assert (order["firstname"], order["lastname"], order["phone"]) == ("Ana", "Maria Souza", ADDRESS["phone"])
    [address] = await storefront.sample.rows(
        "SELECT * FROM order_addresses WHERE order_id = $1 AND kind = 'S'", order["id"]
    )
    assert (address["street"], address["zipcode"], address["firstname"]) == (
        "Rua das Flores",
        "01001000",
        "Ana",
    )
    [mug] = await storefront.sample.rows(
        "SELECT on_hand, reserved FROM products WHERE id = $1", storefront.sample.mug.number
    )
    assert mug["reserved"] >= 2
    shown = (await storefront.get(f"carts/{cart}")).body
    assert (shown["status"], shown["total_cents"]) == ("ordered", 12980)
    assert shown["shipping_option"]["price_cents"] == 1500


async def test_an_order_is_read_with_its_token(storefront: StorefrontClient) -> None:
    made = (await storefront.order((storefront.sample.mug, 1), customer_name="Ana")).body
    token = made.pop("token")
    shown = await storefront.get(f"orders/{made['id']}?token={token}")
    assert (shown.status, shown.body) == (200, made)
    assert shown.headers["Cache-Control"] == "no-store"
    other = (await storefront.order((storefront.sample.mug, 2))).body
    for wrong in (other["token"], token[:-1], token + "0", "x", token.upper() + "x", "%00", "ção"):
        answer = await storefront.get(f"orders/{made['id']}", params={"token": wrong})
        assert answer.status in (400, 404), wrong
    for order in (UNKNOWN_ID, "nonsense", made["number"]):
        answer = await storefront.get(f"orders/{order}?token={token}")
        assert (answer.status, answer.body) == (404, {"error": "order not found"}), order
    for query in ("", "?token="):
        answer = await storefront.get(f"orders/{made['id']}{query}")
        assert (answer.status, answer.body) == (400, {"error": "token is required"}), query


async def test_an_order_token_is_valid_only_for_its_store_and_order(
    storefront: StorefrontClient, other_sample: SampleStore
) -> None:
    made = (await storefront.order((storefront.sample.mug, 1))).body
    other_storefront = await open_storefront(other_sample)
    assert (await other_storefront.get(f"orders/{made['id']}?token={made['token']}")).status == 404
    other = (await storefront.order((storefront.sample.mug, 2))).body
    assert (await storefront.get(f"orders/{other['id']}?token={made['token']}")).status == 404


async def test_the_link_of_a_mail_opens_an_order_placed_elsewhere(storefront: StorefrontClient) -> None:
    legacy = storefront.sample.order.id
    token = order_token(storefront.sample.scope, legacy)
    assert (await storefront.get(f"orders/{legacy}?token={token}")).body["id"] == legacy


# --- Address ---------------------------------------------------------------------------------------------------------------


async def test_an_address_for_a_quote_must_be_completed_before_the_checkout(storefront: StorefrontClient) -> None:
    cart = await storefront.cart((storefront.sample.mug, 1))
    quoted = await storefront.put(f"carts/{cart}/address", {"zipcode": "01001-000"})
    assert (quoted.status, quoted.body["shipping_cents"]) == (200, 1500)
    refused = await storefront.check_out(cart)
    assert error_of(refused) == (422, "shipping_required")
    assert (
        refused.body["error"]["message"] == "Complete o endereço de entrega: informe o nome de quem recebe e a cidade."
    )
    assert refused.body["error"]["details"] == {"fields": {"name": "required", "city": "required"}}
    await storefront.put(f"carts/{cart}/address", {"zipcode": "01001-000", "city": "São Paulo"})
    made = await storefront.check_out(cart, customer_name="Ana Souza")
    assert made.status == 201
    [address] = await storefront.sample.rows(
        "SELECT firstname, lastname FROM order_addresses WHERE kind = 'S' AND order_id = $1", made.body["number"]
    )
    assert tuple(address) == ("Ana", "Souza")


async def test_the_account_is_the_recipient_where_the_address_names_none(storefront: StorefrontClient) -> None:
    caio = storefront.as_customer(storefront.sample.caio)
    cart = await caio.cart((storefront.sample.mug, 1))
    await caio.put(f"carts/{cart}/address", {"zipcode": "01001-000", "city": "São Paulo"})
    made = await caio.check_out(cart, customer_email=None)
    assert made.status == 201
    [order] = await storefront.sample.rows(
        """SELECT a.firstname, u.firstname FROM order_addresses a JOIN orders o ON o.id = a.order_id
        JOIN users u ON u.id = o.user_id WHERE a.kind = 'S' AND o.id = $1""",
        made.body["number"],
    )
    assert order[0] == order[1] != ""


@pytest.mark.parametrize(
    "field,value,code",
    [
        ("name", " ", "required"),
        ("city", "", "required"),
        ("state", "ZZ", "state_invalid"),
        ("phone", "não tenho", "phone_invalid"),
    ],
)
async def test_an_address_that_can_not_be_right_is_refused_at_its_field(
    storefront: StorefrontClient, field: str, value: str, code: str
) -> None:
    cart = await storefront.cart((storefront.sample.mug, 1))
    answer = await storefront.put(f"carts/{cart}/address", ADDRESS | {field: value})
    assert (answer.status, answer.body) == (400, {"error": "validation_failed", "fields": {field: code}})


# --- Customers --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("customer", [{}, {"customer_email": ""}, {"customer_id": None, "customer_email": None}])
async def test_a_customer_is_required(storefront: StorefrontClient, customer: dict[str, Any]) -> None:
    cart = await storefront.cart((storefront.sample.mug, 1))
    answer = await storefront.post(f"carts/{cart}/checkout", {"payment_id": storefront.sample.pix.id, **customer})
    assert (answer.status, answer.body) == (400, {"error": "customer_id or customer_email is required"})


async def test_the_email_of_the_cart_is_sufficient(storefront: StorefrontClient) -> None:
    cart = await storefront.cart((storefront.sample.mug, 1), customer_email="bia@example.com")
    answer = await storefront.check_out(cart, customer_email=None)
    # The e-mail of an account does not link the order to it: the customer is not authenticated.
    assert answer.body["customer"] == {"id": None, "name": "Ana Souza", "email": "bia@example.com"}


async def test_a_customer_id_requires_the_customers_token(storefront: StorefrontClient) -> None:
    caio, bia = storefront.sample.caio, storefront.sample.bia
    cart = await storefront.cart((storefront.sample.mug, 1))
    for user in (None, bia, storefront.sample.owner):
        for customer in (caio.id, UNKNOWN_ID, "nonsense"):
            answer = await storefront.as_customer(user).check_out(cart, customer_id=customer, customer_email=None)
            if user is None:
                assert (answer.status, answer.body["error"]) == (403, "insufficient permissions"), (user, customer)
            assert answer.status == 403, (user, customer)
    answer = await storefront.as_customer(caio).check_out(cart, customer_id=caio.id, customer_email=None)
    assert answer.status == 201
    assert answer.body["customer"] == {"id": caio.id, "name": "Caio Reis", "email": "caio@example.com"}


async def test_a_signed_in_customer_needs_no_customer_id(storefront: StorefrontClient) -> None:
    caio = storefront.as_customer(storefront.sample.caio)
    cart = await caio.cart((storefront.sample.mug, 1))
    made = (await caio.check_out(cart, customer_email=None)).body
    assert made["customer"]["id"] == storefront.sample.caio.id
    own = await caio.get(f"orders/{made['id']}")  # the order token is not needed
    assert (own.status, own.body["customer"]["email"]) == (200, "caio@example.com")
    assert (await storefront.as_customer(storefront.sample.bia).get(f"orders/{made['id']}")).status == 404


async def test_a_server_side_key_may_name_customers_without_reading_them(
    storefront: StorefrontClient,
) -> None:
    server = await open_storefront(storefront.sample, server_side=True)
    caio = storefront.sample.caio
    cart = await server.cart((storefront.sample.mug, 1))
    for customer in (UNKNOWN_ID, "nonsense"):
        answer = await server.check_out(cart, customer_id=customer, customer_email=None)
        assert (answer.status, answer.body) == (
            400,
            {"error": "validation_failed", "fields": {"customer_id": "not_found"}},
        ), customer
    answer = await server.check_out(cart, customer_id=caio.id, customer_email=None)
    assert answer.status == 201
    assert answer.body["customer"] == {"id": caio.id, "name": "", "email": ""}
    shown = await server.get(f"orders/{answer.body['id']}?token={answer.body['token']}")
    for answered in (answer, shown, await server.get(f"carts/{cart}")):
        assert b"caio@example.com" not in answered.raw
        assert b"Reis" not in answered.raw
    own = await storefront.as_customer(caio).get(f"orders/{answer.body['id']}?token={answer.body['token']}")
    assert own.body["customer"]["email"] == "caio@example.com"


async def test_a_disabled_customer_cannot_check_out(storefront: StorefrontClient) -> None:
    server = await open_storefront(storefront.sample, server_side=True)
    await storefront.sample.execute("UPDATE users SET status = 'D' WHERE id = $1", storefront.sample.caio.number)
    cart = await server.cart((storefront.sample.mug, 1))
    answer = await server.check_out(cart, customer_id=storefront.sample.caio.id, customer_email=None)
    assert (answer.status, answer.body["fields"]) == (400, {"customer_id": "not_found"})


@pytest.mark.parametrize(
    "values,fields",
    [
        ({"customer_email": "nonsense"}, {"customer_email": "email_invalid"}),
        ({"customer_email": 5}, {"customer_email": "email_invalid"}),
        ({"customer_name": "x" * 256}, {"customer_name": "name_invalid"}),
        ({"customer_name": []}, {"customer_name": "invalid"}),
        ({"notes": "x" * 5001}, {"notes": "notes_invalid"}),
        ({"notes": {}}, {"notes": "invalid"}),
        ({"payment_id": "nonsense"}, {"payment_id": "invalid"}),
        ({"payment_id": 5}, {"payment_id": "invalid"}),
        ({"payment_id": []}, {"payment_id": "invalid"}),
        ({"payment_id": None}, {"payment_id": "required"}),
        ({"payment_id": ""}, {"payment_id": "required"}),
    ],
)
async def test_invalid_checkout_fields_are_named(
    storefront: StorefrontClient, values: dict[str, Any], fields: dict[str, str]
) -> None:
    cart = await storefront.cart((storefront.sample.mug, 1))
    answer = await storefront.check_out(cart, **values)
    assert (answer.status, answer.body) == (400, {"error": "validation_failed", "fields": fields})
    assert (await storefront.get(f"carts/{cart}")).body["status"] == "open"


# --- Checkout rules -----------------------------------------------------------------------------------------------------


async def test_out_of_stock_names_the_products(storefront: StorefrontClient) -> None:
    scarce = await storefront.sample.add_product(name="Rara", on_hand=2)
    cart = await storefront.cart((scarce, 3), (storefront.sample.mug, 1))
    answer = await storefront.check_out(cart)
    assert error_of(answer) == (422, "out_of_stock")
    assert answer.body["error"] == {
        "code": "out_of_stock",
        "message": "Estoque insuficiente: Rara.",
        "details": {"products": [{"product_id": scarce.id, "name": "Rara", "available": 2}]},
    }
    assert (await storefront.get(f"carts/{cart}")).body["status"] == "open"
    item = (await storefront.get(f"carts/{cart}")).body["items"][0]["id"]
    await storefront.request("PATCH", f"carts/{cart}/items/{item}", {"quantity": 2})
    assert (await storefront.check_out(cart)).status == 201


async def test_physical_products_require_a_shipping_method(storefront: StorefrontClient) -> None:
    cart = await storefront.cart((storefront.sample.mug, 1), ready=False)
    assert error_of(await storefront.check_out(cart)) == (422, "shipping_required")
    assert (await storefront.check_out(cart, payment_id=None)).body.get("fields") == {"payment_id": "required"}
    await storefront.put(f"carts/{cart}/address", ADDRESS)
    assert error_of(await storefront.check_out(cart)) == (422, "shipping_required")
    await storefront.put(f"carts/{cart}/shipping-option", {"shipping_id": storefront.sample.sedex.id})
    await storefront.sample.execute("UPDATE shipping_methods SET status = 'D'")
    assert error_of(await storefront.check_out(cart)) == (422, "shipping_unavailable")
    await storefront.sample.execute("UPDATE shipping_methods SET status = 'A'")
    assert (await storefront.check_out(cart)).status == 201


async def test_physical_products_require_an_address(storefront: StorefrontClient) -> None:
    cart = await storefront.cart((storefront.sample.mug, 1), ready=False)
    await storefront.put(f"carts/{cart}/shipping-option", {"shipping_id": storefront.sample.sedex.id})
    answer = await storefront.check_out(cart)
    assert error_of(answer) == (422, "shipping_required")
    assert answer.body["error"]["message"] == "Informe o endereço de entrega."
    await storefront.put(f"carts/{cart}/address", ADDRESS)
    assert (await storefront.check_out(cart)).status == 201


async def test_a_country_without_a_destination_is_not_delivered_to(storefront: StorefrontClient) -> None:
    sample = storefront.sample
    with active_scope(sample.scope):
        destination = await DESTINATION_RECORDS.create(sample.scope, {"name": "Brasil", "countries": ["BR"]})
    cart = await storefront.cart((sample.mug, 1))
    with active_scope(sample.scope):
        rates = [{"destination": destination, "base_cents": 700}]
        await SHIPPING_METHOD_RECORDS.update(sample.scope, sample.sedex.number, {"rates": rates})
    await storefront.put(f"carts/{cart}/address", {**ADDRESS, "country": "JP", "zipcode": "100-0001"})
    assert error_of(await storefront.check_out(cart)) == (422, "shipping_unavailable")
    await storefront.put(f"carts/{cart}/address", ADDRESS)
    answer = await storefront.check_out(cart)
    assert (answer.status, answer.body["shipping_cents"]) == (201, 700)


async def test_downloadable_products_need_no_shipping_method(storefront: StorefrontClient) -> None:
    cart = await storefront.cart((storefront.sample.ebook, 1), ready=False)
    answer = await storefront.check_out(cart)
    assert (answer.status, answer.body["shipping_cents"]) == (201, 0)


async def test_the_payment_method_must_be_available(storefront: StorefrontClient, other_sample: SampleStore) -> None:
    cart = await storefront.cart((storefront.sample.mug, 1))
    await storefront.sample.execute(
        "UPDATE payment_methods SET status = 'D' WHERE id = $1", storefront.sample.card.number
    )
    for payment in (storefront.sample.card.id, UNKNOWN_ID, other_sample.pix.id):
        assert error_of(await storefront.check_out(cart, payment_id=payment)) == (422, "payment_unavailable")


async def test_an_empty_cart_cannot_be_checked_out(storefront: StorefrontClient) -> None:
    cart = await storefront.cart(ready=False)
    assert error_of(await storefront.check_out(cart)) == (422, "cart_empty")
    assert (await storefront.check_out(cart, payment_id="nonsense")).body["fields"] == {"payment_id": "invalid"}


@pytest.mark.parametrize(
    "change,code",
    [
        ("status = 'D'", "product_unavailable"),
        ("deleted_at = now()", "product_unavailable"),
        ("min_quantity = 3", "quantity_too_small"),
        ("max_quantity = 1", "quantity_too_large"),
    ],
)
async def test_products_must_be_available_in_the_ordered_quantity(
    storefront: StorefrontClient, change: str, code: str
) -> None:
    cart = await storefront.cart((storefront.sample.mug, 2))
    await storefront.sample.execute(f"UPDATE products SET {change} WHERE id = $1", storefront.sample.mug.number)
    answer = await storefront.check_out(cart)
    assert error_of(answer) == (422, code)
    [product] = answer.body["error"]["details"]["products"]
    assert product["product_id"] == storefront.sample.mug.id
    assert "Caneca" in answer.body["error"]["message"]


async def test_a_free_order_needs_no_payment(storefront: StorefrontClient) -> None:
    gift = await storefront.sample.add_product(price_cents=0, is_edp=True)
    answer = await storefront.check_out(await storefront.cart((gift, 1), ready=False), payment_id=None)
    assert (answer.status, answer.body["total_cents"]) == (201, 0)
    assert await storefront.sample.value("SELECT hold_until FROM orders WHERE id = $1", answer.body["number"]) is None


async def test_an_instant_payment_method_pays_the_order(storefront: StorefrontClient) -> None:
    await storefront.sample.execute(
        "UPDATE payment_methods SET settles_at_once = true, surcharge_cents = 100 WHERE id = $1",
        storefront.sample.card.number,
    )
    answer = await storefront.order((storefront.sample.mug, 1), payment_id=storefront.sample.card.id)
    assert (answer.body["status"], answer.body["payment_status"], answer.body["total_cents"]) == (
        "P",
        "paid",
        6590,
    )


# --- Idempotency ------------------------------------------------------------------------------------------------------------------


async def test_a_cart_is_ordered_once(storefront: StorefrontClient) -> None:
    cart = await storefront.cart((storefront.sample.mug, 1))
    assert (await storefront.check_out(cart)).status == 201
    item = (await storefront.get(f"carts/{cart}")).body["items"][0]["id"]
    for method, path, body in (
        ("POST", f"carts/{cart}/items", {"product_id": storefront.sample.mug.id, "quantity": 1}),
        ("PATCH", f"carts/{cart}/items/{item}", {"quantity": 2}),
        ("DELETE", f"carts/{cart}/items/{item}", None),
        ("PUT", f"carts/{cart}/address", ADDRESS),
        ("PUT", f"carts/{cart}/shipping-option", {"shipping_id": storefront.sample.sedex.id}),
        ("POST", f"carts/{cart}/coupon", {"code": ""}),
    ):
        answer = await storefront.request(method, path, body)
        assert (answer.status, answer.body) == (409, {"error": "cart_already_ordered"}), path
    for key in (None, "another"):
        answer = await storefront.check_out(cart, key=key)
        assert (answer.status, answer.body) == (409, {"error": "cart_already_ordered"}), key


async def test_a_checkout_repeated_with_its_idempotency_key_gets_the_same_response(
    storefront: StorefrontClient,
) -> None:
    cart = await storefront.cart((storefront.sample.mug, 1))
    first, again = await storefront.check_out(cart, key="k"), await storefront.check_out(cart, key="k")
    assert (first.status, again.status, again.raw) == (201, 201, first.raw)
    assert again.headers["Idempotent-Replayed"] == "true"
    deleted_claims = await storefront.sample.execute(
        "UPDATE idempotency_claims SET status = NULL, body = NULL WHERE key = 'k'"
    )
    assert deleted_claims == 1
    rendered = await storefront.check_out(cart, key="k")
    assert (rendered.status, rendered.body) == (201, first.body)


async def test_an_idempotency_key_of_another_checkout_is_rejected(storefront: StorefrontClient) -> None:
    cart, other = (
        await storefront.cart((storefront.sample.mug, 1)),
        await storefront.cart((storefront.sample.mug, 1)),
    )
    assert (await storefront.check_out(cart, key="k")).status == 201
    for answer in (
        await storefront.check_out(cart, key="k", notes="x"),
        await storefront.check_out(other, key="k"),
    ):
        assert (answer.status, answer.body) == (422, {"error": REUSED})
    answer = await storefront.post("carts", {}, headers={"Idempotency-Key": "k"})
    assert (answer.status, answer.body) == (422, {"error": "idempotency key reused with a different request"})


async def test_a_rejected_checkout_stores_its_response_under_its_idempotency_key(
    storefront: StorefrontClient,
) -> None:
    cart = await storefront.cart((storefront.sample.mug, 1), ready=False)
    first = await storefront.check_out(cart, key="k")
    assert error_of(first) == (422, "shipping_required")
    await storefront.put(f"carts/{cart}/address", ADDRESS)
    await storefront.put(f"carts/{cart}/shipping-option", {"shipping_id": storefront.sample.sedex.id})
    again = await storefront.check_out(cart, key="k")
    assert (again.status, again.raw, again.headers["Idempotent-Replayed"]) == (422, first.raw, "true")
    assert (await storefront.check_out(cart, key="k2")).status == 201


async def test_a_stored_response_is_not_replayed_to_another_customer(storefront: StorefrontClient) -> None:
    caio = storefront.as_customer(storefront.sample.caio)
    cart = await caio.cart((storefront.sample.mug, 1))
    assert (await caio.check_out(cart, key="k", customer_email=None)).status == 201
    other = await storefront.check_out(cart, key="k", customer_email=None)
    assert "Idempotent-Replayed" not in other.headers
    assert b"caio@example.com" not in other.raw


async def test_the_same_purchase_with_another_idempotency_key_is_a_duplicate(
    storefront: StorefrontClient,
) -> None:
    items = ((storefront.sample.mug, 1), (storefront.sample.plate, 2))
    assert (await storefront.order(*items, key="k1")).status == 201
    twice = await storefront.order(*reversed(items), key="k2")
    assert (twice.status, twice.body) == (409, {"error": "duplicate_order"})
    again = await storefront.order(*items, key="k3", customer_email="bia@example.com")
    assert again.status == 201
    more = await storefront.order((storefront.sample.mug, 2), (storefront.sample.plate, 2), key="k4")
    assert more.status == 201
    unkeyed = await storefront.order(*items)
    assert unkeyed.status == 201
    await storefront.sample.execute(
        "UPDATE carts SET ordered_at = ordered_at - interval '31 seconds' WHERE status = 'ordered'"
    )
    assert (await storefront.order(*items, key="k5")).status == 201


async def test_a_cancelled_order_can_be_placed_again_immediately(storefront: StorefrontClient) -> None:
    made = (await storefront.order((storefront.sample.mug, 1), key="k1")).body
    await storefront.sample.execute("UPDATE orders SET status = 'I', stock_state = 'N' WHERE id = $1", made["number"])
    assert (await storefront.order((storefront.sample.mug, 1), key="k2")).status == 201


# --- Events ----------------------------------------------------------------------------------------------------------


async def test_a_checkout_emits_order_created_and_checkout_completed(storefront: StorefrontClient) -> None:
    cart = await storefront.cart((storefront.sample.mug, 2))
    made = (await storefront.check_out(cart, customer_name="Ana Souza")).body
    events = await storefront.sample.rows(
        "SELECT name, subject_id::text, data::text FROM outbox_events WHERE subject_id IN ($1::uuid, $2::uuid) ORDER BY id",
        cart,
        made["id"],
    )
    assert [event["name"] for event in events] == ["cart.updated", "order.created", "checkout.completed"]
    event_data = orjson.loads(events[-1]["data"])
    assert event_data == {
        "cart_id": cart,
        "order_id": made["id"],
        "total_cents": 11480,
        "currency": "BRL",
        "customer": {"id": None, "name": "Ana Souza", "email": "ana@example.com"},
        "items": made["items"],
        "completed_at": made["created_at"],
    }


async def test_a_rejected_checkout_stores_nothing(storefront: StorefrontClient) -> None:
    scarce = await storefront.sample.add_product(on_hand=1)
    cart = await storefront.cart((scarce, 2))
    counts = "SELECT (SELECT count(*) FROM orders), (SELECT count(*) FROM outbox_events), (SELECT sum(reserved) FROM products)"
    [before] = await storefront.sample.rows(counts)
    assert (await storefront.check_out(cart)).status == 422
    [after] = await storefront.sample.rows(counts)
    assert tuple(before) == tuple(after)


async def test_the_statement_count_of_a_checkout_is_constant(storefront: StorefrontClient) -> None:
    products = [await storefront.sample.add_product() for _ in range(12)]
    many = await storefront.order(*((product, 1) for product in products))
    one = await storefront.order((storefront.sample.plate, 1))
    assert many.statements == one.statements <= 9
