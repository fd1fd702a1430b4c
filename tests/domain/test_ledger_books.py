"""The books of a store after random orders, payments, refunds, edits, status changes, adjustments and payouts."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from fractions import Fraction
from typing import Any

import pytest

from domain.ledger.payouts import adjust_ledger, cancel_payout, create_payouts, mark_paid
from domain.ledger.reconciliation import write_queued
from domain.orders.lifecycle import change_status
from domain.orders.locked import lock_order
from domain.orders.payments import record_payment, update_payment_totals
from domain.purchase.edit import update_order
from domain.shipping.methods import SHIPPING_METHOD_RECORDS
from kernel.errors import RuleViolation
from models.connection.database import transaction
from tests.harness.domain_store import DomainStore

SUMS = """
SELECT e.order_id, e.payout_id, e.vendor_id, e.kind, e.amount_cents FROM ledger_entries e WHERE e.tenant_id = $1
"""
ORDERS = "SELECT id, status, payment_status, total_cents, paid_cents, refunded_cents FROM orders WHERE tenant_id = $1"
WHOLE = """
SELECT l.order_id, l.vendor_id, sum(l.quantity * l.price_cents - l.commission_cents) AS cents, o.shipping_cents
FROM order_lines l JOIN orders o ON o.tenant_id = $1 AND o.id = l.order_id
WHERE l.tenant_id = $1 AND l.vendor_id IS NOT NULL GROUP BY l.order_id, l.vendor_id, o.shipping_cents
"""
"""What each vendor has of an order that is paid in full, and the shipping, which may be its own."""


class Shop:
    """A store in which random operations happen, and what they add to the accounts, written down apart from the ledger."""

    def __init__(self, kit: DomainStore, seed: int) -> None:
        self.kit, self.chance = kit, random.Random(seed)
        self.vendors: list[int] = []
        self.products: list[int] = []
        self.orders: list[int] = []
        self.payouts: list[int] = []
        self.adjusted: dict[int | None, int] = {}
        self.methods: dict[int, int | None] = {}
        self.shippers: dict[int, int | None] = {}

    async def open(self) -> None:
        for rate, kind in (("12.50", "P"), ("3.33", "A"), ("0", "P")):
            self.vendors.append(await self.kit.vendor(commission=rate, commission_type=kind))
        for vendor in [*self.vendors, None]:
            price = self.chance.randrange(1, 9_999)
            self.products.append(await self.kit.product(vendor=vendor, price_cents=price, stock=10_000))
        for cents, vendor in ((777, None), (1_234, self.vendors[0])):
            self.methods[await self.kit.shipping(base_cents=cents, vendor=vendor)] = vendor

    def lines(self) -> list[tuple[int, int]]:
        return [(product, self.chance.randrange(1, 4)) for product in self.chance.sample(self.products, 2)]

    async def place(self) -> None:
        lines, method = self.lines(), self.chance.choice(list(self.methods))
        order = await self.kit.order(*lines, shipping_method=method, status=self.chance.choice("OOP"))
        self.orders.append(order.id)
        self.shippers[order.id] = self.methods[method]

    async def hand_over(self) -> None:
        """Give a shipping method to another vendor, or to the store; orders of before keep theirs."""
        method, vendor = self.chance.choice(list(self.methods)), self.chance.choice([*self.vendors, None])
        await SHIPPING_METHOD_RECORDS.update(self.kit.scope, method, {"vendor": vendor})
        self.methods[method] = vendor

    async def choose_method(self) -> None:
        order, method = self.chance.choice(self.orders), self.chance.choice(list(self.methods))
        before = (await self.kit.record("orders", order))["shipping_method_id"]
        await update_order(self.kit.scope, order, {"shipping_method": method})
        if method != before:
            self.shippers[order] = self.methods[method]

    async def pay(self) -> None:
        order = self.chance.choice(self.orders)
        row = await self.kit.record("orders", order)
        cents = self.chance.choice([row["total_cents"], self.chance.randrange(1, row["total_cents"] + 500)])
        await record_payment(self.kit.scope, order, cents)

    async def refund(self, *, charged_back: bool = False) -> None:
        async with transaction(self.kit.scope):
            locked = await lock_order(self.kit.scope, self.chance.choice(self.orders))
            cents = self.chance.randrange(locked.refunded_cents, locked.paid_cents + 1)
            await update_payment_totals(self.kit.scope, locked, locked.paid_cents, cents, charged_back=charged_back)

    async def charge_back(self) -> None:
        await self.refund(charged_back=self.chance.random() < 0.3)

    async def edit(self) -> None:
        lines = [{"product": product, "quantity": quantity} for product, quantity in self.lines()]
        await update_order(self.kit.scope, self.chance.choice(self.orders), {"lines": lines})

    async def set_status(self) -> None:
        await change_status(self.kit.scope, self.chance.choice(self.orders), self.chance.choice("OPCIF"))

    async def adjust(self) -> None:
        account, cents = self.chance.choice([*self.vendors, None]), self.chance.choice([-501, 1_499])
        await adjust_ledger(self.kit.scope, account, cents, "Acerto")
        self.adjusted[account] = self.adjusted.get(account, 0) + cents

    async def pay_out(self) -> None:
        later = replace(self.kit.scope, now=self.kit.scope.now + timedelta(days=self.chance.choice([0, 7])))
        self.payouts += await create_payouts(later, self.chance.choice([*self.vendors, None]))

    async def close_payout(self) -> None:
        if self.payouts:
            close = self.chance.choice([mark_paid, cancel_payout])
            await close(self.kit.scope, self.chance.choice(self.payouts))


@pytest.mark.slow(seconds=9)
@pytest.mark.parametrize("seed", range(4))
async def test_no_cent_is_lost_whatever_happens(kit: DomainStore, seed: int) -> None:
    shop = Shop(kit, seed)
    await shop.open()
    await shop.place()
    operations: list[Callable[[], Awaitable[Any]]] = [
        shop.place, shop.pay, shop.pay, shop.refund, shop.charge_back, shop.edit, shop.set_status, shop.adjust,
        shop.pay_out, shop.close_payout, shop.hand_over, shop.choose_method,
    ]  # fmt: skip
    done = 0
    for _ in range(500):
        try:
            await shop.chance.choice(operations)()
            done += 1
        except RuleViolation:
            continue
    assert done > 250
    entries = [dict(row) for row in await kit.rows(SUMS)]
    for order in await kit.rows(ORDERS):
        received = 0 if order["payment_status"] == "chargeback" else order["paid_cents"] - order["refunded_cents"]
        own = [entry for entry in entries if entry["order_id"] == order["id"]]
        assert sum(entry["amount_cents"] for entry in own) == received, order
        if order["status"] in "DFI" or order["payment_status"] == "chargeback":
            assert sum(entry["amount_cents"] for entry in own if entry["vendor_id"]) == 0, order
    for payout in await kit.rows("SELECT id, amount_cents, status FROM payouts WHERE tenant_id = $1"):
        taken = -sum(entry["amount_cents"] for entry in entries if entry["payout_id"] == payout["id"])
        assert taken == (0 if payout["status"] == "cancelled" else payout["amount_cents"]), payout
    for account in [*shop.vendors, None]:
        of_account = [entry for entry in entries if entry["vendor_id"] == account and entry["kind"] == "adjustment"]
        assert sum(entry["amount_cents"] for entry in of_account) == shop.adjusted.get(account, 0), account
    await check_vendors(shop, entries)
    # Of orders that were paid before their status said so; the job has nothing to write.
    await write_queued(kit.scope, limit=1_000)
    assert await kit.rows("SELECT order_id FROM ledger_queue WHERE tenant_id = $1") == []
    assert len(await kit.rows(SUMS)) == len(entries)
    # Thousands, which other tests would count.
    await kit.rows("DELETE FROM order_mails WHERE tenant_id = $1")


async def check_vendors(shop: Shop, entries: list[dict[str, Any]]) -> None:
    """Compare each vendor's balance with an independent sum: of whole orders to the cent, of parts within the cents that are rounded."""
    orders = {order["id"]: order for order in await shop.kit.rows(ORDERS)}
    expected = {vendor: Fraction(shop.adjusted.get(vendor, 0)) for vendor in shop.vendors}
    rounded = dict.fromkeys(shop.vendors, 0)
    for whole in await shop.kit.rows(WHOLE):
        kept = kept_part(orders[whole["order_id"]])
        is_shipper = shop.shippers[whole["order_id"]] == whole["vendor_id"]
        expected[whole["vendor_id"]] += int(whole["cents"] + whole["shipping_cents"] * is_shipper) * kept
        # Lines, shipping and commission, of what was received and of what was taken back.
        rounded[whole["vendor_id"]] += 0 if kept in (0, 1) else 6
    for payout in await shop.kit.rows(
        "SELECT vendor_id, amount_cents FROM payouts WHERE tenant_id = $1 AND status <> 'cancelled'"
    ):
        if payout["vendor_id"] is not None:
            expected[payout["vendor_id"]] -= payout["amount_cents"]
    for vendor in shop.vendors:
        balance = sum(entry["amount_cents"] for entry in entries if entry["vendor_id"] == vendor)
        assert abs(balance - expected[vendor]) <= rounded[vendor], (vendor, balance, expected[vendor])


def kept_part(order: dict[str, Any]) -> Fraction:
    """Return the part of an order's total that counts for its vendors: received, and not taken back."""
    total, paid, refunded = order["total_cents"], order["paid_cents"], order["refunded_cents"]
    if order["status"] in "DFI" or order["payment_status"] == "chargeback":
        return Fraction(0)
    received = total if order["status"] in "PC" else min(total, paid)
    returned = max(0, refunded - max(0, paid - total))
    return Fraction(max(0, received - returned), total)
