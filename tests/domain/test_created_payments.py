"""Payments that are created here: whatever a gateway, its notifications and other requests do meanwhile, money counts once and is known."""

from __future__ import annotations

import asyncio
import os
import random
from contextvars import Context
from dataclasses import replace
from datetime import timedelta
from typing import Any

import orjson
import pytest

from domain.gateway import notifications
from domain.idempotency import active_claim
from domain.orders.deletion import delete_order
from domain.orders.lifecycle import change_status
from domain.orders.locked import lock_order
from domain.orders.payments import record_payment
from domain.payments import cancellation, creation, pending, refunds, settlement
from domain.payments.gateway import Failure, GatewayRefused, GatewayUnanswered
from domain.payments.lookup import find_payment
from domain.payments.options import order_options
from domain.payments.requests import parse_input
from domain.payments.sandbox import actions
from domain.payments.sandbox.boleto_code import due_factor
from domain.purchase.edit import update_order
from kernel.errors import Conflict, NotFound, RuleViolation
from kernel.ids import uuid7
from kernel.scope import ANONYMOUS, Actor, ActorKind
from models.connection import database
from tests.harness import gateway as notification
from tests.harness import programs
from tests.harness.dying_payment import CODE, POINTS, claim_of
from tests.harness.payment_gateway import NAME, GatewayDouble, register
from tests.harness.payments import add_sandbox_methods, enabled_sandbox


@pytest.fixture(autouse=True)
def sandbox():
    with enabled_sandbox():
        yield


@pytest.fixture
def gateway():
    return register(GatewayDouble())


@pytest.fixture
async def order(kit, gateway):
    methods = await add_sandbox_methods(kit.scope, processor=NAME)
    return await kit.order((await kit.product(stock=100), 1), payment_method=methods["PIX"], origin="storefront")


async def create(kit, order, kind="PIX", **values: Any) -> dict[str, Any]:
    if kind == "CARD":
        values = {"card_token": "tok_approved", **values}
    number = await creation.create_payment(kit.scope, order.public_id, None, parse_input(kind, values))
    return await kit.record("payments", number)


async def payments_of(kit, order) -> list[dict[str, Any]]:
    rows = await kit.rows("SELECT * FROM payments WHERE tenant_id = $1 AND order_id = $2 ORDER BY sequence", order.id)
    return [dict(row) for row in rows]


async def let_time_pass(kit, minutes: float = 1) -> None:
    """Move what the job looks at into the past."""
    for table in ("payments", "payment_refunds"):
        await kit.rows(
            f"UPDATE {table} SET attempted_at = attempted_at - $2::interval, due_at = due_at - $2::interval WHERE tenant_id = $1",
            timedelta(minutes=minutes),
        )


async def run_job(kit, minutes: float = 1) -> None:
    await let_time_pass(kit, minutes)
    await pending.settle_due(kit.scope, limit=100)
    await refunds.settle_due(kit.scope, limit=100)


async def check_books(kit, order) -> None:
    """Compare the order with its payments, their charges and refunds."""
    record = await kit.record("orders", order.id)
    payments = await payments_of(kit, order)
    received = [each for each in payments if each["status"] in ("PAID", "PARTIALLY_REFUNDED", "REFUNDED", "DISPUTED")]
    assert record["paid_cents"] == sum(
        each["amount_cents"] if each["paid_cents"] is None else each["paid_cents"] for each in received
    )
    assert record["refunded_cents"] == sum(each["refunded_cents"] for each in payments) <= record["paid_cents"]
    at_gateway = (
        "SELECT coalesce(sum(paid_cents), 0)::bigint FROM sandbox_charges WHERE tenant_id = $1 AND order_id = $2"
    )
    assert record["paid_cents"] == await kit.value(at_gateway, order.public_id), "paid and not known, or not paid"
    assert record["paid_cents"] in (0, record["total_cents"])
    ledger = "SELECT coalesce(sum(amount_cents), 0)::bigint FROM ledger_entries WHERE tenant_id = $1 AND order_id = $2"
    assert record["paid_cents"] - record["refunded_cents"] == await kit.value(ledger, order.id)


