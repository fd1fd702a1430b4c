"""Save the charges of a notification, and return what they add to the order's payments and refunds.

Paid and refunded amounts of a charge never decrease, because notifications arrive in any order. Amounts already in the order's sums
(`counted`) are not added again: idempotency for retried notifications and for `order.paid` plus `charge.paid`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from domain.gateway.mapping import NotificationEffect
from domain.gateway.payload import ChargePayload, NotificationPayload
from domain.orders.locked import LockedOrder
from domain.orders.payments import ChargedPayment
from kernel.scope import Scope
from models.connection.database import execute_later, fetch, fetchrow
from models.rows import insert_sql, json_text, rows_json, rows_sql

_PAID_STATUSES = ("paid", "overpaid", "underpaid", "")

# Inserted first, so that there is a row to lock: concurrent notifications of a new charge are serialized. Lock order: by charge_id, which
# prevents deadlocks.
_INSERT_MISSING = f"""
{insert_sql("charges", ("charge_id", "created_at", "updated_at"))} ORDER BY r.charge_id ON CONFLICT (tenant_id, charge_id) DO NOTHING
"""

_LOCK = """
SELECT charge_id, order_id, currency, amount_cents, paid_cents, refunded_cents, counted
FROM charges WHERE tenant_id = $1 AND charge_id = ANY($2::text[])
ORDER BY charge_id FOR UPDATE
"""

ANNOUNCED = "order.paid"
"""Stands for the charge's id in a payment that a notification reported without its charges."""

# What the counted charges were paid and refunded so far, and refunds in excess of their known payments. Payments that no charge made are
# `recorded`; those of them whose charge may still come are `awaited`: what was recorded as paid when the order was placed, because its
# method settles at once, and what a notification reported without its charges.
_COUNTED_SUMS = f"""
SELECT c.*, p.recorded, p.awaited
FROM (
    SELECT coalesce(sum(paid_cents), 0)::bigint AS paid, coalesce(sum(refunded_cents), 0)::bigint AS refunded,
        coalesce(sum(greatest(refunded_cents - paid_cents, 0)), 0)::bigint AS unmatched
    FROM charges WHERE tenant_id = $1 AND order_id = $2 AND counted
) c CROSS JOIN (
    SELECT coalesce(sum(p.amount_cents), 0)::bigint AS recorded,
        coalesce(sum(p.amount_cents) FILTER (
            WHERE p.gateway_charge_id = '{ANNOUNCED}' OR m.settles_at_once AND p.sequence = 1 AND p.created_at = o.created_at
        ), 0)::bigint AS awaited
    FROM payments p JOIN orders o ON o.tenant_id = $1 AND o.id = $2
    LEFT JOIN payment_methods m ON m.tenant_id = $1 AND m.id = o.payment_method_id
    WHERE p.tenant_id = $1 AND p.order_id = $2 AND p.gateway = '' AND coalesce(p.gateway_charge_id, '{ANNOUNCED}') = '{ANNOUNCED}'
) p
"""

_UPDATE = f"""
UPDATE charges c SET
    status = coalesce(nullif(r.status, ''), c.status),
    payment_method = coalesce(nullif(r.payment_method, ''), c.payment_method),
    (order_id, currency, amount_cents, paid_cents, refunded_cents, counted, last_event, updated_at)
        = (r.order_id, r.currency, r.amount_cents, r.paid_cents, r.refunded_cents, r.counted, r.last_event, r.updated_at)
FROM {rows_sql("charges")}
WHERE c.tenant_id = $1 AND c.charge_id = r.charge_id
"""


@dataclass(frozen=True, slots=True)
class ReceivedPayment:
    """A payment received that the order's sums don't include yet, in cents."""

    cents: int
    kind: str
    installments: int
    charge_id: str | None = None


@dataclass(frozen=True, slots=True)
class ChargeOfPayment:
    """A charge that counts, of a payment that was created here: what it adds to what was paid, and what it was refunded in all."""

    payment: ChargedPayment
    charge: ChargePayload
    new_paid: int
    refunded: int
    is_fully_refunded: bool


@dataclass(frozen=True, slots=True)
class ChargeTotals:
    """What the charges of a notification add to the order's sums, in cents.

    `paid` and `refunded` are to be added; `own_refunded` is the refunded total of these charges within the order's sums afterwards.
    `is_fully_refunded`: all of them are. `problem` says why a charge doesn't count in the order; `is_counted`: at least one does.
    `of_payments` are those of payments that were created here, which `received` leaves out.
    """

    received: tuple[ReceivedPayment, ...] = ()
    of_payments: tuple[ChargeOfPayment, ...] = ()
    paid: int = 0
    refunded: int = 0
    own_refunded: int = 0
    is_fully_refunded: bool = True
    is_counted: bool = False
    problem: str = ""


