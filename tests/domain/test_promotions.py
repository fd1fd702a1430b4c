"""What promotions ask and give, and how their uses are counted."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from domain.catalog.categories import create_category
from domain.promotions.applying import PromotedLine, give_back, redeem, reward, take_again
from domain.promotions.promotions import create_promotion, delete_promotion, update_promotion
from kernel.errors import NotFound, RuleViolation, ValidationFailed
from models import database
from models.database import transaction
from tests.domain.kit import unknown


async def made(shop, **given):
    return await create_promotion(shop.scope, {"name": "Oferta", **given})


def nested(*members, kind="all", holds="1"):
    return {
        "set": kind,
        "set_value": holds,
        "conditions": {str(n): each for n, each in enumerate(members, start=1)},
    }


def condition(name, operator, value):
    return {"condition": name, "operator": operator, "value": value}


async def given_for(shop, *lines, **asked):
    return await reward(shop.scope, [PromotedLine(*line) for line in lines], **{"coupon_code": None, **asked})


async def used(shop, number):
    return (await shop.record("promotions", number))["used"]


# --- Bonuses -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "bonuses, discount",
    [
        ({"order_discount": "10%"}, 500),
        ({"order_discount": "7.5%"}, 375),
        ({"order_discount": "12.34"}, 1_234),
        ({"order_discount": 12.5}, 1_250),
        ({"order_discount": {"percent": 10}}, 500),
        ({"order_discount": {"amount": "5.00"}}, 500),
        ({"order_discount": {"amount_cents": 7}}, 7),
        ({"order_discount": {"type": "percent", "value": "10"}}, 500),
        ({"order_discount": {"type": "fixed", "value": "10"}}, 1_000),
        ({"order_discount": {"discount_type": "percentage", "discount": "10"}}, 500),
        ({"order_discount": {"discount_bonus": "by_percentage", "discount_value": "10"}}, 500),
        ({"order_discount": {"discount_bonus": "to_percentage", "discount_value": "10"}}, 4_500),
        ({"order_discount": {"discount_bonus": "by_fixed", "discount_value": "10"}}, 1_000),
        ({"order_discount": {"discount_bonus": "to_fixed", "discount_value": "10"}}, 4_000),
        ({"1": {"bonus": "order_discount", "discount_bonus": "by_fixed", "discount_value": "1"}}, 100),
        ([{"bonus": "order_discount", "discount_bonus": "by_fixed", "discount_value": 1}], 100),
        ({"order_discount": "1000.00"}, 5_000),
        ({"product_discount": "10%"}, 500),
        ({"product_discount": "1.00"}, 500),
        ({"order_discount": "50%", "product_discount": "50%"}, 3_750),
    ],
)
async def test_a_discount_is_given_in_every_form_it_is_written_in(shop, bonuses, discount):
    product = await shop.product()
    number = await made(shop, bonuses=bonuses)
    found = await given_for(shop, (product, 5, 1_000))
    assert (found.discount_cents, found.promotions) == (discount, (number,))


async def test_a_discount_on_products_or_categories_is_for_their_lines(shop):
    above = await create_category(shop.scope, {"name": "Casa"})
    below = await create_category(shop.scope, {"name": "Copos", "parent": above})
    cup = await shop.product(category=below)
    pen = await shop.product()
    first = await made(
        shop,
        bonuses={
            "1": {
                "bonus": "discount_on_categories",
                "discount_bonus": "by_percentage",
                "discount_value": "10",
                "value": str(above),
            }
        },
    )
    found = await given_for(shop, (cup, 2, 1_005), (pen, 1, 1_000))
    assert (found.line_discounts, found.discount_cents) == ((201, 0), 201)
    await delete_promotion(shop.scope, first)
    await made(shop, bonuses={"product_discount": {"percent": 50, "products": [pen]}})
    assert (await given_for(shop, (cup, 2, 1_005), (pen, 1, 1_001))).line_discounts == (0, 501)


async def test_shipping_and_products_are_given_away(shop):
    gift, bought = await shop.product(), await shop.product()
    fast, slow = await shop.shipping(), await shop.shipping()
    await made(
        shop, bonuses={"free_shipping": [slow], "free_products": [{"product_id": gift, "amount": "2"}]}
    )
    found = await given_for(shop, (bought, 1, 100), shipping_method_id=fast)
    assert (found.free_shipping, found.free_shipping_methods) == (False, {slow})
    [free] = found.free_products
    assert (free.product_id, free.quantity, free.promotion_id) == (gift, 2, found.promotions[0])
    assert (await given_for(shop, (bought, 1, 100), shipping_method_id=slow)).free_shipping
    await made(shop, bonuses={"free_shipping": "Y"})
    found = await given_for(shop, (bought, 1, 100))
    assert (found.free_shipping, found.free_shipping_methods) == (True, None)


async def test_promotions_are_taken_by_priority_and_one_may_stop_the_rest(shop):
    product = await shop.product()
    last = await made(shop, priority=3, bonuses={"order_discount": "1.00"})
    first = await made(shop, priority=1, bonuses={"order_discount": "50%"})
    second = await made(shop, priority=2, bonuses={"order_discount": "10%"})
    found = await given_for(shop, (product, 1, 10_000))
    assert (found.promotions, found.discount_cents) == ((first, second, last), 5_000 + 500 + 100)
    await update_promotion(shop.scope, second, {"stop": True})
    assert (await given_for(shop, (product, 1, 10_000))).promotions == (first, second)


async def test_the_catalogues_promotions_lower_prices_before_the_carts_see_them(shop):
    cheap, dear, fixed = [await shop.product() for _ in range(3)]
    await made(
        shop,
        zone="catalog",
        conditions=nested(condition("price", "gte", "10")),
        bonuses={"product_discount": "25%"},
    )
    await made(shop, conditions={"min_subtotal": "20.00"}, bonuses={"order_discount": "1.00"})
    lines = [
        PromotedLine(cheap, 1, 999),
        PromotedLine(dear, 1, 1_001),
        PromotedLine(fixed, 1, 2_000, fixed=True),
    ]
    found = await reward(shop.scope, lines, coupon_code=None)
    assert (found.unit_prices, found.discount_cents) == ((999, 751, 2_000), 100)
    found = await reward(shop.scope, lines[:2], coupon_code=None)
    assert (found.unit_prices, found.discount_cents) == ((999, 751), 0)


# --- Conditions ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "conditions, holds",
    [
        ({}, True),
        ([], True),
        (None, True),
        ({"min_subtotal_cents": 3_000}, True),
        ({"min_subtotal_cents": 3_001}, False),
        ({"min_subtotal": "30.00", "max_subtotal": "30.00"}, True),
        ({"subtotal": "30.01"}, False),
        ({"subtotal": {"operator": "lt", "value": "30.01"}}, True),
        ({"subtotal": {"operator": "", "value": "30.01"}}, False),
        ({"state": {"operator": "nin", "value": ["SP"]}}, False),
        ({"max_total": "29.99"}, False),
        ({"min_quantity": 3, "max_quantity": 3}, True),
        ({"min_quantity": "4"}, False),
        ({"min_weight": "1.5"}, True),
        ({"min_weight_grams": 1_501}, False),
        ({"max_price": "9.99"}, False),
        ({"countries": ["BR"], "states": ["sp", "RJ"]}, True),
        ({"states": "MG"}, False),
        ({"zipcodes": "01310-100"}, True),
        ({"registered": "N"}, True),
        ({"registered": True}, False),
        (nested(condition("subtotal", "gt", "29.99"), condition("subtotal", "lt", 30.01)), True),
        (nested(condition("subtotal", "neq", "30")), False),
        (nested(condition("subtotal", "eq", "30"), holds="0"), False),
        (nested(condition("subtotal", "lte", "1"), condition("state", "eq", "SP"), kind="any"), True),
        (nested(condition("subtotal", "lte", "1"), condition("state", "nin", "SP"), kind="any"), False),
        (
            nested(condition("subtotal", "lte", "1"), condition("state", "nin", "SP"), kind="any", holds="0"),
            True,
        ),
        (nested(nested(condition("products_number", "gte", "3")), nested(kind="any")), True),
        (nested(condition("total_weight", "gte", "2")), False),
        ({"number_of_usages": 1}, True),
        ({"set": "all", "set_value": True, "conditions": [condition("country", "in", "BR,AR")]}, True),
    ],
)
async def test_conditions_hold_or_not(shop, conditions, holds):
    product = await shop.product()
    await made(shop, conditions=conditions, bonuses={"order_discount": "1.00"})
    lines = [PromotedLine(product, 3, 1_000, weight_grams=500)]
    address = {"zipcode": "01310100", "state": "SP"}
    found = await reward(shop.scope, lines, coupon_code=None, address=address)
    assert bool(found.promotions) is holds


async def test_conditions_name_records_of_the_store(shop):
    from domain.destinations.destinations import create_destination

    product, other = await shop.product(), await shop.product()
    category = await create_category(shop.scope, {"name": "Casa"})
    in_it = await shop.product(category=category)
    pix, card = await shop.payment(), await shop.payment()
    ana, rui = await shop.customer(), await shop.customer()
    place = await create_destination(shop.scope, {"name": "SP", "states": ["SP"]})
    public_id = str(await shop.public_id("products", product))
    line, address = (product, 2, 1_000), {"zipcode": "01310100"}
    for conditions, lines, asked, holds in [
        ({"products": [product]}, [line], {}, True),
        ({"products": public_id}, [line], {}, True),
        ({"products": [other]}, [line], {}, False),
        ({"not_products": [other]}, [line], {}, True),
        ({"products": [{"product_id": product, "amount": 3}]}, [line], {}, False),
        ({"products": [{"product_id": product, "amount": 3}]}, [line, line], {}, True),
        ({"categories": [category]}, [line], {}, False),
        ({"categories": [category]}, [line, (in_it, 1, 1)], {}, True),
        ({"payment": pix}, [line], {"payment_method_id": pix}, True),
        ({"payment": pix}, [line], {"payment_method_id": card}, False),
        ({"customer": [ana]}, [line], {"user_id": ana}, True),
        ({"customer": [ana]}, [line], {"user_id": rui}, False),
        (nested(condition("users", "nin", f"{ana},{rui}")), [line], {"user_id": rui}, False),
        ({"destinations": [place]}, [line], {"address": address}, True),
        ({"destinations": [place]}, [line], {"address": {"zipcode": "20040002"}}, False),
    ]:
        number = await made(shop, conditions=conditions, bonuses={"order_discount": "1.00"})
        assert bool((await given_for(shop, *lines, **asked)).promotions) is holds, conditions
        await delete_promotion(shop.scope, number)


async def test_a_usergroups_promotion_is_for_its_members(shop):
    from kernel.scope import entered
    from models.people import Usergroup, UsergroupMembership

    ana, product = await shop.customer(), await shop.product()
    with entered(shop.scope):
        group = await Usergroup.create(name="Atacado")
        membership = await UsergroupMembership.create(usergroup_id=group.id, user_id=ana, status="P")
    await made(shop, conditions={"usergroups": [group.id]}, bonuses={"order_discount": "1.00"})
    assert not (await given_for(shop, (product, 1, 500), user_id=ana)).promotions
    with entered(shop.scope):
        await UsergroupMembership.filter(id=membership.id).update(status="A")
    assert (await given_for(shop, (product, 1, 500), user_id=ana)).promotions
    assert not (await given_for(shop, (product, 1, 500))).promotions


@pytest.mark.parametrize("where", ["field", "word", "set"])
async def test_a_coupon_is_asked_for(shop, where):
    product = await shop.product()
    asked = {
        "field": {"coupon_code": "Verão10"},
        "word": {"conditions": {"coupon_code": "Verão10"}},
        "set": {"conditions": nested(condition("coupon_code", "eq", "Verão10"))},
    }[where]
    number = await made(shop, bonuses={"order_discount": "10%"}, **asked)
    assert (await shop.record("promotions", number))["coupon_key"] == "verao10"
    for code, accepted in (
        ("verao10 ", True),
        ("VERÃO10", True),
        ("verao", False),
        (None, False),
        ("", False),
    ):
        found = await given_for(shop, (product, 1, 1_000), coupon_code=code)
        assert (found.coupon_accepted, found.discount_cents) == (accepted, 100 * accepted)


async def test_any_of_several_coupons_will_do(shop):
    product = await shop.product()
    await made(
        shop, conditions=nested(condition("coupon_code", "in", "A1, B2")), bonuses={"order_discount": "1"}
    )
    for code, accepted in (("a1", True), ("b2", True), ("c3", False)):
        assert (await given_for(shop, (product, 1, 1_000), coupon_code=code)).coupon_accepted is accepted


async def test_promotions_are_on_between_their_dates_and_while_active(shop):
    product, now = await shop.product(), shop.scope.now
    number = await made(shop, bonuses={"order_discount": "1"}, from_at=now, to_at=now)
    for changes, is_on in (
        ({}, True),
        ({"from_at": now + timedelta(seconds=1), "to_at": None}, False),
        ({"from_at": None, "to_at": now - timedelta(seconds=1)}, False),
        ({"to_at": None, "status": "D"}, False),
        ({"status": "A"}, True),
    ):
        await update_promotion(shop.scope, number, changes)
        assert bool((await given_for(shop, (product, 1, 500))).promotions) is is_on


async def test_deciding_takes_a_fixed_number_of_statements(shop):
    products = [await shop.product() for _ in range(12)]
    with database.counting() as counted:
        await given_for(shop, *((product, 1, 100) for product in products))
    assert counted.count == 1
    for product in products:
        await made(shop, conditions={"products": [product]}, bonuses={"order_discount": "0.01"})
    with database.counting() as counted:
        found = await given_for(shop, *((product, 1, 100) for product in products))
    assert (counted.count, found.discount_cents) == (2, 12)


async def test_another_stores_promotions_give_nothing_here(shop, other_shop):
    await made(other_shop, bonuses={"order_discount": "1.00"})
    assert not (await given_for(shop, (await shop.product(), 1, 500))).promotions


# --- Writing -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given, fields",
    [
        ({"name": " "}, {"name": "name_required"}),
        ({"zone": "shop"}, {"zone": "zone_invalid"}),
        ({"conditions": "x"}, {"conditions": "conditions_invalid"}),
        ({"conditions": {"moon": "full"}}, {"conditions": "conditions_invalid"}),
        ({"conditions": {"subtotal": "x"}}, {"conditions": "conditions_invalid"}),
        ({"conditions": {"subtotal": "1.999"}}, {"conditions": "conditions_invalid"}),
        ({"conditions": {"products": []}}, {"conditions": "conditions_invalid"}),
        ({"conditions": {"products": ["abc"]}}, {"conditions": "conditions_invalid"}),
        ({"conditions": {"products": [10**12]}}, {"conditions": "not_found"}),
        ({"conditions": {"coupon_code": {"a": []}}}, {"conditions": "conditions_invalid"}),
        ({"conditions": {"set": "some", "conditions": {}}}, {"conditions": "conditions_invalid"}),
        ({"conditions": {"set": "all", "set_value": "maybe"}}, {"conditions": "conditions_invalid"}),
        ({"conditions": {"set": "all", "conditions": {"1": "x"}}}, {"conditions": "conditions_invalid"}),
        ({"conditions": nested(condition("subtotal", "like", "1"))}, {"conditions": "conditions_invalid"}),
        ({"conditions": nested({"operator": "eq"})}, {"conditions": "conditions_invalid"}),
        ({"zone": "catalog", "conditions": {"subtotal": "1"}}, {"conditions": "conditions_invalid"}),
        ({"zone": "catalog", "bonuses": {"order_discount": "1"}}, {"bonuses": "bonuses_invalid"}),
        ({"zone": "catalog", "coupon_code": "x"}, {"coupon_code": "coupon_invalid"}),
        ({"bonuses": 5}, {"bonuses": "bonuses_invalid"}),
        ({"bonuses": {"give_points": "1"}}, {"bonuses": "bonuses_invalid"}),
        ({"bonuses": {"order_discount": {}}}, {"bonuses": "bonuses_invalid"}),
        ({"bonuses": {"order_discount": {"type": "percent"}}}, {"bonuses": "bonuses_invalid"}),
        ({"bonuses": {"order_discount": "101%"}}, {"bonuses": "bonuses_invalid"}),
        ({"bonuses": {"order_discount": "-5"}}, {"bonuses": "bonuses_invalid"}),
        ({"bonuses": {"order_discount": {"discount_bonus": "half"}}}, {"bonuses": "bonuses_invalid"}),
        ({"bonuses": {"free_products": []}}, {"bonuses": "bonuses_invalid"}),
        ({"bonuses": {"free_products": [{"product_id": 10**12}]}}, {"bonuses": "not_found"}),
        ({"bonuses": {"free_products": [{"product_id": 1, "amount": 0}]}}, {"bonuses": "bonuses_invalid"}),
        ({"bonuses": {"free_shipping": ["x"]}}, {"bonuses": "bonuses_invalid"}),
        ({"bonuses": [{"discount_bonus": "x"}]}, {"bonuses": "bonuses_invalid"}),
        ({"usage_limit": -1}, {"usage_limit": "usage_limit_invalid"}),
        ({"priority": "x"}, {"priority": "priority_invalid"}),
        ({"status": "Z"}, {"status": "status_invalid"}),
        ({"from_at": "yesterday"}, {"from_at": "date_invalid"}),
    ],
)
async def test_what_is_wrong_with_a_promotion_is_named(shop, given, fields):
    with pytest.raises(ValidationFailed) as refusal:
        await made(shop, **given)
    assert refusal.value.fields == fields
    assert await shop.value("SELECT count(*) FROM promotions WHERE tenant_id = $1") == 0


async def test_too_many_conditions_and_too_deep_ones_are_refused(shop):
    deep = nested()
    for _ in range(9):
        deep = nested(deep)
    for conditions in (deep, nested(*[condition("subtotal", "gte", "1")] * 101)):
        with pytest.raises(ValidationFailed):
            await made(shop, conditions=conditions)


async def test_conditions_are_given_back_as_they_were_written(shop):
    conditions = nested(
        condition("subtotal", "gte", "100"), nested(condition("state", "eq", "SP"), kind="any")
    )
    number = await made(shop, conditions=conditions, bonuses={"order_discount": "10%"})
    text = await shop.value(
        "SELECT conditions::text FROM promotions WHERE tenant_id = $1 AND id = $2", number
    )
    import json

    assert json.loads(text) == json.loads(json.dumps(conditions))


async def test_a_promotion_changes_partially_and_keeps_making_sense(shop):
    number = await made(shop, conditions={"subtotal": "1"}, bonuses={"order_discount": "1"}, coupon_code="X")
    await update_promotion(shop.scope, number, {"usage_limit": 5})
    record = await shop.record("promotions", number)
    assert (record["coupon_key"], record["usage_limit"], record["usage_cap"]) == ("x", 5, 5)
    with pytest.raises(ValidationFailed):
        await update_promotion(shop.scope, number, {"zone": "catalog"})
    with pytest.raises(ValidationFailed):
        await update_promotion(
            shop.scope, number, {"from_at": shop.scope.now, "to_at": shop.scope.now - timedelta(1)}
        )
    await delete_promotion(shop.scope, number)
    for reference in (number, unknown()):
        with pytest.raises(NotFound, match="promotion not found"):
            await update_promotion(shop.scope, reference, {"name": "x"})


async def test_a_promotion_whose_product_is_gone_can_be_switched_off(shop):
    from domain.catalog.products import delete_product

    product = await shop.product()
    number = await made(shop, conditions={"products": [product]})
    await delete_product(shop.scope, product)
    await update_promotion(shop.scope, number, {"status": "D"})
    with pytest.raises(ValidationFailed):
        await update_promotion(shop.scope, number, {"bonuses": {"order_discount": "1"}})


async def test_another_stores_records_are_not_found(shop, other_shop):
    foreign = await other_shop.product()
    with pytest.raises(ValidationFailed):
        await made(shop, conditions={"products": [foreign]})
    number = await made(other_shop)
    for reference in (number, await other_shop.public_id("promotions", number)):
        with pytest.raises(NotFound):
            await update_promotion(shop.scope, reference, {"name": "x"})
        with pytest.raises(NotFound):
            await delete_promotion(shop.scope, reference)
    assert "promotion.created" in [
        row["action"]
        for row in await other_shop.rows("SELECT action FROM audit_entries WHERE tenant_id = $1")
    ]


# --- Uses ----------------------------------------------------------------------------------------------------------------------


async def redeemed(shop, given, order):
    async with transaction(shop.scope):
        await redeem(shop.scope, given, order)


async def test_a_coupon_with_one_use_is_used_once_whoever_comes(shop):
    product = await shop.product(stock=100)
    number = await made(shop, coupon_code="UM", usage_limit=1, bonuses={"order_discount": "1.00"})
    orders = [(await shop.order((product, 1))).id for _ in range(12)]
    given = await given_for(shop, (product, 1, 1_000), coupon_code="um")
    results = await asyncio.gather(
        *(redeemed(shop, given, order) for order in orders), return_exceptions=True
    )
    assert [result for result in results if result is None] == [None]
    refused = [result for result in results if result is not None]
    assert all(isinstance(each, RuleViolation) and each.reason == "coupon_unavailable" for each in refused)
    assert await used(shop, number) == 1
    assert not (await given_for(shop, (product, 1, 1_000), coupon_code="um")).coupon_accepted


async def test_a_limit_in_the_conditions_is_kept_under_a_race_too(shop):
    product = await shop.product(stock=100)
    number = await made(
        shop, conditions=nested(condition("number_of_usages", "lte", "2")), bonuses={"order_discount": "1"}
    )
    given = await given_for(shop, (product, 1, 1_000))
    orders = [number_.id for number_ in [await shop.order((product, 1), discount_cents=1) for _ in range(6)]]
    results = await asyncio.gather(
        *(redeemed(shop, given, order) for order in orders), return_exceptions=True
    )
    assert results.count(None) == 2
    assert await used(shop, number) == 2


async def test_once_per_customer_is_kept_by_account_and_by_email(shop):
    product = await shop.product(stock=100)
    ana = await shop.customer(email="ana@example.com")
    asked = {"product": product, "quantity": 1}
    orders = [(await shop.order(asked, user=ana, email="", discount_cents=1)).id for _ in range(2)]
    guest = (await shop.order(asked, email="ana@example.com", discount_cents=1)).id
    stranger = (await shop.order(asked, email="rui@example.com", discount_cents=1)).id
    number = await made(shop, conditions={"once_per_customer": "Y"}, bonuses={"order_discount": "1"})
    given = await given_for(shop, (product, 1, 1_000), user_id=ana)
    results = await asyncio.gather(
        *(redeemed(shop, given, order) for order in orders), return_exceptions=True
    )
    assert results.count(None) == 1
    with pytest.raises(RuleViolation):
        await redeemed(shop, given, guest)
    await redeemed(shop, given, stranger)
    assert await used(shop, number) == 2
    assert not (await given_for(shop, (product, 1, 1_000), user_id=ana)).promotions
    assert not (await given_for(shop, (product, 1, 1_000), email="ana@example.com")).promotions
    assert (await given_for(shop, (product, 1, 1_000), email="nova@example.com")).promotions


async def test_a_use_is_given_back_once(shop):
    product = await shop.product()
    number = await made(shop, coupon_code="X", bonuses={"order_discount": "1"}, usage_limit=1)
    order = (await shop.order((product, 1))).id
    await redeemed(shop, await given_for(shop, (product, 1, 500), coupon_code="x"), order)
    for act, left in ((give_back, 0), (give_back, 0), (take_again, 1), (take_again, 1), (give_back, 0)):
        async with transaction(shop.scope):
            await act(shop.scope, order)
        assert await used(shop, number) == left