async def test_a_payment_takes_eight_statements_whatever_the_order_and_the_store_have(kit, order):
    methods = await add_sandbox_methods(kit.scope, processor=NAME)
    lines = [(await kit.product(stock=10), 1) for _ in range(3)]
    larger = await kit.order(*lines, payment_method=methods["PIX"], origin="storefront")
    for each, case in ((order, "one line, a method of each kind"), (larger, "three lines, two methods of each kind")):
        with database.count_statements() as counted:
            await creation.create_payment(kit.scope, each.public_id, None, parse_input("PIX", {}))
        # Locked, read, inserted with its event and audit entry; the sandbox's charge; locked, read, written; the mail.
        assert counted.count == 8, (case, counted.statements)
        assert counted.overhead == 2, f"{case}: a commit before the gateway is called, and one after"


# --- What a gateway answers -------------------------------------------------------------------------------------------------


async def no_answer(_: Any) -> Any:
    raise GatewayUnanswered("a test")


async def garbage(_: Any) -> Any:
    raise ValueError("not JSON")


async def too_late(state: Any) -> Any:
    await asyncio.sleep(1)
    return state


async def other_amount(state: Any) -> Any:
    return replace(state, amount_cents=state.amount_cents - 1)


async def other_currency(state: Any) -> Any:
    return replace(state, currency="USD")


@pytest.mark.parametrize("answer", [no_answer, garbage, too_late])
@pytest.mark.parametrize("kind", ["PIX", "CARD"])
async def test_a_payment_without_an_answer_is_settled_by_the_job(kit, order, gateway, answer, kind, monkeypatch):
    monkeypatch.setattr(settlement, "CALL_SECONDS", 0.05)
    gateway.answer = answer
    payment = await create(kit, order, kind)
    assert (payment["status"], payment["gateway_charge_id"]) == ("PENDING", None)
    await run_job(kit)
    [payment] = await payments_of(kit, order)
    assert payment["status"] == ("PAID" if kind == "CARD" else "PENDING")
    assert payment["gateway_charge_id"] is not None
    await check_books(kit, order)


async def test_a_charge_that_was_never_made_fails_after_half_a_minute(kit, order, gateway):
    gateway.before = no_answer
    await create(kit, order)
    await run_job(kit, minutes=0.4)
    assert (await payments_of(kit, order))[0]["status"] == "PENDING", "the call may still be under way"
    await run_job(kit, minutes=0.2)
    [payment] = await payments_of(kit, order)
    assert payment["status"] == "FAILED"
    assert '"not_received"' in payment["failure"]
    gateway.before = GatewayDouble().before
    assert (await create(kit, order, "CARD"))["status"] == "PAID"
    await check_books(kit, order)


@pytest.mark.parametrize("answer", [other_amount, other_currency])
async def test_an_answer_that_contradicts_the_request_pays_nothing(kit, order, gateway, answer):
    gateway.answer = gateway.read_answer = answer
    await create(kit, order, "CARD")
    for _ in range(11):
        await run_job(kit, minutes=60 * 48)
    [payment] = await payments_of(kit, order)
    assert (payment["status"], await kit.status(order.id)) == ("FAILED", "O")
    assert '"unanswered"' in payment["failure"]
    assert (await kit.record("orders", order.id))["paid_cents"] == 0


async def test_a_gateway_that_answers_twice_pays_once(kit, order, gateway):
    payment = await create(kit, order, "CARD")
    [state] = [await gateway.read(payment["public_id"], None)]
    for _ in range(2):
        stored = await find_payment(kit.scope, payment["public_id"])
        await settlement.settle(kit.scope, stored.payment, state)
    await check_books(kit, order)
    assert len(await payments_of(kit, order)) == 1
    names = await kit.event_names(payment["public_id"])
    assert names == ["payment.created", "payment.paid"]


