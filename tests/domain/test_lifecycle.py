"""Status changes of orders: every pair of statuses, by every kind of caller."""

from __future__ import annotations

import asyncio

import pytest

from domain.orders.lifecycle import change_status
from domain.orders.shipments import create_shipment
from domain.orders.transitions import STOCK_STATES, TRANSITIONS, VENDOR_CANCELS_FROM, decide_transition
from kernel.errors import Forbidden, NotFound, RuleViolation, ValidationFailed
from tests.harness.domain_store import unknown

STATUSES = "OPCDFIB"
PAIRS = [(one, other) for one in STATUSES for other in STATUSES]

# docs/reference/shared.md#order-lifecycle, repeated here so that an error in the table is noticed.
ALLOWED = {
    "O": "PDFIBC",
    "B": "OPCI",
    "D": "OPI",
    "F": "OPI",
    "P": "CBI",
    "C": "I",
    "I": "",
}
# Stock (on hand, reserved) with 2 of 10 units ordered.
FIGURES = {"R": (10, 2), "D": (8, 0), "N": (10, 0)}


async def order_in(kit, status, **values):
    """Place an order of 2 units in a status."""
    product = await kit.product(stock=10)
    return product, await kit.order((product, 2), status=status, **values)


def test_the_transition_table_matches_the_reference():
    assert {status: set(targets) for status, targets in TRANSITIONS.items()} == {
        status: set(targets) for status, targets in ALLOWED.items()
    }


@pytest.mark.parametrize("start, end", PAIRS)
async def test_every_pair_of_statuses_follows_the_transition_table(kit, start, end):
    product, order = await order_in(kit, start)
    admin = kit.as_admin()
    assert await kit.figures(product) == FIGURES[STOCK_STATES[start]]

    if start == end:
        moved = await change_status(admin, order.id, end)
        assert not moved.changed
        assert await kit.history(order.id) == [("", start)]
        assert await kit.event_names(order.public_id) == ["order.created"]
    elif end in ALLOWED[start]:
        moved = await change_status(admin, order.id, end, reason="because")
        assert (moved.changed, moved.forced, moved.from_status) == (True, False, start)
        assert await kit.status(order.id) == end
        assert await kit.history(order.id) == [("", start), (start, end)]
        # Completed orders restock only with `restock`.
        expected = (8, 0) if (start, end) == ("C", "I") else FIGURES[STOCK_STATES[end]]
        assert await kit.figures(product) == expected
    else:
        with pytest.raises(RuleViolation) as error:
            await change_status(admin, order.id, end)
        assert error.value.details == {"allowed": list(TRANSITIONS[start])}
        assert await kit.status(order.id) == start
        assert await kit.history(order.id) == [("", start)]
        assert await kit.figures(product) == FIGURES[STOCK_STATES[start]]


@pytest.mark.parametrize("start, end", [pair for pair in PAIRS if pair[0] != pair[1]])
async def test_an_administrator_on_legacy_routes_may_force_every_transition(kit, start, end):
    product, order = await order_in(kit, start)

    moved = await change_status(kit.as_admin(family="legacy"), order.id, end, force=True)

    assert moved.forced == (end not in ALLOWED[start])
    [_, change] = await kit.rows(
        "SELECT * FROM order_status_changes WHERE tenant_id = $1 AND order_id = $2 ORDER BY id", order.id
    )
    assert change["forced"] == moved.forced
    assert change["actor_kind"] == "admin"
    expected = (8, 0) if (start, end) == ("C", "I") else FIGURES[STOCK_STATES[end]]
    assert await kit.figures(product) == expected


@pytest.mark.parametrize("caller", ["admin", "app", "vendor"])
async def test_other_callers_may_not_force(kit, caller):
    vendor = await kit.vendor()
    product = await kit.product(vendor=vendor)
    order = await kit.order((product, 1), status="I")
    scope = {
        "admin": kit.as_admin(),
        "app": kit.as_app(),
        "vendor": kit.as_vendor(vendor),
    }[caller]

    with pytest.raises(RuleViolation):
        await change_status(scope, order.id, "O", force=True)


