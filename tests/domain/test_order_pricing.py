"""Pricing of orders: destinations, taxes, promotions, and recalculation."""

from __future__ import annotations

import asyncio

import pytest

from domain.destinations.destinations import DESTINATION_RECORDS
from domain.orders.deletion import delete_order
from domain.orders.lifecycle import change_status
from domain.promotions.promotions import PROMOTION_RECORDS
from domain.purchase.draft import DraftLine, OrderDraft
from domain.purchase.edit import update_order
from domain.purchase.placement import place_order
from domain.shipping.methods import SHIPPING_METHOD_RECORDS
from domain.taxes.taxes import TAX_RECORDS
from kernel.errors import RuleViolation, ValidationFailed
from models.connection import database

SAO_PAULO = {"S": {"zipcode": "01310-100", "state": "SP"}}
RIO = {"S": {"zipcode": "20040-002", "state": "RJ"}}


async def promotion(kit, **values):
    return await PROMOTION_RECORDS.create(kit.scope, {"name": "Oferta", **values})


async def tax(kit, **values):
    return await TAX_RECORDS.create(kit.scope, {"name": "ICMS", "rate_value": 10_000, **values})


async def amounts(kit, order):
    record = await kit.record("orders", getattr(order, "id", order))
    return tuple(record[f"{name}_cents"] for name in ("subtotal", "discount", "shipping", "surcharge", "tax", "total"))


async def uses(kit, number):
    return (await kit.record("promotions", number))["used"]


async def taxes_taken(kit, order):
    sql = (
        "SELECT name, rate_type, rate_value, included, amount_cents FROM order_taxes"
        " WHERE tenant_id = $1 AND order_id = $2 ORDER BY position"
    )
    return [tuple(row) for row in await kit.rows(sql, order.id)]


# --- Destinations --------------------------------------------------------------------------------------------------------------


async def test_the_shipping_rate_depends_on_the_destination(kit):
    place = await DESTINATION_RECORDS.create(kit.scope, {"name": "SP", "states": ["SP"]})
    method = await kit.shipping(
        base_cents=5_000, rates=[{"destination": place, "base_cents": 700, "max_weight_grams": 2_000}]
    )
    product = await kit.product(weight_grams=1_000)
    ordered = {"shipping_method": method, "addresses": SAO_PAULO}
    assert (await amounts(kit, await kit.order((product, 1), **ordered)))[2] == 700
    for invalid in ({"addresses": RIO}, {"lines": [{"product": product, "quantity": 3}]}):
        with pytest.raises(RuleViolation) as error:
            await kit.order((product, 1), **ordered | invalid)
        assert error.value.reason == "shipping_unavailable", invalid
    download = await kit.product(is_edp=True)
    assert (await amounts(kit, await kit.order((download, 1), **ordered | {"addresses": RIO})))[2] == 0


@pytest.mark.parametrize(
    "addresses",
    [
        {},
        {"S": {"street": "Rua A", "country": "BR"}},
        {"S": {"city": "Campinas"}},
        {"S": {"country": "JP", "zipcode": "100-0001"}},
    ],
    ids=["no address", "country only", "city only", "country not served"],
)
async def test_a_method_with_rates_is_unavailable_without_a_destination(kit, addresses):
    destination = await DESTINATION_RECORDS.create(kit.scope, {"name": "SP", "states": ["SP"]})
    method = await kit.shipping(base_cents=5_000, rates=[{"destination": destination, "base_cents": 700}])
    product = await kit.product()
    with pytest.raises(RuleViolation) as error:
        await kit.order((product, 1), scope=kit.as_storefront(), shipping_method=method, addresses=addresses)
    assert error.value.reason == "shipping_unavailable"
    # A method without rates has one price everywhere.
    own = await kit.shipping(base_cents=900)
    assert (await amounts(kit, await kit.order((product, 1), shipping_method=own, addresses=addresses)))[2] == 900


@pytest.mark.parametrize("addresses", [{}, {"S": {"street": "Rua A", "country": "BR"}}, {"S": {"city": "Campinas"}}])
async def test_staff_may_place_an_order_before_its_address_is_known(kit, addresses):
    destination = await DESTINATION_RECORDS.create(kit.scope, {"name": "SP", "states": ["SP"]})
    method = await kit.shipping(base_cents=5_000, rates=[{"destination": destination, "base_cents": 700}])
    product = await kit.product()
    for scope in (kit.scope, kit.as_admin(), kit.as_app()):
        order = await kit.order((product, 1), scope=scope, shipping_method=method, addresses=addresses)
        assert (await amounts(kit, order))[2] == 5_000, scope