async def test_a_refused_charge_fails_the_payment_alone(kit, order, gateway):
    async def refuse(_: Any) -> None:
        raise GatewayRefused("limit", "Não agora.")

    gateway.before = refuse
    payment = await create(kit, order)
    assert (payment["status"], await kit.status(order.id)) == ("FAILED", "O")
    assert '"limit"' in payment["failure"]


# --- Notifications -----------------------------------------------------------------------------------------------------------


async def notify(kit, order, charge_id: str, amount: int = 1_000, type: str = "charge.paid", **more: Any) -> str:
    """Send a notification about a charge, and return what was wrong with it."""
    charge = notification.charge(order.public_id, amount, id=charge_id, **more)
    body = notification.raw(notification.event(type, charge))
    await notifications.receive(replace(kit.scope, actor=ANONYMOUS, family="current"), body, [])
    problem = "SELECT error_message FROM gateway_notifications WHERE tenant_id = $1 ORDER BY id DESC LIMIT 1"
    return str(await kit.value(problem))


async def test_a_notification_takes_as_many_statements_whatever_the_order_has(kit, order):
    methods = await add_sandbox_methods(kit.scope, processor=NAME)
    lines = [(await kit.product(stock=10), 1) for _ in range(3)]
    larger = await kit.order(*lines, payment_method=methods["PIX"], origin="storefront")
    for each, case in ((order, "one line"), (larger, "three lines")):
        payment = await create(kit, each)
        with database.count_statements() as counted:
            assert await notify(kit, each, payment["gateway_charge_id"], payment["amount_cents"]) == ""
        assert await kit.status(each.id) == "P", case
        assert counted.count == 23, (case, counted.statements)  # the last one is this test's


@pytest.mark.parametrize("names_payment", [True, False])
async def test_a_notification_before_the_answer_counts_once(kit, order, gateway, names_payment):
    async def notify_first(state: Any) -> Any:
        [request] = gateway.created
        metadata = {"order_id": str(order.public_id)}
        if names_payment:
            metadata["payment_id"] = str(request.payment_id)
        assert await notify(kit, order, state.charge_id, metadata=metadata) == ""
        assert await kit.status(order.id) == "P"
        return state

    gateway.answer = notify_first
    payment = await create(kit, order, "CARD")
    assert payment["status"] == "PAID"
    await check_books(kit, order)
    # What was reported before is this payment: it stays without its money.
    statuses = [each["status"] for each in await payments_of(kit, order)]
    assert statuses == (["PAID"] if names_payment else ["PAID", "CANCELLED"])


async def test_an_order_that_is_deleted_meanwhile_is_cancelled_and_stays(kit, order, gateway):
    async def delete_first(_: Any) -> None:
        assert not (await delete_order(kit.scope, order.public_id)).hidden

    gateway.before = delete_first
    payment = await create(kit, order, "CARD")
    assert payment["status"] == "PAID"
    await check_books(kit, order)
    await refunds.refund_payment(kit.scope, payment["public_id"], payment["amount_cents"])
    await check_books(kit, order)
    assert (await delete_order(kit.scope, order.public_id)).hidden


async def test_a_pending_answer_after_the_notification_changes_nothing(kit, order, gateway):
    async def pay_first(state: Any) -> Any:
        await actions.act(kit.scope, state.charge_id, "pay")
        return state

    gateway.answer = pay_first
    payment = await create(kit, order)
    assert (payment["status"], payment["due_at"], await kit.status(order.id)) == ("PAID", None, "P")
    assert payment["pix"] is not None
    await check_books(kit, order)


