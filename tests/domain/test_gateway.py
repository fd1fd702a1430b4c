"""Gateway notifications change charges, payments and statuses (docs/reference/current.md#gateway-mapping)."""

from __future__ import annotations

import pytest

from domain.gateway import notifications
from domain.orders.deletion import delete_order
from domain.orders.lifecycle import change_status
from domain.orders.payments import record_payment
from kernel.errors import RuleViolation
from tests.domain.gateway_kit import (
    charges,
    create_order,
    gateway_secret,
    last_notification,
    outcome,
    payment_state,
    send,
)
from tests.harness.gateway import charge, event, order_event

__all__ = ["gateway_secret"]

BOOKS = "SELECT coalesce(sum(amount_cents), 0)::bigint FROM ledger_entries WHERE tenant_id = $1 AND order_id = $2"


# --- Mapping -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["charge.paid", "charge.overpaid", "order.paid"])
async def test_a_payment_covering_the_total_marks_the_order_paid(kit, kind):
    order, product = await create_order(kit)
    paid = charge(order.id, paid_amount=1_000)
    body = order_event(kind, order.id, paid) if kind.startswith("order") else event(kind, paid)

    assert await send(kit, body) == "received"

    assert await payment_state(kit, order.id) == ("P", 1_000, 0, "paid")
    assert await outcome(kit) == ""
    assert await kit.figures(product) == (9, 0)
    [kept] = await charges(kit)
    assert (kept["charge_id"], kept["order_id"], kept["paid_cents"], kept["last_event"], kept["status"]) == (
        paid["id"],
        order.id,
        1_000,
        kind,
        "paid",
    )
    [payment] = await kit.rows("SELECT * FROM payments WHERE tenant_id = $1")
    assert (payment["kind"], payment["installments"]) == ("credit_card", 3)
    assert await kit.event_names(order.public_id) == ["order.created", "order.updated"]
    changes = await kit.rows("SELECT * FROM order_status_changes WHERE tenant_id = $1 ORDER BY id")
    assert (changes[-1]["reason"], changes[-1]["actor_kind"]) == (f"gateway: {kind}", "system")


async def test_without_a_paid_amount_the_amount_counts_as_paid(kit):
    order, _ = await create_order(kit)
    await send(kit, event("charge.paid", charge(order.id)))
    assert await payment_state(kit, order.id) == ("P", 1_000, 0, "paid")


async def test_an_underpayment_is_recorded_and_reported(kit):
    order, _ = await create_order(kit)
    await send(kit, event("charge.paid", charge(order.id, 400, paid_amount=400)))
    assert await payment_state(kit, order.id) == ("O", 400, 0, "unpaid")
    assert await outcome(kit) == "underpaid: 400 of 1000 cents"


async def test_two_charges_together_pay_the_order(kit):
    order, _ = await create_order(kit)
    await send(kit, event("charge.paid", charge(order.id, 400)))
    await send(kit, event("charge.paid", charge(order.id, 600)))
    assert await payment_state(kit, order.id) == ("P", 1_000, 0, "paid")
    assert await outcome(kit) == ""


async def test_failed_charges_do_not_count_as_payments(kit):
    order, _ = await create_order(kit)
    parts = [
        charge(order.id, 400),
        charge(order.id, 600),
        charge(order.id, 600, status="failed"),
    ]
    await send(kit, order_event("order.paid", order.id, *parts))
    assert await payment_state(kit, order.id) == ("P", 1_000, 0, "paid")
    assert [kept["paid_cents"] for kept in await charges(kit)] == [400, 600, 0]
    # The same payments notified again per charge don't count twice.
    await send(kit, event("charge.paid", parts[0]))
    assert await payment_state(kit, order.id) == ("P", 1_000, 0, "paid")


async def test_order_paid_without_charges_marks_the_order_paid(kit):
    order, _ = await create_order(kit)
    await send(kit, order_event("order.paid", order.id, amount=1_000))
    assert await payment_state(kit, order.id) == ("P", 1_000, 0, "paid")
    await send(kit, order_event("order.paid", order.id, amount=1_000))
    assert await payment_state(kit, order.id) == ("P", 1_000, 0, "paid")


