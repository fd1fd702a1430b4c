"""Refund a payment through its gateway: commit the refund, call the gateway without a transaction, write the answer in a second one.

The refunds of a payment are made one after the other (a partial unique index), so that what the gateway has refunded in all shows whether a
refund was made whose call was not answered. Never is more refunded than was paid: what is pending counts as refunded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from uuid import UUID

import orjson

from domain.idempotency import IN_PROGRESS, REUSED
from domain.ledger.split import read_shares
from domain.orders.locked import lock_order
from domain.orders.payments import find_charged_payments
from domain.payments import settlement
from domain.payments.gateway import ChargeState, GatewayRefused, GatewayUnanswered, PaymentGateway, Share
from domain.payments.gateways import gateway_of_method
from domain.payments.lookup import StoredPayment, find_payment
from domain.payments.progress import creation_hash, reject_in_progress
from domain.payments.split import refund_shares
from kernel import logging
from kernel.clock import now
from kernel.errors import Conflict, DomainError, RuleViolation, ValidationFailed
from kernel.ids import uuid7
from kernel.payment_words import RECEIVED, PaymentStatus
from kernel.retries import RETRY_DELAYS
from kernel.scope import SYSTEM, Scope, active_scope
from models import audit
from models.connection.database import execute, fetch, fetchrow, fetchval, retry_conflicts, transaction
from models.rows import insert_row, json_text

PENDING, DONE, FAILED = "PENDING", "DONE", "FAILED"

_COLUMNS = """r.id, r.public_id, r.amount_cents, r.refunded_before_cents, r.attempted_at, r.attempts, r.status, p.public_id AS payment_id"""
_SOURCE = "payment_refunds r JOIN payments p ON p.tenant_id = r.tenant_id AND p.id = r.payment_id"
_CREATED = f"SELECT {_COLUMNS} FROM {_SOURCE} WHERE r.tenant_id = $1 AND r.creation_hash = $2"
_PENDING_OF = f"SELECT {_COLUMNS} FROM {_SOURCE} WHERE r.tenant_id = $1 AND r.payment_id = $2 AND r.status = 'PENDING'"
_DUE = f"SELECT {_COLUMNS} FROM {_SOURCE} WHERE r.tenant_id = $1 AND r.due_at <= $2 AND r.status = 'PENDING' ORDER BY r.id LIMIT $3"
_CLAIM = """
UPDATE payment_refunds SET attempted_at = $3, due_at = $4, attempts = attempts + 1
WHERE tenant_id = $1 AND id = $2 AND status = 'PENDING' AND attempted_at <= $5 RETURNING id
"""
_END = """
UPDATE payment_refunds SET status = $3, failure = $4::text::jsonb, due_at = NULL, updated_at = $5
WHERE tenant_id = $1 AND id = $2 AND status = 'PENDING'
"""
_POSTPONE = "UPDATE payment_refunds SET due_at = $3 WHERE tenant_id = $1 AND id = $2 AND status = 'PENDING'"
_SHARES = "SELECT shares::text, paid_cents FROM payments WHERE tenant_id = $1 AND id = $2 AND shares IS NOT NULL"
_UNANSWERED = {"code": "unanswered", "message": "O meio de pagamento não respondeu."}


@dataclass(frozen=True, slots=True)
class _Refund:
    id: int
    public_id: UUID
    amount_cents: int
    refunded_before_cents: int
    attempts: int
    stored: StoredPayment


async def refund_payment(scope: Scope, payment: object, amount_cents: int) -> int:
    """Refund a part of a payment, in cents, and return the payment's internal id; the refund's status says what the gateway answered.

    Raises NotFound, ValidationFailed for an amount that isn't positive, Conflict `in_progress` while another refund is, RuleViolation
    `payment_not_refundable` for one that was not received, or not created here, and `refund_too_large` with what `remains`.
    """
    if amount_cents < 1:
        raise ValidationFailed(
            f"amount_cents is {amount_cents}; expected 1 or more", field="amount_cents", code="amount_invalid"
        )
    system = replace(scope, actor=SYSTEM)
    stored = await find_payment(system, payment)
    if not stored.gateway:
        raise RuleViolation(
            "the payment was reported; it is refunded where it was made", reason="payment_not_refundable"
        )
    refund = await retry_conflicts(partial(_begin, scope, system, stored, amount_cents))
    if refund is not None:
        await _call_once(system, refund)
    return stored.payment.id


async def settle_due(scope: Scope, *, limit: int) -> int:
    """Make the refunds whose call was not answered, unless the gateway has made them; return how many were done without an error."""
    with active_scope(scope):
        rows = await fetch(_DUE, scope.store.id, now(), limit)
    return await settlement.settle_all(_settle(scope, row) for row in rows)


async def _begin(scope: Scope, system: Scope, stored: StoredPayment, amount_cents: int) -> _Refund | None:
    """Insert the refund; None where an earlier request with the same Idempotency-Key has got its answer."""
    key, at = creation_hash(scope, "refund"), now()
    async with transaction(system):
        locked = await lock_order(system, stored.payment.order_id)
        if key is not None and (created := await fetchrow(_CREATED, scope.store.id, key)) is not None:
            if (created["payment_id"], created["amount_cents"]) != (stored.payment.public_id, amount_cents):
                raise RuleViolation(REUSED)  # kept for longer than the key itself
            return await _claim(system, created, stored) if created["status"] == PENDING else None
        if (pending := await fetchrow(_PENDING_OF, scope.store.id, stored.payment.id)) is not None:
            reject_in_progress(pending["attempted_at"], at)
            raise Conflict("another refund of the payment is in doubt; try again later", reason=IN_PROGRESS)
        [payment] = await find_charged_payments(system, (), stored.payment.public_id)
        # The bank has returned what was charged back: a refund would return it twice.
        is_received = payment.status in RECEIVED and payment.status != PaymentStatus.DISPUTED
        if not is_received or payment.gateway_charge_id is None:
            raise RuleViolation(
                f"a payment in status {payment.status} can't be refunded", reason="payment_not_refundable"
            )
        # Refunds that were recorded for the order otherwise count too.
        remains = min((payment.paid_cents or 0) - payment.refunded_cents, locked.paid_cents - locked.refunded_cents)
        if amount_cents > remains:
            raise RuleViolation(
                f"{amount_cents} cents can't be refunded; {max(0, remains)} remain",
                reason="refund_too_large",
                details={"remains": max(0, remains)},
            )
        public_id = uuid7()
        refund_id = await insert_row(
            scope,
            "payment_refunds",
            public_id=public_id,
            payment_id=payment.id,
            amount_cents=amount_cents,
            refunded_before_cents=payment.refunded_cents,
            creation_hash=key,
            attempted_at=at,
            due_at=at + settlement.IN_DOUBT,
            created_at=at,
            updated_at=at,
        )
        await audit.record(
            scope,
            "order.refund_created",
            "order",
            locked.public_id,
            {"amount_cents": amount_cents, "payment": payment.number},
        )
        return _Refund(refund_id, public_id, amount_cents, payment.refunded_cents, 0, replace(stored, payment=payment))


async def _claim(scope: Scope, row: Mapping[str, Any], stored: StoredPayment) -> _Refund:
    """Claim a pending refund for another attempt; raises Conflict `in_progress` while one may be under way."""
    at = now()
    reject_in_progress(row["attempted_at"], at)
    limits = (at + settlement.IN_DOUBT, at - settlement.IN_DOUBT)
    if await fetchval(_CLAIM, scope.store.id, row["id"], at, *limits) is None:
        raise Conflict("another attempt to refund the payment has begun", reason=IN_PROGRESS)
    return _Refund(
        row["id"], row["public_id"], row["amount_cents"], row["refunded_before_cents"], row["attempts"] + 1, stored
    )


async def _settle(scope: Scope, row: Mapping[str, Any]) -> None:
    """Try a refund again that is in doubt."""
    try:
        stored = await find_payment(scope, row["payment_id"])
        async with transaction(scope):
            refund = await _claim(scope, row, stored)
    except DomainError:  # another attempt has begun
        return
    await _call_once(scope, refund)


async def _call_once(scope: Scope, refund: _Refund) -> None:
    """Call the gateway unless it has made the refund already, and write its answer; until the charge shows it the refund stays pending."""
    stored = refund.stored
    payment = stored.payment
    gateway = await gateway_of_method(scope, stored.payment_method_id, stored.gateway)
    try:
        if gateway is None:
            raise GatewayUnanswered("the payment method has no such gateway any more")
        state = await _refunded_state(scope, gateway, refund)
        await settlement.settle(scope, payment, state)
        await _end(scope, refund, DONE, None)
    except GatewayRefused as refused:
        await _end(scope, refund, FAILED, {"code": refused.code, "message": refused.message})
    except GatewayUnanswered as unanswered:
        await _postpone(scope, refund, unanswered.reason)


async def _refunded_state(scope: Scope, gateway: PaymentGateway, refund: _Refund) -> ChargeState:
    payment = refund.stored.payment
    charge_id = payment.gateway_charge_id
    assert charge_id is not None  # checked when the refund began
    if refund.attempts:
        charge = await settlement.call_gateway(gateway.read(payment.public_id, charge_id))
        if charge is not None and _shows(charge, refund):
            return charge
    shares = await _shares(scope, refund) if gateway.splits else ()
    state = await settlement.call_gateway(gateway.refund(charge_id, refund.amount_cents, str(refund.public_id), shares))
    if not _shows(state, refund):
        # Counted as made, another refund could return the same money again.
        raise GatewayUnanswered("the charge doesn't show the refund yet")
    return state


def _shows(state: ChargeState, refund: _Refund) -> bool:
    return state.refunded_cents >= refund.refunded_before_cents + refund.amount_cents


async def _shares(scope: Scope, refund: _Refund) -> tuple[Share, ...]:
    """Return what the refund takes back from whom: the same for each attempt."""
    with active_scope(scope):
        row = await fetchrow(_SHARES, scope.store.id, refund.stored.payment.id)
    if row is None:
        return ()
    shares = read_shares(orjson.loads(row["shares"]))
    return refund_shares(shares, row["paid_cents"], refund.refunded_before_cents, refund.amount_cents)


async def _end(scope: Scope, refund: _Refund, status: str, failure: Mapping[str, str] | None) -> None:
    async with transaction(scope):
        stored = None if failure is None else json_text(dict(failure))
        await execute(_END, scope.store.id, refund.id, status, stored, now())


async def _postpone(scope: Scope, refund: _Refund, reason: str) -> None:
    logging.event("a refund is in doubt", level="warning", refund=str(refund.public_id), reason=reason)
    if refund.attempts >= len(RETRY_DELAYS):
        await _end(scope, refund, FAILED, _UNANSWERED)
        return
    async with transaction(scope):
        at = settlement.next_poll_at(now(), refund.attempts + 1, None)
        await execute(_POSTPONE, scope.store.id, refund.id, at)