@pytest.mark.parametrize(
    "more, said",
    [
        ({"amount": 999}, "amount: the charge {charge} is of 999 cents, payment {number} of 1000"),
        ({"currency": "USD"}, "currency: the charge {charge} is in USD, the store's is BRL"),
        ({"charge": "ch_other"}, "the charge ch_other is not that of payment {number}"),
    ],
)
async def test_a_notification_that_differs_from_the_payment_is_marked_and_pays_nothing(kit, order, more, said):
    payment = await create(kit, order)
    charge = more.pop("charge", payment["gateway_charge_id"])
    metadata = {"order_id": str(order.public_id), "payment_id": str(payment["public_id"])}
    problem = await notify(kit, order, charge, metadata=metadata, **more)
    number = f"{order.id}-{payment['sequence']}"
    assert problem == said.format(charge=charge, number=number)
    assert ((await payments_of(kit, order))[0]["status"], await kit.status(order.id)) == ("PENDING", "O")
    assert (await kit.record("orders", order.id))["paid_cents"] == 0

    assert await notify(kit, order, payment["gateway_charge_id"], type="charge.payment_failed") == ""
    assert ((await payments_of(kit, order))[0]["status"], await kit.status(order.id)) == ("FAILED", "D")
    assert (await kit.record("orders", order.id))["paid_cents"] == 0


async def test_a_payments_charge_pays_no_other_order(kit, order):
    payment = await create(kit, order)
    other = await kit.order((await kit.product(), 1))
    problem = await notify(kit, other, payment["gateway_charge_id"])
    assert problem == f"the charge {payment['gateway_charge_id']} is of payment {order.id}-1, another order's"
    assert (await kit.status(order.id), await kit.status(other.id)) == ("O", "O")

    assert await notify(kit, order, payment["gateway_charge_id"]) == ""
    assert (await kit.status(order.id), await kit.status(other.id)) == ("P", "O")


async def test_late_news_of_a_payment_that_is_over_do_not_touch_the_order(kit, order):
    declined = await create(kit, order, "CARD", card_token="tok_declined")
    assert await kit.status(order.id) == "D"
    waiting = await create(kit, order)
    assert await notify(kit, order, declined["gateway_charge_id"], type="charge.payment_failed") == ""
    assert await kit.status(order.id) == "O"
    assert (await payments_of(kit, order))[1]["status"] == waiting["status"] == "PENDING"


@pytest.mark.parametrize("origin, expires", [("storefront", True), ("admin", False)])
async def test_only_a_checkout_expires_after_another_attempt_to_pay_it(kit, order, origin, expires):
    await kit.rows(
        "UPDATE orders SET origin = $3, hold_until = NULL WHERE tenant_id = $1 AND id = $2", order.id, origin
    )
    await create(kit, order, "CARD", card_token="tok_declined")
    await create(kit, order)
    assert await kit.status(order.id) == "O"
    assert ((await kit.record("orders", order.id))["hold_until"] is not None) is expires


async def test_the_gateways_news_of_a_cancellation_that_was_asked_for_cancel_no_order(kit, order):
    payment = await create(kit, order)
    await cancellation.cancel_payment(kit.scope, payment["public_id"], None)
    charge = notification.charge(order.public_id, id=payment["gateway_charge_id"], status="canceled")
    body = notification.raw(notification.order_event("order.canceled", order.public_id, charge))
    await notifications.receive(replace(kit.scope, actor=ANONYMOUS, family="current"), body, [])
    assert ((await payments_of(kit, order))[0]["status"], await kit.status(order.id)) == ("CANCELLED", "O")


async def test_a_cancellation_at_the_gateway_cancels_the_order_as_for_other_charges(kit, order):
    payment = await create(kit, order)
    charge = notification.charge(order.public_id, id=payment["gateway_charge_id"], status="canceled")
    body = notification.raw(notification.order_event("order.canceled", order.public_id, charge))
    await notifications.receive(replace(kit.scope, actor=ANONYMOUS, family="current"), body, [])
    assert ((await payments_of(kit, order))[0]["status"], await kit.status(order.id)) == ("CANCELLED", "I")


# --- Other requests ---------------------------------------------------------------------------------------------------------