@pytest.mark.parametrize("amounts", [[1_000], [400, 600], [400, 100, 700]], ids=str)
async def test_the_charges_of_an_order_paid_without_charges_are_that_payment(kit, amounts):
    order, _ = await create_order(kit)
    await send(kit, order_event("order.paid", order.id, amount=1_000))
    for amount in amounts:
        paid = event("charge.paid", charge(order.id, amount))
        for _ in range(2):
            await send(kit, paid)
    total = max(1_000, sum(amounts))
    assert await payment_state(kit, order.id) == ("P", total, 0, "paid")
    await send(kit, event("charge.paid", charge(order.id, 50)))
    assert await payment_state(kit, order.id) == ("P", total + 50, 0, "paid")
    assert await kit.value(BOOKS, order.id) == total + 50


async def test_an_order_paid_without_charges_adds_what_its_charges_lack(kit):
    order, _ = await create_order(kit)
    first, second = charge(order.id, 400), charge(order.id, 600)
    await send(kit, event("charge.paid", first))
    await send(kit, order_event("order.paid", order.id, amount=1_000))
    for kind in ("charge.paid", "charge.refunded"):
        await send(kit, event(kind, {**second, "canceled_amount": 600}))
    assert await payment_state(kit, order.id) == ("I", 1_000, 600, "partially_refunded")
    await send(kit, event("charge.paid", first))
    assert await payment_state(kit, order.id) == ("I", 1_000, 600, "partially_refunded")


async def test_a_refund_before_the_charge_of_an_order_paid_without_charges_is_of_that_payment(kit):
    for kinds in (("charge.refunded", "charge.paid"), ("charge.paid", "charge.refunded"), ("charge.refunded",)):
        order, _ = await create_order(kit)
        await send(kit, order_event("order.paid", order.id, amount=1_000))
        body = charge(order.id, canceled_amount=1_000)
        for kind in kinds:
            await send(kit, event(kind, body))
        assert await payment_state(kit, order.id) == ("I", 1_000, 1_000, "refunded"), kinds
        assert await kit.value(BOOKS, order.id) == 0, kinds


async def test_a_payment_recorded_by_staff_and_a_charge_are_two(kit):
    order, _ = await create_order(kit)
    await record_payment(kit.scope, order.id, 300)
    await send(kit, order_event("order.paid", order.id, amount=1_000))
    await send(kit, event("charge.paid", charge(order.id, 700)))
    assert await payment_state(kit, order.id) == ("P", 1_000, 0, "paid")
    await record_payment(kit.scope, order.id, 200)
    await send(kit, event("charge.paid", charge(order.id, 500)))
    assert await payment_state(kit, order.id) == ("P", 1_700, 0, "paid")


async def test_an_underpaid_event_keeps_the_status(kit):
    order, _ = await create_order(kit)
    await send(kit, event("charge.underpaid", charge(order.id, paid_amount=900, status="underpaid")))
    assert await payment_state(kit, order.id) == ("O", 900, 0, "unpaid")
    assert await outcome(kit) == "underpaid: 900 of 1000 cents"


@pytest.mark.parametrize("kind", ["charge.payment_failed", "charge.antifraud_reproved", "order.payment_failed"])
@pytest.mark.parametrize(
    "transaction, status",
    [
        ({"status": "not_authorized"}, "D"),
        ({"status": "failed", "gateway_response": {"code": "400"}}, "D"),
        (None, "D"),
        ({"status": "with_error"}, "F"),
        ({"status": "failed", "gateway_response": {"code": "504"}}, "F"),
        ({"status": "failed", "gateway_response": {"code": 500}}, "F"),
    ],
)
async def test_a_declined_payment_declines_the_order_and_a_technical_failure_fails_it(kit, kind, transaction, status):
    order, product = await create_order(kit)
    failed = charge(order.id, status="failed", last_transaction=transaction)
    await send(kit, order_event(kind, order.id, failed) if kind.startswith("order") else event(kind, failed))
    assert await payment_state(kit, order.id) == (status, 0, 0, "unpaid")
    assert await outcome(kit) == ""
    assert await kit.figures(product) == (10, 0)


