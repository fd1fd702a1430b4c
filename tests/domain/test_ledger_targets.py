"""What each account should have of an order: shares that add up to the cent, whatever is paid, refunded and changed."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.ledger.entries import AppliedPayment, OrderMoney, OrderPart, _changes, _Written, order_targets
from domain.ledger.kinds import COMMISSION, COMMISSION_REFUND, SALE, Targets

CENTS = st.integers(0, 10**9)
STATUSES = ("O", "B", "P", "C", "D", "F", "I", "X")


def net_cents(order: OrderMoney) -> int:
    return 0 if order.payment_status == "chargeback" else order.paid_cents - order.refunded_cents


def of_account(targets: Targets, account: int | None) -> int:
    return sum(cents for (owner, _), cents in targets.items() if owner == account)


def of_kind(targets: Targets, kind: str) -> int:
    return sum(cents for (_, name), cents in targets.items() if name == kind)


@st.composite
def orders(draw: st.DrawFn) -> OrderMoney:
    accounts = draw(st.lists(st.sampled_from([None, 1, 2, 3, 4]), unique=True, min_size=1))
    parts = []
    for account in accounts:
        lines = draw(CENTS)
        commission = draw(st.integers(0, lines)) if account is not None else 0
        parts.append(OrderPart(account, lines, draw(st.sampled_from([0, 0, 1_234])), commission))
    subtotal = sum(part.lines_cents for part in parts)
    discount, shipping, surcharge, tax = draw(st.integers(0, subtotal)), draw(CENTS), draw(CENTS), draw(CENTS)
    # Imported orders have totals of their own.
    total = draw(st.one_of(st.just(subtotal - discount + shipping + surcharge + tax), CENTS))
    return OrderMoney(
        status=draw(st.sampled_from(STATUSES)),
        payment_status=draw(st.sampled_from(["paid", "paid", "paid", "chargeback"])),
        total_cents=total,
        discount_cents=discount,
        shipping_cents=shipping,
        surcharge_cents=surcharge,
        tax_cents=tax,
        paid_cents=draw(st.one_of(st.sampled_from([0, total]), CENTS)),
        refunded_cents=draw(st.one_of(st.just(0), st.just(total), CENTS)),
        shipper_id=draw(st.sampled_from([None, 1, 2, 9])),
        parts=parts,
        is_deleted=draw(st.booleans()),
    )


SALE_OF_TWO = OrderMoney(
    status="O",
    payment_status="unpaid",
    total_cents=10_300,
    discount_cents=700,
    shipping_cents=1_500,
    surcharge_cents=300,
    tax_cents=200,
    paid_cents=0,
    refunded_cents=0,
    shipper_id=2,
    parts=[OrderPart(None, 1_000, 0, 0), OrderPart(1, 3_000, 0, 300), OrderPart(2, 5_000, 0, 1_000)],
)


@given(orders())
def test_the_accounts_of_an_order_add_up_to_what_was_paid_less_refunds(order):
    assert sum(order_targets(order).values()) == net_cents(order)


@given(orders())
def test_commissions_only_move_money_between_a_vendor_and_the_store(order):
    targets = order_targets(order)
    assert of_kind(targets, COMMISSION) == of_kind(targets, COMMISSION_REFUND) == 0
    for part in order.parts:
        if part.account is not None and order.total_cents:
            taken = -targets.get((part.account, COMMISSION), 0)
            assert 0 <= taken <= targets[part.account, SALE] or targets[part.account, SALE] < 0, part


@given(orders())
def test_what_was_refunded_in_full_leaves_every_vendor_nothing(order):
    targets = order_targets(replace(order, refunded_cents=order.paid_cents, status="O", payment_status="refunded"))
    for part in order.parts:
        if part.account is not None:
            assert of_account(targets, part.account) == 0, part


@given(orders(), st.lists(st.integers(1, 10**8), min_size=1, max_size=5))
def test_the_shares_of_each_payment_add_up_to_its_amount(order, cents):
    payments = [AppliedPayment(number, amount) for number, amount in enumerate(cents, 1)]
    before = replace(order, payment_status="unpaid")
    after = replace(before, paid_cents=before.paid_cents + sum(cents))
    written: dict[int, int] = {}
    for change in _changes(after, _Written(order_targets(before), {}), payments):
        assert change.payment_id is not None, change
        written[change.payment_id] = written.get(change.payment_id, 0) + change.cents
    assert dict(payments) == {number: written.get(number) for number, _ in payments}


@given(st.lists(orders(), min_size=2, max_size=6))
def test_the_entries_of_any_sequence_of_states_add_up_to_the_last_one(states):
    written: Targets = {}
    for order in states:
        for change in _changes(order, _Written(written, {}), ()):
            key = (change.account, change.kind)
            written = {**written, key: written.get(key, 0) + change.cents}
        wanted = order_targets(order)
        assert {key: cents for key, cents in written.items() if cents} == {
            key: cents for key, cents in wanted.items() if cents
        }, order
        assert not _changes(order, _Written(written, {}), ()), ("written again, it writes nothing", order)


def test_who_gets_what_of_a_paid_order():
    targets = order_targets(replace(SALE_OF_TWO, paid_cents=10_300))
    assert {key: cents for key, cents in targets.items() if cents} == {
        (1, "sale"): 3_000,
        (1, "commission"): -300,
        (2, "sale"): 5_000,
        (2, "commission"): -1_000,
        (2, "shipping"): 1_500,
        (None, "sale"): 1_000,
        (None, "commission"): 1_300,
        (None, "discount"): -700,
        (None, "surcharge"): 300,
        (None, "tax"): 200,
    }


@pytest.mark.parametrize(
    "changes, vendors, store",
    [
        ({"paid_cents": 5_150}, (1_350, 2_750), 1_050),
        ({"paid_cents": 10_300, "refunded_cents": 5_150, "status": "P"}, (1_350, 2_750), 1_050),
        ({"paid_cents": 10_300, "refunded_cents": 10_300, "status": "P"}, (0, 0), 0),
        ({"paid_cents": 12_300, "status": "P"}, (2_700, 5_500), 4_100),
        ({"paid_cents": 12_300, "refunded_cents": 2_000, "status": "P"}, (2_700, 5_500), 2_100),
        ({"status": "P"}, (2_700, 5_500), -8_200),
        ({"paid_cents": 10_300, "status": "I"}, (0, 0), 10_300),
        ({"paid_cents": 10_300, "status": "P", "payment_status": "chargeback"}, (0, 0), 0),
    ],
    ids=[
        "part",
        "half refunded",
        "refunded",
        "paid too much",
        "rest returned",
        "not recorded",
        "cancelled",
        "chargeback",
    ],
)
def test_what_payments_refunds_and_statuses_leave(changes, vendors, store):
    targets = order_targets(replace(SALE_OF_TWO, **changes))
    assert (of_account(targets, 1), of_account(targets, 2), of_account(targets, None)) == (*vendors, store)


def test_a_gift_of_the_store_is_paid_by_the_store():
    free = replace(SALE_OF_TWO, total_cents=0, discount_cents=11_000, status="P")
    targets = order_targets(free)
    assert (of_account(targets, 1), of_account(targets, 2), of_account(targets, None)) == (2_700, 5_500, -8_200)
    assert not any(order_targets(replace(free, status="O")).values())


def test_an_independent_sum_over_2000_random_orders():
    """Kept apart from `order_targets`: fractions of each part, which the entries may miss by less than two cents each."""
    chance = random.Random(31)
    for number in range(2_000):
        parts = [OrderPart(vendor, chance.randrange(10**6), 0, 0) for vendor in range(1, chance.randrange(2, 7))]
        parts = [part._replace(commission_cents=part.lines_cents * chance.randrange(31) // 100) for part in parts]
        discount = chance.randrange(1 + sum(part.lines_cents for part in parts) // 2)
        shipping, surcharge = chance.randrange(10**4), chance.randrange(10**3)
        total = sum(part.lines_cents for part in parts) - discount + shipping + surcharge
        paid = chance.choice([total, chance.randrange(total + 1)])
        refunded = chance.choice([0, paid, chance.randrange(paid + 1)])
        shipper = chance.choice([None, 1])
        order = OrderMoney("O", "paid", total, discount, shipping, surcharge, 0, paid, refunded, shipper, parts)
        targets = order_targets(order)
        assert sum(targets.values()) == paid - refunded, (number, order)
        for part in parts:
            whole = part.lines_cents - part.commission_cents + (shipping if part.account == shipper else 0)
            assert abs(of_account(targets, part.account) - whole * (paid - refunded) / total) < 4, (number, order, part)