async def test_fifty_clients_pay_an_order_once(kit, order):
    async def pay() -> Any:
        try:
            return (await create(kit, order, "CARD"))["status"]
        except (Conflict, RuleViolation) as error:
            return error.reason

    answers = await asyncio.gather(*(pay() for _ in range(50)))
    assert answers.count("PAID") == 1
    assert set(answers) <= {"PAID", "in_progress", "order_paid"}
    await check_books(kit, order)


async def test_another_request_waits_for_the_call_under_way(kit, order, gateway):
    reached, goes_on = asyncio.Event(), asyncio.Event()

    async def block(_: Any) -> None:
        reached.set()
        await goes_on.wait()

    gateway.before = block
    first = asyncio.create_task(create(kit, order, "CARD"))
    await reached.wait()
    with pytest.raises(Conflict) as refused:
        await create(kit, order)
    assert refused.value.reason == "in_progress"
    assert 0 < refused.value.details["retry_after_ms"] <= 30_000
    goes_on.set()
    assert (await first)["status"] == "PAID"


async def test_a_changed_total_cancels_the_payment_that_waits(kit, order):
    await create(kit, order)
    [line] = await kit.lines(order.id)
    await update_order(kit.scope, order.id, {"lines": [{"product": line["product_id"], "quantity": 2}]})
    await run_job(kit)
    [payment] = await payments_of(kit, order)
    assert (payment["status"], await kit.status(order.id)) == ("CANCELLED", "O")
    assert (await create(kit, order))["amount_cents"] == 2_000


async def test_a_cancelled_order_cancels_the_payment_that_waits(kit, order):
    payment = await create(kit, order)
    await change_status(kit.scope, order.id, "I")
    await run_job(kit)
    assert (await payments_of(kit, order))[0]["status"] == "CANCELLED"
    at_gateway = "SELECT status FROM sandbox_charges WHERE tenant_id = $1 AND payment_id = $2"
    assert await kit.value(at_gateway, payment["public_id"]) == "CANCELLED"


async def test_an_order_paid_otherwise_cancels_the_payment_that_waits(kit, order):
    await create(kit, order)
    await record_payment(kit.scope, order.id, 1_000, kind="cash")
    await run_job(kit)
    assert [each["status"] for each in await payments_of(kit, order)] == ["CANCELLED", "PAID"]


async def test_an_order_paid_in_part_otherwise_cancels_the_payment_that_waits_for_all(kit, order):
    await create(kit, order)
    await record_payment(kit.scope, order.id, 400, kind="cash")
    await run_job(kit)
    assert [each["status"] for each in await payments_of(kit, order)] == ["CANCELLED", "PAID"]
    assert (await create(kit, order))["amount_cents"] == 600


async def test_an_order_is_paid_when_the_interest_of_a_payment_that_waited_goes(kit, order, gateway):
    gateway.before = no_answer
    scope = replace(kit.scope, store=replace(kit.scope.store, settings={"installments": "2:5"}))
    card = parse_input("CARD", {"card_token": "tok_approved", "installments": 2})
    await creation.create_payment(scope, order.public_id, None, card)
    await record_payment(kit.scope, order.id, 1_000, kind="cash")
    record = await kit.record("orders", order.id)
    assert (record["total_cents"] > 1_000, record["payment_status"]) == (True, "unpaid")
    await run_job(kit)
    record = await kit.record("orders", order.id)
    assert (record["total_cents"], record["payment_status"]) == (1_000, "paid")


async def test_a_boleto_says_the_day_on_which_it_is_due_in_brazil(kit, order):
    payment = await create(kit, order, "BOLETO", billing={"document": "529.982.247-25"})
    due = payment["expires_at"] - timedelta(hours=3)
    assert f"{due:%H:%M:%S}" == "23:59:59"
    details = orjson.loads(payment["boleto"])
    assert details["barcode"][5:9] == details["line"][33:37] == f"{due_factor(due.date()):04d}"


