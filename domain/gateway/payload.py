"""Verify a gateway notification's signature on its raw bytes, then parse it (Pagar.me v5; docs/reference/current.md#gateway-signature).

Nothing parses a body that isn't verified. Only the outer form is required, a JSON object: members of a wrong type are ignored, so that any
notification is stored and can be examined.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from domain import stores
from kernel.errors import MalformedRequest, Unauthenticated
from kernel.ids import parse_uuid
from kernel.money import MAX_CENTS
from kernel.request_bodies import MalformedBody, parse_json_object
from kernel.scope import Scope
from kernel.signatures import constant_time_equal, hmac_sha256_hex

MAX_TEXT = 255
# Bounds the work per notification; no order has that many charges.
MAX_CHARGES = 100
_MAX_INSTALLMENTS = 1_000

# Transaction statuses of a technical failure, as opposed to a declined payment (Pagar.me v5).
_TECHNICAL_FAILURES = ("with_error",)
_TIMED_OUT, _SERVER_ERRORS = 408, 500
_SCHEME = "sha256="


@dataclass(frozen=True, slots=True)
class VerifiedBody:
    """A body that may be parsed: signed with the store's secret, or `unsigned` when the store has no secret."""

    body: bytes
    unsigned: bool


@dataclass(frozen=True, slots=True)
class ChargePayload:
    """A charge in a notification; amounts in cents, None when missing. `currency` is empty when missing."""

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
    """A notification: `order` is the store's order reference as the gateway sent it, None when missing.

    `amount` is the event's own amount, for orders without charges. `is_technical`: the payment failed technically. `payment_id` is that of
    the payment that the gateway was asked for, None for a charge that was made elsewhere.
    """

    event_id: str
    event_type: str
    charge_id: str
    order: object
    charges: tuple[ChargePayload, ...]
    amount: int | None
    is_technical: bool
    fingerprint: bytes
    payment_id: UUID | None = None


async def verify(scope: Scope, body: bytes, signatures: Iterable[str | None]) -> VerifiedBody:
    """Verify the body against any of the signatures, `sha256=<hex>` each; without a secret nothing is verified.

    Raises Unauthenticated `invalid signature` for a missing or wrong one.
    """
    secret = await stores.gateway_secret(scope)
    if secret is None:
        return VerifiedBody(body, unsigned=True)
    expected = _SCHEME + hmac_sha256_hex(secret, body)
    # All are compared, in constant time each.
    matches = [
        constant_time_equal(signature.strip().lower(), expected) for signature in signatures if signature is not None
    ]
    if not any(matches):
        raise Unauthenticated("invalid signature")
    return VerifiedBody(body, unsigned=False)


def parse_notification(verified: VerifiedBody) -> NotificationPayload:
    """Parse a notification; raises MalformedRequest (400 `invalid request body`) unless it is a JSON object."""
    try:
        body = parse_json_object(verified.body)
    except MalformedBody as error:
        raise MalformedRequest(detail=str(error)) from error
    event_id, event_type = _text(body.get("id")), _text(body.get("type"))
    data = _object(body.get("data"))
    charge_objects = [data] if event_type.startswith("charge.") else _objects(data.get("charges"))
    # Of a charge listed twice the last occurrence counts.
    charges = {charge.charge_id: charge for charge in map(_charge, charge_objects) if charge.charge_id}
    first_charge_id = _text(charge_objects[0].get("id")) if charge_objects else ""
    paid_amount = _cents(data.get("paid_amount"))
    return NotificationPayload(
        event_id=event_id[:MAX_TEXT],
        event_type=event_type[:MAX_TEXT],
        charge_id=first_charge_id[:MAX_TEXT],
        order=_order(data),
        charges=tuple(charges.values()),
        amount=_cents(data.get("amount")) if paid_amount is None else paid_amount,
        is_technical=all(map(_is_technical, charge_objects)) if charge_objects else _is_technical(data),
        fingerprint=_fingerprint(event_id, event_type, first_charge_id, verified.body),
        payment_id=parse_uuid(_object(data.get("metadata")).get("payment_id")),
    )


def _fingerprint(event_id: str, event_type: str, charge_id: str, body: bytes) -> bytes:
    """Hash what identifies a notification: the event's id, else type, charge and body, for idempotency."""
    if event_id:
        return hashlib.sha256(b"event\0" + event_id.encode()).digest()
    prefix = f"body\0{event_type}\0{charge_id}\0".encode()
    return hashlib.sha256(prefix + hashlib.sha256(body).digest()).digest()


def _order(data: Mapping[str, Any]) -> object:
    candidates = (
        _object(data.get("metadata")).get("order_id"),
        _object(data.get("order")).get("code"),
        data.get("code"),
    )
    return next((reference for reference in candidates if reference not in (None, "")), None)


def _charge(charge: Mapping[str, Any]) -> ChargePayload:
    transaction = _object(charge.get("last_transaction"))
    return ChargePayload(
        charge_id=_text(charge.get("id"))[:MAX_TEXT],
        status=_text(charge.get("status"))[:MAX_TEXT],
        currency=_text(charge.get("currency"))[:MAX_TEXT].upper(),
        payment_method=_text(charge.get("payment_method"))[:MAX_TEXT],
        installments=_installments(transaction.get("installments")),
        amount=_cents(charge.get("amount")),
        paid_amount=_cents(charge.get("paid_amount")),
        canceled_amount=_cents(charge.get("canceled_amount")),
        is_technical=_is_technical(charge),
    )


def _is_technical(charge: Mapping[str, Any]) -> bool:
    """Return whether the gateway itself failed: a transaction `with_error`, or a timeout or 5xx code in its response."""
    transaction = _object(charge.get("last_transaction"))
    if transaction.get("status") in _TECHNICAL_FAILURES:
        return True
    code = _text(_object(transaction.get("gateway_response")).get("code"))
    if not (code.isascii() and code.isdigit() and len(code) == 3):
        return False
    return int(code) == _TIMED_OUT or int(code) >= _SERVER_ERRORS


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _objects(value: object) -> list[Mapping[str, Any]]:
    if not isinstance(value, list):
        return []
    return [item for item in value[:MAX_CHARGES] if isinstance(item, dict)]


def _text(value: object) -> str:
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
