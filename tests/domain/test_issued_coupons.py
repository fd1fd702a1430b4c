"""Coupons that orders give: generated once, mailed when the order is paid, used once."""

from __future__ import annotations

import asyncio

import orjson
import pytest

from domain.mails.outbox import list_latest
from domain.orders.lifecycle import change_status
from domain.promotions.promotions import PROMOTION_RECORDS
from domain.promotions.rules import RuleContext, evaluate
from domain.purchase.edit import update_order
from kernel.errors import RuleViolation, ValidationFailed
from kernel.scope import active_scope


async def create(kit, **values):
    return await PROMOTION_RECORDS.create(kit.scope, {"name": "Oferta", **values})


async def paid_order(kit, **values):
    """Place and pay an order that gives a coupon of 10 %; return the order and the coupon."""
    given = await create(kit, conditions={"auto_coupons": ""}, bonuses={"order_discount": "10%"})
    giver = await create(kit, conditions={"min_subtotal": "20.00"}, bonuses={"give_coupon": given})
    order = await kit.order((await kit.product(), 2), **values)
    assert order.pricing.reward.promotions == (giver,)
    await change_status(kit.scope, order.id, "P")
    return order, await coupon(kit)


async def coupon(kit):
    [row] = await kit.rows("SELECT * FROM issued_coupons WHERE tenant_id = $1")
    return dict(row)


async def mails(kit):
    with active_scope(kit.scope):
        return [mail for mail in await list_latest(kit.scope) if mail.kind == "coupon"]


async def test_the_coupon_is_mailed_when_the_order_is_paid_and_only_once(kit):
    order, issued = await paid_order(kit)
    [mail] = await mails(kit)
    assert (mail.recipient, issued["code"] in mail.body, str(order.id) in mail.body) == (
        "guest@example.com",
        True,
        True,
    )
    await change_status(kit.scope, order.id, "C")
    assert len(await mails(kit)) == 1


async def test_the_coupon_is_used_once_in_either_case(kit):
    _, issued = await paid_order(kit)
    product = await kit.product()
    order = await kit.order((product, 1), coupon_code=issued["code"].lower())
    assert order.total_cents == 900
    with pytest.raises(RuleViolation) as error:
        await kit.order((product, 1), coupon_code=issued["code"])
    assert error.value.reason == "coupon_unavailable"
    await change_status(kit.scope, order.id, "I")
    assert (await kit.order((product, 1), coupon_code=issued["code"])).total_cents == 900


async def test_one_of_parallel_orders_gets_the_coupon(kit):
    _, issued = await paid_order(kit)
    product = await kit.product(stock=100)

    async def place():
        try:
            return (await kit.order((product, 1), coupon_code=issued["code"])).total_cents
        except RuleViolation as error:
            return error.reason

    results = await asyncio.gather(*(place() for _ in range(6)))
    assert sorted(map(str, results)) == ["900", *["coupon_unavailable"] * 5]


async def test_the_coupon_of_an_unpaid_or_cancelled_order_is_of_no_use(kit):
    given = await create(kit, conditions={"auto_coupons": ""}, bonuses={"order_discount": "10%"})
    await create(kit, bonuses={"give_coupon": given}, conditions={"min_subtotal": "20.00"})
    product = await kit.product()
    order = await kit.order((product, 2))
    for status in (None, "P", "I"):
        if status:
            await change_status(kit.scope, order.id, status)
        code = (await coupon(kit))["code"]
        if status == "P":
            continue
        with pytest.raises(RuleViolation):
            await kit.order((product, 1), coupon_code=code)


async def test_a_coupon_that_is_given_back_after_its_own_order_was_cancelled_is_of_no_use(kit):
    giving, issued = await paid_order(kit)
    product = await kit.product()
    using = await kit.order((product, 1), coupon_code=issued["code"])
    for order in (giving, using):
        await change_status(kit.scope, order.id, "I")
    with pytest.raises(RuleViolation) as error:
        await kit.order((product, 1), coupon_code=issued["code"])
    assert error.value.reason == "coupon_unavailable"

    await change_status(kit.as_admin(family="legacy"), giving.id, "P", force=True)
    assert (await kit.order((product, 1), coupon_code=issued["code"])).total_cents == 900


async def test_the_orders_that_gave_and_used_a_coupon_may_be_cancelled_at_the_same_time(kit):
    giving, issued = await paid_order(kit)
    product = await kit.product(stock=100)
    for turn in range(8):
        using = await kit.order((product, 1), coupon_code=issued["code"])
        await asyncio.gather(*(change_status(kit.scope, order.id, "I") for order in (giving, using)))
        after = await coupon(kit)
        assert (after["active_at"], after["is_used"]) == (None, False), turn
        await change_status(kit.as_admin(family="legacy"), giving.id, "P", force=True)


async def test_without_a_coupon_the_given_promotion_does_not_apply(kit):
    await create(kit, conditions={"auto_coupons": ""}, bonuses={"order_discount": "10%"})
    product = await kit.product()
    assert (await kit.order((product, 1))).total_cents == 1_000
    with pytest.raises(RuleViolation):
        await kit.order((product, 1), coupon_code="ABC")


async def test_codes_listed_in_the_condition_are_coupons_too(kit):
    conditions = {
        "set": "all",
        "set_value": "1",
        "conditions": {"1": {"condition": "auto_coupons", "value": "AAA1,BBB2"}},
    }
    await create(kit, conditions=conditions, bonuses={"order_discount": "10%"})
    assert (await kit.order((await kit.product(), 1), coupon_code="bbb2")).total_cents == 900


async def test_an_order_with_the_coupon_keeps_it_when_its_lines_change(kit):
    _, issued = await paid_order(kit)
    product = await kit.product()
    order = await kit.order((product, 1), coupon_code=issued["code"])
    await update_order(kit.scope, order.id, {"lines": [{"product": product, "quantity": 3}]})
    assert (await kit.record("orders", order.id))["total_cents"] == 2_700


@pytest.mark.parametrize(
    "values", [{"conditions": {"coupon_code": "X"}}, {"coupon_code": "X"}, {"zone": "catalog"}, {}]
)
async def test_only_a_promotion_that_takes_generated_coupons_can_be_given(kit, values):
    other = await create(kit, **values)
    with pytest.raises(ValidationFailed, match="with the condition auto_coupons"):
        await create(kit, bonuses={"1": {"bonus": "give_coupon", "value": str(other)}})


async def test_the_version_before_finds_a_rule_that_is_never_met(kit):
    number = await create(kit, conditions={"auto_coupons": ""}, bonuses={"order_discount": "10%"})
    promotion = await kit.record("promotions", number)
    assert promotion["gifts"] == "[]"
    assert not any(evaluate(orjson.loads(promotion["rule"]), RuleContext(user_id=user), number) for user in (None, 1))
    await PROMOTION_RECORDS.update(kit.scope, number, {"conditions": {}})
    promotion = await kit.record("promotions", number)
    assert (promotion["extended_rule"], promotion["extended_gifts"]) == (None, None)
    assert "order_discount" in promotion["gifts"]
