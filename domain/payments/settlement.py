"""Write what a gateway says about a payment: its answer to a call, or what it reports when it is asked.

Money and statuses are applied by the same function as the gateway's notifications (`domain.gateway.processing`), so that whatever comes
twice, late or in another order counts once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Iterator
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, TypeVar
from uuid import UUID

import orjson

from domain.gateway.payload import ChargePayload, NotificationPayload
from domain.gateway.processing import apply_notification
from domain.mails import order_mails
from domain.mails.texts import MailType
from domain.orders.charged_payments import PaymentChange, update_payments
from domain.orders.locked import lock_first, lock_order
from domain.orders.payments import ChargedPayment, find_charged_payments
from domain.payments.gateway import ChargeState, GatewayRefused, GatewayUnanswered, PaymentStatus
from domain.payments.lookup import StoredPayment, find_payment
from domain.payments.qr_code import qr_svg
from kernel import logging
from kernel.clock import BRASILIA, now
from kernel.payment_words import LIVE
from kernel.retries import retry_delay
from kernel.scope import SYSTEM, Scope
from kernel.work_queues import run_in_thread
from models.connection.database import (
    Plans,
    UniqueViolation,
    execute,
    execute_later,
    in_transaction,
    retry_conflicts,
    transaction,
)

T = TypeVar("T")

CALL_SECONDS = 16.0
"""A second more than gateways take by their own deadlines, which say better what was missing."""
IN_DOUBT = timedelta(seconds=30)
"""For so long after an attempt its call may still be under way: `CALL_SECONDS`, and those until it began."""
GRACE = timedelta(minutes=1)
"""So long after its expiry a payment is asked for once more, and expires."""

# The reported payments of a charge are this payment: its notification came before the answer, and didn't say which payment it is of. The
# ledger refers to them, so that they stay, without their money.
# $12 is when the gateway is asked again about one that is still live.
_SAVE = """
WITH reported AS (
    UPDATE payments SET status = 'CANCELLED'
    WHERE tenant_id = $1 AND order_id = $9 AND gateway = '' AND gateway_charge_id = $3 AND status = 'PAID' RETURNING amount_cents
), adopted AS (SELECT coalesce(sum(amount_cents), 0)::bigint AS cents FROM reported)
UPDATE payments p SET gateway_charge_id = $3, status = CASE WHEN p.status = 'PENDING' AND $11 THEN 'AUTHORIZED' ELSE p.status END,
    pix = coalesce($4::text::jsonb, p.pix), boleto = coalesce($5::text::jsonb, p.boleto), card = coalesce($6::text::jsonb, p.card),
    failure = coalesce($7::text::jsonb, p.failure), expires_at = coalesce($8, p.expires_at),
    paid_cents = CASE WHEN a.cents > 0 THEN coalesce(p.paid_cents, 0) + a.cents ELSE p.paid_cents END,
    paid_at = CASE WHEN a.cents > 0 THEN coalesce(p.paid_at, $10) ELSE p.paid_at END,
    attempts = p.attempts + ($12::timestamptz IS NOT NULL)::int, due_at = coalesce($12, p.due_at)
