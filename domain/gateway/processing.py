"""Apply a notification: save its charges, update the order's payments and refunds, change its status. Runs in the caller's transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from domain import events
from domain.catalog.stock import OUT_OF_STOCK
from domain.gateway.charges import ANNOUNCED, ChargeTotals, ReceivedPayment, save_charges
from domain.gateway.known_payments import update_known_payments
from domain.gateway.mapping import EFFECTS, NotificationEffect
from domain.gateway.payload import NotificationPayload
from domain.ledger.entries import AppliedPayment, write_order_entries
from domain.mails.texts import MailType
from domain.notifications.write import notify_surplus
from domain.orders.deletion import restore_order
from domain.orders.lifecycle import apply_transition
from domain.orders.locked import LockedOrder, lock_first, lock_order
from domain.orders.payments import ChargedPayment, add_payment, find_charged_payments, update_payment_totals
from domain.orders.transitions import CANCELLED, CHARGEBACK, DECLINED, FAILED, PROCESSED
from domain.store_settings import sends_order_mail
from kernel.errors import NotFound, RuleViolation
from kernel.ids import parse_reference
from kernel.money import MAX_CENTS, format_price
from kernel.payment_words import PaymentStatus
from kernel.scope import Scope
from kernel.text import repr_value
from models.connection.database import transaction

# Of a payment that is over, or that the shop cancels itself, these say nothing about the order.
_NEWS_OF_LIVE_PAYMENTS = (NotificationEffect.PAYMENT_FAILED, NotificationEffect.CANCELLED)


@dataclass(frozen=True, slots=True)
class _PaymentSums:
    paid: int
    refunded: int
    changed: bool


async def apply_notification(scope: Scope, payload: NotificationPayload, *, force: bool, reason: str) -> str:
    """Apply a notification and return what is wrong with it, "" for nothing; `force` allows transitions outside the table.

    The scope is the system's. Lock order: the order, its charges, then whatever the status change locks.
    """
    effect = EFFECTS.get(payload.event_type)
    if effect is None:
        return ""
    payments = await _lock_payments(scope, payload)
    locked = await _lock_order(scope, payload, payments)
    charges = await save_charges(scope, payload, effect, locked, payments)
    if locked is None:
        return "" if effect is NotificationEffect.CHARGE_ONLY else _not_found(payload)
    sums = _sums(locked, payload, effect, charges)
    if sums is None:
        return "the amounts are too large to be counted"
    moves_money = charges.paid or charges.refunded or (effect is NotificationEffect.CHARGED_BACK and charges.is_counted)
    if locked.is_removed and moves_money:
        await restore_order(scope, locked)
    known, before = None, locked
    if charges.of_payments:
        known = await update_known_payments(scope, locked, effect, charges.of_payments)
        locked = known.locked
    if effect is NotificationEffect.CHARGE_ONLY:
        return ""
    if locked.is_removed and not moves_money:
        return charges.problem or _not_found(payload)
    # What is wrong with a charge of a payment that was created here says nothing about the order.
    if payments and charges.problem and not charges.is_counted:
        return charges.problem
    charged_back = effect is NotificationEffect.CHARGED_BACK and not charges.problem
    changed = sums.changed or (charged_back and _is_first(locked, charges))
    applied = await _update_payments(scope, locked, sums, charges, charged_back=charged_back) if changed else []
    changed |= known is not None and known.changes_total
    status, problem = _decide_status(locked, payload, effect, charges, sums)
    if known is not None and not known.is_news and effect in _NEWS_OF_LIVE_PAYMENTS:
        status = None
    status_changed = False
    if status is not None:
        # The mail about a refund takes the place of the one about the status.
        is_refund = sums.refunded > locked.refunded_cents and sends_order_mail(scope, MailType.ORDER_REFUNDED.value)
        status_changed, problem = await _change_status(
            scope, locked, status, force=force, reason=reason, notify=not is_refund
        )
    if changed or (status_changed and status is not None and locked.changes_ledger(status)):
        await write_order_entries(scope, locked.id, payments=applied)
    if changed or status_changed:
        previous = locked.status if status_changed else None
        await events.emit_order_updated(scope, locked.id, previous_status=previous)
    surplus = 0 if charged_back else _surplus(before, locked, status if status_changed else None, sums)
    if surplus > 0 and (late := [each.payment for each in charges.of_payments if each.new_paid]):
        await notify_surplus(scope, locked.id, late[0].number, format_price(surplus, locked.currency))
        problem = problem or f"surplus: {surplus} cents belong to no part of the order"
    return problem


def _surplus(before: LockedOrder, locked: LockedOrder, status: str | None, sums: _PaymentSums) -> int:
    """Return the cents that the store owes the customer now and didn't before: paid for an order that is closed, or a second time."""
    after = replace(locked, status=status or locked.status, paid_cents=sums.paid, refunded_cents=sums.refunded)
    return after.settlement().unapplied_cents - max(0, before.settlement().unapplied_cents)


async def _lock_payments(scope: Scope, payload: NotificationPayload) -> Sequence[ChargedPayment]:
    """Return the payments that were created here as they are under the lock of the order, where one is named or has them."""
    charges = [charge.charge_id for charge in payload.charges]
    if (order := parse_reference(payload.order)) is not None:
        await lock_first(scope, order)
    payments = await find_charged_payments(scope, charges, payload.payment_id)
    if order is None and payments:
        await lock_first(scope, payments[0].order_id)
        payments = await find_charged_payments(scope, charges, payload.payment_id)
    return payments