async def test_an_unknown_status_is_rejected(kit):
    _, order = await order_in(kit, "O")
    with pytest.raises(ValidationFailed) as error:
        await change_status(kit.scope, order.id, "X")
    assert error.value.fields == {"status": "status_invalid"}


@pytest.mark.parametrize("who", ["as_storefront", "as_customer"])
async def test_storefront_callers_cannot_change_a_status(kit, who):
    _, order = await order_in(kit, "O")
    scope = kit.as_customer(1) if who == "as_customer" else kit.as_storefront()
    with pytest.raises(Forbidden):
        await change_status(scope, order.id, "I")


async def test_an_unknown_order_is_not_found(kit, other_kit):
    _, order = await order_in(kit, "O")
    for reference in (order.id + 1_000_000, unknown(), "nonsense", 0, -1, 2**70):
        with pytest.raises(NotFound, match="order not found"):
            await change_status(kit.scope, reference, "P")
    with pytest.raises(NotFound):
        await change_status(other_kit.scope, order.public_id, "P")
    with pytest.raises(NotFound):
        await change_status(other_kit.scope, order.id, "P")
    assert await kit.status(order.id) == "O"


@pytest.mark.parametrize("by", ["number", "public id", "text"])
async def test_an_order_is_referenced_by_id_or_public_id(kit, by):
    _, order = await order_in(kit, "O")
    reference = {"number": order.id, "public id": order.public_id, "text": str(order.public_id)}[by]
    moved = await change_status(kit.scope, reference, "P")
    assert moved.id == order.id


# --- Stock -----------------------------------------------------------------------------------------------------------------


async def test_cancelling_a_completed_order_restocks_only_on_request(kit):
    product, order = await order_in(kit, "C")
    await change_status(kit.scope, order.id, "I", restock=True)
    assert await kit.figures(product) == (10, 0)


async def test_what_a_completed_order_did_not_return_is_not_taken_again(kit):
    product, order = await order_in(kit, "C")
    await kit.order((product, 8))
    admin = kit.as_admin(family="legacy")
    await change_status(kit.scope, order.id, "I")
    assert await kit.figures(product) == (8, 8)

    await change_status(admin, order.id, "C", force=True)
    assert await kit.figures(product) == (8, 8)

    await change_status(kit.scope, order.id, "I")
    await change_status(admin, order.id, "O", force=True)
    assert await kit.figures(product) == (10, 10)
    await change_status(kit.scope, order.id, "I")
    assert await kit.figures(product) == (10, 8)


async def test_reopening_an_order_reserves_stock_again(kit):
    product, order = await order_in(kit, "D")
    await change_status(kit.scope, order.id, "P")
    assert await kit.figures(product) == (8, 0)


async def test_reopening_an_order_cannot_oversell(kit):
    product, order = await order_in(kit, "F")
    await kit.order((product, 9))

    with pytest.raises(RuleViolation) as error:
        await change_status(kit.as_admin(family="legacy"), order.id, "O", force=True)

    assert error.value.reason == "out_of_stock"
    assert [short["available"] for short in error.value.details["products"]] == [1]
    assert await kit.status(order.id) == "F"
    assert await kit.figures(product) == (10, 9)


async def test_an_untracked_products_stock_never_changes(kit):
    product = await kit.product(stock=0, tracking="D")
    order = await kit.order((product, 50))
    for status in "PCI":
        await change_status(kit.scope, order.id, status, restock=True)
    assert await kit.figures(product) == (0, 0)


async def test_units_ordered_before_tracking_are_never_restored(kit):
    product = await kit.product(stock=0, tracking="D")
    order = await kit.order((product, 5))
    await kit.rows("UPDATE products SET tracking = 'B' WHERE tenant_id = $1 AND id = $2", product)

    await change_status(kit.scope, order.id, "I")

    assert await kit.figures(product) == (0, 0)


async def test_reopening_uses_the_products_current_tracking(kit):
    product = await kit.product(stock=0, tracking="D")
    order = await kit.order((product, 5), status="F")
    await kit.rows("UPDATE products SET tracking = 'B', on_hand = 6 WHERE tenant_id = $1 AND id = $2", product)

    await change_status(kit.scope, order.id, "O")

    assert await kit.figures(product) == (6, 5)
    await change_status(kit.scope, order.id, "I")
    assert await kit.figures(product) == (6, 0)


