"""What the gateway tells changes charges, money and letters as the table of decisions section 5 says, once, and is never lost."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from domain import jobs
from domain.gateway import notifications
from domain.orders.delete import delete_order
from domain.orders.lifecycle import move
from domain.orders.payments import record_payment
from domain.stores import set_gateway_secret
from kernel.errors import MalformedRequest, NotFound, RuleViolation, Unauthenticated
from kernel.scope import ANONYMOUS
from tests.gateway import SECRET, charge, event, order_event, raw, signature


@pytest.fixture(autouse=True)
async def gateway_secret(shop):
    await set_gateway_secret(shop.scope, SECRET)


async def send(shop, body, *, scope=None):
    visitor = scope or replace(shop.scope, actor=ANONYMOUS, family="current")
    return await notifications.receive(visitor, raw(body), [signature(body)])


async def told(shop):
    """Give the last notification that was stored."""
    [found] = await shop.rows(
        "SELECT * FROM gateway_notifications WHERE tenant_id = $1 ORDER BY id DESC LIMIT 1"
    )
    return dict(found)


async def outcome(shop):
    found = await told(shop)
    assert found["processed"]
    return found["error_message"]


async def charges(shop):
    return [dict(row) for row in await shop.rows("SELECT * FROM charges WHERE tenant_id = $1 ORDER BY id")]


async def money(shop, order):
    record = await shop.record("orders", order)
    assert record["refunded_cents"] <= record["paid_cents"]
    received = await shop.value(
        "SELECT coalesce(sum(amount_cents), 0)::bigint FROM payments WHERE tenant_id = $1 AND order_id = $2",
        order,
    )
    assert received == record["paid_cents"]
    return record["status"], record["paid_cents"], record["refunded_cents"], record["payment_status"]


async def an_order(shop, status="O", quantity=1, stock=10):
    """Place an order of 1,000 cents a unit; one that is further along was paid through the charge it gives."""
    product = await shop.product(stock=stock)
    order = await shop.order((product, quantity))
    if status != "O":
        await move(shop.scope, order.id, status)
    return order, product


# --- Mapping -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["charge.paid", "charge.overpaid", "order.paid"])
async def test_a_payment_that_covers_the_total_makes_an_order_paid(shop, kind):
    order, product = await an_order(shop)
    paid = charge(order.id, paid_amount=1_000)
    body = order_event(kind, order.id, paid) if kind.startswith("order") else event(kind, paid)

    assert await send(shop, body) == "received"

    assert await money(shop, order.id) == ("P", 1_000, 0, "paid")
    assert await outcome(shop) == ""
    assert await shop.figures(product) == (9, 0)
    [kept] = await charges(shop)
    assert (kept["charge_id"], kept["order_id"], kept["paid_cents"], kept["last_event"], kept["status"]) == (
        paid["id"],
        order.id,
        1_000,
        kind,
        "paid",
    )
    [payment] = await shop.rows("SELECT * FROM payments WHERE tenant_id = $1")
    assert (payment["kind"], payment["installments"]) == ("credit_card", 3)
    assert await shop.event_names(order.public_id) == ["order.created", "order.updated"]
    changes = await shop.rows("SELECT * FROM order_status_changes WHERE tenant_id = $1 ORDER BY id")
    assert (changes[-1]["reason"], changes[-1]["actor_kind"]) == (f"gateway: {kind}", "system")


async def test_an_amount_without_a_paid_amount_is_what_was_paid(shop):
    order, _ = await an_order(shop)
    await send(shop, event("charge.paid", charge(order.id)))
    assert await money(shop, order.id) == ("P", 1_000, 0, "paid")


async def test_a_payment_below_the_total_is_kept_and_said(shop):
    order, _ = await an_order(shop)
    await send(shop, event("charge.paid", charge(order.id, 400, paid_amount=400)))
    assert await money(shop, order.id) == ("O", 400, 0, "unpaid")
    assert await outcome(shop) == "underpaid: 400 of 1000 cents"


async def test_two_charges_that_cover_the_total_together_pay_it(shop):
    order, _ = await an_order(shop)
    await send(shop, event("charge.paid", charge(order.id, 400)))
    await send(shop, event("charge.paid", charge(order.id, 600)))
    assert await money(shop, order.id) == ("P", 1_000, 0, "paid")
    assert await outcome(shop) == ""


async def test_an_order_is_paid_by_all_its_charges_but_the_failed_ones(shop):
    order, _ = await an_order(shop)
    parts = [
        charge(order.id, 400),
        charge(order.id, 600),
        charge(order.id, 600, status="failed"),
    ]
    await send(shop, order_event("order.paid", order.id, *parts))
    assert await money(shop, order.id) == ("P", 1_000, 0, "paid")
    assert [kept["paid_cents"] for kept in await charges(shop)] == [400, 600, 0]
    # The same told again by each charge counts nothing twice.
    await send(shop, event("charge.paid", parts[0]))
    assert await money(shop, order.id) == ("P", 1_000, 0, "paid")


async def test_an_order_paid_without_naming_its_charges_is_paid(shop):
    order, _ = await an_order(shop)
    await send(shop, order_event("order.paid", order.id, amount=1_000))
    assert await money(shop, order.id) == ("P", 1_000, 0, "paid")
    await send(shop, order_event("order.paid", order.id, amount=1_000))
    assert await money(shop, order.id) == ("P", 1_000, 0, "paid")


async def test_what_is_called_underpaid_changes_no_letter(shop):
    order, _ = await an_order(shop)
    await send(shop, event("charge.underpaid", charge(order.id, paid_amount=900, status="underpaid")))
    assert await money(shop, order.id) == ("O", 900, 0, "unpaid")
    assert await outcome(shop) == "underpaid: 900 of 1000 cents"


@pytest.mark.parametrize(
    "kind", ["charge.payment_failed", "charge.antifraud_reproved", "order.payment_failed"]
)
@pytest.mark.parametrize(
    "transaction, letter",
    [
        ({"status": "not_authorized"}, "D"),
        ({"status": "failed", "gateway_response": {"code": "400"}}, "D"),
        (None, "D"),
        ({"status": "with_error"}, "F"),
        ({"status": "failed", "gateway_response": {"code": "504"}}, "F"),
        ({"status": "failed", "gateway_response": {"code": 500}}, "F"),
    ],
)
async def test_a_refused_payment_declines_and_a_broken_one_fails(shop, kind, transaction, letter):
    order, product = await an_order(shop)
    failed = charge(order.id, status="failed", last_transaction=transaction)
    await send(shop, order_event(kind, order.id, failed) if kind.startswith("order") else event(kind, failed))
    assert await money(shop, order.id) == (letter, 0, 0, "unpaid")
    assert await outcome(shop) == ""
    assert await shop.figures(product) == (10, 0)


@pytest.mark.parametrize("more", [{"canceled_amount": 1_000, "status": "canceled"}, {"status": "refunded"}])
async def test_a_whole_refund_cancels(shop, more):
    order, product = await an_order(shop)
    paid = charge(order.id)
    await send(shop, event("charge.paid", paid))
    await send(shop, event("charge.refunded", {**paid, **more}))
    assert await money(shop, order.id) == ("I", 1_000, 1_000, "refunded")
    assert await shop.figures(product) == (10, 0)
    names = await shop.event_names(order.public_id)
    assert names == ["order.created", "order.updated", "order.updated", "order.cancelled"]


@pytest.mark.parametrize("kind", ["charge.partial_canceled", "charge.refunded"])
async def test_a_partial_refund_grows_and_changes_no_letter(shop, kind):
    order, _ = await an_order(shop)
    paid = charge(order.id, paid_amount=1_000)
    await send(shop, event("charge.paid", paid))
    for cents in (300, 500, 400):  # the last one comes late
        await send(shop, event(kind, {**paid, "canceled_amount": cents}))
    assert await money(shop, order.id) == ("P", 1_000, 500, "partially_refunded")
    assert await outcome(shop) == ""


async def test_a_refund_that_comes_before_its_payment_counts_once(shop):
    order, _ = await an_order(shop)
    paid = charge(order.id)
    await send(shop, event("charge.refunded", {**paid, "canceled_amount": 1_000}))
    assert await money(shop, order.id) == ("I", 1_000, 1_000, "refunded")
    await send(shop, event("charge.paid", paid))
    assert await money(shop, order.id) == ("I", 1_000, 1_000, "refunded")
    assert "can't go from I to P" in await outcome(shop)


async def test_money_recorded_by_hand_is_what_the_gateway_gives_back(shop):
    order, _ = await an_order(shop)
    await record_payment(shop.scope, order.id, 1_000)
    await move(shop.scope, order.id, "P")
    await send(shop, event("charge.refunded", charge(order.id, canceled_amount=1_000)))
    assert await money(shop, order.id) == ("I", 1_000, 1_000, "refunded")


async def test_a_second_payment_given_back_leaves_the_order_paid(shop):
    order, _ = await an_order(shop)
    twice = charge(order.id)
    await send(shop, event("charge.paid", charge(order.id)))
    await send(shop, event("charge.paid", twice))
    await send(shop, event("charge.refunded", {**twice, "canceled_amount": 1_000}))
    assert await money(shop, order.id) == ("P", 2_000, 1_000, "partially_refunded")


async def test_a_cancelled_order_is_cancelled(shop):
    order, _ = await an_order(shop)
    unpaid = charge(order.id, status="canceled", canceled_amount=1_000)
    await send(shop, order_event("order.canceled", order.id, unpaid))
    assert await money(shop, order.id) == ("I", 0, 0, "unpaid")


async def test_a_paid_order_that_is_cancelled_gave_its_money_back(shop):
    order, _ = await an_order(shop)
    paid = charge(order.id)
    await send(shop, event("charge.paid", paid))
    await send(shop, order_event("order.canceled", order.id, {**paid, "canceled_amount": 1_000}))
    assert await money(shop, order.id) == ("I", 1_000, 1_000, "refunded")


async def test_a_chargeback_is_a_word_and_no_letter(shop):
    order, _ = await an_order(shop)
    paid = charge(order.id)
    await send(shop, event("charge.paid", paid))
    await send(shop, event("charge.chargedback", {**paid, "status": "chargedback"}))
    assert await money(shop, order.id) == ("P", 1_000, 0, "chargeback")
    assert await outcome(shop) == ""
    assert (await charges(shop))[0]["status"] == "chargedback"


@pytest.mark.parametrize("kind", ["charge.created", "charge.pending", "order.created"])
async def test_the_rest_is_kept_and_changes_no_order(shop, kind):
    order, _ = await an_order(shop)
    news = charge(order.id, status="pending")
    await send(shop, order_event(kind, order.id, news) if kind.startswith("order") else event(kind, news))
    assert await money(shop, order.id) == ("O", 0, 0, "unpaid")
    assert await outcome(shop) == ""
    assert [kept["status"] for kept in await charges(shop)] == ["pending"]
    assert await shop.event_names(order.public_id) == ["order.created"]


@pytest.mark.parametrize("kind", ["charge.teleported", "subscription.created", "", "charge"])
async def test_a_type_that_nobody_knows_changes_nothing(shop, kind):
    order, _ = await an_order(shop)
    await send(shop, event(kind, charge(order.id)))
    assert await money(shop, order.id) == ("O", 0, 0, "unpaid")
    assert await outcome(shop) == ""
    assert await charges(shop) == []


# --- What goes wrong ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("currency", ["USD", "usd"])
async def test_a_charge_in_another_currency_never_pays(shop, currency):
    order, _ = await an_order(shop)
    await record_payment(shop.scope, order.id, 1_000)
    paid = charge(order.id, currency=currency)
    await send(shop, event("charge.paid", paid))
    assert await money(shop, order.id) == ("O", 1_000, 0, "paid")
    assert await outcome(shop) == f"currency: the charge {paid['id']} is in USD, the store's is BRL"
    [kept] = await charges(shop)
    assert (kept["currency"], kept["paid_cents"], kept["order_id"]) == ("USD", 1_000, order.id)
    with pytest.raises(RuleViolation):
        await notifications.reprocess(shop.scope, (await told(shop))["id"])


@pytest.mark.parametrize("reference", ["999999999", "not an id", "018f0000-0000-7000-8000-000000000000"])
async def test_an_order_that_is_not_there_leaves_the_charge(shop, reference):
    await send(shop, event("charge.paid", charge(reference)))
    assert await outcome(shop) == f"order not found: {reference!r}"
    [kept] = await charges(shop)
    assert (kept["order_id"], kept["paid_cents"], kept["counted"]) == (None, 1_000, False)


async def test_a_charge_that_names_no_order_is_kept(shop):
    await send(shop, event("charge.paid", {"id": "ch_alone", "amount": 100}))
    assert await outcome(shop) == "order not found"
    assert len(await charges(shop)) == 1


async def test_another_stores_order_and_a_deleted_one_are_not_found(shop, other_shop):
    theirs = await other_shop.order((await other_shop.product(), 1))
    gone, _ = await an_order(shop)
    await delete_order(shop.scope, gone.id)
    for order in (theirs, gone):
        await send(shop, event("charge.paid", charge(order.public_id)))
        assert (await outcome(shop)).startswith("order not found")
    assert await other_shop.status(theirs.id) == "O"


async def test_a_change_that_the_table_forbids_leaves_the_charge(shop):
    order, _ = await an_order(shop, "C")
    await send(shop, event("charge.paid", charge(order.id)))
    assert await money(shop, order.id) == ("C", 1_000, 0, "paid")
    assert await outcome(shop) == "an order can't go from C to P; allowed: I"


async def test_stock_that_is_gone_leaves_the_order_and_keeps_the_money(shop):
    order, product = await an_order(shop, "F", stock=1)
    await shop.order((product, 1))
    await send(shop, event("charge.paid", charge(order.id)))
    assert await money(shop, order.id) == ("F", 1_000, 0, "paid")
    assert (await outcome(shop)).startswith("out_of_stock: Product")
    assert await shop.figures(product) == (1, 1)
    assert await shop.event_names(order.public_id) == ["order.created", "order.updated", "order.updated"]


async def test_a_late_payment_takes_the_stock_again(shop):
    order, product = await an_order(shop, "F")
    await send(shop, event("charge.paid", charge(order.id)))
    assert await shop.status(order.id) == "P"
    assert await shop.figures(product) == (9, 0)


async def test_a_charge_pays_one_order_only(shop):
    first, _ = await an_order(shop)
    second, _ = await an_order(shop)
    paid = charge(first.id)
    await send(shop, event("charge.paid", paid))
    await send(shop, event("charge.paid", {**paid, "metadata": {"order_id": second.id}}))
    assert await money(shop, second.id) == ("O", 0, 0, "unpaid")
    assert await outcome(shop) == f"the charge {paid['id']} belongs to order {first.id}"


# --- Which order -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["metadata", "order", "code"])
@pytest.mark.parametrize("form", [lambda order: order.id, lambda order: str(order.public_id).upper()])
async def test_the_order_is_named_in_three_places_by_number_or_uuid(shop, place, form):
    order, _ = await an_order(shop)
    other, _ = await an_order(shop)
    paid = charge(other.id, code=str(other.id))
    if place == "metadata":
        paid["metadata"] = {"order_id": form(order)}
    elif place == "order":
        paid |= {"metadata": {}, "order": {"code": form(order)}}
    else:
        paid |= {"metadata": None, "order": {"code": ""}, "code": form(order)}
    await send(shop, event("charge.paid", paid))
    assert [await shop.status(each.id) for each in (order, other)] == ["P", "O"]


# --- Once, and not lost ------------------------------------------------------------------------------------------------------


async def test_twenty_equal_notifications_at_once_end_as_one(shop):
    order, _ = await an_order(shop)
    body = event("charge.paid", charge(order.id))
    answers = await asyncio.gather(*(send(shop, body) for _ in range(20)))
    assert sorted(answers) == ["duplicate ignored"] * 19 + ["received"]
    assert await money(shop, order.id) == ("P", 1_000, 0, "paid")
    assert await shop.value("SELECT count(*) FROM gateway_notifications WHERE tenant_id = $1") == 1


async def test_different_notifications_of_one_charge_at_once_count_once(shop):
    order, product = await an_order(shop)
    paid = charge(order.id)
    bodies = [event("charge.paid", paid) for _ in range(8)]
    bodies += [order_event("order.paid", order.id, paid) for _ in range(8)]
    assert await asyncio.gather(*(send(shop, body) for body in bodies)) == ["received"] * 16
    assert await money(shop, order.id) == ("P", 1_000, 0, "paid")
    assert await shop.figures(product) == (9, 0)


async def test_without_an_event_id_type_charge_and_body_tell_notifications_apart(shop):
    order, _ = await an_order(shop)
    body = event("charge.paid", charge(order.id), id="")
    assert await send(shop, body) == "received"
    assert await send(shop, body) == "duplicate ignored"
    assert await send(shop, {**body, "type": "charge.overpaid"}) == "received"
    assert await send(shop, {**body, "created_at": "later"}) == "received"
    assert await send(shop, {key: value for key, value in body.items() if key != "id"}) == "received"


async def test_an_event_id_is_enough_whatever_the_body(shop):
    order, _ = await an_order(shop)
    body = event("charge.paid", charge(order.id))
    assert await send(shop, body) == "received"
    assert await send(shop, {**body, "type": "charge.refunded"}) == "duplicate ignored"
    assert await shop.status(order.id) == "P"


async def test_stores_do_not_share_events(shop, other_shop):
    await set_gateway_secret(other_shop.scope, SECRET)
    body = event("charge.created", charge(1))
    assert await send(shop, body) == "received"
    assert await send(other_shop, body) == "received"


async def test_what_was_stored_before_a_crash_is_applied_by_the_sweep(shop, monkeypatch):
    order, _ = await an_order(shop)
    body = event("charge.paid", charge(order.id))

    async def dies(*_, **__):
        raise asyncio.CancelledError

    with monkeypatch.context() as crash:
        crash.setattr(notifications, "carry_out", dies)
        with pytest.raises(asyncio.CancelledError):
            await send(shop, body)
    stored = await told(shop)
    assert (stored["processed"], stored["error_message"], stored["body"]) == (False, "", raw(body))
    assert await shop.status(order.id) == "O"
    assert await send(shop, body) == "duplicate ignored"

    await jobs.apply_notifications(shop.scope)
    assert await shop.status(order.id) == "O", "the request that brought it gets its time"
    later = replace(shop.scope, now=shop.scope.now + timedelta(minutes=1))
    await asyncio.gather(*(jobs.apply_notifications(later) for _ in range(3)))

    assert await money(shop, order.id) == ("P", 1_000, 0, "paid")
    assert await outcome(shop) == ""


async def test_the_job_finds_the_stores_where_something_waits(shop, other_shop, monkeypatch):
    order, _ = await an_order(shop)
    await send(shop, event("charge.paid", charge(order.id)))
    await shop.rows(
        "UPDATE gateway_notifications SET processed = false, due_at = now() - interval '1 minute' WHERE tenant_id = $1"
    )
    seen = []

    async def look(scope):
        seen.append(scope.store.id)

    await jobs.in_stores(jobs._STORES_WITH_NOTIFICATIONS, look)(lambda: True)
    assert shop.scope.store.id in seen
    assert other_shop.scope.store.id not in seen
    assert "apply_notifications" in [job.name for job in jobs.JOBS]


async def test_what_fails_is_answered_and_tried_again_less_and_less_often(shop, monkeypatch):
    order, _ = await an_order(shop)
    fails = True
    carry_out = notifications.carry_out

    async def sometimes(scope, *args, **more):
        problem = await carry_out(scope, *args, **more)
        if fails:
            raise LookupError("a bug")
        return problem

    monkeypatch.setattr(notifications, "carry_out", sometimes)
    assert await send(shop, event("charge.paid", charge(order.id))) == "received"
    pauses = []
    for _ in range(3):
        due = (await told(shop))["due_at"]
        await notifications.apply_pending(replace(shop.scope, now=due), limit=10)
        pauses.append(((await told(shop))["due_at"] - due).total_seconds())
    assert pauses == [60, 120, 240]
    assert await money(shop, order.id) == ("O", 0, 0, "unpaid")
    assert (await told(shop))["error_message"] == "not applied yet (LookupError); it will be tried again"
    fails = False
    await notifications.apply_pending(replace(shop.scope, now=(await told(shop))["due_at"]), limit=10)
    assert await money(shop, order.id) == ("P", 1_000, 0, "paid")
    assert await outcome(shop) == ""


# --- Proof -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("body", [b"not json", b"[]", b"", b'"text"', b'{"id": "\\u0000"}', b"\xff"])
async def test_what_is_no_json_object_is_refused_and_not_stored(shop, body):
    with pytest.raises(MalformedRequest):
        await send(shop, body)
    assert await shop.value("SELECT count(*) FROM gateway_notifications WHERE tenant_id = $1") == 0


async def test_nothing_is_read_before_it_is_proven(shop):
    with pytest.raises(Unauthenticated):
        await notifications.receive(shop.scope, b"not json", [signature(b"another body")])


async def test_a_store_without_a_secret_takes_unsigned_ones_and_writes_it_down(shop):
    await set_gateway_secret(shop.scope, "")
    order, _ = await an_order(shop)
    assert (
        await notifications.receive(shop.scope, raw(event("charge.paid", charge(order.id))), []) == "received"
    )
    found = await told(shop)
    assert (found["unsigned"], found["processed"]) == (True, True)
    assert await shop.status(order.id) == "P"
    actions = await shop.rows(
        "SELECT action, subject_id FROM audit_entries WHERE tenant_id = $1 AND action LIKE 'gateway%' ORDER BY id"
    )
    assert [row["action"] for row in actions] == [
        "gateway_secret.updated",
        "gateway_secret.emptied",
        "gateway_notification.unsigned",
    ]
    assert actions[-1]["subject_id"] == str(found["id"])


# --- Again -------------------------------------------------------------------------------------------------------------------


async def test_reprocessing_goes_where_the_table_does_not_lead(shop):
    order, product = await an_order(shop, "I")
    await send(shop, event("charge.paid", charge(order.id)))
    assert await shop.status(order.id) == "I"
    found = await told(shop)
    await notifications.reprocess(shop.as_admin(), found["id"])
    assert await money(shop, order.id) == ("P", 1_000, 0, "paid")
    assert await outcome(shop) == ""
    assert await shop.figures(product) == (9, 0)
    changes = await shop.rows("SELECT * FROM order_status_changes WHERE tenant_id = $1 ORDER BY id")
    assert changes[-1]["forced"]
    [line] = await shop.rows(
        "SELECT * FROM audit_entries WHERE tenant_id = $1 AND action = 'gateway_notification.reprocessed'"
    )
    assert (line["actor_kind"], line["subject_id"]) == ("admin", str(found["id"]))


async def test_reprocessing_sets_back_what_has_advanced_since(shop):
    order, _ = await an_order(shop)
    await send(shop, event("charge.paid", charge(order.id)))
    first = (await told(shop))["id"]
    await move(shop.scope, order.id, "C")
    await notifications.reprocess(shop.as_admin(), first)
    assert await money(shop, order.id) == ("P", 1_000, 0, "paid")
    await notifications.reprocess(shop.as_admin(), str(first))
    assert await money(shop, order.id) == ("P", 1_000, 0, "paid")


async def test_a_refunded_order_is_paid_again_by_its_payments_notification(shop):
    order, _ = await an_order(shop)
    paid = charge(order.id)
    await send(shop, event("charge.paid", paid))
    first = (await told(shop))["id"]
    await send(shop, event("charge.refunded", paid))
    assert await shop.status(order.id) == "I"
    await notifications.reprocess(shop.as_admin(), first)
    assert await money(shop, order.id) == ("P", 1_000, 1_000, "refunded")


async def test_reprocessing_finds_an_order_that_was_not_there(shop):
    await send(shop, event("charge.paid", charge(2**40, id="ch_early")))
    found = (await told(shop))["id"]
    with pytest.raises(RuleViolation) as refusal:
        await notifications.reprocess(shop.as_admin(), found)
    assert refusal.value.message == f"order not found: '{2**40}'"
    assert (await told(shop))["error_message"].startswith("order not found")
    order, _ = await an_order(shop)
    await send(shop, event("charge.paid", charge(order.id, id="ch_early")))
    assert await money(shop, order.id) == ("P", 1_000, 0, "paid")


async def test_an_underpaid_order_is_refused_until_the_rest_came(shop):
    order, _ = await an_order(shop)
    await send(shop, event("charge.paid", charge(order.id, 400)))
    found = (await told(shop))["id"]
    with pytest.raises(RuleViolation, match="underpaid: 400 of 1000 cents"):
        await notifications.reprocess(shop.as_admin(), found)
    await record_payment(shop.scope, order.id, 600)
    await notifications.reprocess(shop.as_admin(), found)
    assert await money(shop, order.id) == ("P", 1_000, 0, "paid")


async def test_reprocessing_without_stock_changes_nothing(shop):
    order, product = await an_order(shop, "I", stock=1)
    await shop.order((product, 1))
    await send(shop, event("charge.paid", charge(order.id)))
    before = await told(shop)
    with pytest.raises(RuleViolation, match="out_of_stock:"):
        await notifications.reprocess(shop.as_admin(), before["id"])
    assert await told(shop) == before
    assert await shop.figures(product) == (1, 1)


async def test_reprocessing_applies_what_waits(shop):
    order, _ = await an_order(shop)
    await send(shop, event("charge.payment_failed", charge(order.id)))
    await move(shop.scope, order.id, "O")
    await shop.rows("UPDATE gateway_notifications SET processed = false WHERE tenant_id = $1")
    await notifications.reprocess(shop.as_admin(), (await told(shop))["id"])
    assert (await shop.status(order.id), await outcome(shop)) == ("D", "")


async def test_a_notification_that_is_not_there_is_not_found(shop, other_shop):
    await send(shop, event("charge.created", charge(1)))
    number = (await told(shop))["id"]
    for reference in (0, 2**62, "x", None, (await told(shop))["public_id"]):
        with pytest.raises(NotFound):
            await notifications.reprocess(shop.scope, reference)
    with pytest.raises(NotFound):
        await notifications.reprocess(other_shop.scope, number)
