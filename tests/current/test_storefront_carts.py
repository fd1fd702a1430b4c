"""Carts of headless storefronts: put together, added up by the server, closed in time."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from domain.jobs import expire_carts
from tests.current.fronts import ADDRESS, CART, Front, open_front
from tests.shop import NOBODY, Shop


async def test_a_new_cart_is_empty_open_and_unguessable(front: Front) -> None:
    bodies: list[Any] = [{}, None, {"items": [], "customer_email": None}]
    for body in bodies:
        answer = await front.post("carts", body)
        assert answer.status == 201
        assert set(answer.body) == CART
        assert UUID(answer.body["id"]).version == 4
        assert answer.headers["Cache-Control"] == "no-store"
        told = {name: answer.body[name] for name in CART - {"id", "updated_at", "expires_at"}}
        assert told == {
            "status": "open",
            "currency": "BRL",
            "items": [],
            "customer_email": None,
            "address": None,
            "shipping_option": None,
            "coupon_code": None,
            "subtotal_cents": 0,
            "discount_cents": 0,
            "shipping_cents": 0,
            "total_cents": 0,
        }
        assert (await front.get(f"carts/{answer.body['id']}")).body == answer.body


async def test_a_cart_may_begin_with_items_and_an_email(front: Front) -> None:
    mug, plate = front.shop.mug, front.shop.plate
    answer = await front.post(
        "carts",
        {
            "customer_email": " Ana@Example.com ",
            "items": [
                {"product_id": mug.id, "quantity": 2},
                {"product_id": plate.id, "quantity": 1, "options": {}},
                {"product_id": mug.id, "quantity": 1, "options": []},
            ],
        },
    )
    assert answer.status == 201
    assert answer.body["customer_email"] == "ana@example.com"
    items = [{name: item[name] for name in item if name != "id"} for item in answer.body["items"]]
    assert items == [
        {
            "product_id": mug.id,
            "name": "Caneca de Ágata",
            "quantity": 3,
            "price_cents": 4990,
            "total_cents": 14970,
            "options": {},
        },
        {
            "product_id": plate.id,
            "name": "Prato Raso",
            "quantity": 1,
            "price_cents": 2500,
            "total_cents": 2500,
            "options": {},
        },
    ]
    assert (answer.body["subtotal_cents"], answer.body["total_cents"]) == (17470, 17470)


async def test_items_are_added_changed_and_taken_out(front: Front) -> None:
    mug = front.shop.mug
    cart = await front.cart(ready=False)
    added = await front.post(f"carts/{cart}/items", {"product_id": mug.id, "quantity": 1})
    assert added.status == 201
    again = await front.post(f"carts/{cart}/items", {"product_id": mug.id, "quantity": 2})
    [item] = again.body["items"]
    assert (item["quantity"], again.body["total_cents"]) == (3, 14970)
    changed = await front.call("PATCH", f"carts/{cart}/items/{item['id']}", {"quantity": 5})
    assert (changed.status, changed.body["items"][0]["quantity"], changed.body["total_cents"]) == (
        200,
        5,
        24950,
    )
    left = await front.call("DELETE", f"carts/{cart}/items/{item['id']}")
    assert (left.status, left.body["items"], left.body["total_cents"]) == (200, [], 0)
    gone = await front.call("DELETE", f"carts/{cart}/items/{item['id']}")
    assert (gone.status, gone.body) == (404, {"error": "item not found"})


@pytest.mark.parametrize(
    "given,fields",
    [
        ({}, {"product_id": "required"}),
        ({"product_id": None, "quantity": 1}, {"product_id": "required"}),
        ({"quantity": 1}, {"product_id": "required"}),
        ({"product_id": "{mug}"}, {"quantity": "required"}),
        ({"product_id": "{mug}", "quantity": None}, {"quantity": "required"}),
        ({"product_id": "{mug}", "quantity": 0}, {"quantity": "quantity_invalid"}),
        ({"product_id": "{mug}", "quantity": -1}, {"quantity": "quantity_invalid"}),
        ({"product_id": "{mug}", "quantity": 1.5}, {"quantity": "quantity_invalid"}),
        ({"product_id": "{mug}", "quantity": "two"}, {"quantity": "quantity_invalid"}),
        ({"product_id": "{mug}", "quantity": True}, {"quantity": "quantity_invalid"}),
        ({"product_id": "{mug}", "quantity": 10**9 + 1}, {"quantity": "quantity_invalid"}),
        ({"product_id": "{mug}", "quantity": 2**63 - 1}, {"quantity": "quantity_invalid"}),
        ({"product_id": NOBODY, "quantity": 1}, {"product_id": "not_found"}),
        ({"product_id": "nonsense", "quantity": 1}, {"product_id": "not_found"}),
        ({"product_id": 5, "quantity": 1}, {"product_id": "not_found"}),
        ({"product_id": [], "quantity": 1}, {"product_id": "invalid"}),
        ({"product_id": "{secret}", "quantity": 1}, {"product_id": "not_found"}),
        ({"product_id": "{mug}", "quantity": 1, "options": {"1": "2"}}, {"options": "not_found"}),
        ({"product_id": "{mug}", "quantity": 1, "options": [1]}, {"options": "options_invalid"}),
        ({"product_id": "{mug}", "quantity": 1, "options": "L"}, {"options": "options_invalid"}),
    ],
)
async def test_a_wrong_item_names_its_fields(
    front: Front, given: dict[str, Any], fields: dict[str, str]
) -> None:
    for name in ("mug", "secret"):
        if given.get("product_id") == f"{{{name}}}":
            given = given | {"product_id": getattr(front.shop, name).id}
    cart = await front.cart((front.shop.plate, 1), ready=False)
    answer = await front.post(f"carts/{cart}/items", given)
    assert (answer.status, answer.body) == (400, {"error": "validation_failed", "fields": fields})
    new = await front.post("carts", {"items": [given]})
    named = {f"items.{name}": code for name, code in fields.items()}
    assert (new.status, new.body) == (400, {"error": "validation_failed", "fields": named})
    if "quantity" in fields:
        item = (await front.get(f"carts/{cart}")).body["items"][0]["id"]
        patched = await front.call("PATCH", f"carts/{cart}/items/{item}", given)
        assert (patched.status, patched.body["fields"]) == (400, fields)
    assert (await front.get(f"carts/{cart}")).body["subtotal_cents"] == 2500


@pytest.mark.parametrize("items", ["x", 5, {"product_id": NOBODY}, [5], ["x"], [None], [[]]])
async def test_items_that_are_no_list_of_items_are_400(front: Front, items: Any) -> None:
    answer = await front.post("carts", {"items": items})
    assert answer.status == 400
    assert answer.body["error"] == "validation_failed"


@pytest.mark.parametrize("email", ["nonsense", "a@", 5, [], "x" * 300 + "@example.com", "a\nb@example.com"])
async def test_a_wrong_email_is_400(front: Front, email: Any) -> None:
    answer = await front.post("carts", {"customer_email": email})
    assert (answer.status, answer.body["fields"]) == (400, {"customer_email": "email_invalid"})


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"[]", b'"x"', b'{"a": "\\u0000"}', b'{"a": ' + b"9" * 400 + b"}", b"\xff", b"[" * 70]
)
async def test_a_body_that_cannot_be_read_is_400(front: Front, raw: bytes) -> None:
    cart = await front.cart(ready=False)
    paths = [f"carts/{cart}/{what}" for what in ("items", "coupon", "checkout")]
    for method, path in [("POST", path) for path in paths] + [("PUT", f"carts/{cart}/address")]:
        answer = await front.call(method, path, data=raw, headers={"Content-Type": "application/json"})
        assert (answer.status, answer.body["error"]) == (400, "invalid request body"), path


async def test_what_a_cart_holds_has_an_end(front: Front) -> None:
    cart = await front.cart(ready=False)
    most = {"product_id": front.shop.mug.id, "quantity": 10**9}
    assert (await front.post(f"carts/{cart}/items", most)).status == 201
    answer = await front.post(f"carts/{cart}/items", {**most, "quantity": 1})
    assert (answer.status, answer.body["fields"]) == (400, {"quantity": "quantity_invalid"})
    dear = await front.shop.new_product(price_cents=10**15, vendor_id=None)
    answer = await front.post(f"carts/{cart}/items", {"product_id": dear.id, "quantity": 1000})
    assert (answer.status, answer.body["fields"]) == (400, {"total_cents": "total_too_large"})
    many = [{"product_id": front.shop.mug.id, "quantity": 1}] * 201
    answer = await front.post("carts", {"items": many})
    assert (answer.status, answer.body["fields"]) == (400, {"items": "too_many"})


async def test_prices_are_todays(front: Front) -> None:
    cart = await front.cart((front.shop.mug, 2), ready=False)
    await front.shop.execute(
        "UPDATE products SET price_cents = 100, name = 'Xícara' WHERE id = $1", front.shop.mug.number
    )
    shown = (await front.get(f"carts/{cart}")).body
    assert (shown["items"][0]["name"], shown["items"][0]["price_cents"], shown["total_cents"]) == (
        "Xícara",
        100,
        200,
    )


async def test_a_product_that_went_away_is_shown_as_it_was(front: Front) -> None:
    cart = await front.cart((front.shop.mug, 2), ready=False)
    await front.shop.execute("UPDATE products SET deleted_at = now() WHERE id = $1", front.shop.mug.number)
    shown = (await front.get(f"carts/{cart}")).body
    assert (shown["items"][0]["name"], shown["subtotal_cents"]) == ("Caneca de Ágata", 9980)
    taken_out = await front.call("DELETE", f"carts/{cart}/items/{shown['items'][0]['id']}")
    assert taken_out.body["items"] == []


# --- Where it goes, how it travels ---------------------------------------------------------------------------------------


async def test_the_address_is_kept_whole(front: Front) -> None:
    cart = await front.cart(ready=False)
    answer = await front.put(f"carts/{cart}/address", ADDRESS | {"who": "cares"})
    assert answer.status == 200
    assert answer.body["address"] == ADDRESS | {"zipcode": "01001000"}
    again = await front.put(f"carts/{cart}/address", {"zipcode": "20040002"})
    blank = dict.fromkeys(ADDRESS, "")
    assert again.body["address"] == blank | {"zipcode": "20040002", "country": "BR"}
    abroad = await front.put(f"carts/{cart}/address", {"zipcode": "SW1A 1AA", "country": "gb"})
    assert (abroad.body["address"]["zipcode"], abroad.body["address"]["country"]) == ("SW1A 1AA", "GB")


@pytest.mark.parametrize(
    "given,fields",
    [
        ({}, {"zipcode": "required"}),
        ({"zipcode": " "}, {"zipcode": "required"}),
        ({"zipcode": "123"}, {"zipcode": "zipcode_invalid"}),
        ({"zipcode": 1001000}, {"zipcode": "zipcode_invalid"}),
        ({"zipcode": "01001000", "country": "Brasil"}, {"country": "country_invalid"}),
        ({"zipcode": "01001000", "country": "B1"}, {"country": "country_invalid"}),
        ({"zipcode": "01001000", "street": ["x"]}, {"street": "invalid"}),
        ({"zipcode": "01001000", "name": "x" * 256}, {"name": "invalid"}),
    ],
)
async def test_a_wrong_address_names_its_fields(
    front: Front, given: dict[str, Any], fields: dict[str, str]
) -> None:
    cart = await front.cart(ready=False)
    answer = await front.put(f"carts/{cart}/address", given)
    if isinstance(given.get("zipcode"), int):
        assert answer.status == 400
    else:
        assert (answer.status, answer.body) == (400, {"error": "validation_failed", "fields": fields})
    assert (await front.get(f"carts/{cart}")).body["address"] is None


async def test_shipping_options_are_quoted_and_chosen(front: Front) -> None:
    cart = await front.cart((front.shop.mug, 1), ready=False)
    await front.put(f"carts/{cart}/address", ADDRESS)
    answer = await front.get(f"carts/{cart}/shipping-options")
    sedex = {
        "shipping_id": front.shop.sedex.id,
        "name": "Sedex",
        "price_cents": 1500,
        "delivery_time": "3 dias",
    }
    assert (answer.status, answer.body) == (200, {"shipping_options": [sedex]})
    chosen = await front.put(f"carts/{cart}/shipping-option", {"shipping_id": front.shop.sedex.id})
    assert chosen.status == 200
    assert chosen.body["shipping_option"] == sedex
    assert (chosen.body["shipping_cents"], chosen.body["total_cents"]) == (1500, 6490)


async def test_what_is_downloaded_needs_no_shipping(front: Front) -> None:
    cart = await front.cart((front.shop.ebook, 1), ready=False)
    assert (await front.get(f"carts/{cart}/shipping-options")).body == {"shipping_options": []}
    answer = await front.put(f"carts/{cart}/shipping-option", {"shipping_id": front.shop.sedex.id})
    assert (answer.status, answer.body["error"]) == (422, "shipping_unavailable")


async def test_a_way_that_is_not_offered_cannot_be_chosen(front: Front, other_shop: Shop) -> None:
    cart = await front.cart((front.shop.mug, 1), ready=False)
    for shipping in (NOBODY, "nonsense", 5, other_shop.sedex.id):
        answer = await front.put(f"carts/{cart}/shipping-option", {"shipping_id": shipping})
        assert (answer.status, answer.body["error"]) == (422, "shipping_unavailable")
        assert answer.body["message"]
    for body in ({}, {"shipping_id": None}, {"shipping_id": ""}):
        answer = await front.put(f"carts/{cart}/shipping-option", body)
        assert (answer.status, answer.body["fields"]) == (400, {"shipping_id": "required"})
    answer = await front.put(f"carts/{cart}/shipping-option", {"shipping_id": {}})
    assert answer.status == 400


async def test_a_way_that_is_not_offered_any_more_is_not_charged(front: Front) -> None:
    cart = await front.cart((front.shop.mug, 1))
    await front.shop.execute("UPDATE shipping_methods SET status = 'D'")
    shown = (await front.get(f"carts/{cart}")).body
    assert (shown["shipping_option"], shown["shipping_cents"], shown["total_cents"]) == (None, 0, 4990)


# --- Coupons ---------------------------------------------------------------------------------------------------------------


async def test_a_coupon_that_is_none_is_refused_and_not_kept(front: Front) -> None:
    cart = await front.cart((front.shop.mug, 1))
    answer = await front.post(f"carts/{cart}/coupon", {"code": "NADA"})
    assert (answer.status, answer.body["error"]) == (422, "coupon_unavailable")
    assert (await front.get(f"carts/{cart}")).body["coupon_code"] is None


@pytest.mark.parametrize("code", ["", "  ", None])
async def test_an_empty_code_takes_the_coupon_off(front: Front, code: Any) -> None:
    cart = await front.cart((front.shop.mug, 1))
    answer = await front.post(f"carts/{cart}/coupon", {"code": code})
    assert (answer.status, answer.body["coupon_code"]) == (200, None)


@pytest.mark.parametrize(
    "body,code",
    [
        ({}, "required"),
        ({"code": 5}, "code_invalid"),
        ({"code": []}, "code_invalid"),
        ({"code": "x" * 65}, "code_invalid"),
    ],
)
async def test_a_wrong_code_is_400(front: Front, body: Any, code: str) -> None:
    cart = await front.cart((front.shop.mug, 1), ready=False)
    answer = await front.post(f"carts/{cart}/coupon", body)
    assert (answer.status, answer.body["fields"]) == (400, {"code": code})


# --- Whose it is, and how long ---------------------------------------------------------------------------------------------


async def test_no_such_cart_is_404(front: Front, other_shop: Shop) -> None:
    elsewhere = await (await open_front(other_shop)).cart(ready=False)
    for cart in (NOBODY, "nonsense", "1", elsewhere):
        calls = [
            ("GET", f"carts/{cart}", None),
            ("POST", f"carts/{cart}/items", {"product_id": front.shop.mug.id, "quantity": 1}),
            ("PATCH", f"carts/{cart}/items/{NOBODY}", {"quantity": 1}),
            ("DELETE", f"carts/{cart}/items/{NOBODY}", None),
            ("PUT", f"carts/{cart}/address", ADDRESS),
            ("GET", f"carts/{cart}/shipping-options", None),
            ("PUT", f"carts/{cart}/shipping-option", {"shipping_id": front.shop.sedex.id}),
            ("POST", f"carts/{cart}/coupon", {"code": "X"}),
            (
                "POST",
                f"carts/{cart}/checkout",
                {"customer_email": "a@example.com", "payment_id": front.shop.pix.id},
            ),
        ]
        for method, path, body in calls:
            answer = await front.call(method, path, body)
            assert (answer.status, answer.body) == (404, {"error": "cart not found"}), (method, path)


async def test_no_such_item_is_404(front: Front) -> None:
    cart, other = await front.cart((front.shop.mug, 1)), await front.cart((front.shop.mug, 1))
    elsewhere = (await front.get(f"carts/{other}")).body["items"][0]["id"]
    for item in (NOBODY, "nonsense", "1", elsewhere):
        for method, body in (("PATCH", {"quantity": 1}), ("DELETE", None)):
            answer = await front.call(method, f"carts/{cart}/items/{item}", body)
            assert (answer.status, answer.body) == (404, {"error": "item not found"})
    assert (await front.get(f"carts/{other}")).body["items"][0]["quantity"] == 1


async def test_a_customers_cart_is_not_for_other_customers(front: Front) -> None:
    caio, bia = front.signed_in(front.shop.caio), front.signed_in(front.shop.bia)
    cart = await caio.cart((front.shop.mug, 1), ready=False)
    assert (await bia.get(f"carts/{cart}")).status == 404
    assert (
        await bia.post(f"carts/{cart}/items", {"product_id": front.shop.mug.id, "quantity": 1})
    ).status == 404
    shown = await front.get(f"carts/{cart}")  # whoever knows the id, without saying who they are
    assert (shown.status, shown.body["customer_email"]) == (200, None)
    assert "caio" not in shown.raw.decode()


async def test_a_guests_cart_becomes_the_customers_who_signs_in_and_changes_it(front: Front) -> None:
    cart = await front.cart(ready=False)
    caio, bia = front.signed_in(front.shop.caio), front.signed_in(front.shop.bia)
    assert (await bia.get(f"carts/{cart}")).status == 200
    await caio.post(f"carts/{cart}/items", {"product_id": front.shop.mug.id, "quantity": 1})
    assert (await bia.get(f"carts/{cart}")).status == 404
    assert await front.shop.value("SELECT user_id FROM carts") == front.shop.caio.number


def moment(text: str) -> datetime:
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%S%z")


async def test_each_change_moves_the_end_away(front: Front) -> None:
    cart = await front.cart(ready=False)
    made = (await front.get(f"carts/{cart}")).body
    assert moment(made["expires_at"]) - moment(made["updated_at"]) == timedelta(days=14)
    await front.shop.execute(
        "UPDATE carts SET expires_at = now() + interval '1 minute', updated_at = now() - interval '1 day'"
    )
    before = (await front.get(f"carts/{cart}")).body
    after = (await front.post(f"carts/{cart}/items", {"product_id": front.shop.mug.id, "quantity": 1})).body
    assert moment(after["expires_at"]) - moment(before["expires_at"]) > timedelta(days=13)
    assert moment(after["updated_at"]) > moment(before["updated_at"])


async def test_the_store_says_how_long_carts_live(new_shop: Any) -> None:
    front = await open_front(await new_shop(cart_days=2))
    made = (await front.post("carts", {})).body
    assert moment(made["expires_at"]) - moment(made["updated_at"]) == timedelta(days=2)


@pytest.mark.parametrize("by_job", [False, True])
async def test_an_expired_cart_is_shown_and_not_changed(front: Front, by_job: bool) -> None:
    cart, alive = await front.cart((front.shop.mug, 1)), await front.cart((front.shop.mug, 1))
    await front.shop.execute(
        "UPDATE carts SET expires_at = now() - interval '1 second' WHERE public_id = $1", UUID(cart)
    )
    if by_job:
        await expire_carts(front.shop.scope())
    shown = (await front.get(f"carts/{cart}")).body
    assert (shown["status"], shown["total_cents"], len(shown["items"])) == ("expired", 6490, 1)
    item = f"carts/{cart}/items/{shown['items'][0]['id']}"
    for method, path, body in (
        ("POST", f"carts/{cart}/items", {"product_id": front.shop.mug.id, "quantity": 1}),
        ("PATCH", item, {"quantity": 2}),
        ("DELETE", item, None),
        ("PUT", f"carts/{cart}/address", ADDRESS),
        ("PUT", f"carts/{cart}/shipping-option", {"shipping_id": front.shop.sedex.id}),
        ("POST", f"carts/{cart}/coupon", {"code": ""}),
    ):
        answer = await front.call(method, path, body)
        assert (answer.status, answer.body) == (
            422,
            {"error": "cart_expired", "message": "O carrinho expirou."},
        )
    refused = await front.check_out(cart)
    assert refused.status == 422
    assert refused.body == {
        "error": {"code": "cart_expired", "message": "O carrinho expirou.", "details": {}}
    }
    assert (await front.get(f"carts/{alive}")).body["status"] == "open"


async def test_a_cart_takes_few_statements_however_much_it_holds(front: Front) -> None:
    products = [await front.shop.new_product() for _ in range(12)]
    cart = await front.cart(*((product, 1) for product in products))
    few = await front.cart((front.shop.plate, 1))
    shown, little = await front.get(f"carts/{cart}"), await front.get(f"carts/{few}")
    assert shown.statements == little.statements <= 8
    change = {"product_id": front.shop.mug.id, "quantity": 1}
    added = await front.post(f"carts/{cart}/items", change)
    assert added.statements == (await front.post(f"carts/{few}/items", change)).statements <= 24
