"""What carts cost is what their orders cost: promotions, coupons, destinations, taxes, decided by the server alone."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from domain.destinations.destinations import create_destination
from domain.promotions.promotions import create_promotion
from domain.shipping.methods import create_shipping_method
from domain.taxes.taxes import create_tax
from kernel.scope import entered
from tests.current.fronts import ADDRESS, Front, open_front
from tests.shop import Shop


async def offer(shop: Shop, **given: Any) -> int:
    with entered(shop.scope()):
        return await create_promotion(shop.scope(), {"name": "Oferta", **given})


async def uses(shop: Shop, promotion: int) -> int:
    return int(await shop.value("SELECT used FROM promotions WHERE id = $1", promotion))


def amounts(body: Any) -> tuple[int, int, int, int]:
    names = ("subtotal_cents", "discount_cents", "shipping_cents", "total_cents")
    return tuple(body[name] for name in names)


async def shown(front: Front, cart: str) -> Any:
    return (await front.get(f"carts/{cart}")).body


# --- Coupons ---------------------------------------------------------------------------------------------------------------


async def test_a_coupon_takes_off_what_it_promises_in_the_cart_and_in_the_order(front: Front) -> None:
    number = await offer(front.shop, coupon_code="VERAO", bonuses={"order_discount": "10%"})
    cart = await front.cart((front.shop.mug, 2))
    assert amounts(await shown(front, cart)) == (9980, 0, 1500, 11480)
    answer = await front.post(f"carts/{cart}/coupon", {"code": " verao "})
    assert answer.status == 200
    assert (answer.body["coupon_code"], amounts(answer.body)) == ("verao", (9980, 998, 1500, 10482))
    assert await uses(front.shop, number) == 0
    ordered = await front.check_out(cart)
    assert (ordered.status, amounts(ordered.body)) == (201, (9980, 998, 1500, 10482))
    assert await uses(front.shop, number) == 1
    assert amounts(await shown(front, cart)) == (9980, 998, 1500, 10482)
    assert (
        await front.shop.value("SELECT coupon_code FROM orders WHERE id = $1", ordered.body["number"])
        == "verao"
    )


async def test_a_coupon_is_taken_off_by_an_empty_code(front: Front) -> None:
    await offer(front.shop, coupon_code="VERAO", bonuses={"order_discount": "10%"})
    cart = await front.cart((front.shop.mug, 2))
    await front.post(f"carts/{cart}/coupon", {"code": "VERAO"})
    answer = await front.post(f"carts/{cart}/coupon", {"code": ""})
    assert (answer.body["coupon_code"], answer.body["discount_cents"]) == (None, 0)


async def test_a_coupon_that_is_not_for_this_cart_is_refused(front: Front) -> None:
    await offer(
        front.shop,
        coupon_code="RICO",
        conditions={"min_subtotal": "500.00"},
        bonuses={"order_discount": "10%"},
    )
    await offer(front.shop, coupon_code="GASTO", usage_limit=1, bonuses={"order_discount": "10%"})
    await front.shop.execute("UPDATE promotions SET used = 1 WHERE coupon_code = 'GASTO'")
    await offer(front.shop, coupon_code="VELHO", status="D", bonuses={"order_discount": "10%"})
    cart = await front.cart((front.shop.mug, 1))
    for code in ("RICO", "GASTO", "VELHO", "NADA"):
        answer = await front.post(f"carts/{cart}/coupon", {"code": code})
        assert (answer.status, answer.body["error"]) == (422, "coupon_unavailable"), code
        assert answer.body["message"] == "O cupom não está disponível para este carrinho."
    assert (await shown(front, cart))["coupon_code"] is None


async def test_a_coupon_that_is_over_gives_nothing_and_stops_the_checkout(front: Front) -> None:
    await offer(front.shop, coupon_code="VERAO", bonuses={"order_discount": "10%"})
    cart = await front.cart((front.shop.mug, 2))
    await front.post(f"carts/{cart}/coupon", {"code": "VERAO"})
    await front.shop.execute("UPDATE promotions SET status = 'D'")
    body = await shown(front, cart)
    assert (body["coupon_code"], amounts(body)) == ("VERAO", (9980, 0, 1500, 11480))
    refused = await front.check_out(cart)
    assert (refused.status, refused.body["error"]["code"]) == (422, "coupon_unavailable")
    await front.post(f"carts/{cart}/coupon", {"code": ""})
    assert (await front.check_out(cart)).status == 201


async def test_a_coupon_for_a_way_to_pay_gives_when_it_is_paid_so(front: Front) -> None:
    await offer(
        front.shop,
        coupon_code="PIX5",
        conditions={"payment_methods": [front.shop.pix.number]},
        bonuses={"order_discount": "5%"},
    )
    cart = await front.cart((front.shop.mug, 1))
    answer = await front.post(f"carts/{cart}/coupon", {"code": "PIX5"})
    assert (answer.status, answer.body["coupon_code"], answer.body["discount_cents"]) == (200, "PIX5", 0)
    refused = await front.check_out(cart, payment_id=front.shop.card.id)
    assert (refused.status, refused.body["error"]["code"]) == (422, "coupon_unavailable")
    assert amounts((await front.check_out(cart)).body) == (4990, 250, 1500, 6240)
    assert amounts(await shown(front, cart)) == (4990, 250, 1500, 6240)


@pytest.mark.parametrize("_", range(2))
async def test_a_coupon_with_one_use_is_used_once_however_many_check_out(front: Front, _: int) -> None:
    number = await offer(front.shop, coupon_code="UM", usage_limit=1, bonuses={"order_discount": "10%"})
    product = await front.shop.new_product(on_hand=100)
    carts = [await front.cart((product, 1)) for _ in range(12)]
    for cart in carts:
        assert (await front.post(f"carts/{cart}/coupon", {"code": "UM"})).status == 200
    answers = await asyncio.gather(
        *(front.check_out(cart, customer_email=f"b{place}@example.com") for place, cart in enumerate(carts))
    )
    codes = Counter(
        answer.status if answer.status == 201 else answer.body["error"]["code"] for answer in answers
    )
    assert codes == {201: 1, "coupon_unavailable": 11}
    assert await uses(front.shop, number) == 1
    assert await front.shop.value("SELECT reserved FROM products WHERE id = $1", product.number) == 1


async def test_a_use_comes_back_when_the_order_comes_to_nothing(front: Front) -> None:
    number = await offer(front.shop, coupon_code="UM", usage_limit=1, bonuses={"order_discount": "10%"})
    cart = await front.cart((front.shop.mug, 1))
    await front.post(f"carts/{cart}/coupon", {"code": "UM"})
    made = (await front.check_out(cart)).body
    assert await uses(front.shop, number) == 1
    answer = await front.shop.put(f"/api/v1/admin/orders/{made['id']}/status", {"status": "I"}, auth="bearer")
    assert answer.status == 200
    assert await uses(front.shop, number) == 0


async def test_once_a_customer_is_once_a_customer(front: Front) -> None:
    await offer(
        front.shop, coupon_code="OI", conditions={"once_per_customer": "Y"}, bonuses={"order_discount": "10%"}
    )
    for email, status in (("ana@example.com", 201), ("bia@example.com", 201), ("ana@example.com", 422)):
        cart = await front.cart((front.shop.mug, 1))
        assert (await front.post(f"carts/{cart}/coupon", {"code": "OI"})).status == 200
        assert (await front.check_out(cart, customer_email=email)).status == status


# --- Promotions --------------------------------------------------------------------------------------------------------------


async def test_promotions_without_a_coupon_count_by_themselves(front: Front) -> None:
    shop = front.shop
    await offer(shop, zone="catalog", bonuses={"product_discount": "20%"})
    await offer(shop, bonuses={"order_discount": "5.00"}, conditions={"min_subtotal": "50.00"})
    cart = await front.cart((shop.mug, 2))
    body = await shown(front, cart)
    assert [(item["price_cents"], item["total_cents"]) for item in body["items"]] == [(3992, 7984)]
    assert amounts(body) == (7984, 500, 1500, 8984)
    ordered = await front.check_out(cart)
    assert amounts(ordered.body) == amounts(body)
    assert ordered.body["items"][0]["price_cents"] == 3992


async def test_free_shipping_shows_in_the_options(front: Front) -> None:
    await offer(front.shop, bonuses={"free_shipping": True}, conditions={"min_subtotal": "90.00"})
    for quantity, price in ((1, 1500), (2, 0)):
        cart = await front.cart((front.shop.mug, quantity))
        [option] = (await front.get(f"carts/{cart}/shipping-options")).body["shipping_options"]
        body = await shown(front, cart)
        assert (
            option["price_cents"] == body["shipping_option"]["price_cents"] == body["shipping_cents"] == price
        )
        assert (await front.check_out(cart)).body["shipping_cents"] == price


async def test_a_gift_is_in_the_order_and_no_item_of_the_cart(front: Front) -> None:
    gift = await front.shop.new_product(name="Brinde", on_hand=5)
    await offer(front.shop, bonuses={"free_products": [{"product_id": gift.number, "amount": 1}]})
    cart = await front.cart((front.shop.mug, 1))
    body = await shown(front, cart)
    assert [item["name"] for item in body["items"]] == ["Caneca de Ágata"]
    ordered = (await front.check_out(cart)).body
    assert [(item["name"], item["price_cents"]) for item in ordered["items"]] == [
        ("Caneca de Ágata", 4990),
        ("Brinde", 0),
    ]
    assert amounts(ordered) == amounts(body)


# --- Destinations and taxes --------------------------------------------------------------------------------------------------


async def test_the_address_decides_ways_and_prices(front: Front) -> None:
    shop, scope = front.shop, front.shop.scope()
    with entered(scope):
        place = await create_destination(scope, {"name": "SP", "states": ["SP"]})
        await create_shipping_method(
            scope,
            {
                "name": "Moto",
                "position": 1,
                "rates": [{"destination": place, "base_cents": 700}],
                "base_cents": 900,
            },
        )
    cart = await front.cart((shop.mug, 1), ready=False)

    async def options() -> dict[str, int]:
        found = (await front.get(f"carts/{cart}/shipping-options")).body["shipping_options"]
        return {option["name"]: option["price_cents"] for option in found}

    assert await options() == {"Sedex": 1500, "Moto": 900}
    await front.put(f"carts/{cart}/address", {"zipcode": "20040002", "state": "RJ"})
    assert await options() == {"Sedex": 1500}
    await front.put(f"carts/{cart}/address", ADDRESS)
    assert await options() == {"Sedex": 1500, "Moto": 700}
    [moto] = [
        option["shipping_id"]
        for option in (await front.get(f"carts/{cart}/shipping-options")).body["shipping_options"]
        if option["name"] == "Moto"
    ]
    chosen = await front.put(f"carts/{cart}/shipping-option", {"shipping_id": moto})
    assert amounts(chosen.body) == (4990, 0, 700, 5690)
    moved = await front.put(f"carts/{cart}/address", {"zipcode": "20040002", "state": "RJ"})
    assert (moved.body["shipping_option"], moved.body["shipping_cents"]) == (None, 0)
    refused = await front.check_out(cart)
    assert (refused.status, refused.body["error"]["code"]) == (422, "shipping_unavailable")
    await front.put(f"carts/{cart}/address", ADDRESS)
    assert amounts((await front.check_out(cart)).body) == (4990, 0, 700, 5690)


async def test_a_vendors_own_way_carries_that_vendors_goods_only(front: Front) -> None:
    shop, scope = front.shop, front.shop.scope()
    with entered(scope):
        await create_shipping_method(
            scope, {"name": "Kombi", "position": 1, "base_cents": 300, "vendor": shop.vendor.number}
        )
    for items, names in (
        (((shop.mug, 1),), ["Sedex", "Kombi"]),
        (((shop.mug, 1), (shop.plate, 1)), ["Sedex"]),
        (((shop.plate, 1),), ["Sedex"]),
    ):
        cart = await front.cart(*items, ready=False)
        found = (await front.get(f"carts/{cart}/shipping-options")).body["shipping_options"]
        assert [option["name"] for option in found] == names


async def test_taxes_are_in_the_total(front: Front) -> None:
    shop, scope = front.shop, front.shop.scope()
    with entered(scope):
        tax = await create_tax(scope, {"name": "ICMS", "rate_value": 10_000})
    await shop.execute(
        "INSERT INTO product_taxes (public_id, product_id, tax_id) VALUES (gen_random_uuid(), $1, $2)",
        shop.mug.number,
        tax,
    )
    cart = await front.cart((shop.mug, 1))
    body = await shown(front, cart)
    assert amounts(body) == (4990, 0, 1500, 4990 + 1500 + 499)
    assert amounts((await front.check_out(cart)).body) == amounts(body)
    assert amounts(await shown(front, cart)) == amounts(body)


async def test_no_amount_is_taken_from_a_client(front: Front) -> None:
    product = front.shop.mug
    made = await front.post(
        "carts",
        {
            "items": [{"product_id": product.id, "quantity": 1, "price_cents": 1, "total_cents": 1}],
            "total_cents": 1,
            "discount_cents": 4000,
            "status": "ordered",
        },
    )
    cart = made.body["id"]
    assert (made.body["status"], amounts(made.body)) == ("open", (4990, 0, 0, 4990))
    await front.put(f"carts/{cart}/address", ADDRESS)
    await front.put(f"carts/{cart}/shipping-option", {"shipping_id": front.shop.sedex.id, "price_cents": 0})
    answer = await front.check_out(cart, total_cents=1, shipping_cents=0, status="P", discount_cents=1)
    assert (answer.body["status"], amounts(answer.body)) == ("O", (4990, 0, 1500, 6490))


async def test_promotions_of_another_store_give_nothing_here(front: Front, other_shop: Shop) -> None:
    await offer(other_shop, coupon_code="VERAO", bonuses={"order_discount": "10%"})
    cart = await front.cart((front.shop.mug, 1))
    assert (await front.post(f"carts/{cart}/coupon", {"code": "VERAO"})).status == 422
    elsewhere = await open_front(other_shop)
    other = await elsewhere.cart((other_shop.mug, 1))
    assert (await elsewhere.post(f"carts/{other}/coupon", {"code": "VERAO"})).status == 200