FROM adopted a WHERE p.tenant_id = $1 AND p.id = $2
"""
_POSTPONE = """
UPDATE payments SET attempts = attempts + 1, due_at = $3 WHERE tenant_id = $1 AND id = $2 AND status IN ('PENDING', 'AUTHORIZED')
"""


async def call_gateway(call: Awaitable[T]) -> T:
    """Await the call of a gateway; raises GatewayRefused, and GatewayUnanswered for whatever else goes wrong."""
    assert not in_transaction(), "a gateway is called without a transaction"
    try:
        async with asyncio.timeout(CALL_SECONDS):
            return await call
    except (GatewayRefused, GatewayUnanswered):
        raise
    except TimeoutError as error:
        raise GatewayUnanswered(f"no answer within {CALL_SECONDS:.0f} seconds") from error
    except Exception as error:
        logging.failure("a payment gateway's answer could not be read", error)
        raise GatewayUnanswered("its answer could not be read") from error


async def settle_all(works: Iterable[Awaitable[None]]) -> int:
    """Settle payments or refunds at the same time, and return how many were settled; an error of one is logged and stops no other."""
    settled = 0
    for outcome in await asyncio.gather(*works, return_exceptions=True):
        if isinstance(outcome, Exception):
            logging.failure("a payment or refund could not be settled", outcome)
        else:
            settled += 1
    return settled


async def settle(scope: Scope, payment: ChargedPayment, state: ChargeState, attempts: int = 0) -> None:
    """Write what a gateway says about a payment; raises GatewayUnanswered for what can't be about it.

    `attempts` is how often the gateway was asked about a payment that is still live.
    """
    system = replace(scope, actor=SYSTEM, now=now())
    # Some milliseconds of computing, for which neither the order nor other requests wait.
    picture = "" if state.pix is None else await run_in_thread(qr_svg, state.pix.code)
    try:
        await retry_conflicts(partial(_settle, system, payment.public_id, payment.order_id, state, attempts, picture))
    except UniqueViolation as error:
        if error.constraint != "payments_charge_key":
            raise
        raise GatewayUnanswered(f"it answered with the charge of another payment: {state.charge_id}") from error


async def end(scope: Scope, payment: ChargedPayment, status: PaymentStatus, failure: dict[str, str] | None) -> None:
    """End a live payment that no charge exists of, or whose charge was not paid; one that has ended meanwhile stays."""
    system = replace(scope, actor=SYSTEM, now=now())
    await retry_conflicts(partial(_end, system, payment, status, failure))


async def postpone(scope: Scope, payment: ChargedPayment, at: datetime) -> None:
    """Ask the gateway again at a time, unless the payment has ended meanwhile."""
    async with transaction(scope):
        await execute(_POSTPONE, scope.store.id, payment.id, at)


def next_poll_at(at: datetime, attempts: int, expires_at: datetime | None) -> datetime:
    """Return when to ask again about a live payment: by the schedule of deliveries, at last right after its expiry."""
    delay = retry_delay(max(1, attempts))
    times = [at + max(delay, IN_DOUBT)] if delay is not None else []
    if expires_at is not None and expires_at + GRACE > at:
        times.append(expires_at + GRACE)
    return min(times, default=at + timedelta(days=1))


async def _settle(
    scope: Scope, payment_id: UUID, order_id: int, state: ChargeState, attempts: int, picture: str
) -> None:
    async with transaction(scope, Plans.REUSED):
        await lock_first(scope, order_id)
        stored = await find_payment(scope, payment_id, of_removed_order=True)
        payment = stored.payment
        _reject_contradiction(payment, state)
        is_live = state.status in LIVE and payment.status in LIVE
        at = next_poll_at(scope.now, attempts, state.expires_at or payment.expires_at) if is_live else None
        await _save(scope, payment, state, at, picture)
        if is_live and payment.gateway_charge_id is None:
            await _queue_mail(scope, stored, state)
        for news in _news(payment, state, stored.order_public_id):
            await apply_notification(scope, news, force=False, reason=f"gateway: {news.event_type}")


async def _queue_mail(scope: Scope, stored: StoredPayment, state: ChargeState) -> None:
    """Queue the mail that says how to pay by Pix or boleto."""
    payment = stored.payment
    if state.pix is not None:
        code, how = state.pix.code, "Copie o código Pix e pague no aplicativo do seu banco{}:"
    elif state.boleto is not None:
        code, how = state.boleto.line, "Pague o boleto por esta linha digitável{}:"
    else:
        return
    until = state.expires_at or payment.expires_at
    await order_mails.queue(
        scope,
        MailType.ORDER_PAYMENT_PENDING,
        {"id": payment.order_id, "email": stored.mail_recipient},
        amount_cents=payment.amount_cents,
        code=code,
        how=how.format("" if until is None else f" até {_in_brasilia(until)}"),
    )


def _in_brasilia(at: datetime) -> str:
    return f"{at.astimezone(BRASILIA):%d/%m/%Y às %H:%M}"


def _reject_contradiction(payment: ChargedPayment, state: ChargeState) -> None:
    """Raise GatewayUnanswered for an answer about another amount or charge: an answer that contradicts the request is none."""
    expected = (payment.amount_cents, payment.currency, payment.gateway_charge_id or state.charge_id)
    answered = (state.amount_cents, state.currency, state.charge_id)
    if answered == expected:
        return
    logging.event(
        "a payment gateway answered about another charge, amount or currency",
        level="error",
        payment=str(payment.public_id),
        expected=list(expected),
        answered=list(answered),
    )
    raise GatewayUnanswered("it answered about another charge, amount or currency")


async def _save(
    scope: Scope, payment: ChargedPayment, state: ChargeState, due_at: datetime | None, picture: str
) -> None:
    pix = None if state.pix is None else {**asdict(state.pix), "qr_svg": picture}
    await execute_later(
        _SAVE,
        scope.store.id,
        payment.id,
        state.charge_id,
        _json(pix),
        _json(None if state.boleto is None else asdict(state.boleto)),
        _json(None if state.card is None else asdict(state.card)),
        _json(None if state.failure is None else asdict(state.failure)),
        state.expires_at,
        payment.order_id,
        scope.now,
        state.status is PaymentStatus.AUTHORIZED,
        due_at,
    )


def _json(value: Any) -> str | None:
    return None if value is None else orjson.dumps(value, option=orjson.OPT_UTC_Z).decode()


def _news(payment: ChargedPayment, state: ChargeState, order_id: UUID) -> Iterator[NotificationPayload]:
    """Yield the notifications that say what the state says."""
    status = state.status
    if state.paid_cents:
        yield _event("charge.paid", payment, state, order_id)
    match status:
        case PaymentStatus.REFUNDED:
            yield _event("charge.refunded", payment, state, order_id)
        case PaymentStatus.PARTIALLY_REFUNDED:
            yield _event("charge.partial_canceled", payment, state, order_id)
        case PaymentStatus.DISPUTED:
            yield _event("charge.chargedback", payment, state, order_id)
        case PaymentStatus.FAILED | PaymentStatus.EXPIRED:
            yield _event("charge.payment_failed", payment, state, order_id)
        case PaymentStatus.CANCELLED:
            yield _event("order.canceled", payment, state, order_id)


def _event(event_type: str, payment: ChargedPayment, state: ChargeState, order_id: UUID) -> NotificationPayload:
    is_technical = state.failure is not None and state.failure.code == "technical"
    charge = ChargePayload(
        charge_id=state.charge_id,
        status=state.status.lower(),
        currency=state.currency,
        payment_method=payment.kind,
        installments=1,
        amount=state.amount_cents,
        paid_amount=state.paid_cents or None,
        canceled_amount=state.refunded_cents or None,
        is_technical=is_technical,
    )
    return NotificationPayload(
        event_id="",
        event_type=event_type,
        charge_id=state.charge_id,
        order=order_id,
        charges=(charge,),
        amount=state.amount_cents,
        is_technical=is_technical,
        fingerprint=b"",
        payment_id=payment.public_id,
    )


async def _end(scope: Scope, payment: ChargedPayment, status: PaymentStatus, failure: dict[str, str] | None) -> None:
    async with transaction(scope):
        locked = await lock_order(scope, payment.order_id, may_be_removed=True)
        [current] = await find_charged_payments(scope, (), payment.public_id)
        if current.status not in LIVE:
            return
        await update_payments(scope, locked, [PaymentChange(current, None, status, failure=failure)])