async def test_a_payment_that_can_still_be_paid_outlives_a_gateway_that_answers_later(kit, order, gateway):
    await create(kit, order, "BOLETO", billing={"document": "529.982.247-25"})
    weeks = "UPDATE payments SET expires_at = expires_at + interval '20 days' WHERE tenant_id = $1"
    await kit.rows(weeks)
    for day, answer in enumerate([gateway.read_answer] * 12 + [no_answer] * 2):
        gateway.read_answer = answer
        await run_job(kit, minutes=60 * 24)
        assert [payment["status"] for payment in await payments_of(kit, order)] == ["PENDING"], day
    [payment] = await payments_of(kit, order)
    gateway.read_answer = GatewayDouble().read_answer
    await actions.act(kit.scope, payment["gateway_charge_id"], "pay")
    assert (await kit.status(order.id)) == "P"


async def test_a_payment_expires_with_its_code(kit, order):
    payment = await create(kit, order)
    back = timedelta(hours=1)
    for table, key in (("payments", "public_id"), ("sandbox_charges", "payment_id")):
        await kit.rows(
            f"UPDATE {table} SET expires_at = expires_at - $3::interval WHERE tenant_id = $1 AND {key} = $2",
            payment["public_id"],
            back,
        )
    await run_job(kit, minutes=60)
    assert ((await payments_of(kit, order))[0]["status"], await kit.status(order.id)) == ("EXPIRED", "O")
    assert (await kit.event_names(payment["public_id"]))[-1] == "payment.failed"
    await actions.act(kit.scope, payment["gateway_charge_id"], "pay")
    assert ((await payments_of(kit, order))[0]["status"], await kit.status(order.id)) == ("PAID", "P")


async def test_a_refund_without_an_answer_is_made_once(kit, order, gateway):
    payment = await create(kit, order, "CARD")
    gateway.answer = no_answer
    await refunds.refund_payment(kit.scope, payment["public_id"], 400)
    with pytest.raises(Conflict):
        await refunds.refund_payment(kit.scope, payment["public_id"], 400)
    gateway.answer = GatewayDouble().answer
    for _ in range(2):
        await run_job(kit)
    await check_books(kit, order)
    assert (await kit.record("orders", order.id))["refunded_cents"] == 400
    assert (await kit.rows("SELECT status FROM payment_refunds WHERE tenant_id = $1"))[0]["status"] == "DONE"


async def test_a_refund_that_was_made_is_not_asked_for_again(kit, order, gateway):
    payment = await create(kit, order, "CARD")
    gateway.answer = no_answer
    await refunds.refund_payment(kit.scope, payment["public_id"], 400)
    gateway.answer = GatewayDouble().answer
    await run_job(kit)
    assert len(gateway.refunded) == 1
    assert (await kit.rows("SELECT status FROM payment_refunds WHERE tenant_id = $1"))[0]["status"] == "DONE"


@pytest.mark.parametrize("kind", ["refund", "payment"])
async def test_one_that_cannot_be_written_leaves_the_others(kit, order, gateway, kind):
    """PostgreSQL stores no NUL character in JSON."""
    orders = [order, await kit.order((await kit.product(stock=100), 1), origin="storefront")]
    if kind == "refund":
        payments = [await create(kit, each, "CARD") for each in orders]
    gateway.answer = no_answer
    if kind == "refund":
        for payment in payments:
            await refunds.refund_payment(kit.scope, payment["public_id"], 400)
    else:
        payments = [await create(kit, each, "PIX") for each in orders]
    first = await kit.value(
        "SELECT charge_id FROM sandbox_charges WHERE tenant_id = $1 AND order_id = $2", order.public_id
    )

    async def unwritable(state: Any) -> Any:
        return replace(state, failure=Failure("\0", "")) if state.charge_id == first else state

    gateway.read_answer = unwritable
    await let_time_pass(kit)
    settle = {"refund": refunds, "payment": pending}[kind].settle_due
    assert await settle(kit.scope, limit=100) == 1
    assert await settle(kit.scope, limit=100) == 0, "the other one waits for its next attempt"
    statuses = await kit.rows("SELECT status FROM payment_refunds WHERE tenant_id = $1 ORDER BY id")
    assert [row["status"] for row in statuses] == (["PENDING", "DONE"] if kind == "refund" else [])
    gateway.read_answer = GatewayDouble().read_answer
    await run_job(kit, minutes=10)
    for each in orders:
        await check_books(kit, each)


