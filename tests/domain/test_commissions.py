"""Commissions of vendors: kept with each order line, divided to the cent, and what a change of the rate leaves alone."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.imports.commissions import COLUMNS, keep_commissions
from domain.imports.past_orders import import_past_orders
from domain.ledger.old_lines import COMMISSION_SQL
from domain.marketplace.dashboard import load_dashboard
from domain.marketplace.vendors import update_vendor
from domain.orders.lifecycle import change_status
from domain.orders.locked import lock_order
from domain.orders.payments import record_payment, update_payment_totals
from domain.purchase.edit import update_order
from domain.purchase.totals import CommissionRate, line_commissions, order_commission_cents
from kernel.scope import active_scope
from models.connection.database import fetchval, transaction

AMOUNTS = st.integers(0, 10**9)
RATES = st.tuples(st.integers(0, 10_000).map(lambda cents: f"{cents // 100}.{cents % 100:02d}"), st.sampled_from("AP"))


async def kept(kit, order) -> list[tuple[Any, ...]]:
    lines = await kit.lines(order.id)
    return [(line["commission_cents"], line["commission"], line["commission_type"]) for line in lines]


async def balance(kit, vendor) -> int:
    with active_scope(kit.as_vendor(vendor)) as scope:
        return (await load_dashboard(scope)).balance_cents


async def refund(kit, order, cents: int) -> None:
    async with transaction(kit.scope):
        locked = await lock_order(kit.scope, order.id)
        await update_payment_totals(kit.scope, locked, locked.paid_cents, cents)


async def test_each_line_keeps_the_commission_and_the_rate_of_its_vendor(kit):
    ten = await kit.vendor(commission="10")
    fixed = await kit.vendor(commission="5.00", commission_type="A")
    first, second = await kit.product(vendor=ten, price_cents=1_234), await kit.product(vendor=fixed)
    third, own = await kit.product(vendor=fixed, price_cents=2_000), await kit.product()
    order = await kit.order((first, 2), (second, 1), (third, 1), (own, 1))
    # 500 cents per order are divided 1:2.
    assert await kept(kit, order) == [
        (247, "10.00", "P"),
        (167, "5.00", "A"),
        (333, "5.00", "A"),
        (None, None, None),
    ]


async def test_a_change_of_the_rate_moves_no_past_balance(kit):
    vendor = await kit.vendor(commission="10")
    product = await kit.product(vendor=vendor)
    order = await kit.order((product, 2), status="C")
    assert await balance(kit, vendor) == 1_800
    await update_vendor(kit.scope, vendor, {"commission": "50"})
    assert await balance(kit, vendor) == 1_800
    await update_vendor(kit.scope, vendor, {"commission": "9.99", "commission_type": "A"})
    assert await balance(kit, vendor) == 1_800
    later = await kit.order((product, 2), status="C")
    assert await kept(kit, later) == [(999, "9.99", "A")]
    assert await balance(kit, vendor) == 1_800 + 1_001
    assert await kept(kit, order) == [(200, "10.00", "P")]


async def test_a_line_without_a_commission_counts_at_the_rate_before_its_first_change(kit):
    vendor = await kit.vendor(commission="10")
    order = await kit.order((await kit.product(vendor=vendor), 2), status="C")
    await kit.rows(
        "UPDATE order_lines SET commission_cents = NULL, commission = NULL, commission_type = NULL"
        " WHERE tenant_id = $1 AND order_id = $2",
        order.id,
    )
    assert await balance(kit, vendor) == 1_800
    for change in ({"commission": "50"}, {"commission": "1", "commission_type": "A"}, {"commission": "80"}):
        await update_vendor(kit.scope, vendor, change)
        assert await balance(kit, vendor) == 1_800, change


@pytest.mark.parametrize("rate", [("10", "P"), ("3.00", "A")], ids=["percent", "amount"])
async def test_a_share_is_the_same_in_an_own_and_in_a_shared_order(kit, rate):
    vendors = [await kit.vendor(commission=rate[0], commission_type=rate[1]) for _ in range(3)]
    products = [await kit.product(vendor=vendor, price_cents=3_333) for vendor in vendors]
    shipping = await kit.shipping(base_cents=1_500)
    terms: dict[str, Any] = {"status": "P", "shipping_method": shipping, "discount_cents": 700}
    await kit.order((products[0], 3), **terms)
    await kit.order((products[1], 3), (products[2], 1), **terms)
    assert await balance(kit, vendors[0]) == await balance(kit, vendors[1]) > 0
    for vendor in vendors[:2]:
        with active_scope(kit.as_vendor(vendor)) as scope:
            assert (await load_dashboard(scope)).sales_cents == 9_999, vendor


async def test_the_shipping_of_a_vendors_own_method_is_its_share_without_commission(kit):
    vendor, other = await kit.vendor(commission="10"), await kit.vendor(commission="10")
    shipping = await kit.shipping(base_cents=1_500, vendor=vendor)
    products = [await kit.product(vendor=each) for each in (vendor, other)]
    await kit.order((products[0], 1), (products[1], 1), status="C", shipping_method=shipping)
    assert [await balance(kit, each) for each in (vendor, other)] == [900 + 1_500, 900]


async def test_a_refund_takes_back_its_part_of_share_and_commission(kit):
    vendor, other = await kit.vendor(commission="10"), await kit.vendor()
    products = [await kit.product(vendor=each) for each in (vendor, other)]
    own = await kit.order((products[0], 3))
    shared = await kit.order((products[0], 3), (products[1], 1))
    for order in (own, shared):
        await record_payment(kit.scope, order.id, order.total_cents)
        await change_status(kit.scope, order.id, "P")
    assert await balance(kit, vendor) == 2 * 2_700
    await refund(kit, own, 1_000)
    assert await balance(kit, vendor) == 2_700 + 1_800
    await refund(kit, shared, 1_000)
    assert await balance(kit, vendor) == 1_800 + 2_025
    await refund(kit, own, 3_000)
    await refund(kit, shared, 4_000)
    assert (await balance(kit, vendor), await balance(kit, other)) == (0, 0)


async def test_a_refund_of_what_was_paid_too_much_leaves_the_shares(kit):
    vendor = await kit.vendor(commission="10")
    order = await kit.order((await kit.product(vendor=vendor), 3))
    await record_payment(kit.scope, order.id, 3_500)
    await change_status(kit.scope, order.id, "P")
    await refund(kit, order, 500)
    assert await balance(kit, vendor) == 2_700


async def test_an_edited_order_keeps_the_rate_of_its_vendors(kit):
    vendor, added = await kit.vendor(commission="10"), await kit.vendor(commission="30")
    product, second = await kit.product(vendor=vendor), await kit.product(vendor=vendor)
    order = await kit.order((product, 1))
    await update_vendor(kit.scope, vendor, {"commission": "50"})
    lines = [(product, 3), (second, 1), (await kit.product(vendor=added), 1)]
    await update_order(
        kit.scope, order.id, {"lines": [{"product": number, "quantity": count} for number, count in lines]}
    )
    assert await kept(kit, order) == [(300, "10.00", "P"), (100, "10.00", "P"), (300, "30.00", "P")]


async def test_imported_orders_keep_the_rate_of_their_import(kit):
    vendor = await kit.vendor(commission="10")
    await kit.product(vendor=vendor, sku="CANECA")
    record = {"number": "A1", "status": "C", "created_at": kit.scope.now, "total_cents": 2_000}
    with active_scope(kit.scope):
        [result] = await import_past_orders(
            kit.scope, [{**record, "lines": [{"sku": "CANECA", "quantity": 2, "price_cents": 1_000}]}]
        )
    assert not result.problems
    await update_vendor(kit.scope, vendor, {"commission": "50"})
    assert await balance(kit, vendor) == 1_800


@given(lines=st.lists(st.tuples(st.sampled_from([None, 1, 2]), RATES, AMOUNTS), max_size=12))
def test_no_line_has_a_commission_above_its_price(lines):
    rated = [(vendor, CommissionRate(*rate), cents) for vendor, rate, cents in lines]
    for (vendor, _, cents), commission in zip(rated, line_commissions(rated), strict=True):
        assert (commission is None) == (vendor is None)
        assert commission is None or 0 <= commission <= cents, (commission, cents)


async def test_the_database_calculates_the_same_commission(kit):
    cases = [(CommissionRate(text, kind), cents) for text in ("0.00", "7.25", "99.99", "100.00") for kind in "AP" for cents in
             (0, 1, 199, 200, 10**6 + 1, 10**15)]  # fmt: skip
    sql = "SELECT " + COMMISSION_SQL.format(cents="$1::bigint", rate="$2::text", type="$3::text")
    with active_scope(kit.scope):
        for rate, cents in cases:
            assert await fetchval(sql, cents, *rate) == order_commission_cents(rate, cents), (rate, cents)


async def test_an_order_that_is_imported_again_keeps_its_rate_and_another_gets_the_present_one(kit):
    vendor = await kit.vendor(commission="10")
    order = await kit.order((await kit.product(vendor=vendor), 1))
    await update_vendor(kit.scope, vendor, {"commission": "50"})
    line = {"vendor_id": vendor, "quantity": 3, "price_cents": 1_000}
    rows = [
        {**line, "order_id": order.id},
        {**line, "order_id": order.id + 1},
        {**line, "order_id": 0, "vendor_id": None},
    ]
    with active_scope(kit.scope):
        await keep_commissions(kit.scope, rows)
    assert [tuple(row.get(name) for name in COLUMNS) for row in rows] == [
        (300, "10.00", "P"),
        (1_500, "50.00", "P"),
        (None, None, None),
    ]
