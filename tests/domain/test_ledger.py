"""The ledger of orders in the database: written with each change, in a constant number of statements, and never changed."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from domain.ledger.balances import load_balances
from domain.ledger.reconciliation import write_queued
from domain.marketplace.vendors import update_vendor
from domain.orders.deletion import delete_order
from domain.orders.lifecycle import change_status
from domain.orders.locked import lock_order
from domain.orders.payments import record_payment, update_payment_totals
from domain.purchase.edit import update_order
from domain.shipping.methods import SHIPPING_METHOD_RECORDS
from kernel.scope import active_scope
from models.connection.database import count_statements, transaction
from tests.harness.domain_store import DomainStore

SUMS = """
SELECT coalesce(vendor_id, 0) AS account, kind, sum(amount_cents)::bigint AS cents FROM ledger_entries
WHERE tenant_id = $1 AND order_id = $2 GROUP BY 1, 2 HAVING sum(amount_cents) <> 0 ORDER BY 1, 2
"""
ENTRIES = "SELECT * FROM ledger_entries WHERE tenant_id = $1 AND order_id = $2 ORDER BY id"
QUEUE = "SELECT order_id FROM ledger_queue WHERE tenant_id = $1 ORDER BY 1"
TOTALS_OF_ORDERS = """
SELECT o.id, o.paid_cents, o.refunded_cents, o.payment_status,
    (SELECT coalesce(sum(e.amount_cents), 0)::bigint FROM ledger_entries e WHERE e.tenant_id = $1 AND e.order_id = o.id) AS entries
