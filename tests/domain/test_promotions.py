"""Conditions, bonuses and uses of promotions."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from domain.catalog.categories import CATEGORY_RECORDS
from domain.orders.lifecycle import change_status
from domain.promotions.promotions import PROMOTION_RECORDS
from domain.promotions.rewards import PromotedLine, redeem, release_uses, restore_uses
from kernel.errors import NotFound, RuleViolation, ValidationFailed
from models.connection import database
from models.connection.database import transaction
from tests.harness.domain_store import unknown
from tests.harness.rewards import find_reward


async def create(kit, **values):
    return await PROMOTION_RECORDS.create(kit.scope, {"name": "Oferta", **values})


def nested(*members, kind="all", holds="1"):
    return {
        "set": kind,
        "set_value": holds,
        "conditions": {str(n): entry for n, entry in enumerate(members, start=1)},
    }


def condition(name, operator, value):
    return {"condition": name, "operator": operator, "value": value}


async def reward_for(kit, *lines, **arguments):
    return await find_reward(kit.scope, [PromotedLine(*line) for line in lines], **{"coupon_code": None, **arguments})


async def used(kit, number):
    return (await kit.record("promotions", number))["used"]


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
async def test_every_discount_form(kit, bonuses, discount):
    product = await kit.product()
    number = await create(kit, bonuses=bonuses)
    rewards = await reward_for(kit, (product, 5, 1_000))
    assert (rewards.discount_cents, rewards.promotions) == (discount, (number,))


async def test_a_discount_on_products_or_categories_applies_to_their_lines(kit):
    above = await CATEGORY_RECORDS.create(kit.scope, {"name": "Casa"})
    below = await CATEGORY_RECORDS.create(kit.scope, {"name": "Copos", "parent": above})
    cup = await kit.product(category=below)
    pen = await kit.product()
    first = await create(
        kit,
        bonuses={
            "1": {
                "bonus": "discount_on_categories",
                "discount_bonus": "by_percentage",
                "discount_value": "10",
                "value": str(above),
            }
        },
    )
    rewards = await reward_for(kit, (cup, 2, 1_005), (pen, 1, 1_000))
    assert (rewards.line_discounts, rewards.discount_cents) == ((201, 0), 201)
    await PROMOTION_RECORDS.delete(kit.scope, first)
    await create(kit, bonuses={"product_discount": {"percent": 50, "products": [pen]}})
    assert (await reward_for(kit, (cup, 2, 1_005), (pen, 1, 1_001))).line_discounts == (0, 501)


async def test_free_shipping_and_free_products(kit):
    gift, bought = await kit.product(), await kit.product()
    fast, slow = await kit.shipping(), await kit.shipping()
    await create(kit, bonuses={"free_shipping": [slow], "free_products": [{"product_id": gift, "amount": "2"}]})
    rewards = await reward_for(kit, (bought, 1, 100), shipping_method_id=fast)
    assert (rewards.free_shipping, rewards.free_shipping_methods) == (False, {slow})
    [free] = rewards.free_products
    assert (free.product_id, free.quantity, free.promotion_id) == (gift, 2, rewards.promotions[0])
    assert (await reward_for(kit, (bought, 1, 100), shipping_method_id=slow)).free_shipping
    await create(kit, bonuses={"free_shipping": "Y"})
    rewards = await reward_for(kit, (bought, 1, 100))
    assert (rewards.free_shipping, rewards.free_shipping_methods) == (True, None)


async def test_promotions_apply_by_priority_and_may_stop_later_ones(kit):
    product = await kit.product()
    last = await create(kit, priority=3, bonuses={"order_discount": "1.00"})
    first = await create(kit, priority=1, bonuses={"order_discount": "50%"})
    second = await create(kit, priority=2, bonuses={"order_discount": "10%"})
    rewards = await reward_for(kit, (product, 1, 10_000))
    assert (rewards.promotions, rewards.discount_cents) == ((first, second, last), 5_000 + 500 + 100)
    await PROMOTION_RECORDS.update(kit.scope, second, {"stop": True})
    assert (await reward_for(kit, (product, 1, 10_000))).promotions == (first, second)


async def test_catalogue_promotions_lower_prices_before_cart_promotions(kit):
    cheap, dear, fixed = [await kit.product() for _ in range(3)]
    await create(
        kit,
        zone="catalog",
        conditions=nested(condition("price", "gte", "10")),
        bonuses={"product_discount": "25%"},
    )
    await create(kit, conditions={"min_subtotal": "20.00"}, bonuses={"order_discount": "1.00"})
    lines = [
        PromotedLine(cheap, 1, 999),
        PromotedLine(dear, 1, 1_001),
        PromotedLine(fixed, 1, 2_000, fixed=True),
    ]
    rewards = await find_reward(kit.scope, lines, coupon_code=None)
    assert (rewards.unit_prices, rewards.discount_cents) == ((999, 751, 2_000), 100)
    rewards = await find_reward(kit.scope, lines[:2], coupon_code=None)
    assert (rewards.unit_prices, rewards.discount_cents) == ((999, 751), 0)


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
async def test_conditions(kit, conditions, holds):
    product = await kit.product()
    await create(kit, conditions=conditions, bonuses={"order_discount": "1.00"})
    lines = [PromotedLine(product, 3, 1_000, weight_grams=500)]
    address = {"zipcode": "01310100", "state": "SP"}
    rewards = await find_reward(kit.scope, lines, coupon_code=None, address=address)
    assert bool(rewards.promotions) is holds


async def test_conditions_refer_to_records_of_the_store(kit):
    from domain.destinations.destinations import DESTINATION_RECORDS

    product, other = await kit.product(), await kit.product()
    category = await CATEGORY_RECORDS.create(kit.scope, {"name": "Casa"})
    in_it = await kit.product(category=category)
    pix, card = await kit.payment(), await kit.payment()
    ana, rui = await kit.customer(), await kit.customer()
    place = await DESTINATION_RECORDS.create(kit.scope, {"name": "SP", "states": ["SP"]})
    public_id = str(await kit.public_id("products", product))
    line, address = (product, 2, 1_000), {"zipcode": "01310100"}
    for conditions, lines, arguments, holds in [
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
        number = await create(kit, conditions=conditions, bonuses={"order_discount": "1.00"})
        assert bool((await reward_for(kit, *lines, **arguments)).promotions) is holds, conditions
        await PROMOTION_RECORDS.delete(kit.scope, number)


async def test_ids_that_were_once_stored_as_objects_are_read_as_ids(kit):
    category = await CATEGORY_RECORDS.create(kit.scope, {"name": "Casa"})
    cup, pen, pix = await kit.product(category=category), await kit.product(), await kit.payment()
    number = await create(
        kit,
        conditions={"categories": [category], "payment": [pix], "products": [{"product_id": cup, "amount": 2}]},
        bonuses={
            "product_discount": {"percent": 50, "products": [pen]},
            "free_shipping": [await kit.shipping()],
            "free_products": [pen],
        },
    )
    line, arguments = (cup, 2, 1_000), {"payment_method_id": pix}
    before = await reward_for(kit, line, (pen, 1, 500), **arguments)
    assert (before.discount_cents, before.promotions, len(before.free_products)) == (250, (number,), 1)
    # As versions up to 0.3 stored `{"categories": [{"id": 1}]}`.
    await kit.rows(
        """
        UPDATE promotions SET
            rule = regexp_replace(rule::text, '"value": \\[([0-9]+)\\]', '"value": [{"id": \\1}]', 'g')::jsonb,
            gifts = regexp_replace(gifts::text, '"(products|methods)": \\[([0-9]+)\\]', '"\\1": [{"id": \\2}]', 'g')::jsonb
        WHERE tenant_id = $1 AND id = $2 RETURNING id
        """,
        number,
    )
    stored = await kit.record("promotions", number)
    assert [str(stored[name]).count('[{"id": ') for name in ("rule", "gifts")] == [3, 3]
    assert await reward_for(kit, line, (pen, 1, 500), **arguments) == before


async def test_a_usergroup_promotion_applies_to_its_members(kit):
    from kernel.scope import active_scope
    from models.tables.users import Usergroup, UsergroupMembership

    ana, product = await kit.customer(), await kit.product()
    with active_scope(kit.scope):
        group = await Usergroup.create(name="Atacado")
        membership = await UsergroupMembership.create(usergroup_id=group.id, user_id=ana, status="P")
    await create(kit, conditions={"usergroups": [group.id]}, bonuses={"order_discount": "1.00"})
    assert not (await reward_for(kit, (product, 1, 500), user_id=ana)).promotions
    with active_scope(kit.scope):
        await UsergroupMembership.filter(id=membership.id).update(status="A")
    assert (await reward_for(kit, (product, 1, 500), user_id=ana)).promotions
    assert not (await reward_for(kit, (product, 1, 500))).promotions


@pytest.mark.parametrize("where", ["field", "word", "set"])
async def test_a_promotion_may_require_a_coupon(kit, where):
    product = await kit.product()
    arguments = {
        "field": {"coupon_code": "Verão10"},
        "word": {"conditions": {"coupon_code": "Verão10"}},
        "set": {"conditions": nested(condition("coupon_code", "eq", "Verão10"))},
    }[where]
    number = await create(kit, bonuses={"order_discount": "10%"}, **arguments)
    assert (await kit.record("promotions", number))["coupon_key"] == "verao10"
    for code, accepted in (
        ("verao10 ", True),
        ("VERÃO10", True),
        ("verao", False),
        (None, False),
        ("", False),
    ):
        rewards = await reward_for(kit, (product, 1, 1_000), coupon_code=code)
        assert (rewards.coupon_accepted, rewards.discount_cents) == (accepted, 100 * accepted)


async def test_any_of_several_coupons_is_accepted(kit):
    product = await kit.product()
    await create(kit, conditions=nested(condition("coupon_code", "in", "A1, B2")), bonuses={"order_discount": "1"})
    for code, accepted in (("a1", True), ("b2", True), ("c3", False)):
        assert (await reward_for(kit, (product, 1, 1_000), coupon_code=code)).coupon_accepted is accepted


async def test_promotions_apply_between_their_dates_while_active(kit):
    product, now = await kit.product(), kit.scope.now
    number = await create(kit, bonuses={"order_discount": "1"}, from_at=now, to_at=now)
    for changes, is_on in (
        ({}, True),
        ({"from_at": now + timedelta(seconds=1), "to_at": None}, False),
        ({"from_at": None, "to_at": now - timedelta(seconds=1)}, False),
        ({"to_at": None, "status": "D"}, False),
        ({"status": "A"}, True),
    ):
        await PROMOTION_RECORDS.update(kit.scope, number, changes)
        assert bool((await reward_for(kit, (product, 1, 500))).promotions) is is_on


async def test_finding_a_reward_takes_a_fixed_number_of_statements(kit):
    products = [await kit.product() for _ in range(12)]
    with database.count_statements() as counted:
        await reward_for(kit, *((product, 1, 100) for product in products))
    assert counted.count == 1
    for product in products:
        await create(kit, conditions={"products": [product]}, bonuses={"order_discount": "0.01"})
    with database.count_statements() as counted:
        rewards = await reward_for(kit, *((product, 1, 100) for product in products))
    assert (counted.count, rewards.discount_cents) == (2, 12)


async def test_another_stores_promotions_do_not_apply(kit, other_kit):
    await create(other_kit, bonuses={"order_discount": "1.00"})
    assert not (await reward_for(kit, (await kit.product(), 1, 500))).promotions


# --- Writing -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "values, fields",
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
        *(
            ({"conditions": {name: value}}, {"conditions": "conditions_invalid"})
            for value in ([{"id": 1}], [{"a": 1}], {"1": {"id": 1}})
            for name in ("categories", "users", "usergroup", "payment", "shipping", "destinations")
        ),
        ({"conditions": {"feature": {"feature_id": {"id": 1}, "value": "x"}}}, {"conditions": "conditions_invalid"}),
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
        ({"bonuses": {"give_usergroup": "1"}}, {"bonuses": "bonuses_invalid"}),
        *(
            ({"bonuses": {"give_points": points}}, {"bonuses": "bonuses_invalid"})
            for points in ("0", "x", None, "-1", 10**7)
        ),
        ({"bonuses": {"give_coupon": []}}, {"bonuses": "bonuses_invalid"}),
        ({"bonuses": {"give_coupon": 10**12}}, {"bonuses": "not_found"}),
        ({"bonuses": {"give_coupon": [{"id": 1}]}}, {"bonuses": "bonuses_invalid"}),
        ({"zone": "catalog", "bonuses": {"give_points": "1"}}, {"bonuses": "bonuses_invalid"}),
        ({"conditions": {"feature": "1"}}, {"conditions": "conditions_invalid"}),
        ({"conditions": {"feature": {"feature_id": 10**12, "value": "x"}}}, {"conditions": "not_found"}),
        ({"conditions": {"feature": {"feature_id": 1}}}, {"conditions": "conditions_invalid"}),
        ({"conditions": {"purchased_products": "x"}}, {"conditions": "conditions_invalid"}),
        ({"conditions": {"orders_number": "-1"}}, {"conditions": "conditions_invalid"}),
        ({"zone": "catalog", "conditions": {"auto_coupons": ""}}, {"conditions": "conditions_invalid"}),
        ({"bonuses": {"order_discount": {}}}, {"bonuses": "bonuses_invalid"}),
        ({"bonuses": {"order_discount": {"type": "percent"}}}, {"bonuses": "bonuses_invalid"}),
        ({"bonuses": {"order_discount": "101%"}}, {"bonuses": "bonuses_invalid"}),
        ({"bonuses": {"order_discount": "-5"}}, {"bonuses": "bonuses_invalid"}),
        ({"bonuses": {"order_discount": {"discount_bonus": "half"}}}, {"bonuses": "bonuses_invalid"}),
        ({"bonuses": {"free_products": []}}, {"bonuses": "bonuses_invalid"}),
        ({"bonuses": {"free_products": [{"product_id": 10**12}]}}, {"bonuses": "not_found"}),
        ({"bonuses": {"free_products": [{"product_id": 1, "amount": 0}]}}, {"bonuses": "bonuses_invalid"}),
        *(
            ({"bonuses": {"free_shipping": [value]}}, {"bonuses": "bonuses_invalid"})
            for value in ("x", {"id": 1}, {"a": 1})
        ),
        ({"bonuses": [{"discount_bonus": "x"}]}, {"bonuses": "bonuses_invalid"}),
        ({"usage_limit": -1}, {"usage_limit": "usage_limit_invalid"}),
        ({"priority": "x"}, {"priority": "priority_invalid"}),
        ({"status": "Z"}, {"status": "status_invalid"}),
        ({"from_at": "yesterday"}, {"from_at": "date_invalid"}),
    ],
)
async def test_promotion_field_errors_are_reported(kit, values, fields):
    with pytest.raises(ValidationFailed) as error:
        await create(kit, **values)
    assert error.value.fields == fields
    assert await kit.value("SELECT count(*) FROM promotions WHERE tenant_id = $1") == 0


async def test_too_many_or_too_deep_conditions_are_rejected(kit):
    deep = nested()
    for _ in range(9):
        deep = nested(deep)
    for conditions in (deep, nested(*[condition("subtotal", "gte", "1")] * 101)):
        with pytest.raises(ValidationFailed):
            await create(kit, conditions=conditions)


async def test_conditions_are_returned_unchanged(kit):
    conditions = nested(condition("subtotal", "gte", "100"), nested(condition("state", "eq", "SP"), kind="any"))
    number = await create(kit, conditions=conditions, bonuses={"order_discount": "10%"})
    text = await kit.value("SELECT conditions::text FROM promotions WHERE tenant_id = $1 AND id = $2", number)
    import json

    assert json.loads(text) == json.loads(json.dumps(conditions))


async def test_a_promotion_is_updated_partially_and_validated_as_a_whole(kit):
    number = await create(kit, conditions={"subtotal": "1"}, bonuses={"order_discount": "1"}, coupon_code="X")
    await PROMOTION_RECORDS.update(kit.scope, number, {"usage_limit": 5})
    record = await kit.record("promotions", number)
    assert (record["coupon_key"], record["usage_limit"], record["usage_cap"]) == ("x", 5, 5)
    with pytest.raises(ValidationFailed):
        await PROMOTION_RECORDS.update(kit.scope, number, {"zone": "catalog"})
    with pytest.raises(ValidationFailed):
        await PROMOTION_RECORDS.update(
            kit.scope, number, {"from_at": kit.scope.now, "to_at": kit.scope.now - timedelta(1)}
        )
    await PROMOTION_RECORDS.delete(kit.scope, number)
    for reference in (number, unknown()):
        with pytest.raises(NotFound, match="promotion not found"):
            await PROMOTION_RECORDS.update(kit.scope, reference, {"name": "x"})


async def test_a_promotion_whose_product_was_deleted_can_be_limited_and_disabled(kit):
    from domain.catalog.products import delete_product

    product = await kit.product()
    number = await create(kit, conditions={"products": [product], "max_uses": 9, "once_per_customer": "Y"})
    await delete_product(kit.scope, product)
    await PROMOTION_RECORDS.update(kit.scope, number, {"usage_limit": 5, "coupon_code": "DEZ"})
    await PROMOTION_RECORDS.update(kit.scope, number, {"status": "D"})
    derived = "usage_cap, coupon_key, once_per_customer, status"
    [row] = await kit.rows(f"SELECT {derived} FROM promotions WHERE tenant_id = $1 AND id = $2", number)
    assert tuple(row) == (5, "dez", True, "D")
    with pytest.raises(ValidationFailed):
        await PROMOTION_RECORDS.update(kit.scope, number, {"bonuses": {"order_discount": "1"}})


async def test_another_stores_records_are_not_found(kit, other_kit):
    foreign = await other_kit.product()
    with pytest.raises(ValidationFailed):
        await create(kit, conditions={"products": [foreign]})
    number = await create(other_kit)
    for reference in (number, await other_kit.public_id("promotions", number)):
        with pytest.raises(NotFound):
            await PROMOTION_RECORDS.update(kit.scope, reference, {"name": "x"})
        with pytest.raises(NotFound):
            await PROMOTION_RECORDS.delete(kit.scope, reference)
    assert "promotion.created" in [
        row["action"] for row in await other_kit.rows("SELECT action FROM audit_entries WHERE tenant_id = $1")
    ]


# --- Uses ----------------------------------------------------------------------------------------------------------------------


async def redeem_in_transaction(kit, values, order):
    async with transaction(kit.scope):
        await redeem(kit.scope, values, order)


async def test_a_coupon_with_one_use_is_redeemed_once_under_concurrency(kit):
    product = await kit.product(stock=100)
    number = await create(kit, coupon_code="UM", usage_limit=1, bonuses={"order_discount": "1.00"})
    orders = [(await kit.order((product, 1))).id for _ in range(12)]
    values = await reward_for(kit, (product, 1, 1_000), coupon_code="um")
    results = await asyncio.gather(
        *(redeem_in_transaction(kit, values, order) for order in orders), return_exceptions=True
    )
    assert [result for result in results if result is None] == [None]
    refused = [result for result in results if result is not None]
    assert all(isinstance(entry, RuleViolation) and entry.reason == "coupon_unavailable" for entry in refused)
    assert await used(kit, number) == 1
    assert not (await reward_for(kit, (product, 1, 1_000), coupon_code="um")).coupon_accepted


async def test_a_usage_limit_in_the_conditions_holds_under_concurrency(kit):
    product = await kit.product(stock=100)
    number = await create(
        kit, conditions=nested(condition("number_of_usages", "lte", "2")), bonuses={"order_discount": "1"}
    )
    values = await reward_for(kit, (product, 1, 1_000))
    orders = [number_.id for number_ in [await kit.order((product, 1), discount_cents=1) for _ in range(6)]]
    results = await asyncio.gather(
        *(redeem_in_transaction(kit, values, order) for order in orders), return_exceptions=True
    )
    assert results.count(None) == 2
    assert await used(kit, number) == 2


async def test_once_per_customer_applies_by_account_and_by_email(kit):
    product = await kit.product(stock=100)
    ana = await kit.customer(email="ana@example.com")
    arguments = {"product": product, "quantity": 1}
    orders = [(await kit.order(arguments, user=ana, email="", discount_cents=1)).id for _ in range(2)]
    guest = (await kit.order(arguments, email="ana@example.com", discount_cents=1)).id
    stranger = (await kit.order(arguments, email="rui@example.com", discount_cents=1)).id
    number = await create(kit, conditions={"once_per_customer": "Y"}, bonuses={"order_discount": "1"})
    values = await reward_for(kit, (product, 1, 1_000), user_id=ana)
    results = await asyncio.gather(
        *(redeem_in_transaction(kit, values, order) for order in orders), return_exceptions=True
    )
    assert results.count(None) == 1
    with pytest.raises(RuleViolation):
        await redeem_in_transaction(kit, values, guest)
    await redeem_in_transaction(kit, values, stranger)
    assert await used(kit, number) == 2
    assert not (await reward_for(kit, (product, 1, 1_000), user_id=ana)).promotions
    assert not (await reward_for(kit, (product, 1, 1_000), email="ana@example.com")).promotions
    assert (await reward_for(kit, (product, 1, 1_000), email="nova@example.com")).promotions


async def test_a_use_is_released_once(kit):
    product = await kit.product()
    number = await create(kit, coupon_code="X", bonuses={"order_discount": "1"}, usage_limit=1)
    order = (await kit.order((product, 1))).id
    await redeem_in_transaction(kit, await reward_for(kit, (product, 1, 500), coupon_code="x"), order)
    for act, left in (
        (release_uses, 0),
        (release_uses, 0),
        (restore_uses, 1),
        (restore_uses, 1),
        (release_uses, 0),
    ):
        async with transaction(kit.scope):
            await act(kit.scope, order)
        assert await used(kit, number) == left


@pytest.mark.parametrize("status", ["D", "F", "I"])
async def test_an_order_that_starts_unsuccessful_uses_no_coupon_until_it_is_reopened(kit, status):
    product = await kit.product()
    number = await create(kit, coupon_code="X", bonuses={"order_discount": "1"}, usage_limit=1)
    order = await kit.order((product, 1), coupon_code="x", status=status)
    assert await used(kit, number) == 0
    await change_status(kit.scope, order.id, "O", force=True)
    assert await used(kit, number) == 1