@pytest.mark.parametrize("more", [{"canceled_amount": 1_000, "status": "canceled"}, {"status": "refunded"}])
async def test_a_full_refund_cancels_the_order(kit, more):
    order, product = await create_order(kit)
    paid = charge(order.id)
    await send(kit, event("charge.paid", paid))
    await send(kit, event("charge.refunded", {**paid, **more}))
    assert await payment_state(kit, order.id) == ("I", 1_000, 1_000, "refunded")
    assert await kit.figures(product) == (10, 0)
    names = await kit.event_names(order.public_id)
    assert names == ["order.created", "order.updated", "order.updated", "order.cancelled"]
    refunds = [row["data"] for row in await kit.events() if row["name"] == "refund.created"]
    assert [(data["order_id"], data["amount_cents"]) for data in refunds] == [(str(order.public_id), 1_000)]


@pytest.mark.parametrize("kind", ["charge.partial_canceled", "charge.refunded"])
async def test_partial_refunds_accumulate_and_keep_the_status(kit, kind):
    order, _ = await create_order(kit)
    paid = charge(order.id, paid_amount=1_000)
    await send(kit, event("charge.paid", paid))
    for cents in (300, 500, 400):  # the last one comes late
        await send(kit, event(kind, {**paid, "canceled_amount": cents}))
    assert await payment_state(kit, order.id) == ("P", 1_000, 500, "partially_refunded")
    assert await outcome(kit) == ""


async def test_a_refund_received_before_its_payment_counts_once(kit):
    order, _ = await create_order(kit)
    paid = charge(order.id)
    await send(kit, event("charge.refunded", {**paid, "canceled_amount": 1_000}))
    assert await payment_state(kit, order.id) == ("I", 1_000, 1_000, "refunded")
    await send(kit, event("charge.paid", paid))
    assert await payment_state(kit, order.id) == ("I", 1_000, 1_000, "refunded")
    assert "can't go from I to P" in await outcome(kit)


async def test_a_gateway_refund_may_cover_a_manually_recorded_payment(kit):
    order, _ = await create_order(kit)
    await record_payment(kit.scope, order.id, 1_000)
    await change_status(kit.scope, order.id, "P")
    await send(kit, event("charge.refunded", charge(order.id, canceled_amount=1_000)))
    assert await payment_state(kit, order.id) == ("I", 1_000, 1_000, "refunded")


async def test_the_first_charge_of_an_order_that_settled_at_once_is_its_payment(kit):
    order = await kit.order((await kit.product(stock=10), 1), payment_method=await kit.payment(settles_at_once=True))
    assert await payment_state(kit, order.id) == ("P", 1_000, 0, "paid")
    paid = charge(order.id)
    await send(kit, event("charge.paid", paid))
    assert await payment_state(kit, order.id) == ("P", 1_000, 0, "paid")
    await send(kit, event("charge.paid", charge(order.id)))
    assert await payment_state(kit, order.id) == ("P", 2_000, 0, "paid")
    await send(kit, event("charge.refunded", {**paid, "canceled_amount": 1_000}))
    assert await payment_state(kit, order.id) == ("P", 2_000, 1_000, "partially_refunded")


async def test_the_refund_of_an_order_that_settled_at_once_cancels_it_in_any_order_of_notifications(kit):
    for kinds in (("charge.paid", "charge.refunded"), ("charge.refunded", "charge.paid"), ("charge.refunded",)):
        order = await kit.order(
            (await kit.product(stock=10), 1), payment_method=await kit.payment(settles_at_once=True)
        )
        body = charge(order.id, canceled_amount=1_000)
        for kind in kinds:
            await send(kit, event(kind, body))
        assert await payment_state(kit, order.id) == ("I", 1_000, 1_000, "refunded"), kinds


async def test_refunding_a_second_payment_keeps_the_order_paid(kit):
    order, _ = await create_order(kit)
    twice = charge(order.id)
    await send(kit, event("charge.paid", charge(order.id)))
    await send(kit, event("charge.paid", twice))
    await send(kit, event("charge.refunded", {**twice, "canceled_amount": 1_000}))
    assert await payment_state(kit, order.id) == ("P", 2_000, 1_000, "partially_refunded")