FROM orders o WHERE o.tenant_id = $1 ORDER BY o.id
"""


async def sums(kit: DomainStore, order: int) -> dict[tuple[int, str], int]:
    return {(row["account"], row["kind"]): row["cents"] for row in await kit.rows(SUMS, order)}


async def refund(kit: DomainStore, order: int, cents: int, *, charged_back: bool = False) -> None:
    async with transaction(kit.scope):
        locked = await lock_order(kit.scope, order)
        await update_payment_totals(kit.scope, locked, locked.paid_cents, cents, charged_back=charged_back)


async def balance(kit: DomainStore, vendor: int, *, days: int = 0) -> tuple[int, int]:
    scope = replace(kit.scope, now=kit.scope.now + timedelta(days=days))
    with active_scope(scope):
        [owed] = (await load_balances(scope, [vendor])).values()
    return owed.available_cents, owed.pending_cents


async def two_vendors(kit: DomainStore, **terms: Any) -> tuple[int, int, Any]:
    """Place an order of 3,000 and 5,000 cents of two vendors, who pay 10 and 20 percent, and 1,000 of the store."""
    first, second = await kit.vendor(commission="10"), await kit.vendor(commission="20")
    lines = [(await kit.product(vendor=first), 3), (await kit.product(vendor=second), 5), (await kit.product(), 1)]
    return first, second, await kit.order(*lines, **terms)


async def test_a_payment_is_divided_among_the_vendors_and_the_store(kit):
    first, second, order = await two_vendors(kit, discount_cents=500)
    assert await sums(kit, order.id) == {}
    payment = await record_payment(kit.scope, order.id, order.total_cents)
    assert await sums(kit, order.id) == {
        (0, "sale"): 1_000,
        (0, "commission"): 1_300,
        (0, "discount"): -500,
        (first, "sale"): 3_000,
        (first, "commission"): -300,
        (second, "sale"): 5_000,
        (second, "commission"): -1_000,
    }
    rows = await kit.rows(ENTRIES, order.id)
    assert {row["payment_id"] for row in rows} == {payment.payment_id}
    assert {row["available_at"] for row in rows} == {kit.scope.now + timedelta(days=7)}
    assert await kit.rows(QUEUE) == []


async def test_partial_payments_and_refunds_are_divided_in_proportion(kit):
    first, second, order = await two_vendors(kit)
    await record_payment(kit.scope, order.id, 3_000)
    assert (await balance(kit, first))[1] + (await balance(kit, second))[1] == 900 + 1_334
    await record_payment(kit.scope, order.id, 6_000)
    await refund(kit, order.id, 4_500)
    assert await balance(kit, first) == (0, 1_350)
    await refund(kit, order.id, 9_000)
    assert (await balance(kit, first), await balance(kit, second)) == ((0, 0), (0, 0))
    by_kind = await sums(kit, order.id)
    assert (by_kind[first, "refund"], by_kind[first, "commission_refund"]) == (-3_000, 300)


async def test_shipping_stays_with_the_vendor_whose_method_it_was(kit):
    first, second = await kit.vendor(commission="0"), await kit.vendor(commission="0")
    method = await kit.shipping(base_cents=1_000, vendor=first)
    lines = [(await kit.product(vendor=vendor), 1) for vendor in (first, second)]
    order, cancelled = [await kit.order(*lines, shipping_method=method) for _ in range(2)]
    for each in (order, cancelled):
        await record_payment(kit.scope, each.id, each.total_cents)
    await SHIPPING_METHOD_RECORDS.update(kit.scope, method, {"vendor": second})
    await refund(kit, order.id, order.total_cents)
    await change_status(kit.scope, cancelled.id, "I")
    paid = {(first, "sale"): 1_000, (first, "shipping"): 1_000, (second, "sale"): 1_000}
    taken = {(first, "refund"): -2_000, (second, "refund"): -1_000}
    assert await sums(kit, order.id) == {**paid, **taken}
    assert {key: cents for key, cents in (await sums(kit, cancelled.id)).items() if key[0]} == {**paid, **taken}
    later = await kit.order(*lines, shipping_method=method)
    await record_payment(kit.scope, later.id, later.total_cents)
    assert (await sums(kit, later.id))[second, "shipping"] == 1_000


async def test_an_order_that_gets_another_method_gets_its_shipping_s_vendor(kit):
    first, second = await kit.vendor(commission="0"), await kit.vendor(commission="0")
    methods = [await kit.shipping(base_cents=1_000, vendor=vendor) for vendor in (first, second, None)]
    lines = [(await kit.product(vendor=vendor), 1) for vendor in (first, second)]
    order = await kit.order(*lines, shipping_method=methods[0])
    await record_payment(kit.scope, order.id, order.total_cents)
    for method, account in zip(methods[1:], (second, 0), strict=True):
        await update_order(kit.scope, order.id, {"shipping_method": method})
        shipping = {key for key in await sums(kit, order.id) if key[1] == "shipping"}
        assert shipping == {(account, "shipping")}, account


async def test_the_shipping_of_an_order_from_before_is_that_of_the_method_s_vendor(kit):
    first, second = await kit.vendor(commission="0"), await kit.vendor(commission="0")
    method = await kit.shipping(base_cents=1_000, vendor=first)
    order = await kit.order(
        (await kit.product(vendor=first), 1), (await kit.product(vendor=second), 1), shipping_method=method
    )
    await kit.rows("UPDATE orders SET shipping_account = NULL WHERE tenant_id = $1 AND id = $2", order.id)
    await record_payment(kit.scope, order.id, order.total_cents)
    assert (await sums(kit, order.id))[first, "shipping"] == 1_000


async def test_a_status_that_says_paid_counts_without_a_recorded_payment(kit):
    first, _, order = await two_vendors(kit, status="P")
    assert (await sums(kit, order.id))[0, "unapplied"] == -9_000
    assert await balance(kit, first) == (0, 2_700)
    await record_payment(kit.scope, order.id, 9_000)
    assert (0, "unapplied") not in await sums(kit, order.id)
    await change_status(kit.scope, order.id, "I")
    assert await balance(kit, first) == (0, 0)
    assert (await sums(kit, order.id))[0, "unapplied"] == 9_000


async def test_a_chargeback_takes_everything_back(kit):
    first, second, order = await two_vendors(kit)
    await record_payment(kit.scope, order.id, 9_000)
    await change_status(kit.scope, order.id, "P")
    await refund(kit, order.id, 0, charged_back=True)
    assert (await balance(kit, first), await balance(kit, second)) == ((0, 0), (0, 0))
    assert sum((await sums(kit, order.id)).values()) == 0


async def test_a_chargeback_leaves_nothing_to_the_job_in_any_status(kit):
    _, _, order = await two_vendors(kit)
    await record_payment(kit.scope, order.id, 9_000)
    await change_status(kit.scope, order.id, "P")
    await refund(kit, order.id, 0, charged_back=True)
    for status in ("C", "I"):
        await change_status(kit.scope, order.id, status)
        queued = await kit.rows("SELECT order_id FROM ledger_queue WHERE tenant_id = $1")
        assert (status, list(queued)) == (status, [])
        assert sum((await sums(kit, order.id)).values()) == 0, status


async def test_what_is_taken_back_is_taken_from_what_is_not_available_yet(kit):
    first, _, order = await two_vendors(kit)
    await record_payment(kit.scope, order.id, 9_000)
    await refund(kit, order.id, 4_500)
    assert (await balance(kit, first), await balance(kit, first, days=7)) == ((0, 1_350), (1_350, 0))
    later = DomainStore(replace(kit.scope, now=kit.scope.now + timedelta(days=8)))
    await refund(later, order.id, 9_000)
    assert await balance(kit, first, days=8) == (0, 0)
    assert await balance(kit, first, days=7) == (1_350, -1_350)


async def test_an_order_that_is_edited_after_a_partial_payment_is_divided_again(kit):
    first, second, order = await two_vendors(kit)
    await record_payment(kit.scope, order.id, 4_500)
    product = await kit.product(vendor=second)
    await update_order(kit.scope, order.id, {"lines": [{"product": product, "quantity": 9}]})
    assert await balance(kit, first) == (0, 0)
    assert await balance(kit, second) == (0, 3_600)
    assert sum((await sums(kit, order.id)).values()) == 4_500


async def test_a_deleted_order_leaves_no_vendor_anything(kit):
    first, _, order = await two_vendors(kit, status="P")
    assert (await delete_order(kit.scope, order.id)).hidden
    assert await balance(kit, first) == (0, 0)
    assert sum((await sums(kit, order.id)).values()) == 0


async def test_a_deleted_order_that_was_refunded_leaves_nothing_to_the_job(kit):
    _, _, order = await two_vendors(kit)
    await record_payment(kit.scope, order.id, 9_000)
    await refund(kit, order.id, 9_000)
    assert (await delete_order(kit.scope, order.id)).hidden
    assert await kit.rows(QUEUE) == []


async def test_writing_takes_two_statements_whatever_the_number_of_lines(kit):
    counts = []
    for lines in (1, 12):
        vendors = [await kit.vendor(commission="10") for _ in range(lines)]
        order = await kit.order(*[(await kit.product(vendor=vendor), 1) for vendor in vendors])
        with count_statements() as statements:
            await record_payment(kit.scope, order.id, order.total_cents)
        assert sum("ledger_entries" in statement for statement in statements.statements) == 2, lines
        counts.append(statements.count)
    assert counts[0] == counts[1], counts


async def test_entries_are_neither_changed_nor_deleted(kit):
    _, _, order = await two_vendors(kit, status="P")
    for statement in (
        "UPDATE ledger_entries SET amount_cents = 1 WHERE tenant_id = $1 AND order_id = $2",
        "DELETE FROM ledger_entries WHERE tenant_id = $1 AND order_id = $2",
    ):
        with pytest.raises(Exception, match=r"neither changed nor deleted|permission denied"):
            await kit.rows(statement, order.id)
    assert sum((await sums(kit, order.id)).values()) == 0


async def test_orders_that_another_program_changed_are_written_by_the_job(kit):
    first, _, order = await two_vendors(kit)
    unpaid = await kit.order((await kit.product(), 1))
    # As a version without a ledger records a payment.
    await kit.rows(
        "UPDATE orders SET paid_cents = 9000, payment_status = 'paid' WHERE tenant_id = $1 AND id = $2", order.id
    )
    assert [row["order_id"] for row in await kit.rows(QUEUE)] == [order.id]
    with active_scope(kit.scope):
        assert await write_queued(kit.scope, limit=10) == 1
        assert await write_queued(kit.scope, limit=10) == 0
    assert await balance(kit, first) == (0, 2_700)
    assert await sums(kit, unpaid.id) == {}


async def test_orders_of_before_count_at_the_rate_of_then_on_the_day_of_their_payment(kit):
    vendor = await kit.vendor(commission="10")
    order = await kit.order((await kit.product(vendor=vendor), 2))
    for statement in (
        "UPDATE order_lines SET commission_cents = NULL, commission = NULL, commission_type = NULL WHERE tenant_id = $1 AND order_id = $2",
        "INSERT INTO payments (tenant_id, public_id, order_id, amount_cents, created_at)"
        " VALUES ($1, gen_random_uuid(), $2, 2000, '2026-05-10T12:00:00Z')",
        "UPDATE orders SET paid_cents = 2000, status = 'P', created_at = '2026-05-09' WHERE tenant_id = $1 AND id = $2",
    ):
        await kit.rows(statement, order.id)
    await update_vendor(kit.scope, vendor, {"commission": "50"})
    with active_scope(kit.scope):
        assert await write_queued(kit.scope, limit=10) == 1
    assert await balance(kit, vendor) == (1_800, 0)
    [payment] = await kit.rows("SELECT id FROM payments WHERE tenant_id = $1 AND order_id = $2", order.id)
    for row in await kit.rows(ENTRIES, order.id):
        assert f"{row['created_at']:%Y-%m-%d} {row['available_at']:%Y-%m-%d}" == "2026-05-10 2026-05-17", row
        assert row["payment_id"] == payment["id"], row


async def test_accounts_of_other_stores_stay_as_they_are(kit, other_kit):
    _, _, order = await two_vendors(kit, status="P")
    vendor, _, _ = await two_vendors(other_kit, status="P")
    before = await balance(other_kit, vendor)
    await refund(kit, order.id, 0, charged_back=True)
    assert await balance(other_kit, vendor) == before
    assert await other_kit.rows(ENTRIES, 10**9) == []


async def test_all_orders_of_a_store_add_up(kit):
    """Orders in every state that the changes above lead to, with the sums of the database."""
    for number in range(6):
        _, _, order = await two_vendors(kit, discount_cents=number * 7)
        await record_payment(kit.scope, order.id, order.total_cents - number * 11)
        if number % 2:
            await refund(kit, order.id, number * 13)
        if number % 3 == 0:
            await change_status(kit.scope, order.id, "P")
    for row in await kit.rows(TOTALS_OF_ORDERS):
        assert row["entries"] == row["paid_cents"] - row["refunded_cents"], row["id"]
