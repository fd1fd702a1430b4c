"""A notification is proven, counts once however often it comes, and is never lost; processed again it goes where it is sent."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from domain import jobs
from domain.gateway import notifications
from domain.orders.lifecycle import move
from domain.orders.payments import record_payment
from domain.stores import set_gateway_secret
from kernel.errors import MalformedRequest, NotFound, RuleViolation, Unauthenticated
from tests.domain.gateway_kit import an_order, gateway_secret, money, outcome, send, told
from tests.gateway import SECRET, charge, event, order_event, raw, signature

__all__ = ["gateway_secret"]


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
