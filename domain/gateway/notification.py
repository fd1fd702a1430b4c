"""Read what the gateway tells (the form of Pagar.me v5) into plain facts.

Only the form of the whole is insisted on, a JSON object: a member of a wrong type tells nothing, so that whatever a gateway sends is
kept and can be looked at.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from domain.gateway.signature import Verified
from kernel.errors import MalformedRequest
from kernel.json_bodies import MalformedBody, load_object
from kernel.money import MAX_CENTS

MAX_WORD = 255
# More than any order is paid with; what a notification makes us do must have an end.
MAX_CHARGES = 100
_MAX_INSTALLMENTS = 1_000

# What the gateway calls a transaction that broke, rather than one that was refused (Pagar.me v5, transaction status).
_BROKEN = ("with_error",)
_TIMED_OUT, _SERVER_ERRORS = 408, 500


@dataclass(frozen=True, slots=True)
class ChargePayload:
    """Tell of one charge; amounts in cents, None where the gateway gave none. `currency` is empty when it gave none."""

    charge_id: str
    status: str
    currency: str
    payment_method: str
    installments: int
    amount: int | None
    paid_amount: int | None
    canceled_amount: int | None
    is_technical: bool


@dataclass(frozen=True, slots=True)
class NotificationPayload:
    """Tell of an event: `order` is the reference to the store's order as the gateway gave it, None for none.

    `amount` is the sum the event itself names, for an order that comes without charges. `is_technical`: the payment broke.
    """

    event_id: str
    event_type: str
    charge_id: str
    order: object
    charges: tuple[ChargePayload, ...]
    amount: int | None
    is_technical: bool
    fingerprint: bytes


def parse(verified: Verified) -> NotificationPayload:
    """Read a notification; raises MalformedRequest (400 `invalid request body`) for what is not a JSON object."""
    try:
        body = load_object(verified.body)
    except MalformedBody as error:
        raise MalformedRequest(detail=str(error)) from error
    event_id, event_type = _word(body.get("id")), _word(body.get("type"))
    data = _object(body.get("data"))
    told = [data] if event_type.startswith("charge.") else _objects(data.get("charges"))
    # A charge told of twice is told of as it was last.
    charges = {charge.charge_id: charge for charge in map(_charge, told) if charge.charge_id}
    first = _word(told[0].get("id")) if told else ""
    paid_amount = _cents(data.get("paid_amount"))
    return NotificationPayload(
        event_id=event_id[:MAX_WORD],
        event_type=event_type[:MAX_WORD],
        charge_id=first[:MAX_WORD],
        order=_order(data),
        charges=tuple(charges.values()),
        amount=_cents(data.get("amount")) if paid_amount is None else paid_amount,
        is_technical=all(map(_is_technical, told)) if told else _is_technical(data),
        fingerprint=_fingerprint(event_id, event_type, first, verified.body),
    )


def _fingerprint(event_id: str, event_type: str, charge_id: str, body: bytes) -> bytes:
    """Hash what tells notifications apart: the event's id, else type, charge and body (decisions section 5, Answer)."""
    if event_id:
        return hashlib.sha256(b"event\0" + event_id.encode()).digest()
    told = f"body\0{event_type}\0{charge_id}\0".encode()
    return hashlib.sha256(told + hashlib.sha256(body).digest()).digest()


def _order(data: Mapping[str, Any]) -> object:
    candidates = (
        _object(data.get("metadata")).get("order_id"),
        _object(data.get("order")).get("code"),
        data.get("code"),
    )
    return next((each for each in candidates if each not in (None, "")), None)


def _charge(told: Mapping[str, Any]) -> ChargePayload:
    transaction = _object(told.get("last_transaction"))
    return ChargePayload(
        charge_id=_word(told.get("id"))[:MAX_WORD],
        status=_word(told.get("status"))[:MAX_WORD],
        currency=_word(told.get("currency"))[:MAX_WORD].upper(),
        payment_method=_word(told.get("payment_method"))[:MAX_WORD],
        installments=_installments(transaction.get("installments")),
        amount=_cents(told.get("amount")),
        paid_amount=_cents(told.get("paid_amount")),
        canceled_amount=_cents(told.get("canceled_amount")),
        is_technical=_is_technical(told),
    )


def _is_technical(told: Mapping[str, Any]) -> bool:
    """Say whether the gateway itself failed: a transaction `with_error`, or a time-out or error code (5xx) of its response."""
    transaction = _object(told.get("last_transaction"))
    if transaction.get("status") in _BROKEN:
        return True
    code = _word(_object(transaction.get("gateway_response")).get("code"))
    if not (code.isascii() and code.isdigit() and len(code) == 3):
        return False
    return int(code) == _TIMED_OUT or int(code) >= _SERVER_ERRORS


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _objects(value: object) -> list[Mapping[str, Any]]:
    if not isinstance(value, list):
        return []
    return [each for each in value[:MAX_CHARGES] if isinstance(each, dict)]


def _word(value: object) -> str:
    if isinstance(value, str):
        return value
    return str(value) if _is_whole(value) else ""


def _cents(value: object) -> int | None:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and _is_whole(value) and 0 <= value <= MAX_CENTS else None


def _installments(value: object) -> int:
    return value if isinstance(value, int) and 1 <= value <= _MAX_INSTALLMENTS else 1


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