async def _lock_order(
    scope: Scope, payload: NotificationPayload, payments: Sequence[ChargedPayment]
) -> LockedOrder | None:
    """Lock the order; one that was removed only for the payments that were created here, whose money must not be lost."""
    order = payments[0].order_id if payload.order is None and payments else payload.order
    if order is None:
        return None
    try:
        return await lock_order(scope, order, may_be_removed=bool(payments))
    except NotFound:
        return None


def _not_found(payload: NotificationPayload) -> str:
    return f"order not found: {repr_value(payload.order)}" if payload.order is not None else "order not found"


def _is_first(locked: LockedOrder, charges: ChargeTotals) -> bool:
    """Return whether a chargeback is news: the order's first, or the first of one of its payments."""
    return locked.payment_status != CHARGEBACK or any(
        each.payment.status != PaymentStatus.DISPUTED for each in charges.of_payments
    )


def _sums(
    locked: LockedOrder, payload: NotificationPayload, effect: NotificationEffect, charges: ChargeTotals
) -> _PaymentSums | None:
    """Return the order's payment sums; None when they exceed the column range."""
    received = charges.paid
    if effect is NotificationEffect.PAID and not payload.charges:
        # Without charges nothing can be deduplicated: the paid amount becomes at least the event's amount.
        received = max(0, (payload.amount or 0) - locked.paid_cents)
    paid, refunded = locked.paid_cents + received, locked.refunded_cents + charges.refunded
    if max(paid, refunded) > MAX_CENTS:
        return None
    return _PaymentSums(paid, refunded, (paid, refunded) != (locked.paid_cents, locked.refunded_cents))


async def _update_payments(
    scope: Scope, locked: LockedOrder, sums: _PaymentSums, charges: ChargeTotals, *, charged_back: bool
) -> list[AppliedPayment]:
    received = charges.received
    if not charges.paid and sums.paid > locked.paid_cents:
        received = (ReceivedPayment(sums.paid - locked.paid_cents, "", 1, ANNOUNCED),)
    applied = [AppliedPayment(each.payment.id, each.new_paid) for each in charges.of_payments if each.new_paid]
    for payment in received:
        payment_id = await add_payment(
            scope,
            locked,
            payment.cents,
            kind=payment.kind,
            installments=payment.installments,
            charge_id=payment.charge_id,
        )
        applied.append(AppliedPayment(payment_id, payment.cents))
    await update_payment_totals(scope, locked, sums.paid, sums.refunded, charged_back=charged_back, emit_events=False)
    return applied


def _decide_status(
    locked: LockedOrder,
    payload: NotificationPayload,
    effect: NotificationEffect,
    charges: ChargeTotals,
    sums: _PaymentSums,
) -> tuple[str | None, str]:
    """Return the order's new status, None to keep the current one, and what is wrong."""
    match effect:
        case NotificationEffect.CANCELLED:
            return CANCELLED, ""
        case NotificationEffect.PAYMENT_FAILED:
            return FAILED if payload.is_technical else DECLINED, ""
    if charges.problem and not charges.is_counted:
        return None, charges.problem
    match effect:
        case NotificationEffect.PAID:
            covered = _covered_cents(payload, charges, sums)
            if covered >= locked.total_cents:
                return PROCESSED, ""
            return None, charges.problem or _underpaid(covered, locked)
        case NotificationEffect.UNDERPAID:
            return None, _underpaid(_covered_cents(payload, charges, sums), locked)
        case NotificationEffect.REFUNDED:
            remaining = sums.paid - sums.refunded
            # Refunding an accidental second payment doesn't cancel the order.
            is_still_paid = remaining > 0 and remaining >= locked.total_cents
            is_cancelled = not payload.charges or (charges.is_fully_refunded and not is_still_paid)
            return (CANCELLED if is_cancelled else None), ""
    return None, ""


def _covered_cents(payload: NotificationPayload, charges: ChargeTotals, sums: _PaymentSums) -> int:
    """Return the amount that counts against the total: what these charges paid, refunds ignored, and the rest net of refunds.

    So `reprocess` can set a refunded order to paid again (docs/reference/current.md#gateway-notifications).
    """
    if not payload.charges:
        return sums.paid
    return sums.paid - sums.refunded + charges.own_refunded


def _underpaid(covered: int, locked: LockedOrder) -> str:
    return f"underpaid: {covered} of {locked.total_cents} cents"


async def _change_status(
    scope: Scope, locked: LockedOrder, status: str, *, force: bool, reason: str, notify: bool
) -> tuple[bool, str]:
    """Change the order's status, or leave it and return why."""
    try:
        # A savepoint: insufficient stock is detected after the status was updated.
        async with transaction(scope):
            transition = await apply_transition(
                scope, locked, status, force=force, reason=reason, notify=notify, writes_ledger=False
            )
    except RuleViolation as error:
        if error.reason == OUT_OF_STOCK:
            names = ", ".join(product["name"] for product in error.details["products"])
            return False, f"{OUT_OF_STOCK}: {names}"
        return False, error.message
    return transition is not None, ""
