"""Notifications are verified, count once (idempotency) and are never lost; reprocessing forces transitions."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from domain import jobs
from domain.gateway import notifications
from domain.orders.lifecycle import change_status
from domain.orders.payments import record_payment
from domain.stores import set_gateway_secret
from kernel.errors import MalformedRequest, NotFound, RuleViolation, Unauthenticated
from tests.domain.gateway_kit import (
    create_order,
    gateway_secret,
    last_notification,
    outcome,
    payment_state,
    send,
)
from tests.harness.gateway import SECRET, charge, event, order_event, raw, signature

__all__ = ["gateway_secret"]


# --- Idempotency -------------------------------------------------------------------------------------------------------------


async def test_twenty_identical_concurrent_notifications_count_once(kit):
    order, _ = await create_order(kit)
    body = event("charge.paid", charge(order.id))
    answers = await asyncio.gather(*(send(kit, body) for _ in range(20)))
    assert sorted(answers) == ["duplicate ignored"] * 19 + ["received"]
    assert await payment_state(kit, order.id) == ("P", 1_000, 0, "paid")
    assert await kit.value("SELECT count(*) FROM gateway_notifications WHERE tenant_id = $1") == 1


async def test_concurrent_notifications_of_one_charge_count_once(kit):
    order, product = await create_order(kit)
    paid = charge(order.id)
    bodies = [event("charge.paid", paid) for _ in range(8)]
    bodies += [order_event("order.paid", order.id, paid) for _ in range(8)]
    assert await asyncio.gather(*(send(kit, body) for body in bodies)) == ["received"] * 16
    assert await payment_state(kit, order.id) == ("P", 1_000, 0, "paid")
    assert await kit.figures(product) == (9, 0)


async def test_without_an_event_id_type_charge_and_body_identify_a_notification(kit):
    order, _ = await create_order(kit)
    body = event("charge.paid", charge(order.id), id="")
    assert await send(kit, body) == "received"
    assert await send(kit, body) == "duplicate ignored"
    assert await send(kit, {**body, "type": "charge.overpaid"}) == "received"
    assert await send(kit, {**body, "created_at": "later"}) == "received"
    assert await send(kit, {key: value for key, value in body.items() if key != "id"}) == "received"


async def test_the_event_id_alone_identifies_a_notification(kit):
    order, _ = await create_order(kit)
    body = event("charge.paid", charge(order.id))
    assert await send(kit, body) == "received"
    assert await send(kit, {**body, "type": "charge.refunded"}) == "duplicate ignored"
    assert await kit.status(order.id) == "P"


async def test_event_ids_are_per_store(kit, other_kit):
    await set_gateway_secret(other_kit.scope, SECRET)
    body = event("charge.created", charge(1))
    assert await send(kit, body) == "received"
    assert await send(other_kit, body) == "received"


async def test_the_sweep_applies_notifications_stored_before_a_crash(kit, monkeypatch):
    order, _ = await create_order(kit)
    body = event("charge.paid", charge(order.id))

    async def dies(*_, **__):
        raise asyncio.CancelledError

    with monkeypatch.context() as crash:
        crash.setattr(notifications, "apply_notification", dies)
        with pytest.raises(asyncio.CancelledError):
            await send(kit, body)
    stored = await last_notification(kit)
    assert (stored["processed"], stored["error_message"], stored["body"]) == (False, "", raw(body))
    assert await kit.status(order.id) == "O"
    assert await send(kit, body) == "duplicate ignored"

    await jobs.apply_notifications(kit.scope)
    assert await kit.status(order.id) == "O", "the request that brought it gets its time"
    later = replace(kit.scope, now=kit.scope.now + timedelta(minutes=1))
    await asyncio.gather(*(jobs.apply_notifications(later) for _ in range(3)))

    assert await payment_state(kit, order.id) == ("P", 1_000, 0, "paid")
    assert await outcome(kit) == ""


async def test_the_job_finds_the_stores_with_pending_notifications(kit, other_kit, monkeypatch):
    order, _ = await create_order(kit)
    await send(kit, event("charge.paid", charge(order.id)))
    await kit.rows(
        "UPDATE gateway_notifications SET processed = false, due_at = now() - interval '1 minute' WHERE tenant_id = $1"
    )
    seen = []

    async def look(scope):
        seen.append(scope.store.id)

    await jobs.for_each_store(jobs._STORES_WITH_NOTIFICATIONS, look)(lambda: True)
    assert kit.scope.store.id in seen
    assert other_kit.scope.store.id not in seen
    assert "apply_notifications" in [job.name for job in jobs.JOBS]


async def test_a_failed_notification_is_acknowledged_and_retried_with_backoff(kit, monkeypatch):
    order, _ = await create_order(kit)
    fails = True
    apply_notification = notifications.apply_notification

    async def sometimes(scope, *args, **more):
        problem = await apply_notification(scope, *args, **more)
        if fails:
            raise LookupError("a bug")
        return problem

    monkeypatch.setattr(notifications, "apply_notification", sometimes)
    assert await send(kit, event("charge.paid", charge(order.id))) == "received"
    pauses = []
    for _ in range(3):
        due = (await last_notification(kit))["due_at"]
        await notifications.apply_pending(replace(kit.scope, now=due), limit=10)
        pauses.append(((await last_notification(kit))["due_at"] - due).total_seconds())
    assert pauses == [60, 120, 240]
    assert await payment_state(kit, order.id) == ("O", 0, 0, "unpaid")
    assert (await last_notification(kit))["error_message"] == "not applied yet (LookupError); it will be tried again"
    fails = False
    await notifications.apply_pending(replace(kit.scope, now=(await last_notification(kit))["due_at"]), limit=10)
    assert await payment_state(kit, order.id) == ("P", 1_000, 0, "paid")
    assert await outcome(kit) == ""


# --- Signature ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("body", [b"not json", b"[]", b"", b'"text"', b'{"id": "\\u0000"}', b"\xff"])
async def test_a_body_that_is_not_a_json_object_is_rejected_and_not_stored(kit, body):
    with pytest.raises(MalformedRequest):
        await send(kit, body)
    assert await kit.value("SELECT count(*) FROM gateway_notifications WHERE tenant_id = $1") == 0


async def test_the_signature_is_verified_before_the_body_is_parsed(kit):
    with pytest.raises(Unauthenticated):
        await notifications.receive(kit.scope, b"not json", [signature(b"another body")])


async def test_a_store_without_a_secret_accepts_and_audits_unsigned_notifications(kit):
    await set_gateway_secret(kit.scope, "")
    order, _ = await create_order(kit)
    assert await notifications.receive(kit.scope, raw(event("charge.paid", charge(order.id))), []) == "received"
    result = await last_notification(kit)
    assert (result["unsigned"], result["processed"]) == (True, True)
    assert await kit.status(order.id) == "P"
    actions = await kit.rows(
        "SELECT action, subject_id FROM audit_entries WHERE tenant_id = $1 AND action LIKE 'gateway%' ORDER BY id"
    )
    assert [row["action"] for row in actions] == [
        "gateway_secret.updated",
        "gateway_secret.emptied",
        "gateway_notification.unsigned",
    ]
    assert actions[-1]["subject_id"] == str(result["id"])


# --- Reprocessing -------------------------------------------------------------------------------------------------------------


async def test_reprocessing_forces_transitions(kit):
    order, product = await create_order(kit, "I")
    await send(kit, event("charge.paid", charge(order.id)))
    assert await kit.status(order.id) == "I"
    result = await last_notification(kit)
    await notifications.reprocess(kit.as_admin(), result["id"])
    assert await payment_state(kit, order.id) == ("P", 1_000, 0, "paid")
    assert await outcome(kit) == ""
    assert await kit.figures(product) == (9, 0)
    changes = await kit.rows("SELECT * FROM order_status_changes WHERE tenant_id = $1 ORDER BY id")
    assert changes[-1]["forced"]
    [line] = await kit.rows(
        "SELECT * FROM audit_entries WHERE tenant_id = $1 AND action = 'gateway_notification.reprocessed'"
    )
    assert (line["actor_kind"], line["subject_id"]) == ("admin", str(result["id"]))


async def test_reprocessing_resets_a_status_that_advanced_since(kit):
    order, _ = await create_order(kit)
    await send(kit, event("charge.paid", charge(order.id)))
    first = (await last_notification(kit))["id"]
    await change_status(kit.scope, order.id, "C")
    await notifications.reprocess(kit.as_admin(), first)
    assert await payment_state(kit, order.id) == ("P", 1_000, 0, "paid")
    await notifications.reprocess(kit.as_admin(), str(first))
    assert await payment_state(kit, order.id) == ("P", 1_000, 0, "paid")


async def test_reprocessing_its_payment_marks_a_refunded_order_paid_again(kit):
    order, _ = await create_order(kit)
    paid = charge(order.id)
    await send(kit, event("charge.paid", paid))
    first = (await last_notification(kit))["id"]
    await send(kit, event("charge.refunded", paid))
    assert await kit.status(order.id) == "I"
    await notifications.reprocess(kit.as_admin(), first)
    assert await payment_state(kit, order.id) == ("P", 1_000, 1_000, "refunded")


async def test_reprocessing_finds_an_order_created_since(kit):
    await send(kit, event("charge.paid", charge(2**40, id="ch_early")))
    result = (await last_notification(kit))["id"]
    with pytest.raises(RuleViolation) as error:
        await notifications.reprocess(kit.as_admin(), result)
    assert error.value.message == f"order not found: '{2**40}'"
    assert (await last_notification(kit))["error_message"].startswith("order not found")
    order, _ = await create_order(kit)
    await send(kit, event("charge.paid", charge(order.id, id="ch_early")))
    assert await payment_state(kit, order.id) == ("P", 1_000, 0, "paid")


async def test_reprocessing_an_underpaid_order_is_rejected_until_fully_paid(kit):
    order, _ = await create_order(kit)
    await send(kit, event("charge.paid", charge(order.id, 400)))
    result = (await last_notification(kit))["id"]
    with pytest.raises(RuleViolation, match="underpaid: 400 of 1000 cents"):
        await notifications.reprocess(kit.as_admin(), result)
    await record_payment(kit.scope, order.id, 600)
    await notifications.reprocess(kit.as_admin(), result)
    assert await payment_state(kit, order.id) == ("P", 1_000, 0, "paid")


async def test_reprocessing_without_stock_changes_nothing(kit):
    order, product = await create_order(kit, "I", stock=1)
    await kit.order((product, 1))
    await send(kit, event("charge.paid", charge(order.id)))
    before = await last_notification(kit)
    with pytest.raises(RuleViolation, match="out_of_stock:"):
        await notifications.reprocess(kit.as_admin(), before["id"])
    assert await last_notification(kit) == before
    assert await kit.figures(product) == (1, 1)


async def test_reprocessing_applies_a_pending_notification(kit):
    order, _ = await create_order(kit)
    await send(kit, event("charge.payment_failed", charge(order.id)))
    await change_status(kit.scope, order.id, "O")
    await kit.rows("UPDATE gateway_notifications SET processed = false WHERE tenant_id = $1")
    await notifications.reprocess(kit.as_admin(), (await last_notification(kit))["id"])
    assert (await kit.status(order.id), await outcome(kit)) == ("D", "")


async def test_an_unknown_notification_is_not_found(kit, other_kit):
    await send(kit, event("charge.created", charge(1)))
    number = (await last_notification(kit))["id"]
    for reference in (0, 2**62, "x", None, (await last_notification(kit))["public_id"]):
        with pytest.raises(NotFound):
            await notifications.reprocess(kit.scope, reference)
    with pytest.raises(NotFound):
        await notifications.reprocess(other_kit.scope, number)
