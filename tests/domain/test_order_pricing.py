"""What makes an order cheaper or dearer than its goods: destinations, taxes, promotions, and what becomes of them later."""

from __future__ import annotations

import asyncio

import pytest

from domain.destinations.destinations import create_destination
from domain.orders.delete import delete_order
from domain.orders.draft import Draft, DraftLine
from domain.orders.edit import update_order
from domain.orders.lifecycle import move
from domain.orders.place import place_order
from domain.promotions.promotions import create_promotion, update_promotion
from domain.taxes.taxes import create_tax
from kernel.errors import RuleViolation, ValidationFailed
from models import database

SAO_PAULO = {"S": {"zipcode": "01310-100", "state": "SP"}}
RIO = {"S": {"zipcode": "20040-002", "state": "RJ"}}


async def promotion(shop, **given):
    return await create_promotion(shop.scope, {"name": "Oferta", **given})


async def tax(shop, **given):
    return await create_tax(shop.scope, {"name": "ICMS", "rate_value": 10_000, **given})


async def amounts(shop, order):
    record = await shop.record("orders", getattr(order, "id", order))
    return tuple(
        record[f"{name}_cents"] for name in ("subtotal", "discount", "shipping", "surcharge", "tax", "total")
    )


async def uses(shop, number):
    return (await shop.record("promotions", number))["used"]


async def taxes_taken(shop, order):
    sql = (
        "SELECT name, rate_type, rate_value, included, amount_cents FROM order_taxes"
        " WHERE tenant_id = $1 AND order_id = $2 ORDER BY position"
    )
    return [tuple(row) for row in await shop.rows(sql, order.id)]


# --- Destinations --------------------------------------------------------------------------------------------------------------


async def test_the_destination_decides_what_shipping_costs(shop):
    place = await create_destination(shop.scope, {"name": "SP", "states": ["SP"]})
    method = await shop.shipping(
        base_cents=5_000, rates=[{"destination": place, "base_cents": 700, "max_weight_grams": 2_000}]
    )
    product = await shop.product(weight_grams=1_000)
    ordered = {"shipping_method": method, "addresses": SAO_PAULO}
    assert (await amounts(shop, await shop.order((product, 1), **ordered)))[2] == 700
    for wrong in ({"addresses": RIO}, {"lines": [{"product": product, "quantity": 3}]}):
        with pytest.raises(RuleViolation) as refusal:
            await shop.order((product, 1), **ordered | wrong)
        assert refusal.value.reason == "shipping_unavailable"
    # Who names no place pays what the method asks by itself.
    assert (await amounts(shop, await shop.order((product, 1), shipping_method=method)))[2] == 5_000
    country = {"S": {"street": "Rua A", "country": "BR"}}
    assert (await amounts(shop, await shop.order((product, 1), shipping_method=method, addresses=country)))[
        2
    ] == 5_000
    download = await shop.product(is_edp=True)
    assert (await amounts(shop, await shop.order((download, 1), **ordered | {"addresses": RIO})))[2] == 0


async def test_a_new_address_prices_an_unpaid_order_anew(shop):
    here = await create_destination(shop.scope, {"name": "SP", "states": ["SP"]})
    there = await create_destination(shop.scope, {"name": "RJ", "states": ["RJ"]})
    method = await shop.shipping(
        rates=[{"destination": here, "base_cents": 700}, {"destination": there, "base_cents": 900}]
    )
    order = await shop.order((await shop.product(), 1), shipping_method=method, addresses=SAO_PAULO)
    await update_order(shop.scope, order.id, {"addresses": {"S": {"street": "Outra"}}})
    assert (await amounts(shop, order))[2] == 700
    await update_order(shop.scope, order.id, {"addresses": RIO})
    assert (await amounts(shop, order))[2:] == (900, 0, 0, 1_900)
    with pytest.raises(RuleViolation):
        await update_order(shop.scope, order.id, {"addresses": {"S": {"zipcode": "70000000", "state": "DF"}}})
    await move(shop.scope, order.id, "P")
    await update_order(shop.scope, order.id, {"addresses": SAO_PAULO})
    assert (await amounts(shop, order))[2] == 900


# --- Taxes ---------------------------------------------------------------------------------------------------------------------


