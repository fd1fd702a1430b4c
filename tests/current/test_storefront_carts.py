"""Carts of headless storefronts: items, totals, shipping, coupons, expiry (docs/reference/current.md#carts)."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from domain.jobs import expire_carts
from tests.harness.records import UNKNOWN_ID
from tests.harness.sample_store import SampleStore
from tests.harness.storefront import ADDRESS, CART, StorefrontClient, open_storefront


async def test_a_new_cart_is_empty_and_open_with_a_random_id(storefront: StorefrontClient) -> None:
    bodies: list[Any] = [{}, None, {"items": [], "customer_email": None}]
    for body in bodies:
        answer = await storefront.post("carts", body)
        assert answer.status == 201, body
        assert set(answer.body) == CART, body
        assert UUID(answer.body["id"]).version == 4, body
        assert answer.headers["Cache-Control"] == "no-store", body
        values = {name: answer.body[name] for name in CART - {"id", "updated_at", "expires_at"}}
        assert values == {
            "status": "open",
            "currency": "BRL",
            "items": [],
            "customer_email": None,
            "address": None,
            "shipping_option": None,
            "coupon_code": None,
            "points_to_use": 0,
            "points_cents": 0,
            "points_earned": 0,
            "subtotal_cents": 0,
            "discount_cents": 0,
            "shipping_cents": 0,
            "total_cents": 0,
        }, body
        assert (await storefront.get(f"carts/{answer.body['id']}")).body == answer.body, body


async def test_a_cart_can_be_created_with_items_and_an_email(storefront: StorefrontClient) -> None:
    mug, plate = storefront.sample.mug, storefront.sample.plate
    answer = await storefront.post(
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


async def test_items_are_added_updated_and_removed(storefront: StorefrontClient) -> None:
    mug = storefront.sample.mug
    cart = await storefront.cart(ready=False)
    added = await storefront.post(f"carts/{cart}/items", {"product_id": mug.id, "quantity": 1})
    assert added.status == 201
    again = await storefront.post(f"carts/{cart}/items", {"product_id": mug.id, "quantity": 2})
    [item] = again.body["items"]
    assert (item["quantity"], again.body["total_cents"]) == (3, 14970)
    changed = await storefront.request("PATCH", f"carts/{cart}/items/{item['id']}", {"quantity": 5})
    assert (changed.status, changed.body["items"][0]["quantity"], changed.body["total_cents"]) == (
        200,
        5,
        24950,
    )
    left = await storefront.request("DELETE", f"carts/{cart}/items/{item['id']}")
    assert (left.status, left.body["items"], left.body["total_cents"]) == (200, [], 0)
    gone = await storefront.request("DELETE", f"carts/{cart}/items/{item['id']}")
    assert (gone.status, gone.body) == (404, {"error": "item not found"})


@pytest.mark.parametrize(
    "item_fields,fields",
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
        ({"product_id": [], "quantity": 1}, {"product_id": "invalid"}),
        ({"product_id": "{mug}", "quantity": 1, "options": {"1": "2"}}, {"options": "not_found"}),
        ({"product_id": "{mug}", "quantity": 1, "options": [1]}, {"options": "options_invalid"}),
        ({"product_id": "{mug}", "quantity": 1, "options": "L"}, {"options": "options_invalid"}),
    ],
)
async def test_invalid_item_fields_are_named(
    storefront: StorefrontClient, item_fields: dict[str, Any], fields: dict[str, str]
) -> None:
    for name in ("mug", "secret"):
        if item_fields.get("product_id") == f"{{{name}}}":
            item_fields = item_fields | {"product_id": getattr(storefront.sample, name).id}
    cart = await storefront.cart((storefront.sample.plate, 1), ready=False)
    answer = await storefront.post(f"carts/{cart}/items", item_fields)
    assert (answer.status, answer.body) == (400, {"error": "validation_failed", "fields": fields})
    new = await storefront.post("carts", {"items": [item_fields]})
    prefixed = {f"items.{name}": code for name, code in fields.items()}
    assert (new.status, new.body) == (400, {"error": "validation_failed", "fields": prefixed})
    if "quantity" in fields:
        item = (await storefront.get(f"carts/{cart}")).body["items"][0]["id"]
        patched = await storefront.request("PATCH", f"carts/{cart}/items/{item}", item_fields)
        assert (patched.status, patched.body["fields"]) == (400, fields)
    assert (await storefront.get(f"carts/{cart}")).body["subtotal_cents"] == 2500


@pytest.mark.parametrize("product", [UNKNOWN_ID, "nonsense", 5, "{secret}"])
async def test_an_absent_product_is_not_found(storefront: StorefrontClient, product: Any) -> None:
    await storefront.sample.execute("UPDATE products SET status = 'D' WHERE slug = 'vaso'")
    item = {"product_id": storefront.sample.secret.id if product == "{secret}" else product, "quantity": 1}
    cart = await storefront.cart((storefront.sample.plate, 1), ready=False)
    for path, body in ((f"carts/{cart}/items", item), ("carts", {"items": [item]})):
        answer = await storefront.post(path, body)
        assert (answer.status, answer.body) == (404, {"error": "product not found"}), (path, body)
    assert len((await storefront.get(f"carts/{cart}")).body["items"]) == 1


@pytest.mark.parametrize("items", ["x", 5, {"product_id": UNKNOWN_ID}, [5], ["x"], [None], [[]]])
async def test_items_that_are_not_a_list_of_items_are_400(storefront: StorefrontClient, items: Any) -> None:
    answer = await storefront.post("carts", {"items": items})
    assert answer.status == 400
    assert answer.body["error"] == "validation_failed"


@pytest.mark.parametrize("email", ["nonsense", "a@", 5, [], "x" * 300 + "@example.com", "a\nb@example.com"])
async def test_an_invalid_email_is_400(storefront: StorefrontClient, email: Any) -> None:
    answer = await storefront.post("carts", {"customer_email": email})
    assert (answer.status, answer.body["fields"]) == (400, {"customer_email": "email_invalid"})


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"[]", b'"x"', b'{"a": "\\u0000"}', b'{"a": ' + b"9" * 400 + b"}", b"\xff", b"[" * 70]
)
async def test_an_unreadable_body_is_400(storefront: StorefrontClient, raw: bytes) -> None:
    cart = await storefront.cart(ready=False)
    paths = [f"carts/{cart}/{part}" for part in ("items", "coupon", "checkout")]
    for method, path in [("POST", path) for path in paths] + [("PUT", f"carts/{cart}/address")]:
        answer = await storefront.request(method, path, data=raw, headers={"Content-Type": "application/json"})
        assert (answer.status, answer.body["error"]) == (400, "invalid request body"), path


async def test_items_and_quantities_of_a_cart_are_limited(storefront: StorefrontClient) -> None:
    cart = await storefront.cart(ready=False)
    item_at_limit = {"product_id": storefront.sample.mug.id, "quantity": 10**9}
    assert (await storefront.post(f"carts/{cart}/items", item_at_limit)).status == 201
    answer = await storefront.post(f"carts/{cart}/items", {**item_at_limit, "quantity": 1})
    assert (answer.status, answer.body["fields"]) == (400, {"quantity": "quantity_invalid"})
    expensive = await storefront.sample.add_product(price_cents=10**15, vendor_id=None)
    answer = await storefront.post(f"carts/{cart}/items", {"product_id": expensive.id, "quantity": 1000})
    assert (answer.status, answer.body["fields"]) == (400, {"total_cents": "total_too_large"})
    many = [{"product_id": storefront.sample.mug.id, "quantity": 1}] * 201
    answer = await storefront.post("carts", {"items": many})
    assert (answer.status, answer.body["fields"]) == (400, {"items": "too_many"})


async def test_a_cart_uses_current_prices(storefront: StorefrontClient) -> None:
    cart = await storefront.cart((storefront.sample.mug, 2), ready=False)
    await storefront.sample.execute(
        "UPDATE products SET price_cents = 100, name = 'Xícara' WHERE id = $1", storefront.sample.mug.number
    )
    shown = (await storefront.get(f"carts/{cart}")).body
    assert (shown["items"][0]["name"], shown["items"][0]["price_cents"], shown["total_cents"]) == (
        "Xícara",
        100,
        200,
    )


async def test_an_unavailable_product_remains_in_the_cart(storefront: StorefrontClient) -> None:
    cart = await storefront.cart((storefront.sample.mug, 2), ready=False)
    await storefront.sample.execute(
        "UPDATE products SET deleted_at = now() WHERE id = $1", storefront.sample.mug.number
    )
    shown = (await storefront.get(f"carts/{cart}")).body
    assert (shown["items"][0]["name"], shown["subtotal_cents"]) == ("Caneca de Ágata", 9980)
    removed = await storefront.request("DELETE", f"carts/{cart}/items/{shown['items'][0]['id']}")
    assert removed.body["items"] == []


# --- Address and shipping ---------------------------------------------------------------------------------------


async def test_the_complete_address_is_stored(storefront: StorefrontClient) -> None:
    cart = await storefront.cart(ready=False)
    answer = await storefront.put(f"carts/{cart}/address", ADDRESS | {"who": "cares"})
    assert answer.status == 200
    assert answer.body["address"] == ADDRESS | {"zipcode": "01001000"}
    again = await storefront.put(f"carts/{cart}/address", {"zipcode": "20040002"})
    blank = dict.fromkeys(ADDRESS, "")
    assert again.body["address"] == blank | {"zipcode": "20040002", "country": "BR"}
    british = await storefront.put(f"carts/{cart}/address", {"zipcode": "SW1A 1AA", "country": "gb"})
    assert (british.body["address"]["zipcode"], british.body["address"]["country"]) == ("SW1A 1AA", "GB")


@pytest.mark.parametrize(
    "item_fields,fields",
    [
        ({}, {"zipcode": "required"}),
        ({"zipcode": " "}, {"zipcode": "required"}),
        ({"zipcode": "123"}, {"zipcode": "zipcode_invalid"}),
        ({"zipcode": 1001000}, {"zipcode": "zipcode_invalid"}),
        ({"zipcode": "01001000", "country": "Brasil"}, {"country": "country_invalid"}),
        ({"zipcode": "01001000", "country": "B1"}, {"country": "country_invalid"}),
        ({"zipcode": "01001000", "country": "ZZ"}, {"country": "country_invalid"}),
        ({"zipcode": "01001000", "street": ["x"]}, {"street": "invalid"}),
        ({"zipcode": "01001000", "name": "x" * 256}, {"name": "invalid"}),
    ],
)
async def test_invalid_address_fields_are_named(
    storefront: StorefrontClient, item_fields: dict[str, Any], fields: dict[str, str]
) -> None:
    cart = await storefront.cart(ready=False)
    answer = await storefront.put(f"carts/{cart}/address", item_fields)
    if isinstance(item_fields.get("zipcode"), int):
        assert answer.status == 400
    else:
        assert (answer.status, answer.body) == (400, {"error": "validation_failed", "fields": fields})
    assert (await storefront.get(f"carts/{cart}")).body["address"] is None


async def test_shipping_options_are_quoted_and_selected(storefront: StorefrontClient) -> None:
    cart = await storefront.cart((storefront.sample.mug, 1), ready=False)
    await storefront.put(f"carts/{cart}/address", ADDRESS)
    answer = await storefront.get(f"carts/{cart}/shipping-options")
    sedex = {
        "shipping_id": storefront.sample.sedex.id,
        "name": "Sedex",
        "price_cents": 1500,
        "delivery_time": "3 dias",
    }
    assert (answer.status, answer.body) == (200, {"shipping_options": [sedex]})
    chosen = await storefront.put(f"carts/{cart}/shipping-option", {"shipping_id": storefront.sample.sedex.id})
    assert chosen.status == 200
    assert chosen.body["shipping_option"] == sedex
    assert (chosen.body["shipping_cents"], chosen.body["total_cents"]) == (1500, 6490)


async def test_downloadable_products_need_no_shipping(storefront: StorefrontClient) -> None:
    cart = await storefront.cart((storefront.sample.ebook, 1), ready=False)
    assert (await storefront.get(f"carts/{cart}/shipping-options")).body == {"shipping_options": []}
    answer = await storefront.put(f"carts/{cart}/shipping-option", {"shipping_id": storefront.sample.sedex.id})
    assert (answer.status, answer.body["error"]) == (422, "shipping_unavailable")


async def test_an_unavailable_shipping_option_cannot_be_selected(
    storefront: StorefrontClient, other_sample: SampleStore
) -> None:
    cart = await storefront.cart((storefront.sample.mug, 1), ready=False)
    for shipping in (UNKNOWN_ID, "nonsense", 5, other_sample.sedex.id):
        answer = await storefront.put(f"carts/{cart}/shipping-option", {"shipping_id": shipping})
        assert (answer.status, answer.body["error"]) == (422, "shipping_unavailable"), shipping
        assert answer.body["message"], shipping
    for body in ({}, {"shipping_id": None}, {"shipping_id": ""}):
        answer = await storefront.put(f"carts/{cart}/shipping-option", body)
        assert (answer.status, answer.body["fields"]) == (400, {"shipping_id": "required"}), body
    answer = await storefront.put(f"carts/{cart}/shipping-option", {"shipping_id": {}})
    assert answer.status == 400


async def test_a_shipping_option_no_longer_available_is_not_charged(storefront: StorefrontClient) -> None:
    cart = await storefront.cart((storefront.sample.mug, 1))
    await storefront.sample.execute("UPDATE shipping_methods SET status = 'D'")
    shown = (await storefront.get(f"carts/{cart}")).body
    assert (shown["shipping_option"], shown["shipping_cents"], shown["total_cents"]) == (None, 0, 4990)


# --- Coupons ---------------------------------------------------------------------------------------------------------------


async def test_an_unknown_coupon_is_rejected_and_not_stored(storefront: StorefrontClient) -> None:
    cart = await storefront.cart((storefront.sample.mug, 1))
    answer = await storefront.post(f"carts/{cart}/coupon", {"code": "NADA"})
    assert (answer.status, answer.body["error"]) == (422, "coupon_unavailable")
    assert (await storefront.get(f"carts/{cart}")).body["coupon_code"] is None


@pytest.mark.parametrize("code", ["", "  ", None])
async def test_an_empty_code_removes_the_coupon(storefront: StorefrontClient, code: Any) -> None:
    cart = await storefront.cart((storefront.sample.mug, 1))
    answer = await storefront.post(f"carts/{cart}/coupon", {"code": code})
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
async def test_an_invalid_coupon_code_is_400(storefront: StorefrontClient, body: Any, code: str) -> None:
    cart = await storefront.cart((storefront.sample.mug, 1), ready=False)
    answer = await storefront.post(f"carts/{cart}/coupon", body)
    assert (answer.status, answer.body["fields"]) == (400, {"code": code})


# --- Ownership and expiry ---------------------------------------------------------------------------------------------


async def test_an_unknown_cart_is_404(storefront: StorefrontClient, other_sample: SampleStore) -> None:
    foreign = await (await open_storefront(other_sample)).cart(ready=False)
    for cart in (UNKNOWN_ID, "nonsense", "1", foreign):
        calls = [
            ("GET", f"carts/{cart}", None),
            ("POST", f"carts/{cart}/items", {"product_id": storefront.sample.mug.id, "quantity": 1}),
            ("PATCH", f"carts/{cart}/items/{UNKNOWN_ID}", {"quantity": 1}),
            ("DELETE", f"carts/{cart}/items/{UNKNOWN_ID}", None),
            ("PUT", f"carts/{cart}/address", ADDRESS),
            ("GET", f"carts/{cart}/shipping-options", None),
            ("PUT", f"carts/{cart}/shipping-option", {"shipping_id": storefront.sample.sedex.id}),
            ("POST", f"carts/{cart}/coupon", {"code": "X"}),
            (
                "POST",
                f"carts/{cart}/checkout",
                {"customer_email": "a@example.com", "payment_id": storefront.sample.pix.id},
            ),
        ]
        for method, path, body in calls:
            answer = await storefront.request(method, path, body)
            assert (answer.status, answer.body) == (404, {"error": "cart not found"}), (method, path)


async def test_an_unknown_item_is_404(storefront: StorefrontClient) -> None:
    cart, other = (
        await storefront.cart((storefront.sample.mug, 1)),
        await storefront.cart((storefront.sample.mug, 1)),
    )
    foreign = (await storefront.get(f"carts/{other}")).body["items"][0]["id"]
    for item in (UNKNOWN_ID, "nonsense", "1", foreign):
        for method, body in (("PATCH", {"quantity": 1}), ("DELETE", None)):
            answer = await storefront.request(method, f"carts/{cart}/items/{item}", body)
            assert (answer.status, answer.body) == (404, {"error": "item not found"}), (item, method, body)
    assert (await storefront.get(f"carts/{other}")).body["items"][0]["quantity"] == 1


async def test_the_cart_of_a_customer_is_not_found_by_other_customers(storefront: StorefrontClient) -> None:
    caio, bia = storefront.as_customer(storefront.sample.caio), storefront.as_customer(storefront.sample.bia)
    cart = await caio.cart((storefront.sample.mug, 1), ready=False)
    assert (await bia.get(f"carts/{cart}")).status == 404
    assert (
        await bia.post(f"carts/{cart}/items", {"product_id": storefront.sample.mug.id, "quantity": 1})
    ).status == 404
    shown = await storefront.get(f"carts/{cart}")  # anonymous, by the id alone
    assert (shown.status, shown.body["customer_email"]) == (200, None)
    assert "caio" not in shown.raw.decode()


async def test_a_guest_cart_is_assigned_to_the_signed_in_customer_who_updates_it(
    storefront: StorefrontClient,
) -> None:
    cart = await storefront.cart(ready=False)
    caio, bia = storefront.as_customer(storefront.sample.caio), storefront.as_customer(storefront.sample.bia)
    assert (await bia.get(f"carts/{cart}")).status == 200
    await caio.post(f"carts/{cart}/items", {"product_id": storefront.sample.mug.id, "quantity": 1})
    assert (await bia.get(f"carts/{cart}")).status == 404
    owner = await storefront.sample.value("SELECT user_id FROM carts WHERE public_id = $1", cart)
    assert owner == storefront.sample.caio.number


def moment(text: str) -> datetime:
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%S%z")


async def test_each_update_extends_the_expiry(storefront: StorefrontClient) -> None:
    cart = await storefront.cart(ready=False)
    made = (await storefront.get(f"carts/{cart}")).body
    assert moment(made["expires_at"]) - moment(made["updated_at"]) == timedelta(days=14)
    await storefront.sample.execute(
        "UPDATE carts SET expires_at = now() + interval '1 minute', updated_at = now() - interval '1 day'"
    )
    before = (await storefront.get(f"carts/{cart}")).body
    after = (await storefront.post(f"carts/{cart}/items", {"product_id": storefront.sample.mug.id, "quantity": 1})).body
    assert moment(after["expires_at"]) - moment(before["expires_at"]) > timedelta(days=13)
    assert moment(after["updated_at"]) > moment(before["updated_at"])


async def test_the_store_sets_the_lifetime_of_carts(new_sample: Any) -> None:
    storefront = await open_storefront(await new_sample(cart_days=2))
    made = (await storefront.post("carts", {})).body
    assert moment(made["expires_at"]) - moment(made["updated_at"]) == timedelta(days=2)


@pytest.mark.parametrize("by_job", [False, True])
async def test_an_expired_cart_is_read_only(storefront: StorefrontClient, by_job: bool) -> None:
    cart, alive = (
        await storefront.cart((storefront.sample.mug, 1)),
        await storefront.cart((storefront.sample.mug, 1)),
    )
    await storefront.sample.execute(
        "UPDATE carts SET expires_at = now() - interval '1 second' WHERE public_id = $1", UUID(cart)
    )
    if by_job:
        await expire_carts(storefront.sample.scope)
    shown = (await storefront.get(f"carts/{cart}")).body
    assert (shown["status"], shown["total_cents"], len(shown["items"])) == ("expired", 6490, 1)
    item = f"carts/{cart}/items/{shown['items'][0]['id']}"
    for method, path, body in (
        ("POST", f"carts/{cart}/items", {"product_id": storefront.sample.mug.id, "quantity": 1}),
        ("PATCH", item, {"quantity": 2}),
        ("DELETE", item, None),
        ("PUT", f"carts/{cart}/address", ADDRESS),
        ("PUT", f"carts/{cart}/shipping-option", {"shipping_id": storefront.sample.sedex.id}),
        ("POST", f"carts/{cart}/coupon", {"code": ""}),
    ):
        answer = await storefront.request(method, path, body)
        assert (answer.status, answer.body) == (
            422,
            {"error": "cart_expired", "message": "O carrinho expirou."},
        ), (method, path, body)
    rejected = await storefront.check_out(cart)
    assert rejected.status == 422
    assert rejected.body == {"error": {"code": "cart_expired", "message": "O carrinho expirou.", "details": {}}}
    assert (await storefront.get(f"carts/{alive}")).body["status"] == "open"


async def test_the_statement_count_of_a_cart_is_constant(storefront: StorefrontClient) -> None:
    products = [await storefront.sample.add_product() for _ in range(12)]
    cart = await storefront.cart(*((product, 1) for product in products))
    few = await storefront.cart((storefront.sample.plate, 1))
    await storefront.get(f"carts/{few}")  # the first one reads the terms of its price
    shown, small_cart = await storefront.get(f"carts/{cart}"), await storefront.get(f"carts/{few}")
    assert shown.statements == small_cart.statements <= 8
    change = {"product_id": storefront.sample.mug.id, "quantity": 1}
    for _ in range(2):
        added = [(await storefront.post(f"carts/{id_}/items", change)).statements for id_ in (cart, few)]
    assert added[0] == added[1] <= 24
