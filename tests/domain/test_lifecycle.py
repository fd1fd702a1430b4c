"""What becomes of an order that is moved from one status to another: every pair of letters, by everybody who may."""

from __future__ import annotations

import asyncio

import pytest

from domain.orders.lifecycle import move
from domain.orders.shipments import record_shipment
from domain.orders.transitions import HOLDS, TRANSITIONS, VENDOR_CANCELS_FROM, decide
from kernel.errors import Forbidden, NotFound, RuleViolation, ValidationFailed
from tests.domain.kit import unknown

LETTERS = "OPCDFIB"
PAIRS = [(one, other) for one in LETTERS for other in LETTERS]

# Decisions section 1, written out once more by hand so that a slip in the table shows.
ALLOWED = {
    "O": "PDFIBC",
    "B": "OPCI",
    "D": "OPI",
    "F": "OPI",
    "P": "CBI",
    "C": "I",
    "I": "",
}
# What 2 units out of 10 do to (on hand, reserved).
FIGURES = {"R": (10, 2), "D": (8, 0), "N": (10, 0)}


async def order_in(shop, letter, **given):
    """Place an order of 2 units that starts with the letter."""
    product = await shop.product(stock=10)
    return product, await shop.order((product, 2), status=letter, **given)


def test_the_table_says_what_the_decisions_say():
    assert {letter: set(onward) for letter, onward in TRANSITIONS.items()} == {
        letter: set(onward) for letter, onward in ALLOWED.items()
    }


@pytest.mark.parametrize("start, end", PAIRS)
async def test_every_pair_of_letters_goes_as_the_table_says(shop, start, end):
    product, order = await order_in(shop, start)
    admin = shop.as_admin()
    assert await shop.figures(product) == FIGURES[HOLDS[start]]

    if start == end:
        moved = await move(admin, order.id, end)
        assert not moved.changed
        assert await shop.history(order.id) == [("", start)]
        assert await shop.event_names(order.public_id) == ["order.created"]
    elif end in ALLOWED[start]:
        moved = await move(admin, order.id, end, reason="because")
        assert (moved.changed, moved.forced, moved.from_status) == (True, False, start)
        assert await shop.status(order.id) == end
        assert await shop.history(order.id) == [("", start), (start, end)]
        # Goods that were handed over come back only with `restock`.
        expected = (8, 0) if (start, end) == ("C", "I") else FIGURES[HOLDS[end]]
        assert await shop.figures(product) == expected
    else:
        with pytest.raises(RuleViolation) as refusal:
            await move(admin, order.id, end)
        assert refusal.value.details == {"allowed": list(TRANSITIONS[start])}
        assert await shop.status(order.id) == start
        assert await shop.history(order.id) == [("", start)]
        assert await shop.figures(product) == FIGURES[HOLDS[start]]


@pytest.mark.parametrize("start, end", [pair for pair in PAIRS if pair[0] != pair[1]])
async def test_an_administrator_on_legacy_routes_may_force_every_change(shop, start, end):
    product, order = await order_in(shop, start)

    moved = await move(shop.as_admin(family="legacy"), order.id, end, force=True)

    assert moved.forced == (end not in ALLOWED[start])
    [_, change] = await shop.rows(
        "SELECT * FROM order_status_changes WHERE tenant_id = $1 AND order_id = $2 ORDER BY id", order.id
    )
    assert change["forced"] == moved.forced
    assert change["actor_kind"] == "admin"
    expected = (8, 0) if (start, end) == ("C", "I") else FIGURES[HOLDS[end]]
    assert await shop.figures(product) == expected


@pytest.mark.parametrize("caller", ["admin", "app", "vendor"])
async def test_nobody_else_may_force(shop, caller):
    vendor = await shop.vendor()
    product = await shop.product(vendor=vendor)
    order = await shop.order((product, 1), status="I")
    scope = {
        "admin": shop.as_admin(),
        "app": shop.as_app(),
        "vendor": shop.as_vendor(vendor),
    }[caller]

    with pytest.raises(RuleViolation):
        await move(scope, order.id, "O", force=True)