async def test_a_refund_is_made_when_the_charge_shows_it(kit, order, gateway):
    payment = await create(kit, order, "CARD")

    async def without_the_refund(state: Any) -> Any:
        return replace(state, status="PAID", refunded_cents=0)

    gateway.answer = without_the_refund
    await refunds.refund_payment(kit.scope, payment["public_id"], 1_000)
    with pytest.raises(Conflict):
        await refunds.refund_payment(kit.scope, payment["public_id"], 1_000)
    await run_job(kit)
    await check_books(kit, order)
    assert (await payments_of(kit, order))[0]["status"] == "REFUNDED"
    assert len(gateway.refunded) == 1
    assert (await kit.rows("SELECT status FROM payment_refunds WHERE tenant_id = $1"))[0]["status"] == "DONE"


async def test_two_jobs_ask_once_about_a_refund(kit, order, gateway):
    payment = await create(kit, order, "CARD")
    gateway.answer = no_answer
    await refunds.refund_payment(kit.scope, payment["public_id"], 400)
    reads = []

    async def count(state: Any) -> Any:
        reads.append(state)
        await asyncio.sleep(0.05)
        return state

    gateway.read_answer = count
    await let_time_pass(kit)
    await asyncio.gather(*(refunds.settle_due(kit.scope, limit=100) for _ in range(4)))
    assert len(reads) == 1


async def test_a_method_whose_parameters_are_unreadable_leaves_the_others(kit, order, gateway):
    await kit.rows("UPDATE payment_methods SET processor_params = '\\x0100' WHERE tenant_id = $1 AND kind = 'BOLETO'")
    options = await order_options(kit.scope, order.public_id, None)
    assert [option["kind"] for option in options] == ["PIX", "CARD"]
    with pytest.raises(RuleViolation):
        await create(kit, order, "BOLETO")


# --- A process that ends ----------------------------------------------------------------------------------------------------

# `make kill-test` sets it to 5: 20 points and 8 other times, each five times.
repeated = pytest.mark.parametrize("repetition", range(int(os.environ.get("VITRINE_TEST_KILLS", "1"))))


async def die_at(kit, database_url: str, subject: object, action: str, point: str, key: str, expected=(-9,)) -> None:
    store = kit.store
    process = await programs.start(
        CODE, database_url, str(store.id), str(store.public_id), str(subject), action, point, key, environment={}
    )
    _, errors = await process.communicate()
    assert process.returncode in expected, errors.decode()


@repeated
@pytest.mark.parametrize("action", ["CARD", "refund"])
@pytest.mark.parametrize("quarter", range(4))
async def test_a_process_that_is_killed_at_any_time_leaves_nothing_in_doubt(
    kit, order, database_url, action, quarter, repetition
):
    subject = order.public_id if action == "CARD" else (await create(kit, order, "CARD"))["public_id"]
    milliseconds = random.Random(f"{action} {quarter} {repetition}").randrange(12 * quarter, 12 * quarter + 12)
    await die_at(kit, database_url, subject, action, f"after {milliseconds} ms", str(uuid7()), expected=(-9, 0))
    for _ in range(2):
        await run_job(kit)
    payments = await payments_of(kit, order)
    assert {each["status"] for each in payments} <= {"PAID", "PARTIALLY_REFUNDED", "FAILED"}, milliseconds
    assert await kit.rows("SELECT id FROM payment_refunds WHERE tenant_id = $1 AND status = 'PENDING'") == []
    at_gateway = "SELECT coalesce(sum(refunded_cents), 0)::bigint FROM sandbox_charges WHERE tenant_id = $1"
    assert await kit.value(at_gateway) == (await kit.record("orders", order.id))["refunded_cents"]
    await check_books(kit, order)