async def test_a_cancelled_gateway_order_cancels_the_order(kit):
    order, _ = await create_order(kit)
    unpaid = charge(order.id, status="canceled", canceled_amount=1_000)
    await send(kit, order_event("order.canceled", order.id, unpaid))
    assert await payment_state(kit, order.id) == ("I", 0, 0, "unpaid")


async def test_cancelling_a_paid_gateway_order_records_the_refund(kit):
    order, _ = await create_order(kit)
    paid = charge(order.id)
    await send(kit, event("charge.paid", paid))
    await send(kit, order_event("order.canceled", order.id, {**paid, "canceled_amount": 1_000}))
    assert await payment_state(kit, order.id) == ("I", 1_000, 1_000, "refunded")


async def test_a_chargeback_changes_the_payment_status_only(kit):
    order, _ = await create_order(kit)
    paid = charge(order.id)
    await send(kit, event("charge.paid", paid))
    await send(kit, event("charge.chargedback", {**paid, "status": "chargedback"}))
    assert await payment_state(kit, order.id) == ("P", 1_000, 0, "chargeback")
    assert await outcome(kit) == ""
    assert (await charges(kit))[0]["status"] == "chargedback"


async def test_a_chargeback_without_a_known_payment_is_that_of_the_charge(kit):
    order, _ = await create_order(kit)
    paid = charge(order.id)
    for body in ({**paid, "status": "chargedback"}, {**paid, "status": "chargedback", "paid_amount": 1_000}):
        await send(kit, event("charge.chargedback", body))
        assert await payment_state(kit, order.id) == ("O", 1_000, 0, "chargeback"), body
        assert await kit.value(BOOKS, order.id) == 0, body
    await send(kit, event("charge.paid", paid))
    assert (await payment_state(kit, order.id))[1:] == (1_000, 0, "chargeback")


async def test_a_chargeback_of_a_payment_that_was_recorded_adds_none(kit):
    order, _ = await create_order(kit)
    await record_payment(kit.as_admin(), order.id, 1_000)
    await send(kit, event("charge.chargedback", charge(order.id, status="chargedback")))
    assert (await payment_state(kit, order.id))[1:] == (1_000, 0, "chargeback")


@pytest.mark.parametrize("kind", ["charge.created", "charge.pending", "order.created"])
async def test_other_events_update_the_charge_only(kit, kind):
    order, _ = await create_order(kit)
    news = charge(order.id, status="pending")
    await send(kit, order_event(kind, order.id, news) if kind.startswith("order") else event(kind, news))
    assert await payment_state(kit, order.id) == ("O", 0, 0, "unpaid")
    assert await outcome(kit) == ""
    assert [kept["status"] for kept in await charges(kit)] == ["pending"]
    assert await kit.event_names(order.public_id) == ["order.created"]


@pytest.mark.parametrize("kind", ["charge.teleported", "subscription.created", "", "charge"])
async def test_an_unknown_event_type_changes_nothing(kit, kind):
    order, _ = await create_order(kit)
    await send(kit, event(kind, charge(order.id)))
    assert await payment_state(kit, order.id) == ("O", 0, 0, "unpaid")
    assert await outcome(kit) == ""
    assert await charges(kit) == []


# --- Errors ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("currency", ["USD", "usd"])
async def test_a_charge_in_another_currency_does_not_count(kit, currency):
    order, _ = await create_order(kit)
    await record_payment(kit.scope, order.id, 1_000)
    paid = charge(order.id, currency=currency)
    await send(kit, event("charge.paid", paid))
    assert await payment_state(kit, order.id) == ("O", 1_000, 0, "paid")
    assert await outcome(kit) == f"currency: the charge {paid['id']} is in USD, the store's is BRL"
    [kept] = await charges(kit)
    assert (kept["currency"], kept["paid_cents"], kept["order_id"]) == ("USD", 1_000, order.id)
    with pytest.raises(RuleViolation):
        await notifications.reprocess(kit.scope, (await last_notification(kit))["id"])


