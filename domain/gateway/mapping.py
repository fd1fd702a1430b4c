"""Map each gateway event type to its effect on the order (docs/reference/current.md#gateway-mapping)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto


class NotificationEffect(Enum):
    """The effect of an event on an order's payment."""

    PAID = auto()  # the order becomes P when the paid amount covers the total
    UNDERPAID = auto()  # a partial payment: recorded, for staff to resolve
    PAYMENT_FAILED = auto()  # the order becomes D, or F on a technical failure
    REFUNDED = auto()  # the order becomes I when the whole amount was refunded
    PARTIALLY_REFUNDED = auto()  # a partial refund: only refunded_cents grows
    CANCELLED = auto()  # the order becomes I
    CHARGED_BACK = auto()  # payment_status becomes chargeback
    CHARGE_ONLY = auto()  # updates the charge only, not the order


EFFECTS: Mapping[str, NotificationEffect] = {
    "charge.paid": NotificationEffect.PAID,
    "charge.overpaid": NotificationEffect.PAID,
    "order.paid": NotificationEffect.PAID,
    "charge.underpaid": NotificationEffect.UNDERPAID,
    "charge.payment_failed": NotificationEffect.PAYMENT_FAILED,
    "charge.antifraud_reproved": NotificationEffect.PAYMENT_FAILED,
    "order.payment_failed": NotificationEffect.PAYMENT_FAILED,
    "charge.refunded": NotificationEffect.REFUNDED,
    "order.canceled": NotificationEffect.CANCELLED,
    "charge.partial_canceled": NotificationEffect.PARTIALLY_REFUNDED,
    "charge.chargedback": NotificationEffect.CHARGED_BACK,
    # The other Pagar.me events. Types not listed here change nothing.
    "charge.created": NotificationEffect.CHARGE_ONLY,
    "charge.updated": NotificationEffect.CHARGE_ONLY,
    "charge.pending": NotificationEffect.CHARGE_ONLY,
    "charge.processing": NotificationEffect.CHARGE_ONLY,
    "charge.antifraud_approved": NotificationEffect.CHARGE_ONLY,
    "charge.antifraud_manual": NotificationEffect.CHARGE_ONLY,
    "charge.antifraud_pending": NotificationEffect.CHARGE_ONLY,
    "order.created": NotificationEffect.CHARGE_ONLY,
    "order.updated": NotificationEffect.CHARGE_ONLY,
    "order.closed": NotificationEffect.CHARGE_ONLY,
}
