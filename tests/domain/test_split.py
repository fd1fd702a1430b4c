"""Payments that the gateway divides among vendors and store: to the cent, in the ledger, and never paid a second time by a payout."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.ledger.balances import load_balances
from domain.ledger.entries import AppliedPayment, OrderMoney, _changes, _Written, order_targets
from domain.ledger.kinds import Targets
from domain.ledger.payouts import create_payouts
from domain.ledger.sales_report import load_sales_report
from domain.ledger.split import ChargeShare, DividedPayment
from domain.orders.lifecycle import change_status
from domain.orders.payments import find_charged_payments, record_payment
from domain.payments import creation, refunds, settlement
from domain.payments.gateways import gateway_of_method
from domain.payments.methods import PAYMENT_METHOD_RECORDS
from domain.payments.requests import parse_input
from domain.payments.split import divide_charge, refund_shares
from domain.purchase.edit import update_order
from kernel.clock import now
from kernel.errors import Conflict, RuleViolation
from kernel.money import allocate_growing
from kernel.scope import active_scope
from server.outgoing import outgoing_client
from tests.domain.test_ledger_targets import SALE_OF_TWO, of_account, orders
from tests.harness.domain_store import DomainStore
from tests.harness.http import system_trust
from tests.harness.pagarme import SECRET_KEY, PagarmeServer

RECIPIENTS = {1: "rp_1", 2: "rp_2"}
ENTRIES = """
SELECT vendor_id, kind, amount_cents, is_split, payment_id FROM ledger_entries WHERE tenant_id = $1 AND order_id = $2 ORDER BY id
"""


# --- Shares ------------------------------------------------------------------------------------------------------------------------


def divide(order: OrderMoney, cents: int, *, by_store: bool = True) -> list[ChargeShare]:
    return divide_charge(order, cents, RECIPIENTS, "rp_store", store_is_liable=by_store, store_pays_fees=by_store)


@given(orders(), st.integers(1, 10**9), st.booleans())
def test_the_shares_of_a_charge_add_up_to_its_amount(order, cents, by_store):
    shares = divide(order, cents, by_store=by_store)
    assert not shares or sum(share.cents for share in shares) == cents, shares
    assert all(share.cents > 0 for share in shares), shares
    after = order_targets(replace(order, paid_cents=order.paid_cents + cents))
    gains = {vendor: of_account(after, vendor) - of_account(order_targets(order), vendor) for vendor in RECIPIENTS}
    for share in shares:
        if share.account is not None and shares[-1].account is None:
            assert share.cents == gains[share.account], "a vendor gets what the ledger gives it"


def test_who_gets_what_of_a_charge():
    assert divide(SALE_OF_TWO, 10_300) == [
        ChargeShare(1, "rp_1", 2_700, False, False),
        ChargeShare(2, "rp_2", 5_500, False, False),
        ChargeShare(None, "rp_store", 2_100, True, True),
    ]
    assert [share[2:] for share in divide(SALE_OF_TWO, 5_150, by_store=False)] == [
        (1_350, True, True),
        (2_750, True, True),
        (1_050, True, True),
    ]


def test_a_charge_of_which_the_store_gets_nothing_is_divided_only_where_the_vendors_bear_all():
    gift = replace(SALE_OF_TWO, total_cents=5_000, discount_cents=6_000)
    assert divide(gift, 5_000) == []
    assert [(share.account, share.cents) for share in divide(gift, 5_000, by_store=False)] == [(1, 1_646), (2, 3_354)]


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=6), st.data())
def test_what_is_divided_growing_never_shrinks_a_part(weights, data):
    less = data.draw(st.integers(0, sum(weights)))
    more = data.draw(st.integers(less, sum(weights)))
    small, large = allocate_growing(less, weights), allocate_growing(more, weights)
    assert (sum(small), sum(large)) == (less, more)
    assert all(0 <= part <= whole <= weight for part, whole, weight in zip(small, large, weights, strict=True))
    assert allocate_growing(sum(weights), weights) == weights


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=5), st.lists(st.integers(1, 10**6), max_size=6))
def test_refunds_take_each_share_back_once(cents, amounts):
    shares = [ChargeShare(number, f"rp_{number}", amount, False, False) for number, amount in enumerate(cents)]
    total, refunded, taken = sum(cents), 0, dict.fromkeys((share.recipient_id for share in shares), 0)
    for amount in [*amounts, total]:
        amount = min(amount, total - refunded)
        parts = refund_shares(shares, total, refunded, amount)
        assert sum(part.amount_cents for part in parts) == amount
        for part in parts:
            taken[part.recipient_id] += part.amount_cents
        refunded += amount
        assert all(taken[share.recipient_id] <= share.cents for share in shares), amount
    assert taken == {share.recipient_id: share.cents for share in shares}


# --- Entries -----------------------------------------------------------------------------------------------------------------------


@st.composite
def divided_payments(draw: st.DrawFn) -> DividedPayment:
    amounts = draw(st.lists(st.integers(1, 10**6), min_size=3, max_size=3))
    liable = draw(st.booleans())
    owners = ((1, "rp_1"), (2, "rp_2"), (None, "rp_store"))
    shares = [ChargeShare(*owner, cents, liable, True) for owner, cents in zip(owners, amounts, strict=True)]
    paid = draw(st.sampled_from([sum(amounts), sum(amounts) - 1, sum(amounts) + 7]))
    return DividedPayment(
        draw(st.sampled_from([7, 8])), draw(st.sampled_from(["PAID", "DISPUTED"])), paid, draw(st.integers(0, paid)), shares
    )  # fmt: skip


@given(
    st.lists(st.tuples(orders(), st.lists(divided_payments(), max_size=2, unique_by=lambda each: each.id)), max_size=4)
)
def test_marked_entries_are_what_the_gateway_moved_and_all_entries_what_the_order_gives(states):
    cents: Targets = {}
    marked: Targets = {}
    for order, divided in states:
        for change in _changes(order, _Written(cents, marked), (), divided):
            key = (change.account, change.kind)
            cents = {**cents, key: cents.get(key, 0) + change.cents}
            if change.is_split:
                assert change.account is not None, "nothing of the store's account is marked"
                marked = {**marked, key: marked.get(key, 0) + change.cents}
        assert {key: each for key, each in cents.items() if each} == {
            key: each for key, each in order_targets(order).items() if each
        }
        for index, vendor in enumerate(RECIPIENTS):
            # Independent of the code: fractions, which a payment may miss by less than two cents.
            moved = sum(_moved(payment, index) for payment in divided)
            assert abs(of_account(marked, vendor) - moved) < 2 * len(divided) + 1, (vendor, divided)
        assert not _changes(order, _Written(cents, marked), (), divided), "written again, it writes nothing"


def _moved(payment: DividedPayment, index: int) -> float:
    share = payment.shares[index]
    amount = sum(each.cents for each in payment.shares)
    received = share.cents * min(1, payment.paid_cents / amount)
    if payment.status == "DISPUTED" and share.is_liable:
        return 0
    return received * (1 - min(1, payment.refunded_cents / min(payment.paid_cents, amount)))


def test_a_share_that_was_in_the_balance_leaves_it_when_the_gateway_pays_it():
    sold = replace(SALE_OF_TWO, status="P")
    written = order_targets(sold)
    paid = replace(sold, paid_cents=10_300)
    divided = [DividedPayment(7, "PAID", 10_300, 0, divide(sold, 10_300) or divide(SALE_OF_TWO, 10_300))]
    changes = _changes(paid, _Written(written, {}), [AppliedPayment(7, 10_300)], divided)
    of_first = [change for change in changes if change.account == 1]
    assert sorted((change.cents, change.is_split) for change in of_first) == [(-2_700, False), (2_700, True)]


# --- Through Pagar.me --------------------------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
async def outgoing_requests():
    async with outgoing_client(allows_private=True, trust=system_trust()):
        yield


@pytest.fixture
async def server():
    async with PagarmeServer() as started:
        yield started


class Market:
    """A store with a vendor whose share Pagar.me pays, and one whose share it doesn't."""

    def __init__(self, kit: DomainStore, server: PagarmeServer) -> None:
        self.kit, self.server = kit, server
        self.first = self.second = self.method = 0
        self.products: list[int] = []

    async def open(self, **settings: Any) -> None:
        store = replace(self.kit.store, settings={"split_recipient_id": "rp_store", **settings})
        self.kit.scope = replace(self.kit.scope, store=store)
        self.first = await self.kit.vendor(commission="10", recipient_id="rp_first")
        self.second = await self.kit.vendor(commission="20")
        self.products = [
            await self.kit.product(vendor=vendor, stock=1_000) for vendor in (self.first, self.second, None)
        ]
        params = {"secret_key": SECRET_KEY}
        self.method = await PAYMENT_METHOD_RECORDS.create(
            self.kit.scope, {"name": "Card", "processor": "pagarme", "kind": "CARD", "processor_params": params}
        )

    async def order(self, *quantities: int, **terms: Any) -> Any:
        lines = [(product, quantity) for product, quantity in zip(self.products, quantities, strict=False) if quantity]
        return await self.kit.order(*lines, payment_method=self.method, **terms)

    async def pay(self, order: int) -> dict[str, Any]:
        public_id = await self.kit.public_id("orders", order)
        values = parse_input("CARD", {"card_token": "token_1"})
        return await self.kit.record("payments", await creation.create_payment(self.kit.scope, public_id, None, values))

    async def refund(self, payment: dict[str, Any], cents: int) -> None:
        await refunds.refund_payment(self.kit.scope, payment["public_id"], cents)

    async def charge_back(self, payment: dict[str, Any]) -> None:
        charge_id = payment["gateway_charge_id"]
        self.server.charge_back(charge_id)
        gateway = await gateway_of_method(self.kit.scope, self.method, "pagarme")
        assert gateway is not None
        state = await gateway.read(payment["public_id"], charge_id)
        assert state is not None
        with active_scope(self.kit.scope):
            [stored] = await find_charged_payments(self.kit.scope, (), payment["public_id"])
        await settlement.settle(self.kit.scope, stored, state)

    async def balance(self, vendor: int) -> int:
        with active_scope(self.kit.scope):
            [owed] = (await load_balances(self.kit.scope, [vendor])).values()
        return owed.total_cents

    async def marked(self) -> int:
        return await self.kit.value(
            "SELECT coalesce(sum(amount_cents), 0)::bigint FROM ledger_entries WHERE tenant_id = $1 AND is_split"
        )


