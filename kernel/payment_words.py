"""The kinds and statuses of payments (docs/payments.md#statuses)."""

from __future__ import annotations

from enum import StrEnum


class PaymentKind(StrEnum):
    """How a payment is made. OFFLINE has no gateway: the shop confirms it."""

    PIX = "PIX"
    BOLETO = "BOLETO"
    CARD = "CARD"
    OFFLINE = "OFFLINE"


class PaymentStatus(StrEnum):
    """The status of a payment. A payment is live while it may still be paid, and received once money has arrived."""

    PENDING = "PENDING"
    AUTHORIZED = "AUTHORIZED"
    PAID = "PAID"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    EXPIRED = "EXPIRED"
    REFUNDED = "REFUNDED"
    PARTIALLY_REFUNDED = "PARTIALLY_REFUNDED"
    DISPUTED = "DISPUTED"


LIVE = frozenset({PaymentStatus.PENDING, PaymentStatus.AUTHORIZED})
RECEIVED = frozenset(
    {PaymentStatus.PAID, PaymentStatus.PARTIALLY_REFUNDED, PaymentStatus.REFUNDED, PaymentStatus.DISPUTED}
)