@dataclass(slots=True)
class _ChargeState:
    charge: ChargePayload
    order_id: int | None
    currency: str
    amount: int
    paid: int
    refunded: int
    counted: bool
    payment: ChargedPayment | None = None
    problem: str = ""
    new_paid: int = 0
    new_refunded: int = 0
    implied: int = 0
    """What was paid at least, of a refund or chargeback whose payment isn't known."""

    @property
    def is_fully_refunded(self) -> bool:
        """Return whether the paid amount, or the charge's amount, was refunded."""
        return self.refunded >= min((cents for cents in (self.amount, self.paid) if cents), default=0)

    @property
    def most_refundable(self) -> int:
        """Return what can have been refunded at most: all of the charge, or what it says where it doesn't say how much that is."""
        return max(self.amount, self.paid, self.charge.paid_amount or 0) or self.refunded


async def save_charges(
    scope: Scope,
    payload: NotificationPayload,
    effect: NotificationEffect,
    locked: LockedOrder | None,
    payments: Sequence[ChargedPayment],
) -> ChargeTotals:
    """Store the charges of a notification and return what they add to the locked order, None when it is missing.

    `payments` are those that were created here, of these charges or with the notification's payment id.
    """
    if not payload.charges:
        return ChargeTotals()
    ids = [charge.charge_id for charge in payload.charges]
    new = [{"charge_id": charge_id, "created_at": scope.now, "updated_at": scope.now} for charge_id in ids]
    await execute_later(_INSERT_MISSING, scope.store.id, rows_json(new))
    stored = {record["charge_id"]: record for record in await fetch(_LOCK, scope.store.id, ids)}
    states = [
        _merge(scope, charge, stored[charge.charge_id], effect, locked, _payment_of(charge, payload, payments))
        for charge in payload.charges
    ]
    if locked is not None and any(state.new_paid or state.new_refunded or state.implied for state in states):
        counted_sums = await fetchrow(_COUNTED_SUMS, scope.store.id, locked.id)
        assert counted_sums is not None  # an aggregate always returns one row
        _imply_payments(states, locked, counted_sums)
        _match_awaited(states, locked, counted_sums)
    await _write(scope, payload.event_type, states)
    counting = [state for state in states if state.counted and not state.problem]
    return ChargeTotals(
        received=tuple(
            ReceivedPayment(
                state.new_paid, state.charge.payment_method, state.charge.installments, state.charge.charge_id
            )
            for state in counting
            if state.new_paid and state.payment is None
        ),
        of_payments=tuple(
            ChargeOfPayment(state.payment, state.charge, state.new_paid, state.refunded, state.is_fully_refunded)
            for state in counting
            if state.payment is not None
        ),
        paid=sum(state.new_paid for state in counting),
        refunded=sum(state.new_refunded for state in counting),
        own_refunded=sum(state.refunded for state in counting),
        is_fully_refunded=all(state.is_fully_refunded for state in states),
        is_counted=bool(counting),
        problem=next((state.problem for state in states if state.problem), ""),
    )


def _merge(
    scope: Scope,
    charge: ChargePayload,
    stored: Mapping[str, Any],
    effect: NotificationEffect,
    locked: LockedOrder | None,
    payment: ChargedPayment | None,
) -> _ChargeState:
    amount = stored["amount_cents"] if charge.amount is None else charge.amount
    was_counted: bool = stored["counted"]
    # One with an order in which it was not counted had a problem there: neither what it said then nor the order is that of the charge.
    is_known = was_counted or stored["order_id"] is None
    paid = max(stored["paid_cents"] if is_known else 0, _paid_cents(charge, effect))
    refunded = max(stored["refunded_cents"] if is_known else 0, _refunded_cents(charge, effect, amount, paid))
    state = _ChargeState(
        charge,
        stored["order_id"],
        charge.currency or stored["currency"] or scope.store.currency,
        amount,
        paid,
        refunded,
        was_counted,
        payment,
    )
    if locked is None:
        if was_counted:  # nothing is added to a missing order
            state.paid, state.refunded = stored["paid_cents"], stored["refunded_cents"]
        return state
    state.problem = _problem(scope, state, locked)
    if not state.problem:
        state.new_paid = paid - (stored["paid_cents"] if was_counted else 0)
        state.new_refunded = refunded - (stored["refunded_cents"] if was_counted else 0)
        state.counted = True
        state.implied = _implied_cents(state, effect)
    elif was_counted or state.refunded > state.most_refundable:
        # The sums of another order stay, and no refund is stored that there can't be.
        state.paid, state.refunded = stored["paid_cents"], stored["refunded_cents"]
    if not was_counted:
        state.order_id = locked.id
    return state