@pytest.fixture
async def market(kit, server) -> Market:
    opened = Market(kit, server)
    await opened.open()
    return opened


async def test_the_gateway_pays_the_share_of_a_vendor_with_a_recipient_and_the_balance_the_others(market, server):
    order = await market.order(3, 5, 1)
    payment = await market.pay(order.id)
    [sent] = server.requests("POST")
    assert [(rule["recipient_id"], rule["amount"]) for rule in sent.body["payments"][0]["split"]] == [
        ("rp_first", 2_700),
        ("rp_store", 6_300),
    ]
    store_rule = sent.body["payments"][0]["split"][1]
    assert store_rule["options"] == {"liable": True, "charge_processing_fee": True, "charge_remainder_fee": True}
    assert payment["status"] == "PAID"
    assert (await market.balance(market.first), await market.balance(market.second)) == (0, 4_000)
    rows = await market.kit.rows(ENTRIES, order.id)
    assert sum(row["amount_cents"] for row in rows) == 9_000
    marked = [(row["vendor_id"], row["kind"], row["amount_cents"]) for row in rows if row["is_split"]]
    assert marked == [(market.first, "commission", -300), (market.first, "sale", 3_000)]
    assert {row["payment_id"] for row in rows} == {payment["id"]}
    with pytest.raises(RuleViolation):
        await create_payouts(market.kit.scope, market.first)
    with active_scope(market.kit.scope):
        month = await load_sales_report(replace(market.kit.scope, now=now()))
    [report] = [each for each in month if each.vendor_number == market.first]
    assert (report.gross_cents, report.net_cents, report.orders) == (3_000, 2_700, 1)