async def test_a_city_without_its_state_is_found_by_a_destination_that_lists_it(kit):
    destination = await DESTINATION_RECORDS.create(kit.scope, {"name": "Campinas", "cities": ["Campinas"]})
    method = await kit.shipping(base_cents=5_000, rates=[{"destination": destination, "base_cents": 700}])
    order = await kit.order((await kit.product(), 1), shipping_method=method, addresses={"S": {"city": "campinas"}})
    assert (await amounts(kit, order))[2] == 700


async def test_an_order_without_an_address_keeps_the_price_of_its_method_when_it_changes(kit):
    method = await kit.shipping(base_cents=900)
    order = await kit.order((await kit.product(), 1), shipping_method=method)
    destination = await DESTINATION_RECORDS.create(kit.scope, {"name": "SP", "states": ["SP"]})
    rates = [{"destination": destination, "base_cents": 700}]
    await SHIPPING_METHOD_RECORDS.update(kit.scope, method, {"rates": rates})
    await update_order(kit.scope, order.id, {"discount_cents": 100})
    assert (await amounts(kit, order))[1:3] == (100, 900)


async def test_a_new_address_recalculates_an_unpaid_order(kit):
    here = await DESTINATION_RECORDS.create(kit.scope, {"name": "SP", "states": ["SP"]})
    there = await DESTINATION_RECORDS.create(kit.scope, {"name": "RJ", "states": ["RJ"]})
    method = await kit.shipping(
        rates=[{"destination": here, "base_cents": 700}, {"destination": there, "base_cents": 900}]
    )
    order = await kit.order((await kit.product(), 1), shipping_method=method, addresses=SAO_PAULO)
    await update_order(kit.scope, order.id, {"addresses": {"S": {"street": "Outra"}}})
    assert (await amounts(kit, order))[2] == 700
    await update_order(kit.scope, order.id, {"addresses": RIO})
    assert (await amounts(kit, order))[2:] == (900, 0, 0, 1_900)
    with pytest.raises(RuleViolation):
        await update_order(kit.scope, order.id, {"addresses": {"S": {"zipcode": "70000000", "state": "DF"}}})
    await change_status(kit.scope, order.id, "P")
    await update_order(kit.scope, order.id, {"addresses": SAO_PAULO})
    assert (await amounts(kit, order))[2] == 900


# --- Taxes ---------------------------------------------------------------------------------------------------------------------


async def test_taxes_apply_to_lines_shipping_and_surcharge(kit):
    added = await tax(kit, name="ICMS")
    within = await tax(kit, name="ISS", price_includes_tax=True, rate_value=25_000)
    fixed = await tax(kit, name="Taxa", rate_type="F", rate_value=1_500)
    method = await kit.shipping(base_cents=1_000, taxes=[added])
    payment = await kit.payment(surcharge_cents=200, taxes=[fixed])
    product = await kit.product(price_cents=1_005, taxes=[added, within, fixed])
    order = await kit.order((product, 3), shipping_method=method, payment_method=payment)
    # 10 % of the lines' 30.15 is 3.015, of shipping 1.00; 30.15 includes 6.03 at 25 %; 1.50 per unit and once on the surcharge.
    assert await taxes_taken(kit, order) == [
        ("ICMS", "P", 10_000, False, 302 + 100),
        ("ISS", "P", 25_000, True, 603),
        ("Taxa", "F", 1_500, False, 3 * 150 + 150),
    ]
    assert await amounts(kit, order) == (3_015, 0, 1_000, 200, 1_002, 3_015 + 1_000 + 200 + 1_002)


