"""Tell of charges at random, twice, out of order and processed again: money adds up, stock agrees with the letter, all is told once."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from domain.gateway import notifications
from domain.orders.lifecycle import move
from domain.orders.payments import payment_status
from domain.orders.transitions import HOLDS
from domain.stores import set_gateway_secret
from kernel.errors import RuleViolation
from tests.conftest import scope_of
from tests.domain.kit import Shop
from tests.gateway import SECRET, charge, event, order_event, raw, signature

STOCK = 3
CHARGES = {"whole": 1_000, "small": 400, "rest": 600}

names = st.sampled_from(sorted(CHARGES))
cents = st.integers(0, 1_100)
steps = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["charge.paid", "charge.underpaid"]), names, cents),
        st.tuples(st.sampled_from(["charge.refunded", "charge.partial_canceled"]), names, cents),
        st.tuples(
            st.sampled_from(["charge.paid", "charge.refunded", "charge.payment_failed"]), names, st.none()
        ),
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
# What one charge gives back was once taken from what another had brought.
@example(
    [("charge.paid", "rest", None), ("charge.refunded", "small", None), ("charge.refunded", "rest", None)]
)
async def test_money_and_stock_stay_consistent(new_store, taken):
    shop = Shop(scope_of(await new_store()))
    await set_gateway_secret(shop.scope, SECRET)
    product = await shop.product(stock=STOCK)
    order = await shop.order((product, 1))
    sent: list[bytes] = []
    before = None
    for step in taken:
        had_no_effect = await play(shop, order, sent, step)
        after = await state(shop, order, product)
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
    numbers = [found["sequence"] for found in await shop.events(order.public_id)]
    assert numbers == list(range(1, len(numbers) + 1))


async def play(shop, order, sent, step):
    """Take the step; say whether it must have had no effect."""
    kind, what, amount = step
    if kind == "move":
        try:
            await move(shop.as_admin(), order.id, what)
        except RuleViolation:
            return True
        return False
    if kind in ("again", "reprocess"):
        if not sent:
            return True
        if kind == "again":
            body = sent[what % len(sent)]
            assert await notifications.receive(shop.scope, body, [signature(body)]) == "duplicate ignored"
            return True
        ids = await shop.rows("SELECT id FROM gateway_notifications WHERE tenant_id = $1 ORDER BY id")
        try:
            await notifications.reprocess(shop.as_admin(), ids[what % len(ids)]["id"])
        except RuleViolation:
            return True
        return False
    body = raw(told(kind, order, what, amount))
    sent.append(body)
    assert await notifications.receive(shop.scope, body, [signature(body)]) == "received"
    return False


def told(kind, order, what, amount):
    if kind.startswith("order."):
        parts = [charge(order.id, CHARGES[name], id=f"ch_{order.id}_{name}") for name in what]
        return order_event(kind, order.id, *parts)
    more = {}
    if amount is not None:
        more["paid_amount" if "paid" in kind else "canceled_amount"] = amount
    return event(kind, charge(order.id, CHARGES[what], id=f"ch_{order.id}_{what}", **more))


async def state(shop, order, product):
    record = await shop.record("orders", order.id)
    charges = await shop.rows("SELECT * FROM charges WHERE tenant_id = $1")
    received = await shop.value(
        "SELECT coalesce(sum(amount_cents), 0)::bigint FROM payments WHERE tenant_id = $1"
    )
    waiting = await shop.value(
        "SELECT count(*) FROM gateway_notifications WHERE tenant_id = $1 AND NOT processed"
    )
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
        "charges": {each["charge_id"]: (each["paid_cents"], each["refunded_cents"]) for each in charges},
        "received": received,
        "figures": await shop.figures(product),
    }


def check(found):
    order = found["order"]
    paid, refunded = order["paid_cents"], order["refunded_cents"]
    assert 0 <= refunded <= paid
    assert paid == found["received"] == sum(paid for paid, _ in found["charges"].values())
    assert refunded == sum(refunded for _, refunded in found["charges"].values())
    charged_back = order["payment_status"] == "chargeback"
    status = payment_status(order["total_cents"], paid, refunded, charged_back=charged_back)
    assert order["payment_status"] == status
    assert order["stock_state"] == HOLDS[order["status"]]
    on_hand, reserved = found["figures"]
    assert reserved == (1 if order["stock_state"] == "R" else 0)
    # What was delivered and then cancelled does not come back by itself.
    assert on_hand <= STOCK