async def test_taxes_lie_on_goods_shipping_and_surcharge(shop):
    added = await tax(shop, name="ICMS")
    within = await tax(shop, name="ISS", price_includes_tax=True, rate_value=25_000)
    fixed = await tax(shop, name="Taxa", rate_type="F", rate_value=1_500)
    method = await shop.shipping(base_cents=1_000, taxes=[added])
    payment = await shop.payment(surcharge_cents=200, taxes=[fixed])
    product = await shop.product(price_cents=1_005, taxes=[added, within, fixed])
    order = await shop.order((product, 3), shipping_method=method, payment_method=payment)
    # Of goods 10 % of 30.15 is 3.015, of shipping 1.00; within 30.15 at 25 % are 6.03; 1.50 a unit and once on the surcharge.
    assert await taxes_taken(shop, order) == [
        ("ICMS", "P", 10_000, False, 302 + 100),
        ("ISS", "P", 25_000, True, 603),
        ("Taxa", "F", 1_500, False, 3 * 150 + 150),
    ]
    assert await amounts(shop, order) == (3_015, 0, 1_000, 200, 1_002, 3_015 + 1_000 + 200 + 1_002)


async def test_the_address_decides_the_rate(shop):
    here = await create_destination(shop.scope, {"name": "SP", "states": ["SP"]})
    there = await create_destination(shop.scope, {"name": "RJ", "states": ["RJ"]})
    rates = [
        {"destination": here, "rate_value": 18_000},
        {"destination": there, "rate_type": "F", "rate_value": 10},
    ]
    shipped = await tax(shop, name="S", rates=rates)
    billed = await tax(shop, name="B", rates=rates, address_type="B")
    off = await tax(shop, name="off", status="D")
    product = await shop.product(price_cents=1_000, taxes=[shipped, billed, off])
    for addresses, expected in (
        ({"S": SAO_PAULO["S"], "B": RIO["S"]}, {"S": 180, "B": 1}),
        (SAO_PAULO, {"S": 180, "B": 180}),
        ({}, {"S": 100, "B": 100}),
        ({"S": {"zipcode": "70000000"}}, {"S": 100, "B": 100}),
    ):
        order = await shop.order((product, 1), addresses=addresses)
        assert {row[0]: row[4] for row in await taxes_taken(shop, order)} == expected


async def test_what_is_taken_off_is_not_taxed(shop):
    number = await tax(shop)
    taxed, free = await shop.product(price_cents=1_000, taxes=[number]), await shop.product(price_cents=3_000)
    order = await shop.order((taxed, 1), (free, 1), discount_cents=1_000)
    # A quarter of the discount is the taxed line's.
    assert (await amounts(shop, order))[4:] == (75, 3_075)
    await promotion(shop, bonuses={"product_discount": {"amount": "5.00", "products": [taxed]}})
    assert (await amounts(shop, await shop.order((taxed, 1), (free, 1))))[4:] == (50, 3_550)


async def test_the_importer_knows_no_taxes_and_an_edited_order_takes_them_anew(shop):
    number = await tax(shop)
    product = await shop.product(price_cents=1_000, taxes=[number])
    order = await shop.order((product, 1))
    await update_order(shop.scope, order.id, {"lines": [{"product": product, "quantity": 4}]})
    assert (await amounts(shop, order))[4:] == (400, 4_400)
    assert [row[4] for row in await taxes_taken(shop, order)] == [400]
    await shop.rows("UPDATE orders SET imported = true WHERE tenant_id = $1 AND id = $2", order.id)
    await update_order(shop.scope, order.id, {"lines": [{"product": product, "quantity": 1}]})
    assert (await amounts(shop, order))[4:] == (400, 1_400)


# --- Promotions ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("caller", ["admin", "legacy", "app", "storefront", "system"])
async def test_promotions_are_for_every_order_whoever_places_it(shop, caller):
    scope = {
        "admin": shop.as_admin(),
        "legacy": shop.as_admin(family="legacy"),
        "app": shop.as_app(),
        "storefront": shop.as_storefront(),
        "system": shop.scope,
    }[caller]
    number = await promotion(shop, bonuses={"order_discount": "10%"})
    order = await shop.order((await shop.product(price_cents=1_000), 3), scope=scope)
    assert (await amounts(shop, order))[:2] == (3_000, 300)
    assert order.total_cents == 2_700
    assert await uses(shop, number) == 1


async def test_what_an_administrator_says_stays(shop):
    product = await shop.product(price_cents=1_000)
    cart = await promotion(shop, bonuses={"product_discount": "10%"})
    await promotion(shop, zone="catalog", bonuses={"product_discount": "50%"})
    by_hand = {"product": product, "quantity": 2, "price_cents": 900}
    order = await shop.order(by_hand, scope=shop.as_admin())
    assert (await amounts(shop, order))[:2] == (1_800, 0)
    order = await shop.order((product, 2), scope=shop.as_admin(), discount_cents=7)
    assert (await amounts(shop, order))[:2] == (2_000, 7)
    assert (await amounts(shop, await shop.order((product, 2), scope=shop.as_admin(), discount_cents=0)))[
        1
    ] == 0
    assert await uses(shop, cart) == 0
    order = await shop.order((product, 2), scope=shop.as_admin())
    assert (await amounts(shop, order))[:2] == (1_000, 100)
    [line] = await shop.lines(order.id)
    assert (line["price_cents"], line["base_price_cents"]) == (500, 1_000)