@pytest.mark.parametrize("kind", ["charge.refunded", "charge.partial_canceled"])
async def test_a_refund_of_more_than_the_charge_changes_nothing(kit, kind):
    order, _ = await create_order(kit)
    refunded = charge(order.id, canceled_amount=3_000)
    await send(kit, event(kind, refunded))
    assert await payment_state(kit, order.id) == ("O", 0, 0, "unpaid")
    assert await outcome(kit) == f"refund: 3000 of 1000 cents of the charge {refunded['id']}"

    await send(kit, event("charge.paid", refunded))
    assert await payment_state(kit, order.id) == ("P", 1_000, 0, "paid")
    await send(kit, event(kind, refunded))
    assert await payment_state(kit, order.id) == ("P", 1_000, 0, "paid")
    await send(kit, event(kind, {**refunded, "canceled_amount": 1_000}))
    assert (await payment_state(kit, order.id))[1:] == (1_000, 1_000, "refunded")
    assert await outcome(kit) == ""


@pytest.mark.parametrize("reference", ["999999999", "not an id", "018f0000-0000-7000-8000-000000000000"])
async def test_a_missing_order_still_stores_the_charge(kit, reference):
    await send(kit, event("charge.paid", charge(reference)))
    assert await outcome(kit) == f"order not found: {reference!r}"
    [kept] = await charges(kit)
    assert (kept["order_id"], kept["paid_cents"], kept["counted"]) == (None, 1_000, False)


async def test_a_charge_without_an_order_is_stored(kit):
    await send(kit, event("charge.paid", {"id": "ch_alone", "amount": 100}))
    assert await outcome(kit) == "order not found"
    assert len(await charges(kit)) == 1


async def test_another_stores_order_and_a_deleted_one_are_not_found(kit, other_kit):
    theirs = await other_kit.order((await other_kit.product(), 1))
    gone, _ = await create_order(kit)
    await delete_order(kit.scope, gone.id)
    for order in (theirs, gone):
        await send(kit, event("charge.paid", charge(order.public_id)))
        assert (await outcome(kit)).startswith("order not found"), order
    assert await other_kit.status(theirs.id) == "O"


async def test_a_forbidden_transition_still_stores_the_charge(kit):
    order, _ = await create_order(kit, "C")
    await send(kit, event("charge.paid", charge(order.id)))
    assert await payment_state(kit, order.id) == ("C", 1_000, 0, "paid")
    assert await outcome(kit) == "an order can't go from C to P; allowed: I"


async def test_out_of_stock_keeps_the_status_and_records_the_payment(kit):
    order, product = await create_order(kit, "F", stock=1)
    await kit.order((product, 1))
    await send(kit, event("charge.paid", charge(order.id)))
    assert await payment_state(kit, order.id) == ("F", 1_000, 0, "paid")
    assert (await outcome(kit)).startswith("out_of_stock: Product")
    assert await kit.figures(product) == (1, 1)
    assert await kit.event_names(order.public_id) == ["order.created", "order.updated", "order.updated"]


async def test_a_late_payment_deducts_stock_again(kit):
    order, product = await create_order(kit, "F")
    await send(kit, event("charge.paid", charge(order.id)))
    assert await kit.status(order.id) == "P"
    assert await kit.figures(product) == (9, 0)


async def test_a_charge_counts_for_one_order_only(kit):
    first, _ = await create_order(kit)
    second, _ = await create_order(kit)
    paid = charge(first.id)
    await send(kit, event("charge.paid", paid))
    await send(kit, event("charge.paid", {**paid, "metadata": {"order_id": second.id}}))
    assert await payment_state(kit, second.id) == ("O", 0, 0, "unpaid")
    assert await outcome(kit) == f"the charge {paid['id']} belongs to order {first.id}"


# --- Order lookup ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["metadata", "order", "code"])
@pytest.mark.parametrize("form", [lambda order: order.id, lambda order: str(order.public_id).upper()])
async def test_the_order_is_referenced_in_three_ways_by_id_or_uuid(kit, place, form):
    order, _ = await create_order(kit)
    other, _ = await create_order(kit)
    paid = charge(other.id, code=str(other.id))
    if place == "metadata":
        paid["metadata"] = {"order_id": form(order)}
    elif place == "order":
        paid |= {"metadata": {}, "order": {"code": form(order)}}
    else:
        paid |= {"metadata": None, "order": {"code": ""}, "code": form(order)}
    await send(kit, event("charge.paid", paid))
    assert [await kit.status(entry.id) for entry in (order, other)] == ["P", "O"]