async def test_the_tax_rate_depends_on_the_address(kit):
    here = await DESTINATION_RECORDS.create(kit.scope, {"name": "SP", "states": ["SP"]})
    there = await DESTINATION_RECORDS.create(kit.scope, {"name": "RJ", "states": ["RJ"]})
    rates = [
        {"destination": here, "rate_value": 18_000},
        {"destination": there, "rate_type": "F", "rate_value": 10},
    ]
    shipped = await tax(kit, name="S", rates=rates)
    billed = await tax(kit, name="B", rates=rates, address_type="B")
    off = await tax(kit, name="off", status="D")
    product = await kit.product(price_cents=1_000, taxes=[shipped, billed, off])
    for addresses, expected in (
        ({"S": SAO_PAULO["S"], "B": RIO["S"]}, {"S": 180, "B": 1}),
        (SAO_PAULO, {"S": 180, "B": 180}),
        ({}, {"S": 100, "B": 100}),
        ({"S": {"zipcode": "70000000"}}, {"S": 100, "B": 100}),
    ):
        order = await kit.order((product, 1), addresses=addresses)
        assert {row[0]: row[4] for row in await taxes_taken(kit, order)} == expected


async def test_discounts_are_not_taxed(kit):
    number = await tax(kit)
    taxed, free = await kit.product(price_cents=1_000, taxes=[number]), await kit.product(price_cents=3_000)
    order = await kit.order((taxed, 1), (free, 1), discount_cents=1_000)
    # A quarter of the discount applies to the taxed line.
    assert (await amounts(kit, order))[4:] == (75, 3_075)
    await promotion(kit, bonuses={"product_discount": {"amount": "5.00", "products": [taxed]}})
    assert (await amounts(kit, await kit.order((taxed, 1), (free, 1))))[4:] == (50, 3_550)


async def test_imports_have_no_taxes_and_an_updated_order_recalculates_them(kit):
    number = await tax(kit)
    product = await kit.product(price_cents=1_000, taxes=[number])
    order = await kit.order((product, 1))
    await update_order(kit.scope, order.id, {"lines": [{"product": product, "quantity": 4}]})
    assert (await amounts(kit, order))[4:] == (400, 4_400)
    assert [row[4] for row in await taxes_taken(kit, order)] == [400]
    await kit.rows("UPDATE orders SET imported = true WHERE tenant_id = $1 AND id = $2", order.id)
    await update_order(kit.scope, order.id, {"lines": [{"product": product, "quantity": 1}]})
    assert (await amounts(kit, order))[4:] == (400, 1_400)


# --- Promotions ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("caller", ["admin", "legacy", "app", "storefront", "system"])
async def test_promotions_apply_for_every_caller(kit, caller):
    scope = {
        "admin": kit.as_admin(),
        "legacy": kit.as_admin(family="legacy"),
        "app": kit.as_app(),
        "storefront": kit.as_storefront(),
        "system": kit.scope,
    }[caller]
    number = await promotion(kit, bonuses={"order_discount": "10%"})
    order = await kit.order((await kit.product(price_cents=1_000), 3), scope=scope)
    assert (await amounts(kit, order))[:2] == (3_000, 300)
    assert order.total_cents == 2_700
    assert await uses(kit, number) == 1


async def test_explicit_prices_and_discounts_of_an_administrator_stay(kit):
    product = await kit.product(price_cents=1_000)
    cart = await promotion(kit, bonuses={"product_discount": "10%"})
    await promotion(kit, zone="catalog", bonuses={"product_discount": "50%"})
    by_hand = {"product": product, "quantity": 2, "price_cents": 900}
    order = await kit.order(by_hand, scope=kit.as_admin())
    assert (await amounts(kit, order))[:2] == (1_800, 0)
    order = await kit.order((product, 2), scope=kit.as_admin(), discount_cents=7)
    assert (await amounts(kit, order))[:2] == (2_000, 7)
    assert (await amounts(kit, await kit.order((product, 2), scope=kit.as_admin(), discount_cents=0)))[1] == 0
    assert await uses(kit, cart) == 0
    order = await kit.order((product, 2), scope=kit.as_admin())
    assert (await amounts(kit, order))[:2] == (1_000, 100)
    [line] = await kit.lines(order.id)
    assert (line["price_cents"], line["base_price_cents"]) == (500, 1_000)


async def test_a_priced_draft_gets_no_promotion_twice(kit):
    product = await kit.product(price_cents=1_000)
    number = await promotion(kit, bonuses={"order_discount": "10%"})
    draft = OrderDraft(
        lines=[DraftLine(product, 1, price_cents=800)],
        email="a@example.com",
        shipping_method=await kit.delivery(),
        priced=True,
    )
    assert (await place_order(kit.as_storefront(), draft)).total_cents == 800
    assert await uses(kit, number) == 0