def _problem(scope: Scope, state: _ChargeState, locked: LockedOrder) -> str:
    if state.counted and state.order_id != locked.id:
        return f"the charge {state.charge.charge_id} belongs to order {state.order_id}"
    for whose, currency in (("the store's", scope.store.currency), ("the order's", locked.currency)):
        if state.currency != currency:
            return f"currency: the charge {state.charge.charge_id} is in {state.currency}, {whose} is {currency}"
    if state.refunded > state.most_refundable:
        return f"refund: {state.refunded} of {state.most_refundable} cents of the charge {state.charge.charge_id}"
    return _payment_problem(state, state.payment, locked) if state.payment is not None else ""


def _payment_of(
    charge: ChargePayload, payload: NotificationPayload, payments: Sequence[ChargedPayment]
) -> ChargedPayment | None:
    """Return the payment of a charge: by the charge, else by the payment's id, which a notification before the answer has."""
    by_charge = (payment for payment in payments if payment.gateway_charge_id == charge.charge_id)
    by_id = (payment for payment in payments if payment.public_id == payload.payment_id)
    return next(by_charge, None) or next(by_id, None)


def _payment_problem(state: _ChargeState, payment: ChargedPayment, locked: LockedOrder) -> str:
    """Return how a charge differs from the payment that was asked for."""
    charge_id, amount = state.charge.charge_id, state.amount or state.charge.paid_amount or payment.amount_cents
    if payment.order_id != locked.id:
        return f"the charge {charge_id} is of payment {payment.number}, another order's"
    if payment.gateway_charge_id not in (None, charge_id):
        return f"the charge {charge_id} is not that of payment {payment.number}"
    if amount != payment.amount_cents:
        return (
            f"amount: the charge {charge_id} is of {amount} cents, payment {payment.number} of {payment.amount_cents}"
        )
    return ""


def _paid_cents(charge: ChargePayload, effect: NotificationEffect) -> int:
    if effect not in (NotificationEffect.PAID, NotificationEffect.UNDERPAID):
        return 0
    if charge.paid_amount is not None:
        return charge.paid_amount
    # An order's event lists all its charges, failed ones included.
    is_paid = effect is NotificationEffect.PAID and charge.status in _PAID_STATUSES
    return charge.amount or 0 if is_paid else 0


def _refunded_cents(charge: ChargePayload, effect: NotificationEffect, amount: int, paid: int) -> int:
    match effect:
        case NotificationEffect.REFUNDED:
            return charge.canceled_amount or max(paid, charge.paid_amount or amount)
        case NotificationEffect.PARTIALLY_REFUNDED:
            return charge.canceled_amount or 0
        case NotificationEffect.CANCELLED:
            # Cancelling an unpaid charge refunds nothing.
            return min(charge.canceled_amount or 0, max(paid, charge.paid_amount or 0))
    return 0


def _implied_cents(state: _ChargeState, effect: NotificationEffect) -> int:
    if effect is NotificationEffect.CHARGED_BACK:
        return 0 if state.paid or state.refunded else state.charge.paid_amount or state.amount
    return state.refunded if state.new_refunded and state.refunded > state.paid else 0


def _imply_payments(states: Sequence[_ChargeState], locked: LockedOrder, counted_sums: Mapping[str, Any]) -> None:
    """Treat refunds and chargebacks without a known payment as paid: the payment's notification may be late or lost.

    Payments that don't come from charges (recorded manually, settled at once) cover those of other charges first, so that no order refunds
    more than it received.
    """
    other_cents = (
        locked.paid_cents
        - counted_sums["paid"]
        - (locked.refunded_cents - counted_sums["refunded"])
        - counted_sums["unmatched"]
    )
    for state in states:
        if not state.implied:
            continue
        needed = min(state.implied - state.paid, state.new_refunded or state.implied)
        if needed <= other_cents:
            other_cents -= needed
            continue
        paid = max(state.implied, state.charge.paid_amount or 0)
        state.new_paid += paid - state.paid
        state.paid = paid


def _match_awaited(states: Sequence[_ChargeState], locked: LockedOrder, counted_sums: Mapping[str, Any]) -> None:
    """Take from the new payments what the order has of them already: the charge is the payment that was awaited, not a second one."""
    matched_before = max(0, counted_sums["paid"] + counted_sums["recorded"] - locked.paid_cents)
    awaited = max(0, counted_sums["awaited"] - matched_before)
    for state in states:
        if state.payment is None:
            matched = min(state.new_paid, awaited)
            state.new_paid -= matched
            awaited -= matched


async def _write(scope: Scope, event_type: str, states: Sequence[_ChargeState]) -> None:
    rows = [
        {
            "charge_id": state.charge.charge_id,
            "order_id": state.order_id,
            "status": state.charge.status,
            "payment_method": state.charge.payment_method,
            "currency": state.currency,
            "amount_cents": state.amount,
            "paid_cents": state.paid,
            "refunded_cents": state.refunded,
            "counted": state.counted,
            "last_event": event_type,
            "updated_at": scope.now,
        }
        for state in states
    ]
    await execute_later(_UPDATE, scope.store.id, json_text(rows))