async def test_a_letter_that_is_none_is_refused(shop):
    _, order = await order_in(shop, "O")
    with pytest.raises(ValidationFailed) as refusal:
        await move(shop.scope, order.id, "X")
    assert refusal.value.fields == {"status": "status_invalid"}


@pytest.mark.parametrize("who", ["as_storefront", "as_customer"])
async def test_shoppers_move_no_order(shop, who):
    _, order = await order_in(shop, "O")
    scope = shop.as_customer(1) if who == "as_customer" else shop.as_storefront()
    with pytest.raises(Forbidden):
        await move(scope, order.id, "I")


async def test_an_order_that_is_not_there_is_not_found(shop, other_shop):
    _, order = await order_in(shop, "O")
    for reference in (order.id + 1_000_000, unknown(), "nonsense", 0, -1, 2**70):
        with pytest.raises(NotFound, match="order not found"):
            await move(shop.scope, reference, "P")
    with pytest.raises(NotFound):
        await move(other_shop.scope, order.public_id, "P")
    with pytest.raises(NotFound):
        await move(other_shop.scope, order.id, "P")
    assert await shop.status(order.id) == "O"


@pytest.mark.parametrize("by", ["number", "public id", "text"])
async def test_an_order_is_named_by_number_or_public_id(shop, by):
    _, order = await order_in(shop, "O")
    reference = {"number": order.id, "public id": order.public_id, "text": str(order.public_id)}[by]
    moved = await move(shop.scope, reference, "P")
    assert moved.id == order.id


# --- Stock -----------------------------------------------------------------------------------------------------------------


async def test_a_completed_order_gives_its_goods_back_only_when_asked(shop):
    product, order = await order_in(shop, "C")
    await move(shop.scope, order.id, "I", restock=True)
    assert await shop.figures(product) == (10, 0)


async def test_leaving_a_letter_that_holds_nothing_takes_the_stock_again(shop):
    product, order = await order_in(shop, "D")
    await move(shop.scope, order.id, "P")
    assert await shop.figures(product) == (8, 0)


async def test_taking_stock_again_that_is_gone_is_refused(shop):
    product, order = await order_in(shop, "F")
    await shop.order((product, 9))

    with pytest.raises(RuleViolation) as refusal:
        await move(shop.as_admin(family="legacy"), order.id, "O", force=True)

    assert refusal.value.reason == "out_of_stock"
    assert [short["available"] for short in refusal.value.details["products"]] == [1]
    assert await shop.status(order.id) == "F"
    assert await shop.figures(product) == (10, 9)


async def test_a_product_whose_stock_is_not_kept_never_moves(shop):
    product = await shop.product(stock=0, tracking="D")
    order = await shop.order((product, 50))
    for letter in "PCI":
        await move(shop.scope, order.id, letter, restock=True)
    assert await shop.figures(product) == (0, 0)


async def test_units_taken_before_stock_was_kept_are_never_given_back(shop):
    product = await shop.product(stock=0, tracking="D")
    order = await shop.order((product, 5))
    await shop.rows("UPDATE products SET tracking = 'B' WHERE tenant_id = $1 AND id = $2", product)

    await move(shop.scope, order.id, "I")

    assert await shop.figures(product) == (0, 0)


async def test_units_taken_again_are_counted_as_the_product_is_now(shop):
    product = await shop.product(stock=0, tracking="D")
    order = await shop.order((product, 5), status="F")
    await shop.rows(
        "UPDATE products SET tracking = 'B', on_hand = 6 WHERE tenant_id = $1 AND id = $2", product
    )

    await move(shop.scope, order.id, "O")

    assert await shop.figures(product) == (6, 5)
    await move(shop.scope, order.id, "I")
    assert await shop.figures(product) == (6, 0)


# --- Events and history ------------------------------------------------------------------------------------------------------


