"""Reward points: what orders earn and spend, what is undone, and that a balance is never negative."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from domain.carts import change, checkout
from domain.orders.deletion import delete_order
from domain.orders.lifecycle import change_status
from domain.orders.locked import lock_order
from domain.orders.payments import record_payment, update_payment_totals
from domain.people.accounts import update_user
from domain.points.ledger import adjust_points
from domain.promotions.promotions import PROMOTION_RECORDS
from domain.purchase.edit import update_order
from kernel.errors import NotFound, RuleViolation, ValidationFailed
from kernel.scope import Actor, ActorKind, active_scope
from models.connection.database import transaction


async def give(kit, points, **values):
    return await PROMOTION_RECORDS.create(kit.scope, {"name": "Pontos", "bonuses": {"give_points": points}, **values})


async def balance(kit, user):
    return await kit.value("SELECT points FROM users WHERE tenant_id = $1 AND id = $2", user)


async def ledger(kit, user):
    rows = await kit.rows(
        "SELECT kind, points, balance FROM point_entries WHERE tenant_id = $1 AND user_id = $2 ORDER BY id", user
    )
    assert [row["balance"] for row in rows] == [
        sum(entry["points"] for entry in rows[: n + 1]) for n in range(len(rows))
    ]
    assert (rows[-1]["balance"] if rows else 0) == await balance(kit, user)
    return [(row["kind"], row["points"]) for row in rows]


async def rich(kit, points=1_000):
    """Create a customer with points."""
    user = await kit.customer()
    await adjust_points(kit.scope, user, points, "start")
    return user


def staff(kit):
    return replace(
        kit.scope, actor=Actor(ActorKind.ADMIN, user_id=None, privileges=frozenset({"manage_orders", "manage_users"}))
    )


async def test_points_are_earned_when_the_order_is_paid(kit):
    user, product = await kit.customer(), await kit.product()
    await give(kit, 30)
    await give(kit, "12", conditions={"min_subtotal": "20.00"})
    order = await kit.order((product, 2), user=user)
    assert (await balance(kit, user), order.pricing.reward.points) == (0, 42)
    await change_status(kit.scope, order.id, "P")
    await change_status(kit.scope, order.id, "C")
    assert await ledger(kit, user) == [("earned", 42)]


async def test_an_order_that_is_paid_at_once_earns_at_once(kit):
    user, product = await kit.customer(), await kit.product()
    await give(kit, 5)
    await kit.order((product, 1), user=user, payment_method=await kit.payment(settles_at_once=True))
    assert await ledger(kit, user) == [("earned", 5)]


async def test_guests_earn_nothing_and_use_no_promotion(kit):
    product = await kit.product()
    number = await give(kit, 5)
    order = await kit.order((product, 1))
    assert (order.pricing.reward.points, order.pricing.reward.promotions) == (0, ())
    assert (await kit.record("promotions", number))["used"] == 0


@pytest.mark.parametrize("status", ["I", "D", "F"])
async def test_an_order_that_releases_its_stock_gives_back_and_takes_back_points(kit, status):
    user, product = await rich(kit), await kit.product()
    await give(kit, 50)
    order = await kit.order((product, 1), user=user, points_to_use=300)
    assert await ledger(kit, user) == [("adjusted", 1_000), ("spent", -300)]
    await change_status(kit.scope, order.id, "P")
    assert await balance(kit, user) == 750
    await change_status(kit.scope, order.id, status, force=True)
    assert (await ledger(kit, user))[2:] == [("earned", 50), ("returned", 300), ("reversed", -50)]
    await change_status(kit.scope, order.id, "P", force=True)
    assert (await ledger(kit, user))[5:] == [("spent", -300), ("earned", 50)]


async def test_a_backordered_order_keeps_its_points(kit):
    user, product = await kit.customer(), await kit.product()
    await give(kit, 50)
    order = await kit.order((product, 1), user=user)
    for status in ("P", "B", "P"):
        await change_status(kit.scope, order.id, status)
    assert await ledger(kit, user) == [("earned", 50)]


async def test_a_deleted_order_returns_its_points(kit):
    user, product = await rich(kit, 10), await kit.product()
    order = await kit.order((product, 1), user=user, points_to_use=10)
    await delete_order(kit.scope, order.id)
    assert await balance(kit, user) == 10


async def test_refunds_undo_points_in_proportion(kit):
    user, product = await rich(kit, 500), await kit.product()
    await give(kit, 101)
    order = await kit.order((product, 1), user=user, points_to_use=500)  # 10.00 less 5.00
    await record_payment(kit.scope, order.id, 500)
    await change_status(kit.scope, order.id, "P")
    for refunded, earned, spent in ((100, 81, 400), (250, 51, 250), (500, 0, 0)):
        async with transaction(kit.scope):
            await update_payment_totals(kit.scope, await lock_order(kit.scope, order.id), 500, refunded)
        assert await balance(kit, user) == earned + 500 - spent
    await change_status(kit.scope, order.id, "I")
    assert await balance(kit, user) == 500


async def test_a_reversal_takes_at_most_the_balance(kit):
    user, product = await kit.customer(), await kit.product()
    await give(kit, 100)
    order = await kit.order((product, 1), user=user)
    await change_status(kit.scope, order.id, "P")
    await kit.order((product, 1), user=user, points_to_use=70)
    await change_status(kit.scope, order.id, "I")
    assert (await ledger(kit, user))[-1] == ("reversed", -30)


async def test_points_lower_the_total_to_the_cent_and_the_taxable_amount(kit):
    user, product = await rich(kit), await kit.product(price_cents=999)
    await PROMOTION_RECORDS.create(kit.scope, {"name": "Dez", "bonuses": {"order_discount": "10%"}})
    order = await kit.record("orders", (await kit.order((product, 1), user=user, points_to_use=333)).id)
    assert (order["discount_cents"], order["points_spent"], order["points_cents"]) == (100 + 333, 333, 333)
    assert order["total_cents"] == 999 - 433


async def test_an_order_spends_no_more_points_than_it_needs(kit):
    user, product = await rich(kit), await kit.product(price_cents=100)
    order = await kit.order((product, 1), user=user, points_to_use=1_000)
    assert (order.total_cents, await balance(kit, user)) == (0, 900)


async def test_the_worth_of_a_point_is_a_setting_and_points_are_spent_whole(kit):
    user, product = await rich(kit, 50), await kit.product(price_cents=100)
    store = replace(kit.scope.store, settings={**kit.scope.store.settings, "point_value_cents": 7})
    order = await kit.order((product, 1), user=user, points_to_use=50, scope=replace(kit.scope, store=store))
    assert (order.total_cents, await balance(kit, user)) == (100 - 14 * 7, 36)
    store = replace(store, settings={"point_value_cents": 0})
    order = await kit.order((product, 1), user=user, points_to_use=5, scope=replace(kit.scope, store=store))
    assert (order.total_cents, await balance(kit, user)) == (100, 36)


async def test_more_points_than_the_account_has_are_refused(kit):
    user, product = await rich(kit, 5), await kit.product()
    with pytest.raises(RuleViolation) as error:
        await kit.order((product, 1), user=user, points_to_use=6)
    assert (error.value.reason, error.value.details) == ("points_unavailable", {"points": 5})
    with pytest.raises(RuleViolation):
        await kit.order((product, 1), points_to_use=1)
    for wrong in (-1, "5", 2**31, True):
        with pytest.raises(ValidationFailed):
            await kit.order((product, 1), user=user, points_to_use=wrong)
    assert await kit.value("SELECT count(*) FROM orders WHERE tenant_id = $1") == 0


async def test_parallel_orders_never_spend_the_same_points(kit):
    user, product = await rich(kit, 250), await kit.product(stock=100)

    async def place():
        try:
            return await kit.order((product, 1), user=user, points_to_use=100)
        except RuleViolation as error:
            return error.reason

    results = await asyncio.gather(*(place() for _ in range(8)))
    assert sorted(str(result) for result in results if isinstance(result, str)) == ["points_unavailable"] * 6
    assert (await ledger(kit, user))[1:] == [("spent", -100)] * 2


async def test_a_reduced_order_returns_the_points_it_no_longer_needs(kit):
    user, product = await rich(kit, 1_500), await kit.product(stock=10)
    order = await kit.order((product, 2), user=user, points_to_use=1_500)
    assert order.total_cents == 500
    await update_order(kit.scope, order.id, {"lines": [{"product": product, "quantity": 1}]})
    changed = await kit.record("orders", order.id)
    assert (changed["points_spent"], changed["points_cents"], changed["total_cents"]) == (1_000, 1_000, 0)
    assert (await ledger(kit, user))[-1] == ("returned", 500)
    await update_order(kit.scope, order.id, {"discount_cents": 400})
    changed = await kit.record("orders", order.id)
    assert (changed["points_spent"], changed["discount_cents"], changed["total_cents"]) == (600, 1_000, 0)
    assert await balance(kit, user) == 900


async def test_reopening_an_order_needs_its_points_again_except_for_a_late_payment(kit):
    user, product = await rich(kit, 100), await kit.product()
    order = await kit.order((product, 1), user=user, points_to_use=100)
    await change_status(kit.scope, order.id, "F")
    await adjust_points(kit.scope, user, -60)
    with pytest.raises(RuleViolation, match="the account has 40 points"):
        await change_status(staff(kit), order.id, "O")
    assert await kit.status(order.id) == "F"
    await change_status(kit.scope, order.id, "P")
    assert await ledger(kit, user) == [
        ("adjusted", 100), ("spent", -100), ("returned", 100), ("adjusted", -60), ("spent", -40)
    ]  # fmt: skip


async def test_staff_sets_and_adjusts_points_and_each_change_is_an_entry(kit):
    user = await kit.customer()
    with active_scope(kit.scope):
        await update_user(staff(kit), user, {"points": 70})
    await adjust_points(staff(kit), user, -20, "engano")
    with active_scope(kit.scope):
        await update_user(staff(kit), user, {"points": 50, "firstname": "Bia"})
    assert await ledger(kit, user) == [("adjusted", 70), ("adjusted", -20)]
    for points in (-51, 2**31 - 1):
        with pytest.raises(RuleViolation):
            await adjust_points(kit.scope, user, points)
    for wrong in (0, None, "5", 2**31):
        with pytest.raises(ValidationFailed):
            await adjust_points(kit.scope, user, wrong)
    with active_scope(kit.scope), pytest.raises(ValidationFailed):
        await update_user(staff(kit), user, {"points": -1})
    actions = await kit.rows("SELECT action FROM audit_entries WHERE tenant_id = $1 ORDER BY id")
    assert [row["action"] for row in actions] == ["user.updated", "points.adjusted", "user.updated"]


async def test_points_of_another_store_are_unreachable(kit, other_kit):
    user = await rich(other_kit, 5)
    with pytest.raises(NotFound):
        await adjust_points(kit.scope, await other_kit.public_id("users", user), 5)
    assert await balance(other_kit, user) == 5


async def test_a_cart_spends_as_many_points_as_the_account_has(kit):
    user, product = await rich(kit, 300), await kit.product(is_edp=True)
    public_id = await kit.public_id("users", user)
    scope = replace(kit.scope, actor=Actor(ActorKind.CUSTOMER, user_id=user, user_public_id=public_id))
    product_id = await kit.public_id("products", product)
    cart = await change.create_cart(scope, {"items": [{"product": str(product_id), "quantity": 1}]})
    with pytest.raises(RuleViolation) as error:
        await change.set_points(scope, cart["id"], 301)
    assert error.value.reason == "points_unavailable"
    cart = await change.set_points(scope, cart["id"], 200)
    assert (cart["points_to_use"], cart["points_spent"], cart["points_cents"], cart["total_cents"]) == (
        200,
        200,
        200,
        800,
    )
    await adjust_points(kit.scope, user, -150)
    payment = await kit.public_id("payment_methods", await kit.payment())
    placed = await checkout.check_out(scope, cart["id"], {"payment_id": str(payment)})
    order = await kit.record("orders", placed.id)
    assert (order["points_spent"], order["total_cents"], await balance(kit, user)) == (150, 850, 0)


async def test_a_cart_without_an_account_has_no_points(kit):
    scope = replace(kit.scope, actor=Actor(ActorKind.STOREFRONT, storefront_key_id=1))
    cart = await change.create_cart(scope, {})
    with pytest.raises(RuleViolation) as error:
        await change.set_points(scope, cart["id"], 1)
    assert error.value.reason == "points_unavailable"
    assert (await change.set_points(scope, cart["id"], 0))["points_to_use"] == 0
