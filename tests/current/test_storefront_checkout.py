"""The checkout of a cart: an order, once, at the server's prices, for the right customer; or a refusal in the contract's words."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from tests.current.fronts import ADDRESS, ORDER, Front, open_front
from tests.shop import NOBODY, Answer, Shop

REUSED = "idempotency key reused with a different checkout session"


def refusal(answer: Answer) -> tuple[int, str]:
    """Give status and code of a refusal in the object form, whose parts are all there."""
    error = answer.body["error"]
    assert set(answer.body) == {"error"}
    assert set(error) == {"code", "message", "details"}
    assert error["message"]
    return answer.status, error["code"]


async def test_a_checkout_answers_the_order_with_its_token(front: Front) -> None:
    cart = await front.cart((front.shop.mug, 2), (front.shop.ebook, 1))
    answer = await front.check_out(cart, customer_name="Ana Maria Souza", notes="Portão azul")
    assert answer.status == 201
    assert set(answer.body) == ORDER | {"token"}
    assert answer.headers["Cache-Control"] == "no-store"
    told = {name: answer.body[name] for name in ORDER - {"id", "number", "created_at", "updated_at"}}
    assert told == {
        "status": "O",
        "total_cents": 12980,
        "subtotal_cents": 11480,
        "shipping_cents": 1500,
        "discount_cents": 0,
        "currency": "BRL",
        "payment_status": "unpaid",
        "tracking_code": None,
        "customer": {"id": None, "name": "Ana Maria Souza", "email": "ana@example.com"},
        "items": [
            {"product_id": front.shop.mug.id, "name": "Caneca de Ágata", "quantity": 2, "price_cents": 4990},
            {
                "product_id": front.shop.ebook.id,
                "name": "Livro de Receitas",
                "quantity": 1,
                "price_cents": 1500,
            },
        ],
    }
    [order] = await front.shop.rows(
        "SELECT *, hold_until - created_at AS held FROM orders WHERE id = $1", answer.body["number"]
    )
    assert (order["origin"], order["user_id"], order["notes"]) == ("storefront", None, "Portão azul")
    assert order["held"].total_seconds() == 4320 * 60
    assert (order["firstname"], order["lastname"], order["phone"]) == ("Ana", "Maria Souza", ADDRESS["phone"])
    [address] = await front.shop.rows(
        "SELECT * FROM order_addresses WHERE order_id = $1 AND kind = 'S'", order["id"]
    )
    assert (address["street"], address["zipcode"], address["firstname"]) == (
        "Rua das Flores",
        "01001000",
        "Ana",
    )
    [mug] = await front.shop.rows(
        "SELECT on_hand, reserved FROM products WHERE id = $1", front.shop.mug.number
    )
    assert mug["reserved"] >= 2
    shown = (await front.get(f"carts/{cart}")).body
    assert (shown["status"], shown["total_cents"]) == ("ordered", 12980)
    assert shown["shipping_option"]["price_cents"] == 1500


async def test_an_order_is_shown_to_who_holds_its_token(front: Front) -> None:
    made = (await front.order((front.shop.mug, 1), customer_name="Ana")).body
    token = made.pop("token")
    shown = await front.get(f"orders/{made['id']}?token={token}")
    assert (shown.status, shown.body) == (200, made)
    assert shown.headers["Cache-Control"] == "no-store"
    other = (await front.order((front.shop.mug, 2))).body
    for wrong in (other["token"], token[:-1], token + "0", "x", token.upper() + "x", "%00", "ção"):
        answer = await front.get(f"orders/{made['id']}", params={"token": wrong})
        assert answer.status in (400, 404), wrong
    for order in (NOBODY, "nonsense", made["number"]):
        answer = await front.get(f"orders/{order}?token={token}")
        assert (answer.status, answer.body) == (404, {"error": "order not found"})
    for query in ("", "?token="):
        answer = await front.get(f"orders/{made['id']}{query}")
        assert (answer.status, answer.body) == (400, {"error": "token is required"})


async def test_a_token_is_good_for_its_store_and_its_order_only(front: Front, other_shop: Shop) -> None:
    made = (await front.order((front.shop.mug, 1))).body
    elsewhere = await open_front(other_shop)
    assert (await elsewhere.get(f"orders/{made['id']}?token={made['token']}")).status == 404
    # An order that was not placed here has no token, even one that is made like a token.
    from domain.carts.placed import order_token

    legacy = front.shop.order.id
    token = order_token(front.shop.scope(), legacy)
    assert (await front.get(f"orders/{legacy}?token={token}")).status == 404


# --- Who buys --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("who", [{}, {"customer_email": ""}, {"customer_id": None, "customer_email": None}])
async def test_somebody_must_buy(front: Front, who: dict[str, Any]) -> None:
    cart = await front.cart((front.shop.mug, 1))
    answer = await front.post(f"carts/{cart}/checkout", {"payment_id": front.shop.pix.id, **who})
    assert (answer.status, answer.body) == (400, {"error": "customer_id or customer_email is required"})


async def test_the_carts_own_email_is_enough(front: Front) -> None:
    cart = await front.cart((front.shop.mug, 1), customer_email="bia@example.com")
    answer = await front.check_out(cart, customer_email=None)
    # The e-mail of an account gives no account: nobody proved to be its holder.
    assert answer.body["customer"] == {"id": None, "name": "Ana Souza", "email": "bia@example.com"}


async def test_a_customer_id_needs_that_customers_own_token(front: Front) -> None:
    caio, bia = front.shop.caio, front.shop.bia
    cart = await front.cart((front.shop.mug, 1))
    for shopper in (None, bia, front.shop.owner):
        for customer in (caio.id, NOBODY, "nonsense"):
            answer = await front.signed_in(shopper).check_out(cart, customer_id=customer, customer_email=None)
            if shopper is None:
                assert (answer.status, answer.body["error"]) == (403, "insufficient permissions")
            assert answer.status == 403
    answer = await front.signed_in(caio).check_out(cart, customer_id=caio.id, customer_email=None)
    assert answer.status == 201
    assert answer.body["customer"] == {"id": caio.id, "name": "Caio Reis", "email": "caio@example.com"}


async def test_who_signed_in_needs_no_customer_id(front: Front) -> None:
    caio = front.signed_in(front.shop.caio)
    cart = await caio.cart((front.shop.mug, 1))
    made = (await caio.check_out(cart, customer_email=None)).body
    assert made["customer"]["id"] == front.shop.caio.id
    own = await caio.get(f"orders/{made['id']}")  # the token of the order is not needed
    assert (own.status, own.body["customer"]["email"]) == (200, "caio@example.com")
    assert (await front.signed_in(front.shop.bia).get(f"orders/{made['id']}")).status == 404


async def test_a_key_kept_on_a_server_may_name_customers_and_learns_nothing_of_them(front: Front) -> None:
    server = await open_front(front.shop, server_side=True)
    caio = front.shop.caio
    cart = await server.cart((front.shop.mug, 1))
    for customer in (NOBODY, "nonsense"):
        answer = await server.check_out(cart, customer_id=customer, customer_email=None)
        assert (answer.status, answer.body) == (
            400,
            {"error": "validation_failed", "fields": {"customer_id": "not_found"}},
        )
    answer = await server.check_out(cart, customer_id=caio.id, customer_email=None)
    assert answer.status == 201
    assert answer.body["customer"] == {"id": caio.id, "name": "", "email": ""}
    shown = await server.get(f"orders/{answer.body['id']}?token={answer.body['token']}")
    for answered in (answer, shown, await server.get(f"carts/{cart}")):
        assert b"caio@example.com" not in answered.raw
        assert b"Reis" not in answered.raw
    own = await front.signed_in(caio).get(f"orders/{answer.body['id']}?token={answer.body['token']}")
    assert own.body["customer"]["email"] == "caio@example.com"


async def test_a_disabled_account_cannot_be_named(front: Front) -> None:
    server = await open_front(front.shop, server_side=True)
    await front.shop.execute("UPDATE users SET status = 'D' WHERE id = $1", front.shop.caio.number)
    cart = await server.cart((front.shop.mug, 1))
    answer = await server.check_out(cart, customer_id=front.shop.caio.id, customer_email=None)
    assert (answer.status, answer.body["fields"]) == (400, {"customer_id": "not_found"})


@pytest.mark.parametrize(
    "given,fields",
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
async def test_a_wrong_checkout_names_its_fields(
    front: Front, given: dict[str, Any], fields: dict[str, str]
) -> None:
    cart = await front.cart((front.shop.mug, 1))
    answer = await front.check_out(cart, **given)
    assert (answer.status, answer.body) == (400, {"error": "validation_failed", "fields": fields})
    assert (await front.get(f"carts/{cart}")).body["status"] == "open"


# --- Rules of the shop -----------------------------------------------------------------------------------------------------


async def test_out_of_stock_names_the_products(front: Front) -> None:
    few = await front.shop.new_product(name="Rara", on_hand=2)
    cart = await front.cart((few, 3), (front.shop.mug, 1))
    answer = await front.check_out(cart)
    assert refusal(answer) == (422, "out_of_stock")
    assert answer.body["error"] == {
        "code": "out_of_stock",
        "message": "Estoque insuficiente: Rara.",
        "details": {"products": [{"product_id": few.id, "name": "Rara", "available": 2}]},
    }
    assert (await front.get(f"carts/{cart}")).body["status"] == "open"
    item = (await front.get(f"carts/{cart}")).body["items"][0]["id"]
    await front.call("PATCH", f"carts/{cart}/items/{item}", {"quantity": 2})
    assert (await front.check_out(cart)).status == 201


async def test_goods_need_a_way_to_travel(front: Front) -> None:
    cart = await front.cart((front.shop.mug, 1), ready=False)
    assert refusal(await front.check_out(cart)) == (422, "shipping_required")
    await front.put(f"carts/{cart}/address", ADDRESS)
    assert refusal(await front.check_out(cart)) == (422, "shipping_required")
    await front.put(f"carts/{cart}/shipping-option", {"shipping_id": front.shop.sedex.id})
    await front.shop.execute("UPDATE shipping_methods SET status = 'D'")
    assert refusal(await front.check_out(cart)) == (422, "shipping_unavailable")
    await front.shop.execute("UPDATE shipping_methods SET status = 'A'")
    assert (await front.check_out(cart)).status == 201


async def test_what_is_downloaded_needs_no_way_to_travel(front: Front) -> None:
    cart = await front.cart((front.shop.ebook, 1), ready=False)
    answer = await front.check_out(cart)
    assert (answer.status, answer.body["shipping_cents"]) == (201, 0)


async def test_a_way_to_pay_must_be_on_offer(front: Front, other_shop: Shop) -> None:
    cart = await front.cart((front.shop.mug, 1))
    await front.shop.execute("UPDATE payment_methods SET status = 'D' WHERE id = $1", front.shop.card.number)
    for payment in (front.shop.card.id, NOBODY, other_shop.pix.id):
        assert refusal(await front.check_out(cart, payment_id=payment)) == (422, "payment_unavailable")


async def test_an_empty_cart_is_no_order(front: Front) -> None:
    assert refusal(await front.check_out(await front.cart(ready=False))) == (422, "cart_empty")


@pytest.mark.parametrize(
    "change,code",
    [
        ("status = 'D'", "product_unavailable"),
        ("deleted_at = now()", "product_unavailable"),
        ("min_quantity = 3", "quantity_too_small"),
        ("max_quantity = 1", "quantity_too_large"),
    ],
)
async def test_products_must_be_for_sale_in_that_number(front: Front, change: str, code: str) -> None:
    cart = await front.cart((front.shop.mug, 2))
    await front.shop.execute(f"UPDATE products SET {change} WHERE id = $1", front.shop.mug.number)
    answer = await front.check_out(cart)
    assert refusal(answer) == (422, code)
    [product] = answer.body["error"]["details"]["products"]
    assert product["product_id"] == front.shop.mug.id
    assert "Caneca" in answer.body["error"]["message"]


async def test_what_costs_nothing_needs_no_payment_and_waits_for_none(front: Front) -> None:
    gift = await front.shop.new_product(price_cents=0, is_edp=True)
    answer = await front.check_out(await front.cart((gift, 1), ready=False), payment_id=None)
    assert (answer.status, answer.body["total_cents"]) == (201, 0)
    assert (
        await front.shop.value("SELECT hold_until FROM orders WHERE id = $1", answer.body["number"]) is None
    )


async def test_a_way_to_pay_that_settles_at_once_pays_the_order(front: Front) -> None:
    await front.shop.execute(
        "UPDATE payment_methods SET settles_at_once = true, surcharge_cents = 100 WHERE id = $1",
        front.shop.card.number,
    )
    answer = await front.order((front.shop.mug, 1), payment_id=front.shop.card.id)
    assert (answer.body["status"], answer.body["payment_status"], answer.body["total_cents"]) == (
        "P",
        "paid",
        6590,
    )


# --- Once ------------------------------------------------------------------------------------------------------------------


async def test_a_cart_is_ordered_once(front: Front) -> None:
    cart = await front.cart((front.shop.mug, 1))
    assert (await front.check_out(cart)).status == 201
    item = (await front.get(f"carts/{cart}")).body["items"][0]["id"]
    for method, path, body in (
        ("POST", f"carts/{cart}/items", {"product_id": front.shop.mug.id, "quantity": 1}),
        ("PATCH", f"carts/{cart}/items/{item}", {"quantity": 2}),
        ("DELETE", f"carts/{cart}/items/{item}", None),
        ("PUT", f"carts/{cart}/address", ADDRESS),
        ("PUT", f"carts/{cart}/shipping-option", {"shipping_id": front.shop.sedex.id}),
        ("POST", f"carts/{cart}/coupon", {"code": ""}),
    ):
        answer = await front.call(method, path, body)
        assert (answer.status, answer.body) == (409, {"error": "cart_already_ordered"}), path
    for key in (None, "another"):
        answer = await front.check_out(cart, key=key)
        assert (answer.status, answer.body) == (409, {"error": "cart_already_ordered"})


async def test_a_checkout_sent_again_with_its_key_is_answered_again(front: Front) -> None:
    cart = await front.cart((front.shop.mug, 1))
    first, again = await front.check_out(cart, key="k"), await front.check_out(cart, key="k")
    assert (first.status, again.status, again.raw) == (201, 201, first.raw)
    assert again.headers["Idempotent-Replayed"] == "true"
    lost = await front.shop.execute(
        "UPDATE idempotency_claims SET status = NULL, body = NULL WHERE key = 'k'"
    )
    assert lost == 1
    rendered = await front.check_out(cart, key="k")
    assert (rendered.status, rendered.body) == (201, first.body)


async def test_a_key_of_another_checkout_is_refused(front: Front) -> None:
    cart, other = await front.cart((front.shop.mug, 1)), await front.cart((front.shop.mug, 1))
    assert (await front.check_out(cart, key="k")).status == 201
    for answer in (await front.check_out(cart, key="k", notes="x"), await front.check_out(other, key="k")):
        assert (answer.status, answer.body) == (422, {"error": REUSED})
    answer = await front.post("carts", {}, headers={"Idempotency-Key": "k"})
    assert (answer.status, answer.body) == (422, {"error": "idempotency key reused with a different request"})


async def test_a_refused_checkout_keeps_its_answer_for_its_key(front: Front) -> None:
    cart = await front.cart((front.shop.mug, 1), ready=False)
    first = await front.check_out(cart, key="k")
    assert refusal(first) == (422, "shipping_required")
    await front.put(f"carts/{cart}/address", ADDRESS)
    await front.put(f"carts/{cart}/shipping-option", {"shipping_id": front.shop.sedex.id})
    again = await front.check_out(cart, key="k")
    assert (again.status, again.raw, again.headers["Idempotent-Replayed"]) == (422, first.raw, "true")
    assert (await front.check_out(cart, key="k2")).status == 201


async def test_what_is_kept_for_a_shopper_is_not_for_others_with_the_key(front: Front) -> None:
    caio = front.signed_in(front.shop.caio)
    cart = await caio.cart((front.shop.mug, 1))
    assert (await caio.check_out(cart, key="k", customer_email=None)).status == 201
    other = await front.check_out(cart, key="k", customer_email=None)
    assert "Idempotent-Replayed" not in other.headers
    assert b"caio@example.com" not in other.raw


async def test_the_same_purchase_under_another_key_is_a_duplicate(front: Front) -> None:
    items = ((front.shop.mug, 1), (front.shop.plate, 2))
    assert (await front.order(*items, key="k1")).status == 201
    twice = await front.order(*reversed(items), key="k2")
    assert (twice.status, twice.body) == (409, {"error": "duplicate_order"})
    again = await front.order(*items, key="k3", customer_email="bia@example.com")
    assert again.status == 201
    more = await front.order((front.shop.mug, 2), (front.shop.plate, 2), key="k4")
    assert more.status == 201
    unkeyed = await front.order(*items)
    assert unkeyed.status == 201
    await front.shop.execute(
        "UPDATE carts SET ordered_at = ordered_at - interval '31 seconds' WHERE status = 'ordered'"
    )
    assert (await front.order(*items, key="k5")).status == 201


async def test_what_was_called_off_may_be_ordered_again_at_once(front: Front) -> None:
    made = (await front.order((front.shop.mug, 1), key="k1")).body
    await front.shop.execute(
        "UPDATE orders SET status = 'I', stock_state = 'N' WHERE id = $1", made["number"]
    )
    assert (await front.order((front.shop.mug, 1), key="k2")).status == 201


# --- What is told ----------------------------------------------------------------------------------------------------------


async def test_a_checkout_tells_of_the_order_and_of_itself(front: Front) -> None:
    cart = await front.cart((front.shop.mug, 2))
    made = (await front.check_out(cart, customer_name="Ana Souza")).body
    found = await front.shop.rows(
        "SELECT name, subject_id::text, data::text FROM outbox_events WHERE subject_id IN ($1::uuid, $2::uuid) ORDER BY id",
        cart,
        made["id"],
    )
    assert [event["name"] for event in found] == ["cart.updated", "order.created", "checkout.completed"]
    told = orjson.loads(found[-1]["data"])
    assert told == {
        "cart_id": cart,
        "order_id": made["id"],
        "total_cents": 11480,
        "currency": "BRL",
        "customer": {"id": None, "name": "Ana Souza", "email": "ana@example.com"},
        "items": made["items"],
        "completed_at": made["created_at"],
    }


async def test_a_refused_checkout_leaves_nothing(front: Front) -> None:
    few = await front.shop.new_product(on_hand=1)
    cart = await front.cart((few, 2))
    counts = "SELECT (SELECT count(*) FROM orders), (SELECT count(*) FROM outbox_events), (SELECT sum(reserved) FROM products)"
    [before] = await front.shop.rows(counts)
    assert (await front.check_out(cart)).status == 422
    [after] = await front.shop.rows(counts)
    assert tuple(before) == tuple(after)


async def test_a_checkout_takes_few_statements_however_much_is_bought(front: Front) -> None:
    products = [await front.shop.new_product() for _ in range(12)]
    many = await front.order(*((product, 1) for product in products))
    one = await front.order((front.shop.plate, 1))
    assert many.statements == one.statements <= 24