async def test_a_change_is_told_with_the_letter_before(shop):
    _, order = await order_in(shop, "O")
    await move(shop.scope, order.id, "P")
    [_, event] = await shop.events(order.public_id)
    assert event["name"] == "order.updated"
    assert (event["data"]["status"], event["data"]["previous_status"]) == ("P", "O")
    assert event["sequence"] == 2
    assert event["request_id"] == shop.scope.request_id


@pytest.mark.parametrize("start", "OPCDFB")
async def test_becoming_cancelled_is_told_twice_in_order(shop, start):
    _, order = await order_in(shop, start)
    await move(shop.scope, order.id, "I")
    told = await shop.events(order.public_id)
    assert [(event["name"], event["sequence"]) for event in told] == [
        ("order.created", 1),
        ("order.updated", 2),
        ("order.cancelled", 3),
    ]
    assert told[1]["data"] == told[2]["data"]


async def test_a_refused_change_leaves_no_trace(shop):
    product, order = await order_in(shop, "F")
    await shop.order((product, 10))
    told = len(await shop.events())
    with pytest.raises(RuleViolation):
        await move(shop.scope, order.id, "P")
    assert len(await shop.events()) == told
    assert await shop.history(order.id) == [("", "F")]


async def test_history_says_who_and_why(shop):
    user = await shop.customer(user_type="A")
    _, order = await order_in(shop, "O")
    scope = shop.as_admin()
    scope = shop.as_actor(scope.actor.kind, user_id=user)
    await move(scope, order.id, "P", reason="paid at the counter")
    [_, change] = await shop.rows(
        "SELECT * FROM order_status_changes WHERE tenant_id = $1 AND order_id = $2 ORDER BY id", order.id
    )
    assert (change["user_id"], change["reason"], change["forced"]) == (user, "paid at the counter", False)


async def test_an_import_is_not_told_of(shop):
    _, order = await order_in(shop, "O")
    await move(shop.scope, order.id, "I", told=False)
    assert await shop.event_names(order.public_id) == ["order.created"]


# --- Shipping ----------------------------------------------------------------------------------------------------------------


async def test_shipping_with_a_tracking_code_records_a_parcel_of_everything_left(shop):
    product, order = await order_in(shop, "P")
    [line] = await shop.lines(order.id)
    await record_shipment(shop.scope, order.id, {line["id"]: 1})

    await move(shop.as_app(), order.id, "C", tracking_code="BR123", carrier="Correios")

    [_, parcel] = await shop.rows(
        "SELECT * FROM shipments WHERE tenant_id = $1 AND order_id = $2 ORDER BY id", order.id
    )
    assert (parcel["tracking_number"], parcel["carrier"]) == ("BR123", "Correios")
    units = await shop.value(
        "SELECT sum(quantity) FROM shipment_lines WHERE tenant_id = $1 AND shipment_id = $2", parcel["id"]
    )
    assert units == 1
    assert (await shop.events(order.public_id))[-1]["data"]["tracking_code"] == "BR123"
    assert await shop.figures(product) == (8, 0)


async def test_the_same_request_again_records_no_second_parcel_and_tells_nothing(shop):
    _, order = await order_in(shop, "P")
    first = await move(shop.as_app(), order.id, "C", tracking_code="BR123")
    told = await shop.event_names(order.public_id)
    again = await move(shop.as_app(), order.id, "C", tracking_code="BR123")
    assert (first.changed, again.changed) == (True, False)
    assert (
        await shop.value("SELECT count(*) FROM shipments WHERE tenant_id = $1 AND order_id = $2", order.id)
        == 1
    )
    assert await shop.event_names(order.public_id) == told


async def test_a_tracking_code_with_another_letter_is_kept_without_a_parcel(shop):
    _, order = await order_in(shop, "O")
    await move(shop.as_app(), order.id, "P", tracking_code="BR9")
    assert (await shop.record("orders", order.id))["tracking_code"] == "BR9"
    assert await shop.value("SELECT count(*) FROM shipments WHERE tenant_id = $1") == 0


