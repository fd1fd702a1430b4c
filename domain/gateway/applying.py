"""Carry out what a notification means: keep its charges, settle the order's money, move its letter. Within the caller's transaction."""

from __future__ import annotations

from dataclasses import dataclass

from domain import events
from domain.catalog.stock import OUT_OF_STOCK
from domain.gateway.charges import Money, ReceivedMoney, keep_charges
from domain.gateway.mapping import Meaning, meaning_of
from domain.gateway.notification import NotificationPayload
from domain.orders.lifecycle import take_step
from domain.orders.locked import LockedOrder, lock_order
from domain.orders.payments import CHARGEBACK, add_payment, settle
from domain.orders.transitions import CANCELLED, DECLINED, FAILED, PROCESSED
from kernel.errors import NotFound, RuleViolation
from kernel.money import MAX_CENTS
from kernel.scope import Scope
from kernel.text import shown
from models.database import transaction


@dataclass(frozen=True, slots=True)
class _Sums:
    """Hold what the order's money has come to, in cents, and whether that is new."""

    paid: int
    refunded: int
    changed: bool


async def carry_out(scope: Scope, told: NotificationPayload, *, force: bool, reason: str) -> str:
    """Do what a notification means and give what is wrong with it, "" for nothing; `force` goes against the table of transitions.

    The scope is the system's. The order is locked first, then its charges, then what the change of its letter locks.
    """
    meaning = meaning_of(told.event_type)
    if meaning is None:
        return ""
    held = await _order(scope, told)
    money = await keep_charges(scope, told, meaning, held)
    if meaning is Meaning.NEWS:
        return ""
    if held is None:
        return f"order not found: {shown(told.order)}" if told.order is not None else "order not found"
    sums = _sums(held, told, meaning, money)
    if sums is None:
        return "the amounts are too large to be counted"
    charged_back = meaning is Meaning.CHARGED_BACK and not money.problem
    changed = sums.changed or (charged_back and held.payment_status != CHARGEBACK)
    if changed:
        await _settle(scope, held, sums, money, charged_back=charged_back)
    letter, problem = _decide(held, told, meaning, money, sums)
    moved = False
    if letter is not None:
        moved, problem = await _move(scope, held, letter, force=force, reason=reason)
    if changed or moved:
        previous = held.status if moved else None
        await events.order_changed(
            scope, held.id, previous_status=previous, cancelled=moved and letter == CANCELLED
        )
    return problem


async def _order(scope: Scope, told: NotificationPayload) -> LockedOrder | None:
    if told.order is None:
        return None
    try:
        return await lock_order(scope, told.order)
    except NotFound:
        return None


def _sums(held: LockedOrder, told: NotificationPayload, meaning: Meaning, money: Money) -> _Sums | None:
    """Add up the order's money; None when no column would hold it."""
    received = sum(each.cents for each in money.received)
    if meaning is Meaning.PAID and not told.charges:
        # Without charges there is nothing to count once: what is paid is at least what the event names.
        received = max(0, (told.amount or 0) - held.paid_cents)
    paid, refunded = held.paid_cents + received, held.refunded_cents + money.refunded
    if max(paid, refunded) > MAX_CENTS:
        return None
    return _Sums(paid, refunded, (paid, refunded) != (held.paid_cents, held.refunded_cents))


async def _settle(scope: Scope, held: LockedOrder, sums: _Sums, money: Money, *, charged_back: bool) -> None:
    received = money.received
    if not received and sums.paid > held.paid_cents:
        received = (ReceivedMoney(sums.paid - held.paid_cents, "", 1),)
    for each in received:
        await add_payment(scope, held, each.cents, kind=each.kind, installments=each.installments)
    await settle(scope, held, sums.paid, sums.refunded, charged_back=charged_back, told=False)


def _decide(
    held: LockedOrder, told: NotificationPayload, meaning: Meaning, money: Money, sums: _Sums
) -> tuple[str | None, str]:
    """Decide by the table which letter the order gets, None for its own, and what is wrong."""
    match meaning:
        case Meaning.CANCELLED:
            return CANCELLED, ""
        case Meaning.REFUSED:
            return FAILED if told.is_technical else DECLINED, ""
    if money.problem and not money.counts:
        return None, money.problem
    match meaning:
        case Meaning.PAID:
            covered = _covered(told, money, sums)
            if covered >= held.total_cents:
                return PROCESSED, ""
            return None, money.problem or _underpaid(covered, held)
        case Meaning.UNDERPAID:
            return None, _underpaid(_covered(told, money, sums), held)
        case Meaning.REFUNDED:
            left = sums.paid - sums.refunded
            # A charge paid by mistake a second time is given back without the order being called off.
            stays_paid = left > 0 and left >= held.total_cents
            is_over = not told.charges or (money.is_whole and not stays_paid)
            return (CANCELLED if is_over else None), ""
    return None, ""


def _covered(told: NotificationPayload, money: Money, sums: _Sums) -> int:
    """Give what stands against the total: what these charges paid, whatever became of it since, and what is left of the rest.

    So an order that was refunded can be set to paid again by `reprocess`, as the contract wants.
    """
    if not told.charges:
        return sums.paid
    return sums.paid - sums.refunded + money.own_refunded


def _underpaid(covered: int, held: LockedOrder) -> str:
    return f"underpaid: {covered} of {held.total_cents} cents"


async def _move(
    scope: Scope, held: LockedOrder, letter: str, *, force: bool, reason: str
) -> tuple[bool, str]:
    """Move the order, or leave it as it is and say why."""
    try:
        # A savepoint: stock that is gone is found out after the letter was changed.
        async with transaction(scope):
            step = await take_step(scope, held, letter, force=force, reason=reason)
    except RuleViolation as refusal:
        if refusal.reason == OUT_OF_STOCK:
            names = ", ".join(product["name"] for product in refusal.details["products"])
            return False, f"{OUT_OF_STOCK}: {names}"
        return False, refusal.message
    return step is not None, ""