@repeated
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("kind", ["PIX", "CARD"])
async def test_a_payment_whose_process_is_killed_is_settled(kit, order, database_url, point, kind, repetition):
    key = str(uuid7())
    await die_at(kit, database_url, order.public_id, kind, point, key)
    await run_job(kit)
    before = await payments_of(kit, order)
    assert len(before) == (0 if point == "before the first commit" else 1)
    assert all(each["gateway_charge_id"] or each["status"] == "FAILED" for each in before), "none is in doubt"
    await check_books(kit, order)
    with active_claim(claim_of(key)):
        again = await create(kit, order, kind)
    after = await payments_of(kit, order)
    assert [each["public_id"] for each in after] == [again["public_id"]], "the same key gets the same payment"
    if point != "before the call":  # there the gateway got nothing, so that the payment has failed
        assert again["status"] == ("PAID" if kind == "CARD" else "PENDING")
    await check_books(kit, order)


@repeated
@pytest.mark.parametrize("point", POINTS)
async def test_the_same_key_of_a_killed_process_continues_before_the_job_does(
    kit, order, database_url, point, repetition
):
    key = str(uuid7())
    await die_at(kit, database_url, order.public_id, "CARD", point, key)
    await let_time_pass(kit)
    with active_claim(claim_of(key)):
        assert (await create(kit, order, "CARD"))["status"] == "PAID"
    assert len(await payments_of(kit, order)) == 1
    await check_books(kit, order)


async def pix(kit, order) -> dict[str, Any]:
    """Return the payment method of an order, for another one."""
    return {"payment_method": (await kit.record("orders", order.id))["payment_method_id"]}


async def test_the_key_of_a_payment_makes_none_of_another_kind(kit, order):
    with active_claim(claim_of("key")):
        payment = await create(kit, order)
        with pytest.raises(RuleViolation, match="idempotency key reused with a different request"):
            await create(kit, order, "CARD")
        assert (await create(kit, order))["public_id"] == payment["public_id"]


async def test_the_key_of_a_payment_in_doubt_pays_no_other_order(kit, order, gateway):
    other = await kit.order((await kit.product(), 1), **await pix(kit, order))
    gateway.create = no_answer
    with active_claim(claim_of("key")):
        payment = await create(kit, order)
        await let_time_pass(kit)
        with pytest.raises(RuleViolation, match="idempotency key reused with a different request"):
            await create(kit, other)
    assert await payments_of(kit, other) == []
    assert [each["public_id"] for each in await payments_of(kit, order)] == [payment["public_id"]]


@repeated
@pytest.mark.parametrize("point", POINTS)
async def test_a_refund_whose_process_is_killed_is_made_once(kit, order, database_url, point, repetition):
    payment = await create(kit, order, "CARD")
    await die_at(kit, database_url, payment["public_id"], "refund", point, str(uuid7()))
    for _ in range(2):
        await run_job(kit)
    refunded = 0 if point == "before the first commit" else 500
    assert (await kit.record("orders", order.id))["refunded_cents"] == refunded
    at_gateway = "SELECT sum(refunded_cents)::bigint FROM sandbox_charges WHERE tenant_id = $1"
    assert await kit.value(at_gateway) == refunded


async def test_a_customer_does_not_wait_for_the_order_of_another(kit, order):
    """A caller who may not pay an order doesn't hold up its changes: nothing of it is locked for such a call."""
    stranger = replace(kit.scope, actor=Actor(ActorKind.CUSTOMER, user_id=1, user_public_id=uuid7(), session_id=1))
    attempt = creation.create_payment(stranger, order.public_id, None, parse_input("PIX", {}))
    async with database.transaction(kit.scope):
        await lock_order(kit.scope, order.id)
        with pytest.raises(NotFound):
            await asyncio.wait_for(asyncio.get_running_loop().create_task(attempt, context=Context()), 5)
    assert await payments_of(kit, order) == []