async def test_a_coupon_without_effect_is_rejected(kit):
    product = await kit.product(price_cents=1_000)
    number = await promotion(
        kit, coupon_code="DEZ", conditions={"min_subtotal": "20.00"}, bonuses={"order_discount": "10%"}
    )
    for quantity, code in ((1, "DEZ"), (2, "ONZE")):
        with pytest.raises(RuleViolation) as error:
            await kit.order((product, quantity), coupon_code=code)
        assert error.value.reason == "coupon_unavailable", (quantity, code)
    order = await kit.order((product, 2), coupon_code=" dez ")
    assert (await amounts(kit, order))[:2] == (2_000, 200)
    assert (await kit.record("orders", order.id))["coupon_code"] == "dez"
    assert (await amounts(kit, await kit.order((product, 2))))[1] == 0
    assert await uses(kit, number) == 1


async def test_free_shipping(kit):
    method = await kit.shipping(base_cents=1_000)
    await promotion(kit, bonuses={"free_shipping": [method]}, conditions={"min_subtotal": "20.00"})
    product = await kit.product(price_cents=1_000)
    assert (await amounts(kit, await kit.order((product, 1), shipping_method=method)))[2] == 1_000
    assert (await amounts(kit, await kit.order((product, 2), shipping_method=method)))[2] == 0


async def test_gifts_in_stock_become_order_lines(kit):
    bought = await kit.product(price_cents=1_000)
    gift = await kit.product(price_cents=500, stock=3, weight_grams=100)
    number = await promotion(kit, bonuses={"free_products": [{"product_id": gift, "amount": 2}]})
    order = await kit.order((bought, 1))
    first, second = await kit.lines(order.id)
    assert (first["product_id"], second["product_id"]) == (bought, gift)
    assert (second["quantity"], second["price_cents"], second["base_price_cents"]) == (2, 0, 500)
    assert order.total_cents == 1_000
    assert await kit.figures(gift) == (3, 2)
    # One unit is left for two gifts: none is added, and the order is placed.
    assert len(await kit.lines((await kit.order((bought, 1))).id)) == 1
    await change_status(kit.scope, order.id, "I")
    assert await kit.figures(gift) == (3, 0)
    assert await uses(kit, number) == 1


async def test_the_last_use_of_a_coupon_goes_to_one_concurrent_order(kit):
    product = await kit.product(price_cents=1_000, stock=1_000)
    await kit.delivery()
    number = await promotion(kit, coupon_code="UM", usage_limit=1, bonuses={"order_discount": "10%"})
    results = await asyncio.gather(
        *(kit.order((product, 1), coupon_code="UM") for _ in range(20)), return_exceptions=True
    )
    placed = [result for result in results if not isinstance(result, BaseException)]
    assert len(placed) == 1
    assert all(
        isinstance(result, RuleViolation) and result.reason == "coupon_unavailable"
        for result in results
        if isinstance(result, BaseException)
    )
    assert await uses(kit, number) == 1
    assert await kit.value("SELECT count(*) FROM orders WHERE tenant_id = $1") == 1
    assert await kit.figures(product) == (1_000, 1)


@pytest.mark.parametrize("end", ["D", "F", "I", "deleted"])
async def test_a_failed_order_releases_its_promotion_use_once(kit, end):
    product = await kit.product(price_cents=1_000, stock=100)
    number = await promotion(kit, coupon_code="UM", usage_limit=1, bonuses={"order_discount": "10%"})
    order = await kit.order((product, 1), coupon_code="um")
    if end == "deleted":
        await delete_order(kit.scope, order.id)
    else:
        await change_status(kit.scope, order.id, end)
        if end != "I":
            await change_status(kit.scope, order.id, "I")
            assert await uses(kit, number) == 0
    assert await uses(kit, number) == 0
    again = await kit.order((product, 1), coupon_code="um")
    assert await uses(kit, number) == 1
    with pytest.raises(RuleViolation):
        await kit.order((product, 1), coupon_code="um")
    await change_status(kit.scope, again.id, "P")
    assert await uses(kit, number) == 1


async def test_reopening_an_order_restores_its_promotion_use(kit):
    product = await kit.product(price_cents=1_000)
    number = await promotion(kit, bonuses={"order_discount": "10%"})
    order = await kit.order((product, 1))
    for status, count in (("F", 0), ("O", 1), ("B", 1), ("P", 1), ("C", 1), ("I", 0)):
        await change_status(kit.scope, order.id, status)
        assert await uses(kit, number) == count, status


