"""Random orders, whose stock figures are compared with a counting model."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from domain.orders.deletion import delete_order
from domain.orders.lifecycle import change_status
from domain.orders.transitions import STOCK_STATES, TRANSITIONS
from domain.purchase.edit import update_order
from kernel.errors import RuleViolation
from tests.harness.domain_store import DomainStore
from tests.harness.scopes import system_scope

PRODUCTS = 3
STOCK = 6

lines = st.lists(st.tuples(st.integers(0, PRODUCTS - 1), st.integers(1, 3)), min_size=1, max_size=3)
actions = st.lists(
    st.one_of(
        st.tuples(st.just("place"), lines, st.sampled_from("OOOPCDFIB")),
        st.tuples(st.just("move"), st.integers(0, 9), st.sampled_from("OPCDFIB"), st.booleans()),
        st.tuples(st.just("force"), st.integers(0, 9), st.sampled_from("OPCDFIB")),
        st.tuples(st.just("edit"), st.integers(0, 9), lines),
        st.tuples(st.just("delete"), st.integers(0, 9)),
    ),
    min_size=1,
    max_size=14,
)


class Model:
    """Count units on hand, and those of each order."""

    def __init__(self):
        self.on_hand = Counter(dict.fromkeys(range(PRODUCTS), STOCK))
        self.orders = []

    def reserved(self, product):
        return sum(order["units"][product] for order in self.orders if order["holds"] == "R")

    def can_take(self, units):
        return all(self.on_hand[p] - self.reserved(p) >= count for p, count in units.items())

    def go(self, order, status, *, restock=False):
        """Return False when the order is out of stock."""
        before, after = "D" if order["left"] else order["holds"], STOCK_STATES[status]
        if before == "N" and after != "N" and not self.can_take(order["units"]):
            return False
        # What wasn't returned stays taken until the order holds its units again.
        left = after == "N" and (order["left"] or (order["status"] == "C" and status == "I" and not restock))
        if before == "D" and after != "D" and not left:
            self.on_hand += order["units"]
        if before != "D" and after == "D":
            self.on_hand.subtract(order["units"])
        order["status"], order["holds"], order["left"] = status, after, left
        return True


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(actions)
async def test_stock_figures_match_the_model(new_store, steps):
    kit = DomainStore(system_scope(await new_store()))
    products = [await kit.product(stock=STOCK) for _ in range(PRODUCTS)]
    model = Model()
    for step in steps:
        await play(kit, products, model, step)
        for place, product in enumerate(products):
            assert await kit.figures(product) == (model.on_hand[place], model.reserved(place)), step
    sequences = await kit.rows(
        "SELECT subject_id, array_agg(sequence ORDER BY id) AS numbers FROM outbox_events WHERE tenant_id = $1 GROUP BY 1"
    )
    assert all(row["numbers"] == list(range(1, len(row["numbers"]) + 1)) for row in sequences)


async def play(kit, products, model, step):
    kind, *rest = step
    if kind == "place":
        expected, status = rest
        order = {"units": units_of(expected), "status": None, "holds": "N", "left": False}
        fits = STOCK_STATES[status] == "N" or model.can_take(order["units"])
        work = kit.order(*((products[p], count) for p, count in expected), status=status)
        placed = await expect(work, fits)
        if fits:
            model.orders.append({**order, "id": placed.id})
            model.go(model.orders[-1], status)
        return
    if not model.orders:
        return
    order = model.orders[rest[0] % len(model.orders)]
    if kind == "delete":
        await delete_order(kit.scope, order["id"])
        if order["status"] != "I":
            model.go(order, "I", restock=True)
        model.orders.remove(order)
    elif kind == "edit":
        await edit(kit, products, model, order, rest[1])
    else:
        await change(kit, model, order, kind, *rest[1:])


async def change(kit, model, order, kind, status, restock=False):
    scope = kit.as_admin(family="legacy" if kind == "force" else "graphql")
    allowed = kind == "force" or status == order["status"] or status in TRANSITIONS[order["status"]]
    good = allowed and (status == order["status"] or model.go(order, status, restock=restock))
    await expect(change_status(scope, order["id"], status, force=True, restock=restock), good)


async def edit(kit, products, model, order, expected):
    units = units_of(expected)
    before = order["units"]
    order["units"] = Counter()
    fits = model.can_take(units)
    good = order["status"] in "OB" and fits
    order["units"] = units if good else before
    lines = [{"product": products[p], "quantity": count} for p, count in expected]
    await expect(update_order(kit.as_admin(), order["id"], {"lines": lines}), good)


async def expect(work, good):
    if good:
        return await work
    with pytest.raises(RuleViolation):
        await work
    return None


def units_of(expected):
    units = Counter()
    for product, count in expected:
        units[product] += count
    return units
