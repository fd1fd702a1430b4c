"""Read a charge of Pagar.me (docs/payments-pagarme.md#charges).

What is missing or of another type than documented makes the answer none: `GatewayUnanswered`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from domain.payments.gateway import (
    Boleto,
    Card,
    ChargeState,
    Failure,
    GatewayUnanswered,
    PaymentStatus,
    PixCode,
    read_time,
)
from kernel.clock import now
from kernel.money import MAX_CENTS
from kernel.text import has_forbidden_characters

_CHARGE_ID = re.compile(r"[A-Za-z0-9_-]{1,100}")
_BARCODE = re.compile(r"[0-9]{44}")
_LINE = re.compile(r"[0-9]{47}")
_LAST_FOUR = re.compile(r"[0-9]{4}")
_LINK = re.compile(r"https://[^\s<>\"\\]{1,2000}")
_NOT_CODE = re.compile(r"[^a-z0-9_]+")
_AUTHORIZED = ("authorized_pending_capture", "waiting_capture")
_TECHNICAL = "with_error"
_MAX_TEXT = 512
_DECLINED = "O pagamento foi recusado."
_FAILED = "O pagamento não pôde ser processado. Tente outra vez."


def read_charge(charge: Mapping[str, Any]) -> ChargeState:
    """Return the state of a charge; raise `GatewayUnanswered`."""
    charge_id = _text(charge, "id")
    if not _CHARGE_ID.fullmatch(charge_id):
        raise GatewayUnanswered("the charge has no id")
    transaction = _object(charge.get("last_transaction"))
    status, paid, refunded = _status(charge, transaction)
    if status in (PaymentStatus.CANCELLED, PaymentStatus.FAILED) and _is_past(transaction):
        status = PaymentStatus.EXPIRED
    method = charge.get("payment_method")
    return ChargeState(
        charge_id=charge_id,
        status=status,
        amount_cents=_required_cents(charge, "amount"),
        currency=_text(charge, "currency").upper(),
        paid_cents=paid,
        refunded_cents=refunded,
        expires_at=_time(transaction.get("expires_at")) if method == "pix" else None,
        pix=_pix(transaction) if method == "pix" else None,
        boleto=_boleto(transaction) if method == "boleto" else None,
        card=_card(transaction) if method == "credit_card" else None,
        failure=_failure(transaction) if status is PaymentStatus.FAILED else None,
    )


def _status(charge: Mapping[str, Any], transaction: Mapping[str, Any]) -> tuple[PaymentStatus, int, int]:
    """Return the status with what was paid and refunded of the charge, in cents."""
    amount, paid, refunded = (_cents(charge, name) for name in ("amount", "paid_amount", "canceled_amount"))
    match charge.get("status"):
        case "pending" | "processing":
            is_authorized = transaction.get("status") in _AUTHORIZED
            return (PaymentStatus.AUTHORIZED if is_authorized else PaymentStatus.PENDING), 0, 0
        case "paid" | "overpaid" | "underpaid":
            paid = paid or amount
            if refunded and refunded >= paid:
                return PaymentStatus.REFUNDED, paid, paid
            return (PaymentStatus.PARTIALLY_REFUNDED if refunded else PaymentStatus.PAID), paid, refunded
        case "canceled":
            # A charge that was paid is refunded by cancelling it.
            return (PaymentStatus.REFUNDED, paid, paid) if paid else (PaymentStatus.CANCELLED, 0, 0)
        case "chargedback":
            return PaymentStatus.DISPUTED, paid or amount, min(refunded, paid or amount)
        case "failed":
            return PaymentStatus.FAILED, 0, 0
    raise GatewayUnanswered("the charge has a status that isn't documented")


def _is_past(transaction: Mapping[str, Any]) -> bool:
    """Return whether the time to pay a Pix or boleto is over: then it was neither cancelled nor declined."""
    until = _time(transaction.get("expires_at")) or _time(transaction.get("due_at"))
    return until is not None and until <= now()


def _failure(transaction: Mapping[str, Any]) -> Failure:
    """Return why a charge failed. Pagar.me's messages are for the shop: the customer gets ours."""
    if transaction.get("status") == _TECHNICAL:
        return Failure("technical", _FAILED)
    code = _NOT_CODE.sub("_", str(transaction.get("acquirer_return_code") or "").lower())[:40].strip("_")
    return Failure(f"declined_{code}" if code else "declined", _DECLINED)


def _pix(transaction: Mapping[str, Any]) -> PixCode | None:
    code = transaction.get("qr_code")
    return PixCode(_text(transaction, "qr_code"), _link(transaction.get("qr_code_url"))) if code else None


def _boleto(transaction: Mapping[str, Any]) -> Boleto | None:
    line = re.sub(r"[ .]", "", _text(transaction, "line"))
    due_at = _time(transaction.get("due_at"))
    if not line and due_at is None:
        return None
    if not _LINE.fullmatch(line) or due_at is None:
        raise GatewayUnanswered("the boleto has no line of 47 digits, or no due date")
    # The documented member `barcode` is the address of a picture.
    barcode = transaction.get("barcode")
    digits = barcode if isinstance(barcode, str) and _BARCODE.fullmatch(barcode) else barcode_of_line(line)
    return Boleto(line, digits, _link(transaction.get("pdf")), due_at)


def barcode_of_line(line: str) -> str:
    """Return the 44 digits of the barcode of a line: its fields without their check digits, in the barcode's order (FEBRABAN)."""
    return line[:4] + line[32:47] + line[4:9] + line[10:20] + line[21:31]


def _card(transaction: Mapping[str, Any]) -> Card | None:
    card = _object(transaction.get("card"))
    last_four = card.get("last_four_digits")
    if not isinstance(last_four, str) or not _LAST_FOUR.fullmatch(last_four):
        return None
    return Card(_text(card, "brand").lower()[:40], last_four)


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(record: Mapping[str, Any], name: str) -> str:
    value = record.get(name)
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > _MAX_TEXT or has_forbidden_characters(value):
        raise GatewayUnanswered(f"the charge's {name} is no short text")
    return value


def _link(value: object) -> str:
    """Return an address that a page may show; "" for any other."""
    return value if isinstance(value, str) and _LINK.fullmatch(value) else ""


def _cents(record: Mapping[str, Any], name: str) -> int:
    return 0 if record.get(name) is None else _required_cents(record, name)


def _required_cents(record: Mapping[str, Any], name: str) -> int:
    value = record.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MAX_CENTS:
        raise GatewayUnanswered(f"the charge's {name} is no amount in cents")
    return value


def _time(value: object) -> datetime | None:
    return read_time(value) if isinstance(value, str) else None