# --- Events and history ------------------------------------------------------------------------------------------------------


async def test_a_status_change_event_has_the_previous_status(kit):
    _, order = await order_in(kit, "O")
    await change_status(kit.scope, order.id, "P")
    [_, event] = await kit.events(order.public_id)
    assert event["name"] == "order.updated"
    assert (event["data"]["status"], event["data"]["previous_status"]) == ("P", "O")
    assert event["sequence"] == 2
    assert event["request_id"] == kit.scope.request_id


@pytest.mark.parametrize("start", "OPCDFB")
async def test_cancelling_emits_updated_then_cancelled(kit, start):
    _, order = await order_in(kit, start)
    await change_status(kit.scope, order.id, "I")
    events = await kit.events(order.public_id)
    assert [(event["name"], event["sequence"]) for event in events] == [
        ("order.created", 1),
        ("order.updated", 2),
        ("order.cancelled", 3),
    ]
    assert events[1]["data"] == events[2]["data"]


async def test_a_rejected_change_leaves_no_trace(kit):
    product, order = await order_in(kit, "F")
    await kit.order((product, 10))
    events = len(await kit.events())
    with pytest.raises(RuleViolation):
        await change_status(kit.scope, order.id, "P")
    assert len(await kit.events()) == events
    assert await kit.history(order.id) == [("", "F")]


async def test_the_history_has_actor_and_reason(kit):
    user = await kit.customer(user_type="A")
    _, order = await order_in(kit, "O")
    scope = kit.as_admin()
    scope = kit.as_actor(scope.actor.kind, user_id=user)
    await change_status(scope, order.id, "P", reason="paid at the counter")
    [_, change] = await kit.rows(
        "SELECT * FROM order_status_changes WHERE tenant_id = $1 AND order_id = $2 ORDER BY id", order.id
    )
    assert (change["user_id"], change["reason"], change["forced"]) == (user, "paid at the counter", False)


# --- Shipping ----------------------------------------------------------------------------------------------------------------


async def test_completing_with_a_tracking_code_ships_all_unshipped_units(kit):
    product, order = await order_in(kit, "P")
    [line] = await kit.lines(order.id)
    await create_shipment(kit.scope, order.id, {line["id"]: 1})

    await change_status(kit.as_app(), order.id, "C", tracking_code="BR123", carrier="Correios")

    [_, shipment] = await kit.rows(
        "SELECT * FROM shipments WHERE tenant_id = $1 AND order_id = $2 ORDER BY id", order.id
    )
    assert (shipment["tracking_number"], shipment["carrier"]) == ("BR123", "Correios")
    units = await kit.value(
        "SELECT sum(quantity) FROM shipment_lines WHERE tenant_id = $1 AND shipment_id = $2", shipment["id"]
    )
    assert units == 1
    assert (await kit.events(order.public_id))[-1]["data"]["tracking_code"] == "BR123"
    assert await kit.figures(product) == (8, 0)


async def test_a_retried_request_records_no_second_shipment_and_emits_no_event(kit):
    _, order = await order_in(kit, "P")
    first = await change_status(kit.as_app(), order.id, "C", tracking_code="BR123")
    events = await kit.event_names(order.public_id)
    again = await change_status(kit.as_app(), order.id, "C", tracking_code="BR123")
    assert (first.changed, again.changed) == (True, False)
    assert await kit.value("SELECT count(*) FROM shipments WHERE tenant_id = $1 AND order_id = $2", order.id) == 1
    assert await kit.event_names(order.public_id) == events


async def test_a_tracking_code_with_another_status_records_no_shipment(kit):
    _, order = await order_in(kit, "O")
    await change_status(kit.as_app(), order.id, "P", tracking_code="BR9")
    assert (await kit.record("orders", order.id))["tracking_code"] == "BR9"
    assert await kit.value("SELECT count(*) FROM shipments WHERE tenant_id = $1") == 0


