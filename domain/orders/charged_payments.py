"""Change the payments that were asked of a gateway, with what follows for their order: its total, and the events about the payment.

The interest of instalments is part of the order's surcharge while its payment is live or was received.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from domain import event_types, record_events
from domain.ledger.entries import write_order_entries
from domain.orders.locked import LockedOrder
from domain.orders.payments import ChargedPayment
from kernel.payment_words import LIVE, RECEIVED, PaymentStatus
from kernel.scope import Scope
from models.connection.database import execute_later
from models.rows import json_text

_UPDATE = """
UPDATE payments SET gateway_charge_id = coalesce(gateway_charge_id, $3), status = $4, refunded_cents = greatest(refunded_cents, $5),
    paid_cents = CASE WHEN $6 > 0 THEN coalesce(paid_cents, 0) + $6 ELSE paid_cents END,
    paid_at = CASE WHEN $6 > 0 THEN coalesce(paid_at, $7) ELSE paid_at END,
    failure = CASE WHEN $4 = 'FAILED' THEN coalesce(failure, $8::text::jsonb) WHEN $4 = ANY($10::text[]) THEN failure END,
    due_at = CASE WHEN $4 = ANY($9::text[]) THEN due_at END
WHERE tenant_id = $1 AND id = $2
"""
_ADD_INTEREST = """
UPDATE orders SET surcharge_cents = surcharge_cents + $3, total_cents = total_cents + $3, updated_at = $4, payment_status = $5,
    hold_until = CASE WHEN $5 = 'unpaid' THEN hold_until END
WHERE tenant_id = $1 AND id = $2
"""
_EVENTS: Mapping[PaymentStatus, str] = {
    PaymentStatus.PAID: event_types.PAYMENT_PAID,
    PaymentStatus.FAILED: event_types.PAYMENT_FAILED,
    PaymentStatus.EXPIRED: event_types.PAYMENT_FAILED,
    PaymentStatus.CANCELLED: event_types.PAYMENT_CANCELLED,
    PaymentStatus.DISPUTED: event_types.PAYMENT_DISPUTED,
}
_STILL_LIVE = sorted(LIVE)


@dataclass(frozen=True, slots=True)
class PaymentChange:
    """What changes of a payment: its status, cents that arrived now, cents refunded in all, and why it failed."""

    payment: ChargedPayment
    charge_id: str | None
    status: PaymentStatus
    new_paid: int = 0
    refunded: int = 0
    failure: Mapping[str, Any] | None = None


async def update_payments(scope: Scope, locked: LockedOrder, changes: Sequence[PaymentChange]) -> LockedOrder:
    """Change payments of a locked order, emit their events, and return the order with its total after that."""
    interest = 0
    for change in changes:
        payment = change.payment
        await execute_later(
            _UPDATE,
            scope.store.id,
            payment.id,
            change.charge_id,
            change.status.value,
            change.refunded,
            change.new_paid,
            scope.now,
            None if change.failure is None else json_text(dict(change.failure)),
            _STILL_LIVE,
            _STILL_LIVE,
        )
        interest += _added_interest(payment, change.status)
        await _emit(scope, change)
    return await add_interest(scope, locked, interest)


async def add_interest(scope: Scope, locked: LockedOrder, cents: int) -> LockedOrder:
    """Add interest, in cents, to a locked order, or take it away if it is negative; return the order with its new total."""
    if not cents:
        return locked
    total_cents = locked.total_cents + cents
    status = locked.payment_status_of(total_cents)
    await execute_later(_ADD_INTEREST, scope.store.id, locked.id, cents, scope.now, status)
    if any(locked.settlement()):
        await write_order_entries(scope, locked.id)
    return replace(
        locked,
        surcharge_cents=locked.surcharge_cents + cents,
        total_cents=total_cents,
        payment_status=status,
    )


def _added_interest(payment: ChargedPayment, status: PaymentStatus) -> int:
    counted, counts = _counts(payment.status), _counts(status)
    return payment.surcharge_cents * (counts - counted)


def _counts(status: str) -> bool:
    return status in LIVE or status in RECEIVED


async def _emit(scope: Scope, change: PaymentChange) -> None:
    """Emit the events of what changed: that it is paid or failed, and that it was refunded."""
    name = _EVENTS.get(change.status) if change.status != change.payment.status else None
    names = [name] if name is not None else []
    if change.refunded > change.payment.refunded_cents:
        names.append(event_types.PAYMENT_REFUNDED)
    for each in names:
        await record_events.emit_records(scope, each, [change.payment.id])