async def test_a_cancelled_order_forced_to_shipped_gets_its_parcel(shop):
    _, order = await order_in(shop, "I")
    await move(shop.as_admin(family="legacy"), order.id, "C", force=True, tracking_code="BR1")
    assert (
        await shop.value("SELECT count(*) FROM shipments WHERE tenant_id = $1 AND order_id = $2", order.id)
        == 1
    )


# --- Vendors -----------------------------------------------------------------------------------------------------------------


async def test_a_vendor_moves_an_order_wholly_its_own(shop):
    vendor = await shop.vendor()
    product = await shop.product(vendor=vendor)
    order = await shop.order((product, 1))
    moved = await move(shop.as_vendor(vendor), order.id, "P")
    assert moved.changed


async def test_a_vendor_moves_no_order_it_shares(shop):
    one, other = await shop.vendor(), await shop.vendor()
    order = await shop.order((await shop.product(vendor=one), 1), (await shop.product(vendor=other), 1))
    with pytest.raises(Forbidden):
        await move(shop.as_vendor(one), order.id, "P")


async def test_another_vendors_order_is_not_found(shop):
    one, other = await shop.vendor(), await shop.vendor()
    order = await shop.order((await shop.product(vendor=one), 1))
    with pytest.raises(NotFound):
        await move(shop.as_vendor(other), order.id, "P")


async def test_a_vendor_of_nothing_is_not_the_vendor_of_mixed_orders(shop):
    order = await shop.order((await shop.product(), 1))
    with pytest.raises(NotFound):
        await move(shop.as_actor(shop.as_vendor(1).actor.kind, company_id=None), order.id, "P")


@pytest.mark.parametrize("start", "OPCDFB")
async def test_a_vendor_cancels_only_what_nobody_paid(shop, start):
    vendor = await shop.vendor()
    order = await shop.order((await shop.product(vendor=vendor), 1), status=start)
    scope = shop.as_vendor(vendor)
    if start in VENDOR_CANCELS_FROM:
        assert (await move(scope, order.id, "I")).changed
    else:
        with pytest.raises(RuleViolation) as refusal:
            await move(scope, order.id, "I", force=True)
        assert "I" not in refusal.value.details["allowed"]


# --- At the same time --------------------------------------------------------------------------------------------------------


async def test_two_changes_at_once_follow_each_other(shop):
    product, order = await order_in(shop, "O")
    results = await asyncio.gather(
        move(shop.scope, order.id, "P"), move(shop.scope, order.id, "D"), return_exceptions=True
    )
    # Whichever came second was decided upon what the first had left: D goes to P, P does not go to D.
    refused = [result for result in results if isinstance(result, RuleViolation)]
    assert all(isinstance(result, RuleViolation) for result in results if isinstance(result, BaseException))
    assert await shop.status(order.id) == "P"
    assert await shop.figures(product) == (8, 0)
    assert len(await shop.history(order.id)) == 3 - len(refused)


async def test_the_same_change_by_many_at_once_happens_once(shop):
    product, order = await order_in(shop, "O")
    results = await asyncio.gather(*(move(shop.scope, order.id, "P") for _ in range(12)))
    assert sum(result.changed for result in results) == 1
    assert await shop.figures(product) == (8, 0)
    assert await shop.history(order.id) == [("", "O"), ("O", "P")]
    assert [event["sequence"] for event in await shop.events(order.public_id)] == [1, 2]


async def test_orders_of_the_same_products_moved_at_once_do_not_wait_in_a_circle(shop):
    products = [await shop.product(stock=100) for _ in range(4)]
    orders = [
        await shop.order(*((product, 1) for product in (products if turn % 2 else reversed(products))))
        for turn in range(12)
    ]
    await asyncio.gather(*(move(shop.scope, order.id, "P") for order in orders))
    await asyncio.gather(*(move(shop.scope, order.id, "I") for order in orders))
    assert [await shop.figures(product) for product in products] == [(100, 0)] * 4


def test_deciding_needs_no_database():
    assert decide("O", "O") is None
    step = decide("C", "I")
    assert step is not None
    assert not step.moves_goods