async def test_a_cancelled_order_forced_to_complete_gets_its_shipment(kit):
    _, order = await order_in(kit, "I")
    await change_status(kit.as_admin(family="legacy"), order.id, "C", force=True, tracking_code="BR1")
    assert await kit.value("SELECT count(*) FROM shipments WHERE tenant_id = $1 AND order_id = $2", order.id) == 1


# --- Vendors -----------------------------------------------------------------------------------------------------------------


async def test_a_vendor_changes_the_status_of_an_order_wholly_its_own(kit):
    vendor = await kit.vendor()
    product = await kit.product(vendor=vendor)
    order = await kit.order((product, 1))
    moved = await change_status(kit.as_vendor(vendor), order.id, "P")
    assert moved.changed


async def test_a_vendor_cannot_change_the_status_of_a_multi_vendor_order(kit):
    one, other = await kit.vendor(), await kit.vendor()
    order = await kit.order((await kit.product(vendor=one), 1), (await kit.product(vendor=other), 1))
    with pytest.raises(Forbidden):
        await change_status(kit.as_vendor(one), order.id, "P")


async def test_another_vendors_order_is_not_found(kit):
    one, other = await kit.vendor(), await kit.vendor()
    order = await kit.order((await kit.product(vendor=one), 1))
    with pytest.raises(NotFound):
        await change_status(kit.as_vendor(other), order.id, "P")


async def test_an_actor_without_a_vendor_does_not_own_multi_vendor_orders(kit):
    order = await kit.order((await kit.product(), 1))
    with pytest.raises(NotFound):
        await change_status(kit.as_actor(kit.as_vendor(1).actor.kind, vendor_id=None), order.id, "P")


@pytest.mark.parametrize("start", "OPCDFB")
async def test_a_vendor_cancels_only_unpaid_orders(kit, start):
    vendor = await kit.vendor()
    order = await kit.order((await kit.product(vendor=vendor), 1), status=start)
    scope = kit.as_vendor(vendor)
    if start in VENDOR_CANCELS_FROM:
        assert (await change_status(scope, order.id, "I")).changed
    else:
        with pytest.raises(RuleViolation) as error:
            await change_status(scope, order.id, "I", force=True)
        assert "I" not in error.value.details["allowed"]


# --- Concurrency ------------------------------------------------------------------------------------------------------------


async def test_concurrent_changes_are_serialized(kit):
    product, order = await order_in(kit, "O")
    results = await asyncio.gather(
        change_status(kit.scope, order.id, "P"),
        change_status(kit.scope, order.id, "D"),
        return_exceptions=True,
    )
    # The second change was decided on the first one's result: D goes to P, P does not go to D.
    refused = [result for result in results if isinstance(result, RuleViolation)]
    assert all(isinstance(result, RuleViolation) for result in results if isinstance(result, BaseException))
    assert await kit.status(order.id) == "P"
    assert await kit.figures(product) == (8, 0)
    assert len(await kit.history(order.id)) == 3 - len(refused)


async def test_the_same_concurrent_change_is_applied_once(kit):
    product, order = await order_in(kit, "O")
    results = await asyncio.gather(*(change_status(kit.scope, order.id, "P") for _ in range(12)))
    assert sum(result.changed for result in results) == 1
    assert await kit.figures(product) == (8, 0)
    assert await kit.history(order.id) == [("", "O"), ("O", "P")]
    assert [event["sequence"] for event in await kit.events(order.public_id)] == [1, 2]


async def test_concurrent_status_changes_of_the_same_products_do_not_deadlock(kit):
    products = [await kit.product(stock=100) for _ in range(4)]
    orders = [
        await kit.order(*((product, 1) for product in (products if turn % 2 else reversed(products))))
        for turn in range(12)
    ]
    await asyncio.gather(*(change_status(kit.scope, order.id, "P") for order in orders))
    await asyncio.gather(*(change_status(kit.scope, order.id, "I") for order in orders))
    assert [await kit.figures(product) for product in products] == [(100, 0)] * 4


def test_transitions_are_decided_without_a_database():
    assert decide_transition("O", "O") is None
    step = decide_transition("C", "I")
    assert step is not None
    assert not step.moves_stock