async def test_a_cart_that_priced_itself_gets_no_promotion_twice(shop):
    product = await shop.product(price_cents=1_000)
    number = await promotion(shop, bonuses={"order_discount": "10%"})
    draft = Draft(
        lines=[DraftLine(product, 1, price_cents=800)],
        email="a@example.com",
        shipping_method=await shop.delivery(),
        priced=True,
    )
    assert (await place_order(shop.as_storefront(), draft)).total_cents == 800
    assert await uses(shop, number) == 0


async def test_a_coupon_that_gives_nothing_is_refused(shop):
    product = await shop.product(price_cents=1_000)
    number = await promotion(
        shop, coupon_code="DEZ", conditions={"min_subtotal": "20.00"}, bonuses={"order_discount": "10%"}
    )
    for quantity, code in ((1, "DEZ"), (2, "ONZE")):
        with pytest.raises(RuleViolation) as refusal:
            await shop.order((product, quantity), coupon_code=code)
        assert refusal.value.reason == "coupon_unavailable"
    order = await shop.order((product, 2), coupon_code=" dez ")
    assert (await amounts(shop, order))[:2] == (2_000, 200)
    assert (await shop.record("orders", order.id))["coupon_code"] == "dez"
    assert (await amounts(shop, await shop.order((product, 2))))[1] == 0
    assert await uses(shop, number) == 1


async def test_shipping_is_given_away(shop):
    method = await shop.shipping(base_cents=1_000)
    await promotion(shop, bonuses={"free_shipping": [method]}, conditions={"min_subtotal": "20.00"})
    product = await shop.product(price_cents=1_000)
    assert (await amounts(shop, await shop.order((product, 1), shipping_method=method)))[2] == 1_000
    assert (await amounts(shop, await shop.order((product, 2), shipping_method=method)))[2] == 0


async def test_gifts_are_lines_of_the_order_as_far_as_there_are_any(shop):
    bought = await shop.product(price_cents=1_000)
    gift = await shop.product(price_cents=500, stock=3, weight_grams=100)
    number = await promotion(shop, bonuses={"free_products": [{"product_id": gift, "amount": 2}]})
    order = await shop.order((bought, 1))
    first, second = await shop.lines(order.id)
    assert (first["product_id"], second["product_id"]) == (bought, gift)
    assert (second["quantity"], second["price_cents"], second["base_price_cents"]) == (2, 0, 500)
    assert order.total_cents == 1_000
    assert await shop.figures(gift) == (3, 2)
    # One is left, and two would be given: none is, and the order is placed all the same.
    assert len(await shop.lines((await shop.order((bought, 1))).id)) == 1
    await move(shop.scope, order.id, "I")
    assert await shop.figures(gift) == (3, 0)
    assert await uses(shop, number) == 1


async def test_the_last_use_of_a_coupon_goes_to_one_of_many_orders(shop):
    product = await shop.product(price_cents=1_000, stock=1_000)
    await shop.delivery()
    number = await promotion(shop, coupon_code="UM", usage_limit=1, bonuses={"order_discount": "10%"})
    results = await asyncio.gather(
        *(shop.order((product, 1), coupon_code="UM") for _ in range(20)), return_exceptions=True
    )
    placed = [result for result in results if not isinstance(result, BaseException)]
    assert len(placed) == 1
    assert all(
        isinstance(result, RuleViolation) and result.reason == "coupon_unavailable"
        for result in results
        if isinstance(result, BaseException)
    )
    assert await uses(shop, number) == 1
    assert await shop.value("SELECT count(*) FROM orders WHERE tenant_id = $1") == 1
    assert await shop.figures(product) == (1_000, 1)


@pytest.mark.parametrize("end", ["D", "F", "I", "deleted"])
async def test_an_order_that_comes_to_nothing_gives_its_use_back_once(shop, end):
    product = await shop.product(price_cents=1_000, stock=100)
    number = await promotion(shop, coupon_code="UM", usage_limit=1, bonuses={"order_discount": "10%"})
    order = await shop.order((product, 1), coupon_code="um")
    if end == "deleted":
        await delete_order(shop.scope, order.id)
    else:
        await move(shop.scope, order.id, end)
        if end != "I":
            await move(shop.scope, order.id, "I")
            assert await uses(shop, number) == 0
    assert await uses(shop, number) == 0
    again = await shop.order((product, 1), coupon_code="um")
    assert await uses(shop, number) == 1
    with pytest.raises(RuleViolation):
        await shop.order((product, 1), coupon_code="um")
    await move(shop.scope, again.id, "P")
    assert await uses(shop, number) == 1