async def test_an_updated_order_keeps_its_promotions(kit):
    product = await kit.product(price_cents=1_000, stock=100)
    number = await promotion(
        kit, conditions={"min_subtotal": "20.00"}, bonuses={"order_discount": "10%"}, usage_limit=1
    )
    lowered = await promotion(kit, zone="catalog", bonuses={"product_discount": "20%"})
    order = await kit.order((product, 3))
    assert (await amounts(kit, order))[:2] == (2_400, 240)
    await PROMOTION_RECORDS.update(kit.scope, number, {"status": "D"})
    await promotion(kit, bonuses={"order_discount": "50%"})
    for quantity, expected in ((5, (4_000, 400)), (1, (800, 0)), (4, (3_200, 320))):
        await update_order(kit.scope, order.id, {"lines": [{"product": product, "quantity": quantity}]})
        assert (await amounts(kit, order))[:2] == expected
    await update_order(kit.scope, order.id, {"payment_method": await kit.payment()})
    assert (await amounts(kit, order))[:2] == (3_200, 320)
    assert (await uses(kit, number), await uses(kit, lowered)) == (1, 1)
    # An explicit discount replaces them permanently.
    await update_order(kit.scope, order.id, {"discount_cents": 100})
    await update_order(kit.scope, order.id, {"lines": [{"product": product, "quantity": 2}]})
    assert (await amounts(kit, order))[:2] == (1_600, 100)
    assert (await uses(kit, number), await uses(kit, lowered)) == (0, 0)


async def test_an_existing_order_gets_no_new_promotion(kit):
    product = await kit.product(price_cents=1_000)
    order = await kit.order((product, 1))
    await promotion(kit, bonuses={"order_discount": "10%"})
    await update_order(kit.scope, order.id, {"lines": [{"product": product, "quantity": 2}]})
    assert (await amounts(kit, order))[:2] == (2_000, 0)


async def test_a_promotion_never_makes_a_total_negative(kit):
    product = await kit.product(price_cents=1_000)
    await promotion(kit, bonuses={"order_discount": "900.00", "product_discount": "900.00"})
    assert await amounts(kit, await kit.order((product, 2))) == (2_000, 2_000, 0, 0, 0, 0)


async def test_an_explicit_discount_above_the_subtotal_is_rejected(kit):
    with pytest.raises(ValidationFailed):
        await kit.order((await kit.product(price_cents=10), 1), discount_cents=11)


async def test_pricing_takes_a_fixed_number_of_statements(kit):
    number = await tax(kit)
    products = [await kit.product(taxes=[number], stock=100) for _ in range(15)]
    await kit.delivery()
    counts = []
    for some in (products[:1], products[:1], products):
        with database.count_statements() as counted:
            await kit.order(*((product, 1) for product in some))
        counts.append(counted.count)
    # The first one reads the terms.
    assert counts[0] - 1 == counts[1] == counts[2] <= 6
    await promotion(kit, bonuses={"order_discount": "10%"})
    counts = []
    for some in (products[:1], products):
        with database.count_statements() as counted:
            await kit.order(*((product, 1) for product in some))
        counts.append(counted.count)
    assert counts[0] == counts[1] <= 10


async def test_another_stores_rates_and_promotions_do_not_apply(kit, other_kit):
    await promotion(other_kit, bonuses={"order_discount": "50%"})
    await tax(other_kit)
    await DESTINATION_RECORDS.create(other_kit.scope, {"name": "Brasil"})
    order = await kit.order((await kit.product(price_cents=1_000), 1), addresses=SAO_PAULO)
    assert await amounts(kit, order) == (1_000, 0, 0, 0, 0, 1_000)


async def test_concurrent_placing_updating_and_cancelling_do_not_deadlock(kit):
    product = await kit.product(price_cents=1_000, stock=1_000)
    await kit.delivery()
    number = await promotion(kit, bonuses={"order_discount": "10%"})
    placed = [await kit.order((product, 1)) for _ in range(8)]
    lines = [{"product": product, "quantity": 2}]
    await asyncio.gather(
        *(update_order(kit.scope, order.id, {"discount_cents": 5, "lines": lines}) for order in placed[:4]),
        *(change_status(kit.scope, order.id, "F") for order in placed[4:]),
        *(kit.order((product, 1)) for _ in range(8)),
    )
    assert await uses(kit, number) == 8
    assert await kit.figures(product) == (1_000, 4 * 2 + 8)
