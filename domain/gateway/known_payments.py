"""What a notification changes in the payments that were created here: the status of each by the effect of the event on its charge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from domain.gateway.charges import ChargeOfPayment
from domain.gateway.mapping import NotificationEffect
from domain.orders import charged_payments
from domain.orders.charged_payments import PaymentChange
from domain.orders.locked import LockedOrder
from kernel.payment_words import LIVE, PaymentStatus
from kernel.scope import Scope

_EXPIRED = "expired"
_DECLINED = {"code": "declined", "message": "O pagamento foi recusado."}
_TECHNICAL = {"code": "technical", "message": "O pagamento não pôde ser processado."}


@dataclass(frozen=True, slots=True)
class KnownPayments:
    """The order after the changes of its payments.

    `is_news`: a live payment ended that the shop didn't cancel itself. `changes_total`: the interest of instalments was added or removed.
    """

    locked: LockedOrder
    is_news: bool
    changes_total: bool


async def update_known_payments(
    scope: Scope, locked: LockedOrder, effect: NotificationEffect, charges: Sequence[ChargeOfPayment]
) -> KnownPayments:
    """Update the payments of these charges, which count, and return the locked order with its total."""
    changes = [_change(scope, effect, charge) for charge in charges]
    updated = await charged_payments.update_payments(scope, locked, changes)
    is_news = any(
        change.payment.status in LIVE
        and change.status not in (change.payment.status, PaymentStatus.EXPIRED)
        and not change.payment.is_cancel_requested
        for change in changes
    )
    return KnownPayments(updated, is_news, updated.total_cents != locked.total_cents)


def _change(scope: Scope, effect: NotificationEffect, charge: ChargeOfPayment) -> PaymentChange:
    payment = charge.payment
    status = _status(scope, effect, charge)
    failure = None
    if status is PaymentStatus.FAILED:
        failure = _TECHNICAL if charge.charge.is_technical else _DECLINED
    return PaymentChange(payment, charge.charge.charge_id, status, charge.new_paid, charge.refunded, failure)


def _status(scope: Scope, effect: NotificationEffect, charge: ChargeOfPayment) -> PaymentStatus:
    """Return the status of a payment after an event about its charge."""
    payment = charge.payment
    current = PaymentStatus(payment.status)
    paid_cents = (payment.paid_cents or 0) + charge.new_paid
    # A chargeback stays, as that of the order does.
    if effect is NotificationEffect.CHARGED_BACK or current is PaymentStatus.DISPUTED:
        return PaymentStatus.DISPUTED
    if charge.refunded and paid_cents:
        return PaymentStatus.REFUNDED if charge.is_fully_refunded else PaymentStatus.PARTIALLY_REFUNDED
    if paid_cents:
        return PaymentStatus.PAID
    if current not in LIVE:
        return current
    if effect is NotificationEffect.PAYMENT_FAILED:
        is_late = payment.expires_at is not None and payment.expires_at <= scope.now
        return PaymentStatus.EXPIRED if is_late or charge.charge.status == _EXPIRED else PaymentStatus.FAILED
    if effect in (NotificationEffect.CANCELLED, NotificationEffect.REFUNDED):
        return PaymentStatus.CANCELLED
    return current
