"""Payouts and corrections of accounts: never more than a vendor has, also at the same time; what is cancelled returns."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from domain.ledger.balances import load_balances
from domain.ledger.payouts import adjust_ledger, cancel_payout, create_payouts, mark_paid
from domain.ledger.sales_report import load_sales_report
from domain.orders.locked import lock_order
from domain.orders.payments import record_payment, update_payment_totals
from kernel.errors import Forbidden, NotFound, RuleViolation, ValidationFailed
from kernel.scope import Scope, active_scope
from models.connection.database import count_statements, retry_conflicts, transaction
from tests.harness.domain_store import DomainStore, unknown

AUDIT = "SELECT action, details::text FROM audit_entries WHERE tenant_id = $1 AND subject_type = ANY($2) ORDER BY id"


def later(kit: DomainStore, days: int = 7, **settings: Any) -> Scope:
    store = replace(kit.store, settings={**kit.store.settings, **settings})
    return replace(kit.scope, now=kit.scope.now + timedelta(days=days), store=store)


async def balance(scope: Scope, vendor: int) -> tuple[int, int]:
    with active_scope(scope):
        [owed] = (await load_balances(scope, [vendor])).values()
    return owed.available_cents, owed.pending_cents


async def sell(kit: DomainStore, vendor: int, cents: int) -> Any:
    order = await kit.order((await kit.product(vendor=vendor, price_cents=cents), 1))
    await record_payment(kit.scope, order.id, cents)
    return order


async def refund(scope: Scope, order: int, cents: int) -> None:
    async with transaction(scope):
        locked = await lock_order(scope, order)
        await update_payment_totals(scope, locked, locked.paid_cents, cents)


async def test_a_payout_takes_what_is_available_and_returns_it_when_cancelled(kit):
    vendor = await kit.vendor(commission="10")
    await sell(kit, vendor, 10_000)
    with pytest.raises(RuleViolation) as refused:
        await create_payouts(kit.scope, vendor)
    assert (refused.value.reason, refused.value.details) == ("balance_too_small", {"available_cents": 0})
    scope = later(kit)
    [first] = await create_payouts(scope, vendor, 4_000, "PIX")
    [second] = await create_payouts(scope, vendor)
    assert await balance(scope, vendor) == (0, 0)
    assert [(row["id"], row["amount_cents"], row["status"]) for row in await kit.rows(
        "SELECT * FROM payouts WHERE tenant_id = $1 ORDER BY id")] == [(first, 4_000, "pending"), (second, 5_000, "pending")]  # fmt: skip
    await mark_paid(scope, first, "TED 123")
    await cancel_payout(scope, second)
    assert await balance(scope, vendor) == (5_000, 0)
    paid = await kit.record("payouts", first)
    assert (paid["status"], paid["note"], paid["paid_at"]) == ("paid", "TED 123", scope.now)


async def test_a_payout_is_paid_or_cancelled_once(kit):
    vendor = await kit.vendor()
    await sell(kit, vendor, 1_000)
    scope = later(kit)
    [payout] = await create_payouts(scope, vendor)
    assert [await mark_paid(scope, payout), await mark_paid(scope, payout)] == [payout, payout]
    with pytest.raises(RuleViolation) as refused:
        await cancel_payout(scope, payout)
    assert refused.value.reason == "payout_paid"
    await sell(kit, vendor, 1_000)
    [cancelled] = await create_payouts(scope, vendor)
    assert [await cancel_payout(scope, cancelled), await cancel_payout(scope, cancelled)] == [cancelled, cancelled]
    with pytest.raises(RuleViolation) as refused:
        await mark_paid(scope, cancelled)
    assert refused.value.reason == "payout_cancelled"
    assert await balance(scope, vendor) == (1_000, 0)
    names = [name for name in await kit.event_names() if name.startswith("payout.")]
    assert names == ["payout.created", "payout.paid", "payout.created"]
    with pytest.raises(NotFound):
        await mark_paid(scope, unknown())


async def test_all_vendors_with_the_minimum_are_paid_in_a_constant_number_of_statements(kit):
    scope = later(kit, payout_minimum_cents=2_000)
    counts = []
    for vendors in (1, 6):
        for cents in (1_999, *[2_000] * vendors):
            await sell(kit, await kit.vendor(), cents)
        with count_statements() as statements:
            created = await create_payouts(scope)
        assert len(created) == vendors
        counts.append(statements.count)
    assert counts[0] == counts[1]
    assert await create_payouts(scope) == []
    amounts = await kit.rows("SELECT DISTINCT amount_cents FROM payouts WHERE tenant_id = $1")
    assert [row["amount_cents"] for row in amounts] == [2_000]


@pytest.mark.parametrize("cents", [0, -1, 10**15 + 1])
async def test_an_amount_out_of_range_is_refused(kit, cents):
    vendor = await kit.vendor()
    with pytest.raises(ValidationFailed) as refused:
        await create_payouts(kit.scope, vendor, cents)
    assert refused.value.fields == {"amount_cents": "amount_invalid"}
    with pytest.raises(ValidationFailed) as refused:
        await create_payouts(kit.scope, None, 100)
    assert refused.value.fields == {"amount_cents": "amount_invalid"}


async def test_an_adjustment_has_a_reason_and_is_audited(kit):
    vendor = await kit.vendor()
    await adjust_ledger(kit.scope, vendor, -2_500, "Pago por fora em maio")
    await adjust_ledger(kit.scope, None, 300, "Tarifa devolvida")
    assert await balance(kit.scope, vendor) == (-2_500, 0)
    assert len(await kit.rows(AUDIT, ["ledger_entry"])) == 2
    for amount, reason, field in ((0, "x", "amount_cents"), (10**16, "x", "amount_cents"), (1, " ", "reason")):
        with pytest.raises(ValidationFailed) as refused:
            await adjust_ledger(kit.scope, vendor, amount, reason)
        assert list(refused.value.fields) == [field], (amount, reason)
    with pytest.raises(NotFound):
        await adjust_ledger(kit.scope, unknown(), 1, "x")


async def test_concurrent_payouts_never_pay_more_than_the_balance(kit):
    vendor = await kit.vendor()
    await sell(kit, vendor, 10_000)
    scope = later(kit)

    async def pay() -> int:
        try:
            await retry_conflicts(lambda: create_payouts(scope, vendor, 3_000))
        except RuleViolation:
            return 0
        return 3_000

    assert sum(await asyncio.gather(*[pay() for _ in range(8)])) == 9_000
    assert await balance(scope, vendor) == (1_000, 0)


async def test_refunds_during_payouts_leave_the_books_balanced(kit):
    """A payout pays what the vendor has at that moment; a refund committed after it is owed by the vendor."""
    vendor = await kit.vendor(commission="10")
    orders = [await sell(kit, vendor, 1_000) for _ in range(6)]
    scope = later(kit)

    async def pay() -> int:
        try:
            numbers = await retry_conflicts(lambda: create_payouts(scope, vendor))
        except RuleViolation:
            return 0
        return int((await kit.record("payouts", numbers[0]))["amount_cents"])

    async def take_back(order: Any) -> int:
        await retry_conflicts(lambda: refund(scope, order.id, 1_000))
        return 0

    paid = sum(await asyncio.gather(*[pay() for _ in range(4)], *[take_back(order) for order in orders[:3]]))
    assert 2_700 <= paid <= 5_400
    assert await balance(scope, vendor) == (2_700 - paid, 0)
    assert all(
        row["amount_cents"] > 0 for row in await kit.rows("SELECT amount_cents FROM payouts WHERE tenant_id = $1")
    )


async def test_what_is_not_available_yet_covers_no_payout_and_a_debt_in_it_is_kept(kit):
    vendor = await kit.vendor()
    await sell(kit, vendor, 1_000)
    scope = later(kit)
    pending = DomainStore(scope)
    await adjust_ledger(kit.scope, vendor, 500, "Bônus")
    order = await sell(pending, vendor, 700)
    assert await balance(scope, vendor) == (1_500, 700)
    await refund(scope, order.id, 700)
    assert await balance(scope, vendor) == (1_500, 0)
    [payout] = await create_payouts(scope, vendor)
    assert (await kit.record("payouts", payout))["amount_cents"] == 1_500


async def test_the_sales_report_sums_the_months_of_each_vendor(kit):
    vendor = await kit.vendor(commission="10", name="Cerâmica", cnpj="12345678000195")
    first, second = await sell(kit, vendor, 10_000), await sell(kit, vendor, 5_000)
    await refund(kit.scope, first.id, 5_000)
    next_month = later(kit, 40)
    await refund(next_month, second.id, 5_000)
    with active_scope(kit.scope):
        [row] = await load_sales_report(kit.scope)
        assert (row.vendor_name, row.cnpj, row.orders) == ("Cerâmica", "12345678000195", 2)
        assert (row.gross_cents, row.commission_cents, row.refunds_cents, row.net_cents) == (
            15_000,
            1_000,
            5_000,
            9_000,
        )
        month = f"{next_month.now:%Y-%m}"
        rows = await load_sales_report(kit.scope, vendor, f"{kit.scope.now:%Y-%m}", month)
        assert [(row.month, row.net_cents) for row in rows] == [(month, -4_500), (f"{kit.scope.now:%Y-%m}", 9_000)]
        for wrong in ("2026-13", "2026", "0000-01", "9999-12", "2026-1"):
            with pytest.raises(ValidationFailed):
                await load_sales_report(kit.scope, None, wrong)
        with pytest.raises(ValidationFailed):
            await load_sales_report(kit.scope, None, "2020-01", "2026-01")
    other = await kit.vendor()
    with active_scope(kit.as_vendor(other)) as scope:
        assert await load_sales_report(scope, vendor) == []
    with active_scope(kit.as_customer(await kit.customer())) as scope, pytest.raises(Forbidden):
        await load_sales_report(scope)