async def test_an_order_taken_up_again_counts_its_use_again(shop):
    product = await shop.product(price_cents=1_000)
    number = await promotion(shop, bonuses={"order_discount": "10%"})
    order = await shop.order((product, 1))
    for letter, count in (("F", 0), ("O", 1), ("B", 1), ("P", 1), ("C", 1), ("I", 0)):
        await move(shop.scope, order.id, letter)
        assert await uses(shop, number) == count, letter


async def test_an_edited_order_keeps_to_the_promotions_it_was_placed_with(shop):
    product = await shop.product(price_cents=1_000, stock=100)
    number = await promotion(
        shop, conditions={"min_subtotal": "20.00"}, bonuses={"order_discount": "10%"}, usage_limit=1
    )
    lowered = await promotion(shop, zone="catalog", bonuses={"product_discount": "20%"})
    order = await shop.order((product, 3))
    assert (await amounts(shop, order))[:2] == (2_400, 240)
    await update_promotion(shop.scope, number, {"status": "D"})
    await promotion(shop, bonuses={"order_discount": "50%"})
    for quantity, expected in ((5, (4_000, 400)), (1, (800, 0)), (4, (3_200, 320))):
        await update_order(shop.scope, order.id, {"lines": [{"product": product, "quantity": quantity}]})
        assert (await amounts(shop, order))[:2] == expected
    await update_order(shop.scope, order.id, {"payment_method": await shop.payment()})
    assert (await amounts(shop, order))[:2] == (3_200, 320)
    assert (await uses(shop, number), await uses(shop, lowered)) == (1, 1)
    # A discount by hand takes their place for good.
    await update_order(shop.scope, order.id, {"discount_cents": 100})
    await update_order(shop.scope, order.id, {"lines": [{"product": product, "quantity": 2}]})
    assert (await amounts(shop, order))[:2] == (1_600, 100)
    assert (await uses(shop, number), await uses(shop, lowered)) == (0, 0)


async def test_an_order_placed_before_a_promotion_does_not_get_it(shop):
    product = await shop.product(price_cents=1_000)
    order = await shop.order((product, 1))
    await promotion(shop, bonuses={"order_discount": "10%"})
    await update_order(shop.scope, order.id, {"lines": [{"product": product, "quantity": 2}]})
    assert (await amounts(shop, order))[:2] == (2_000, 0)


async def test_a_promotion_never_makes_an_order_cost_less_than_nothing(shop):
    product = await shop.product(price_cents=1_000)
    await promotion(shop, bonuses={"order_discount": "900.00", "product_discount": "900.00"})
    assert await amounts(shop, await shop.order((product, 2))) == (2_000, 2_000, 0, 0, 0, 0)


async def test_a_discount_by_hand_above_the_subtotal_is_refused(shop):
    with pytest.raises(ValidationFailed):
        await shop.order((await shop.product(price_cents=10), 1), discount_cents=11)


async def test_pricing_takes_a_fixed_number_of_statements(shop):
    number = await tax(shop)
    products = [await shop.product(taxes=[number]) for _ in range(15)]
    await shop.delivery()
    counts = []
    for some in (products[:1], products):
        with database.counting() as counted:
            await shop.order(*((product, 1) for product in some))
        counts.append(counted.count)
    assert counts[0] == counts[1] <= 7
    await promotion(shop, bonuses={"order_discount": "10%"})
    counts = []
    for some in (products[:1], products):
        with database.counting() as counted:
            await shop.order(*((product, 1) for product in some))
        counts.append(counted.count)
    assert counts[0] == counts[1] <= 10


async def test_another_stores_terms_change_nothing_here(shop, other_shop):
    await promotion(other_shop, bonuses={"order_discount": "50%"})
    await tax(other_shop)
    await create_destination(other_shop.scope, {"name": "Brasil"})
    order = await shop.order((await shop.product(price_cents=1_000), 1), addresses=SAO_PAULO)
    assert await amounts(shop, order) == (1_000, 0, 0, 0, 0, 1_000)


async def test_placing_editing_and_ending_orders_at_once_never_wait_in_a_circle(shop):
    product = await shop.product(price_cents=1_000, stock=1_000)
    await shop.delivery()
    number = await promotion(shop, bonuses={"order_discount": "10%"})
    placed = [await shop.order((product, 1)) for _ in range(8)]
    lines = [{"product": product, "quantity": 2}]
    await asyncio.gather(
        *(update_order(shop.scope, order.id, {"discount_cents": 5, "lines": lines}) for order in placed[:4]),
        *(move(shop.scope, order.id, "F") for order in placed[4:]),
        *(shop.order((product, 1)) for _ in range(8)),
    )
    assert await uses(shop, number) == 8
    assert await shop.figures(product) == (1_000, 4 * 2 + 8)
