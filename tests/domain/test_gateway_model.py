"""Random notifications, duplicated, out of order and reprocessed: payments, stock and events stay consistent."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from domain.gateway import notifications
from domain.orders.lifecycle import change_status
from domain.orders.transitions import STOCK_STATES, payment_status
from domain.stores import set_gateway_secret
from kernel.errors import RuleViolation
from tests.harness.domain_store import DomainStore
from tests.harness.gateway import SECRET, charge, event, order_event, raw, signature
from tests.harness.scopes import system_scope

STOCK = 3
CHARGES = {"whole": 1_000, "small": 400, "rest": 600}

names = st.sampled_from(sorted(CHARGES))
cents = st.integers(0, 1_100)
steps = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["charge.paid", "charge.underpaid"]), names, cents),
        st.tuples(st.sampled_from(["charge.refunded", "charge.partial_canceled"]), names, cents),
        st.tuples(st.sampled_from(["charge.paid", "charge.refunded", "charge.payment_failed"]), names, st.none()),
        st.tuples(st.sampled_from(["charge.chargedback", "charge.created"]), names, st.none()),
        st.tuples(st.sampled_from(["order.paid", "order.canceled"]), st.lists(names, min_size=1), st.none()),
        st.tuples(st.just("again"), st.integers(0, 20), st.none()),
        st.tuples(st.just("reprocess"), st.integers(0, 20), st.none()),
        st.tuples(st.just("move"), st.sampled_from("OPCDFIB"), st.none()),
    ),
    min_size=1,
    max_size=12,
)


@pytest.mark.slow
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps)
# Regression: a refund of one charge was deducted from another charge's payment.
@example([("charge.paid", "rest", None), ("charge.refunded", "small", None), ("charge.refunded", "rest", None)])
async def test_payments_and_stock_stay_consistent(new_store, taken):
    kit = DomainStore(system_scope(await new_store()))
    await set_gateway_secret(kit.scope, SECRET)
    product = await kit.product(stock=STOCK)
    order = await kit.order((product, 1))
    sent: list[bytes] = []
    before = None
    for step in taken:
        had_no_effect = await play(kit, order, sent, step)
        after = await state(kit, order, product)
        check(after)
        if before is not None:
            if had_no_effect:
                assert after == before, step
            shrunk = [
                name
                for name, was in before["charges"].items()
                if after["charges"][name][0] < was[0] or after["charges"][name][1] < was[1]
            ]
            assert shrunk == [], step
        before = after
    numbers = [result["sequence"] for result in await kit.events(order.public_id)]
    assert numbers == list(range(1, len(numbers) + 1))


async def play(kit, order, sent, step):
    """Run the step; return whether it must have no effect."""
    kind, what, amount = step
    if kind == "move":
        try:
            await change_status(kit.as_admin(), order.id, what)
        except RuleViolation:
            return True
        return False
    if kind in ("again", "reprocess"):
        if not sent:
            return True
        if kind == "again":
            body = sent[what % len(sent)]
            assert await notifications.receive(kit.scope, body, [signature(body)]) == "duplicate ignored"
            return True
        ids = await kit.rows("SELECT id FROM gateway_notifications WHERE tenant_id = $1 ORDER BY id")
        try:
            await notifications.reprocess(kit.as_admin(), ids[what % len(ids)]["id"])
        except RuleViolation:
            return True
        return False
    body = raw(notify(kind, order, what, amount))
    sent.append(body)
    assert await notifications.receive(kit.scope, body, [signature(body)]) == "received"
    return False


def notify(kind, order, what, amount):
    if kind.startswith("order."):
        parts = [charge(order.id, CHARGES[name], id=f"ch_{order.id}_{name}") for name in what]
        return order_event(kind, order.id, *parts)
    more = {}
    if amount is not None:
        more["paid_amount" if "paid" in kind else "canceled_amount"] = amount
    return event(kind, charge(order.id, CHARGES[what], id=f"ch_{order.id}_{what}", **more))


async def state(kit, order, product):
    record = await kit.record("orders", order.id)
    charges = await kit.rows("SELECT * FROM charges WHERE tenant_id = $1")
    received = await kit.value("SELECT coalesce(sum(amount_cents), 0)::bigint FROM payments WHERE tenant_id = $1")
    waiting = await kit.value("SELECT count(*) FROM gateway_notifications WHERE tenant_id = $1 AND NOT processed")
    assert waiting == 0
    return {
        "order": {
            name: record[name]
            for name in (
                "status",
                "stock_state",
                "total_cents",
                "paid_cents",
                "refunded_cents",
                "payment_status",
            )
        },
        "charges": {entry["charge_id"]: (entry["paid_cents"], entry["refunded_cents"]) for entry in charges},
        "received": received,
        "figures": await kit.figures(product),
    }


def check(result):
    order = result["order"]
    paid, refunded = order["paid_cents"], order["refunded_cents"]
    assert 0 <= refunded <= paid
    assert paid == result["received"] == sum(paid for paid, _ in result["charges"].values())
    assert refunded == sum(refunded for _, refunded in result["charges"].values())
    charged_back = order["payment_status"] == "chargeback"
    status = payment_status(order["total_cents"], paid, refunded, charged_back=charged_back)
    assert order["payment_status"] == status
    assert order["stock_state"] == STOCK_STATES[order["status"]]
    on_hand, reserved = result["figures"]
    assert reserved == (1 if order["stock_state"] == "R" else 0)
    # Cancelling a completed order doesn't restock.
    assert on_hand <= STOCK
