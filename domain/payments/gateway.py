"""The protocol of payment gateways: create, read, cancel and refund the charge of a payment.

A gateway is called outside of transactions only. It raises `GatewayRefused` when it has definitely not done what was asked, and
`GatewayUnanswered` when that is unknown; `domain/payments/settlement.py` decides what follows. Its notifications arrive at the store's
route, which `domain/gateway/` verifies and reads for all of them; their `metadata` have the `order_id` and `payment_id` of the request.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import MAXYEAR, MINYEAR, UTC, datetime
from typing import Protocol
from uuid import UUID

from kernel.payment_words import PaymentKind as PaymentKind
from kernel.payment_words import PaymentStatus as PaymentStatus


@dataclass(frozen=True, slots=True)
class Payer:
    """Who pays. `document` is a CPF or CNPJ of digits, "" if unknown; `address` has the columns of an order's address, may be empty."""

    name: str
    email: str
    document: str
    phone: str
    address: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ChargeItem:
    """A part of the amount, in cents for the whole quantity. The items of a request add up to its amount."""

    code: str
    description: str
    quantity: int
    amount_cents: int


@dataclass(frozen=True, slots=True)
class Share:
    """What a recipient of the gateway gets of an amount, or gives back of it, in cents; `is_liable` for a chargeback."""

    recipient_id: str
    amount_cents: int
    is_store: bool
    is_liable: bool
    pays_fees: bool


@dataclass(frozen=True, slots=True)
class ChargeRequest:
    """What a gateway is asked to charge. `payment_id` is the idempotency key: repeated, it names the same charge.

    `expires_at` is None for cards. Without `shares` the store gets the amount.
    """

    payment_id: UUID
    order_id: UUID
    order_number: int
    kind: PaymentKind
    amount_cents: int
    currency: str
    installments: int
    card_token: str | None
    expires_at: datetime | None
    payer: Payer
    items: tuple[ChargeItem, ...]
    shares: tuple[Share, ...]
    statement_descriptor: str


@dataclass(frozen=True, slots=True)
class PixCode:
    """The code that a bank's program pays ("copia e cola"); `qr_png_url` is "" where the gateway has no picture of it."""

    code: str
    qr_png_url: str = ""


@dataclass(frozen=True, slots=True)
class Boleto:
    """A boleto: its line of 47 digits, the 44 digits of its barcode, its document and its due date."""

    line: str
    barcode: str
    pdf_url: str
    due_at: datetime


@dataclass(frozen=True, slots=True)
class Card:
    """What a shop may know of a card."""

    brand: str
    last_four: str


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a payment failed. `code` is one of `declined`, `technical` or a gateway's own; `message` may be shown to the customer."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class ChargeState:
    """A charge as its gateway reports it; amounts in cents. `paid_cents` includes what was refunded."""

    charge_id: str
    status: PaymentStatus
    amount_cents: int
    currency: str
    paid_cents: int = 0
    refunded_cents: int = 0
    expires_at: datetime | None = None
    pix: PixCode | None = None
    boleto: Boleto | None = None
    card: Card | None = None
    failure: Failure | None = None


class GatewayRefused(Exception):
    """The gateway has definitely not done it. `code` is a gateway's word, `message` may be shown to the customer."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


class GatewayNotCalled(GatewayRefused):
    """Nothing was sent this time, as when the gateway can't be reached at all; what an earlier call did is not known."""


class GatewayUnanswered(Exception):
    """It is unknown whether the gateway has done it: time-out, lost connection, a status from 500, an answer that isn't one."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def read_time(text: str) -> datetime | None:
    """Return a time of a gateway's answer in UTC, which it is in if it doesn't say otherwise; None for what can't be used as one."""
    try:
        # Up to six digits of a fraction are read.
        written = datetime.fromisoformat(text)
        time = written.astimezone(UTC) if written.tzinfo else written.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None
    # Near the ends of the calendar another time zone, or a minute more, has no date.
    return time if MINYEAR < time.year < MAXYEAR else None


class PaymentGateway(Protocol):
    """A gateway with the parameters of one payment method. Each method raises `GatewayRefused` or `GatewayUnanswered`."""

    name: str
    splits: bool
    """Whether it pays the shares of a charge to their recipients itself; one that doesn't is asked for no shares."""
    public_key: str
    """The key that a page needs to make a token of a card; "" where there is none."""

    async def create(self, request: ChargeRequest) -> ChargeState:
        """Create the charge of a payment; repeated with the same payment, return the charge that exists."""

    async def read(self, payment_id: UUID, charge_id: str | None) -> ChargeState | None:
        """Return the charge of a payment; None if the gateway knows no such payment."""

    async def cancel(self, charge_id: str, key: str) -> ChargeState:
        """Cancel a charge that isn't paid; `key` is the idempotency key."""

    async def refund(self, charge_id: str, amount_cents: int, key: str, shares: tuple[Share, ...] = ()) -> ChargeState:
        """Refund a part of a paid charge, in cents; `key` is the idempotency key: repeated, nothing more is refunded.

        `shares` are taken back from the recipients of a charge that was divided; they add up to the amount.
        """
