"""Cart totals equal order totals: promotions, coupons, destinations and taxes (docs/reference/current.md#carts)."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from domain.destinations.destinations import DESTINATION_RECORDS
from domain.promotions.promotions import PROMOTION_RECORDS
from domain.shipping.methods import SHIPPING_METHOD_RECORDS
from domain.taxes.taxes import TAX_RECORDS
from kernel.scope import active_scope
from models.tables.users import Usergroup, UsergroupMembership
from tests.harness.sample_store import SampleStore
from tests.harness.storefront import ADDRESS, StorefrontClient, open_storefront


async def add_promotion(sample: SampleStore, **fields: Any) -> int:
    with active_scope(sample.scope):
        return await PROMOTION_RECORDS.create(sample.scope, {"name": "Oferta", **fields})


async def uses(sample: SampleStore, promotion: int) -> int:
    return int(await sample.value("SELECT used FROM promotions WHERE id = $1", promotion))


def amounts(body: Any) -> tuple[int, int, int, int]:
    names = ("subtotal_cents", "discount_cents", "shipping_cents", "total_cents")
    return tuple(body[name] for name in names)


async def shown(storefront: StorefrontClient, cart: str) -> Any:
    return (await storefront.get(f"carts/{cart}")).body


# --- Coupons ---------------------------------------------------------------------------------------------------------------


async def test_a_coupon_discounts_cart_and_order(storefront: StorefrontClient) -> None:
    number = await add_promotion(storefront.sample, coupon_code="VERAO", bonuses={"order_discount": "10%"})
    cart = await storefront.cart((storefront.sample.mug, 2))
    assert amounts(await shown(storefront, cart)) == (9980, 0, 1500, 11480)
    answer = await storefront.post(f"carts/{cart}/coupon", {"code": " verao "})
    assert answer.status == 200
    assert (answer.body["coupon_code"], amounts(answer.body)) == ("verao", (9980, 998, 1500, 10482))
    assert await uses(storefront.sample, number) == 0
    ordered = await storefront.check_out(cart)
    assert (ordered.status, amounts(ordered.body)) == (201, (9980, 998, 1500, 10482))
    assert await uses(storefront.sample, number) == 1
    assert amounts(await shown(storefront, cart)) == (9980, 998, 1500, 10482)
    assert (
        await storefront.sample.value("SELECT coupon_code FROM orders WHERE id = $1", ordered.body["number"]) == "verao"
    )


async def test_an_empty_code_removes_the_coupon(storefront: StorefrontClient) -> None:
    await add_promotion(storefront.sample, coupon_code="VERAO", bonuses={"order_discount": "10%"})
    cart = await storefront.cart((storefront.sample.mug, 2))
    await storefront.post(f"carts/{cart}/coupon", {"code": "VERAO"})
    answer = await storefront.post(f"carts/{cart}/coupon", {"code": ""})
    assert (answer.body["coupon_code"], answer.body["discount_cents"]) == (None, 0)


TENTH = {"order_discount": "10%"}
UNAVAILABLE = "O cupom não está disponível para este carrinho."


async def test_a_coupon_that_does_not_apply_to_the_cart_is_rejected_without_details_of_others(
    storefront: StorefrontClient,
) -> None:
    await add_promotion(
        storefront.sample, coupon_code="CAIO", conditions={"users": [storefront.sample.caio.number]}, bonuses=TENTH
    )
    both = {"users": [storefront.sample.caio.number], "min_subtotal": "500.00"}
    await add_promotion(storefront.sample, coupon_code="AMBOS", conditions=both, bonuses=TENTH)
    await add_promotion(storefront.sample, coupon_code="GASTO", usage_limit=1, bonuses={"order_discount": "10%"})
    await storefront.sample.execute("UPDATE promotions SET used = 1 WHERE coupon_code = 'GASTO'")
    await add_promotion(storefront.sample, coupon_code="VELHO", status="D", bonuses={"order_discount": "10%"})
    cart = await storefront.cart((storefront.sample.mug, 1))
    for code in ("CAIO", "AMBOS", "GASTO", "VELHO", "NADA"):
        answer = await storefront.post(f"carts/{cart}/coupon", {"code": code})
        assert (answer.status, answer.body) == (422, {"error": "coupon_unavailable", "message": UNAVAILABLE}), code
    assert (await shown(storefront, cart))["coupon_code"] is None


@pytest.mark.parametrize(
    "promotion,message,cause",
    [
        (
            {"conditions": {"min_subtotal": "1500.00"}},
            "O cupom vale para compras a partir de R$ 1.500,00.",
            {"cause": "below_minimum", "minimum_cents": 150_000},
        ),
        (
            {"conditions": {"subtotal": {"operator": "gt", "value": "500.00"}, "once_per_customer": "Y"}},
            "O cupom vale para compras a partir de R$ 500,01.",
            {"cause": "below_minimum", "minimum_cents": 50_001},
        ),
        (
            {"to_at": datetime(2026, 1, 31, 12, tzinfo=UTC)},
            "O cupom está vencido.",
            {"cause": "expired", "valid_until": "2026-01-31T12:00:00Z"},
        ),
        (
            {"from_at": datetime(2999, 1, 31, 12, tzinfo=UTC)},
            "O cupom ainda não está valendo.",
            {"cause": "not_yet_valid", "valid_from": "2999-01-31T12:00:00Z"},
        ),
    ],
)
async def test_a_refused_coupon_says_why(
    storefront: StorefrontClient, promotion: dict[str, Any], message: str, cause: dict[str, Any]
) -> None:
    await add_promotion(storefront.sample, coupon_code="RICO", bonuses=TENTH, **promotion)
    cart = await storefront.cart((storefront.sample.mug, 1))
    answer = await storefront.post(f"carts/{cart}/coupon", {"code": "rico"})
    assert (answer.status, answer.body) == (422, {"error": "coupon_unavailable", "message": message, **cause})


async def test_a_coupon_of_two_promotions_states_the_smaller_minimum(storefront: StorefrontClient) -> None:
    for minimum in ("900.00", "700.00"):
        await add_promotion(storefront.sample, coupon_code="RICO", conditions={"min_subtotal": minimum}, bonuses=TENTH)
    cart = await storefront.cart((storefront.sample.mug, 1))
    answer = await storefront.post(f"carts/{cart}/coupon", {"code": "RICO"})
    assert answer.body["minimum_cents"] == 70_000


async def test_a_minimum_is_stated_for_a_coupon_that_needs_a_payment_method_too(storefront: StorefrontClient) -> None:
    conditions = {"min_subtotal": "900.00", "payment_methods": [storefront.sample.pix.number]}
    await add_promotion(storefront.sample, coupon_code="RICO", conditions=conditions, bonuses=TENTH)
    cart = await storefront.cart((storefront.sample.mug, 1))
    answer = await storefront.post(f"carts/{cart}/coupon", {"code": "RICO"})
    assert (answer.body["cause"], answer.body["minimum_cents"]) == ("below_minimum", 90_000)


async def test_the_checkout_says_why_a_coupon_is_refused(storefront: StorefrontClient) -> None:
    number = await add_promotion(storefront.sample, coupon_code="VERAO", bonuses=TENTH)
    cart = await storefront.cart((storefront.sample.mug, 1))
    assert (await storefront.post(f"carts/{cart}/coupon", {"code": "VERAO"})).status == 200
    await storefront.sample.execute("UPDATE promotions SET to_at = '2026-01-31' WHERE id = $1", number)
    answer = await storefront.check_out(cart)
    error = answer.body["error"]
    assert (answer.status, error["code"], error["message"]) == (422, "coupon_unavailable", "O cupom está vencido.")
    assert error["details"]["cause"] == "expired"


async def test_an_expired_coupon_gives_no_discount_and_prevents_checkout(
    storefront: StorefrontClient,
) -> None:
    await add_promotion(storefront.sample, coupon_code="VERAO", bonuses={"order_discount": "10%"})
    cart = await storefront.cart((storefront.sample.mug, 2))
    await storefront.post(f"carts/{cart}/coupon", {"code": "VERAO"})
    await storefront.sample.execute("UPDATE promotions SET status = 'D'")
    body = await shown(storefront, cart)
    assert (body["coupon_code"], amounts(body)) == ("VERAO", (9980, 0, 1500, 11480))
    rejected = await storefront.check_out(cart)
    assert (rejected.status, rejected.body["error"]["code"]) == (422, "coupon_unavailable")
    await storefront.post(f"carts/{cart}/coupon", {"code": ""})
    assert (await storefront.check_out(cart)).status == 201


async def test_a_coupon_for_a_payment_method_applies_with_that_method(storefront: StorefrontClient) -> None:
    await add_promotion(
        storefront.sample,
        coupon_code="PIX5",
        conditions={"payment_methods": [storefront.sample.pix.number]},
        bonuses={"order_discount": "5%"},
    )
    cart = await storefront.cart((storefront.sample.mug, 1))
    answer = await storefront.post(f"carts/{cart}/coupon", {"code": "PIX5"})
    assert (answer.status, answer.body["coupon_code"], answer.body["discount_cents"]) == (200, "PIX5", 0)
    rejected = await storefront.check_out(cart, payment_id=storefront.sample.card.id)
    assert (rejected.status, rejected.body["error"]["code"]) == (422, "coupon_unavailable")
    assert amounts((await storefront.check_out(cart)).body) == (4990, 250, 1500, 6240)
    assert amounts(await shown(storefront, cart)) == (4990, 250, 1500, 6240)


@pytest.mark.parametrize("_", range(2))
async def test_a_single_use_coupon_is_used_once_under_concurrent_checkouts(
    storefront: StorefrontClient, _: int
) -> None:
    number = await add_promotion(storefront.sample, coupon_code="UM", usage_limit=1, bonuses={"order_discount": "10%"})
    product = await storefront.sample.add_product(on_hand=100)
    carts = [await storefront.cart((product, 1)) for _ in range(12)]
    for cart in carts:
        assert (await storefront.post(f"carts/{cart}/coupon", {"code": "UM"})).status == 200
    answers = await asyncio.gather(
        *(storefront.check_out(cart, customer_email=f"b{index}@example.com") for index, cart in enumerate(carts))
    )
    codes = Counter(answer.status if answer.status == 201 else answer.body["error"]["code"] for answer in answers)
    assert codes == {201: 1, "coupon_unavailable": 11}
    assert await uses(storefront.sample, number) == 1
    assert await storefront.sample.value("SELECT reserved FROM products WHERE id = $1", product.number) == 1


async def test_cancelling_the_order_restores_the_coupon_use(storefront: StorefrontClient) -> None:
    number = await add_promotion(storefront.sample, coupon_code="UM", usage_limit=1, bonuses={"order_discount": "10%"})
    cart = await storefront.cart((storefront.sample.mug, 1))
    await storefront.post(f"carts/{cart}/coupon", {"code": "UM"})
    made = (await storefront.check_out(cart)).body
    assert await uses(storefront.sample, number) == 1
    answer = await storefront.sample.put(f"/api/v1/admin/orders/{made['id']}/status", {"status": "I"}, auth="bearer")
    assert answer.status == 200
    assert await uses(storefront.sample, number) == 0


async def test_a_coupon_limited_per_customer_is_used_once(storefront: StorefrontClient) -> None:
    await add_promotion(
        storefront.sample,
        coupon_code="OI",
        conditions={"once_per_customer": "Y"},
        bonuses={"order_discount": "10%"},
    )
    for email, status in (("ana@example.com", 201), ("bia@example.com", 201), ("ana@example.com", 422)):
        cart = await storefront.cart((storefront.sample.mug, 1))
        assert (await storefront.post(f"carts/{cart}/coupon", {"code": "OI"})).status == 200, (email, status)
        assert (await storefront.check_out(cart, customer_email=email)).status == status


async def test_a_coupon_that_its_customer_has_used_is_refused_before_the_checkout_once_the_email_is_known(
    storefront: StorefrontClient,
) -> None:
    await add_promotion(
        storefront.sample, coupon_code="OI", conditions={"once_per_customer": "Y"}, bonuses={"order_discount": "10%"}
    )
    used = await storefront.cart((storefront.sample.mug, 1), customer_email="ana@example.com")
    assert (await storefront.post(f"carts/{used}/coupon", {"code": "OI"})).status == 200
    assert (await storefront.check_out(used)).status == 201
    cart = await storefront.cart((storefront.sample.mug, 1), customer_email="ana@example.com")
    answer = await storefront.post(f"carts/{cart}/coupon", {"code": "OI"})
    assert (answer.status, answer.body) == (
        422,
        {
            "error": "coupon_unavailable",
            "message": "O cupom vale uma única vez por cliente e já foi usado.",
            "cause": "already_used",
        },
    )


# --- Promotions --------------------------------------------------------------------------------------------------------------


async def test_promotions_without_a_coupon_apply_automatically(storefront: StorefrontClient) -> None:
    sample = storefront.sample
    await add_promotion(sample, zone="catalog", bonuses={"product_discount": "20%"})
    await add_promotion(sample, bonuses={"order_discount": "5.00"}, conditions={"min_subtotal": "50.00"})
    cart = await storefront.cart((sample.mug, 2))
    body = await shown(storefront, cart)
    assert [(item["price_cents"], item["total_cents"]) for item in body["items"]] == [(3992, 7984)]
    assert amounts(body) == (7984, 500, 1500, 8984)
    ordered = await storefront.check_out(cart)
    assert amounts(ordered.body) == amounts(body)
    assert ordered.body["items"][0]["price_cents"] == 3992


async def test_shipping_options_reflect_free_shipping(storefront: StorefrontClient) -> None:
    await add_promotion(storefront.sample, bonuses={"free_shipping": True}, conditions={"min_subtotal": "90.00"})
    for quantity, price in ((1, 1500), (2, 0)):
        cart = await storefront.cart((storefront.sample.mug, quantity))
        [option] = (await storefront.get(f"carts/{cart}/shipping-options")).body["shipping_options"]
        body = await shown(storefront, cart)
        assert option["price_cents"] == body["shipping_option"]["price_cents"] == body["shipping_cents"] == price
        assert (await storefront.check_out(cart)).body["shipping_cents"] == price


async def test_a_gift_is_added_to_the_order_and_not_to_the_cart(storefront: StorefrontClient) -> None:
    gift = await storefront.sample.add_product(name="Brinde", on_hand=5)
    await add_promotion(storefront.sample, bonuses={"free_products": [{"product_id": gift.number, "amount": 1}]})
    cart = await storefront.cart((storefront.sample.mug, 1))
    body = await shown(storefront, cart)
    assert [item["name"] for item in body["items"]] == ["Caneca de Ágata"]
    ordered = (await storefront.check_out(cart)).body
    assert [(item["name"], item["price_cents"]) for item in ordered["items"]] == [
        ("Caneca de Ágata", 4990),
        ("Brinde", 0),
    ]
    assert amounts(ordered) == amounts(body)


# --- Destinations and taxes --------------------------------------------------------------------------------------------------


async def test_the_address_determines_shipping_options_and_prices(storefront: StorefrontClient) -> None:
    sample, scope = storefront.sample, storefront.sample.scope
    with active_scope(scope):
        destination = await DESTINATION_RECORDS.create(scope, {"name": "SP", "states": ["SP"]})
        await SHIPPING_METHOD_RECORDS.create(
            scope,
            {
                "name": "Moto",
                "position": 1,
                "rates": [{"destination": destination, "base_cents": 700}],
                "base_cents": 900,
            },
        )
    cart = await storefront.cart((sample.mug, 1), ready=False)

    async def options() -> dict[str, int]:
        options = (await storefront.get(f"carts/{cart}/shipping-options")).body["shipping_options"]
        return {option["name"]: option["price_cents"] for option in options}

    assert await options() == {"Sedex": 1500}
    await storefront.put(f"carts/{cart}/address", {"zipcode": "100-0001", "country": "JP"})
    assert await options() == {"Sedex": 1500}
    await storefront.put(f"carts/{cart}/address", {"zipcode": "20040002", "state": "RJ"})
    assert await options() == {"Sedex": 1500}
    await storefront.put(f"carts/{cart}/address", ADDRESS)
    assert await options() == {"Sedex": 1500, "Moto": 700}
    [moto] = [
        option["shipping_id"]
        for option in (await storefront.get(f"carts/{cart}/shipping-options")).body["shipping_options"]
        if option["name"] == "Moto"
    ]
    chosen = await storefront.put(f"carts/{cart}/shipping-option", {"shipping_id": moto})
    assert amounts(chosen.body) == (4990, 0, 700, 5690)
    answer = await storefront.put(f"carts/{cart}/address", {"zipcode": "20040002", "state": "RJ"})
    assert (answer.body["shipping_option"], answer.body["shipping_cents"]) == (None, 0)
    rejected = await storefront.check_out(cart)
    assert (rejected.status, rejected.body["error"]["code"]) == (422, "shipping_unavailable")
    await storefront.put(f"carts/{cart}/address", ADDRESS)
    assert amounts((await storefront.check_out(cart)).body) == (4990, 0, 700, 5690)


async def test_a_gift_too_heavy_for_the_rate_of_the_quoted_method_is_refused(storefront: StorefrontClient) -> None:
    sample, scope = storefront.sample, storefront.sample.scope
    with active_scope(scope):
        destination = await DESTINATION_RECORDS.create(scope, {"name": "SP", "states": ["SP"]})
        rate = {"destination": destination, "base_cents": 700, "max_weight_grams": 1_000}
        await SHIPPING_METHOD_RECORDS.create(scope, {"name": "Moto", "rates": [rate]})
    product = await sample.add_product(weight_grams=600)
    gift = await sample.add_product(name="Brinde", weight_grams=600)
    carts = [await storefront.cart((product, 1), ready=False) for _ in range(2)]
    for cart in carts:
        await storefront.put(f"carts/{cart}/address", ADDRESS)
        options = (await storefront.get(f"carts/{cart}/shipping-options")).body["shipping_options"]
        [moto] = [option["shipping_id"] for option in options if option["name"] == "Moto"]
        await storefront.put(f"carts/{cart}/shipping-option", {"shipping_id": moto})
    assert (await storefront.check_out(carts[0])).status == 201
    await add_promotion(sample, bonuses={"free_products": [{"product_id": gift.number, "amount": 1}]})
    shown = await storefront.get(f"carts/{carts[1]}")
    assert (shown.status, shown.body["shipping_option"], shown.body["shipping_cents"]) == (200, None, 0)
    refused = await storefront.check_out(carts[1], customer_email="bia@example.com")
    assert (refused.status, refused.body["error"]["code"]) == (422, "shipping_unavailable")
    assert refused.body["error"]["details"] == {"weight_grams": 1_200}


async def test_a_vendor_shipping_method_covers_only_that_vendors_products(
    storefront: StorefrontClient,
) -> None:
    sample, scope = storefront.sample, storefront.sample.scope
    with active_scope(scope):
        await SHIPPING_METHOD_RECORDS.create(
            scope, {"name": "Kombi", "position": 1, "base_cents": 300, "vendor": sample.vendor.number}
        )
    for items, names in (
        (((sample.mug, 1),), ["Sedex", "Kombi"]),
        (((sample.mug, 1), (sample.plate, 1)), ["Sedex"]),
        (((sample.plate, 1),), ["Sedex"]),
    ):
        cart = await storefront.cart(*items, ready=False)
        matches = (await storefront.get(f"carts/{cart}/shipping-options")).body["shipping_options"]
        assert [option["name"] for option in matches] == names


async def test_taxes_are_included_in_the_total(storefront: StorefrontClient) -> None:
    sample, scope = storefront.sample, storefront.sample.scope
    with active_scope(scope):
        tax = await TAX_RECORDS.create(scope, {"name": "ICMS", "rate_value": 10_000})
    await sample.execute(
        "INSERT INTO product_taxes (public_id, product_id, tax_id) VALUES (gen_random_uuid(), $1, $2)",
        sample.mug.number,
        tax,
    )
    cart = await storefront.cart((sample.mug, 1))
    body = await shown(storefront, cart)
    assert amounts(body) == (4990, 0, 1500, 4990 + 1500 + 499)
    assert amounts((await storefront.check_out(cart)).body) == amounts(body)
    assert amounts(await shown(storefront, cart)) == amounts(body)


async def test_amounts_sent_by_the_client_are_ignored(storefront: StorefrontClient) -> None:
    product = storefront.sample.mug
    made = await storefront.post(
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
    await storefront.put(f"carts/{cart}/address", ADDRESS)
    await storefront.put(f"carts/{cart}/shipping-option", {"shipping_id": storefront.sample.sedex.id, "price_cents": 0})
    answer = await storefront.check_out(cart, total_cents=1, shipping_cents=0, status="P", discount_cents=1)
    assert (answer.body["status"], amounts(answer.body)) == ("O", (4990, 0, 1500, 6490))


async def test_promotions_of_another_store_do_not_apply(
    storefront: StorefrontClient, other_sample: SampleStore
) -> None:
    await add_promotion(other_sample, coupon_code="VERAO", bonuses={"order_discount": "10%"})
    cart = await storefront.cart((storefront.sample.mug, 1))
    assert (await storefront.post(f"carts/{cart}/coupon", {"code": "VERAO"})).status == 422
    other_storefront = await open_storefront(other_sample)
    other = await other_storefront.cart((other_sample.mug, 1))
    assert (await other_storefront.post(f"carts/{other}/coupon", {"code": "VERAO"})).status == 200


# --- Displayed prices ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_member", [False, True])
async def test_the_price_of_a_product_is_the_price_of_its_order(is_member: bool, storefront: StorefrontClient) -> None:
    sample = storefront.sample
    group = await sample.add(Usergroup, name="Atacado", type="C")
    if is_member:
        await sample.add(UsergroupMembership, user_id=sample.caio.number, usergroup_id=group.number)
    conditions = {"usergroup": [group.number]}
    await add_promotion(
        sample, zone="catalog", conditions=conditions, bonuses={"product_discount": "12.5%"}, name="Atacado"
    )
    shopper = replace(storefront, customer=sample.caio)
    expected = {
        "price_cents": 4366 if is_member else 4990,
        "base_cents": 4990,
        "discount_cents": 624 if is_member else 0,
        "promotions": [{"name": "Atacado"}] if is_member else [],
    }
    category = sample.kitchen.id
    for path in (
        "products",
        "search?q=caneca",
        f"categories/{category}/products",
        f"products/{sample.mug.id}",
        "products/caneca-de-agata",
    ):
        body = (await shopper.get(path)).body
        [shown] = [each for each in body.get("products", [body]) if each["id"] == sample.mug.id]
        assert shown["pricing"] == expected, path
        assert shown["price_cents"] == 4990, path
    cart = await shopper.cart((sample.mug, 1))
    assert (await shopper.get(f"carts/{cart}")).body["items"][0]["price_cents"] == expected["price_cents"]
    ordered = await shopper.check_out(cart)
    assert ordered.body["items"][0]["price_cents"] == expected["price_cents"]
