"""Conditions on features, earlier purchases and points."""

from __future__ import annotations

import pytest

from domain.catalog.features import FEATURE_RECORDS
from domain.orders.lifecycle import change_status
from domain.points.ledger import adjust_points
from domain.promotions.promotions import PROMOTION_RECORDS
from domain.promotions.rewards import PromotedLine
from kernel.errors import ValidationFailed
from models.connection import database
from tests.harness.rewards import find_reward


async def applies(kit, conditions, *products, user=None, zone="cart"):
    """Return whether a promotion with these conditions lowers the price of any of the products."""
    bonuses = {"product_discount": "10%"}
    number = await PROMOTION_RECORDS.create(
        kit.scope, {"name": "P", "zone": zone, "conditions": conditions, "bonuses": bonuses}
    )
    lines = [PromotedLine(product, 1, 1_000) for product in products]
    reward = await find_reward(kit.scope, lines, user_id=user)
    await PROMOTION_RECORDS.delete(kit.scope, number)
    return number in reward.promotions


def tree(name, operator, value, **more):
    return {
        "set": "all",
        "set_value": "1",
        "conditions": {"1": {"condition": name, "operator": operator, "value": value, **more}},
    }


@pytest.fixture
async def colours(kit):
    """A select feature whose second variant has the id of nothing else, with a red and a blue product."""
    feature = await FEATURE_RECORDS.create(
        kit.scope, {"name": "Cor", "type": "S", "variants": [{"name": "Vermelho"}, {"name": "Azul"}]}
    )
    rows = await kit.rows("SELECT id, name FROM feature_variants WHERE tenant_id = $1 ORDER BY id")
    variants = {row["name"]: row["id"] for row in rows}
    red, blue = [
        await kit.product(features=[{"feature": feature, "variant": variants[name]}]) for name in ("Vermelho", "Azul")
    ]
    return feature, variants, red, blue, await kit.product()


@pytest.mark.parametrize("zone", ["cart", "catalog"])
@pytest.mark.parametrize(
    "operator, names, expected",
    [
        ("eq", ["Vermelho"], (True, False, False)),
        ("in", ["Vermelho", "Azul"], (True, True, False)),
        ("neq", ["Vermelho"], (False, True, True)),
        ("nin", ["Vermelho", "Azul"], (False, False, True)),
        ("cont", ["zul"], (False, True, False)),
        ("ncont", ["zul"], (True, False, True)),
    ],
)
async def test_variants_of_features_by_name_and_id(kit, colours, zone, operator, names, expected):
    feature, variants, *products = colours
    spellings = [",".join(names), [name.upper() for name in names]]
    if operator not in ("cont", "ncont"):
        spellings.append(",".join(str(variants[name]) for name in names))
    for value in spellings:
        conditions = tree("feature", operator, value, condition_element=str(feature))
        results = [await applies(kit, conditions, product, zone=zone) for product in products]
        assert tuple(results) == expected, value
        plain = {"feature": {"feature_id": feature, "operator": operator, "value": value}}
        assert await applies(kit, plain, products[0], zone=zone) is expected[0], value


async def test_a_cart_needs_one_product_with_the_feature(kit, colours):
    feature, _, red, blue, plain = colours
    conditions = {"feature": {"feature_id": feature, "value": "Azul"}}
    assert await applies(kit, conditions, red, blue)
    assert not await applies(kit, conditions, red, plain)


async def test_digits_that_name_no_variant_are_refused(kit, colours):
    with pytest.raises(ValidationFailed, match="variant 999999 not found"):
        await applies(kit, {"feature": {"feature_id": colours[0], "value": "999999"}}, colours[2])


@pytest.mark.parametrize(
    "operator, value, expected",
    [("gte", "7.5", True), ("gt", "7.5", False), ("lt", "10", True), ("lte", "7.4", False), ("eq", "7.5", True)],
)
async def test_numbers_are_compared(kit, operator, value, expected):
    feature = await FEATURE_RECORDS.create(kit.scope, {"name": "Peso", "type": "O"})
    product = await kit.product(features=[{"feature": feature, "value": "7.5"}])
    assert await applies(kit, tree("feature", operator, value, condition_element=feature), product) is expected
    assert not await applies(kit, tree("feature", "gt", "0", condition_element=feature), await kit.product())


@pytest.mark.parametrize("value", ["x", "1,2", "-", "1."])
async def test_a_bound_is_one_number(kit, value):
    feature = await FEATURE_RECORDS.create(kit.scope, {"name": "Peso", "type": "O"})
    with pytest.raises(ValidationFailed):
        await applies(kit, tree("feature", "gte", value, condition_element=feature), await kit.product())


async def test_earlier_purchases_are_the_paid_orders_of_the_account(kit):
    user, cup, pen = await kit.customer(), await kit.product(stock=50), await kit.product()
    paid = await kit.order((cup, 3), user=user)
    await kit.order((pen, 1), user=user)  # not paid
    cancelled = await kit.order((pen, 1), user=user)
    for order, status in ((paid.id, "P"), (cancelled.id, "P"), (cancelled.id, "I")):
        await change_status(kit.scope, order, status)
    for conditions, expected in (
        ({"min_orders": 1}, True),
        ({"min_orders": 2}, False),
        (tree("orders_number", "eq", "1"), True),
        ({"max_orders": 0}, False),
        ({"min_orders_total": "30.00"}, True),
        ({"min_orders_total": "30.01"}, False),
        ({"max_orders_total_cents": 3_000}, True),
        ({"purchased_products": [cup]}, True),
        ({"purchased_products": [pen]}, False),
        (tree("purchased_products", "in", [{"product_id": cup, "amount": 3}]), True),
        (tree("purchased_products", "in", [{"product_id": cup, "amount": 4}]), False),
        ({"not_purchased_products": f"{pen}"}, True),
    ):
        assert await applies(kit, conditions, pen, user=user) is expected, conditions
    assert not await applies(kit, {"min_orders": 1}, pen)
    assert await applies(kit, {"max_orders": 0}, pen, user=await kit.customer())


async def test_in_the_catalogue_the_product_itself_was_bought_before(kit):
    user, cup, pen = await kit.customer(), await kit.product(), await kit.product()
    await change_status(kit.scope, (await kit.order((cup, 1), user=user)).id, "P")
    conditions = {"purchased_products": [cup, pen]}
    assert await applies(kit, conditions, cup, user=user, zone="catalog")
    assert not await applies(kit, conditions, pen, user=user, zone="catalog")
    assert not await applies(kit, conditions, cup, zone="catalog")


async def test_points_are_a_condition(kit):
    user, cup = await kit.customer(), await kit.product()
    await adjust_points(kit.scope, user, 10)
    assert await applies(kit, tree("reward_points", "gte", "10"), cup, user=user)
    assert not await applies(kit, {"min_points": 11}, cup, user=user)
    assert await applies(kit, {"max_points": 0}, cup)


async def test_facts_take_one_statement_whatever_the_number_of_promotions(kit, colours):
    user = await kit.customer()
    counts = []
    for _ in range(3):
        conditions = {"feature": {"feature_id": colours[0], "value": "Azul"}, "max_orders": 5, "min_points": 0}
        await PROMOTION_RECORDS.create(
            kit.scope, {"name": "P", "conditions": conditions, "bonuses": {"order_discount": "1%"}}
        )
        lines = [PromotedLine(product, 1, 1_000) for product in colours[2 : 3 + len(counts)]]
        with database.count_statements() as counted:
            await find_reward(kit.scope, lines, user_id=user)
        counts.append(counted.count)
    assert counts == [3, 3, 3]