async def test_refunds_take_the_share_back_from_the_recipient(market, server):
    order = await market.order(3, 5, 1)
    payment = await market.pay(order.id)
    for cents in (3_333, 667, 5_000):
        await market.refund(payment, cents)
        assert await market.marked() == server.of_recipient("rp_first"), cents
        assert abs(await market.balance(market.first)) < 2, cents
    assert (server.of_recipient("rp_first"), server.of_recipient("rp_store")) == (0, 0)
    assert (await market.balance(market.first), await market.balance(market.second)) == (0, 0)
    assert [sum(rule["amount"] for rule in sent.body["split"]) for sent in server.requests("DELETE")] == [
        3_333,
        667,
        5_000,
    ]
    rows = await market.kit.rows(ENTRIES, order.id)
    assert sum(row["amount_cents"] for row in rows) == 0


async def test_a_chargeback_that_the_store_bears_leaves_the_vendor_in_debt(market, server):
    order = await market.order(3, 5, 1)
    payment = await market.pay(order.id)
    await market.charge_back(payment)
    assert server.of_recipient("rp_first") == await market.marked() == 2_700
    assert (await market.balance(market.first), await market.balance(market.second)) == (-2_700, 0)


async def test_a_chargeback_that_each_recipient_bears_settles_the_vendor(kit, server):
    market = Market(kit, server)
    await market.open(split_liable="recipients", split_fees="recipients")
    payment = await market.pay((await market.order(3, 0, 1)).id)
    options = [rule["options"] for rule in server.requests("POST")[0].body["payments"][0]["split"]]
    assert [tuple(option.values()) for option in options] == [(True, True, False), (True, True, True)]
    await market.charge_back(payment)
    assert (server.of_recipient("rp_first"), await market.marked(), await market.balance(market.first)) == (0, 0, 0)


async def test_an_order_that_is_cancelled_leaves_the_vendor_in_debt_until_the_refund(market, server):
    payment = await market.pay((await market.order(3, 5, 1)).id)
    await change_status(market.kit.scope, payment["order_id"], "I")
    assert await market.balance(market.first) == -2_700
    await market.refund(payment, 9_000)
    assert (await market.balance(market.first), server.of_recipient("rp_first")) == (0, 0)


@pytest.mark.parametrize("case", ["no recipient of the store", "the store's own recipient", "only other vendors"])
async def test_what_is_not_divided(case, kit, server):
    market = Market(kit, server)
    await market.open(**({"split_recipient_id": " "} if case == "no recipient of the store" else {}))
    if case == "the store's own recipient":
        await kit.rows("UPDATE vendors SET recipient_id = 'rp_store' WHERE tenant_id = $1 AND recipient_id <> ''")
    order = await market.order(*((0, 2) if case == "only other vendors" else (3, 5)))
    await market.pay(order.id)
    assert "split" not in server.requests("POST")[0].body["payments"][0]
    assert await market.marked() == 0


async def test_recipients_of_another_store_are_not_found(market, server, other_kit):
    """Vendors have numbers of their store: those of another with the same number are not asked for."""
    await other_kit.vendor(recipient_id="rp_foreign")
    await other_kit.vendor(recipient_id="rp_foreign")
    await market.pay((await market.order(3, 5, 1)).id)
    assert "rp_foreign" not in str(server.requests("POST")[0].body)


@pytest.mark.parametrize("seed", range(3))
async def test_the_ledger_agrees_with_the_gateway_whatever_happens(
    kit: DomainStore, server: PagarmeServer, seed: int
) -> None:
    chance = random.Random(seed)
    market = Market(kit, server)
    await market.open(split_liable=chance.choice(["store", "recipients"]))
    paid: list[dict[str, Any]] = []
    numbers: list[int] = []

    async def place() -> None:
        order = await market.order(*(chance.randrange(1, 4) for _ in range(3)), discount_cents=chance.randrange(999))
        numbers.append(order.id)

    async def pay() -> None:
        paid.append(await market.pay(chance.choice(numbers)))

    async def refund() -> None:
        await market.refund(chance.choice(paid), chance.randrange(1, 4_000))

    async def charge_back() -> None:
        await market.charge_back(chance.choice(paid))

    async def set_status() -> None:
        await change_status(kit.scope, chance.choice(numbers), chance.choice("OPCI"))

    async def record() -> None:
        await record_payment(kit.scope, chance.choice(numbers), chance.randrange(1, 3_000))

    async def edit() -> None:
        lines = [{"product": chance.choice(market.products), "quantity": chance.randrange(1, 4)}]
        await update_order(kit.scope, chance.choice(numbers), {"lines": lines})

    await place()
    done = 0
    for number in range(60):
        try:
            step = chance.choice([place, pay, pay, refund, refund, charge_back, set_status, record, edit])
            await step()
            done += 1
        except (RuleViolation, IndexError, Conflict):
            continue
        assert await market.marked() == server.of_recipient("rp_first"), (number, step)
    assert done > 20
    for row in await kit.rows(
        "SELECT id, status, payment_status, paid_cents, refunded_cents FROM orders WHERE tenant_id = $1"
    ):
        entries = await kit.rows(ENTRIES, row["id"])
        received = 0 if row["payment_status"] == "chargeback" else row["paid_cents"] - row["refunded_cents"]
        assert sum(entry["amount_cents"] for entry in entries) == received, row
