"""Build and sign notifications of the payment gateway (Pagar.me v5)."""

from __future__ import annotations

import hashlib
import hmac
import itertools
import json
from typing import Any

SECRET = "the gateway's secret of the tests"
_numbers = itertools.count(1)


def charge(order: object, amount: object = 1_000, **more: Any) -> dict[str, Any]:
    """Return a charge for an order; `more` are its other members."""
    return {
        "id": f"ch_{next(_numbers)}",
        "code": "a code of the gateway's",
        "amount": amount,
        "currency": "BRL",
        "status": "paid",
        "payment_method": "credit_card",
        "order": {"id": "or_1", "code": str(order)},
        "metadata": {"order_id": str(order)},
        "last_transaction": {"status": "captured", "installments": 3},
        **more,
    }


def event(type: str, data: Any, **more: Any) -> dict[str, Any]:
    """Return an event about a charge or an order with a unique id."""
    return {
        "id": f"hook_{next(_numbers)}",
        "type": type,
        "created_at": "2026-11-20T12:00:00Z",
        "account": {"id": "acc_1", "name": "Loja"},
        "data": data,
        **more,
    }


def order_event(type: str, order: object, *charges: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return an event about an order and its charges."""
    return event(type, {"id": "or_1", "code": str(order), "charges": list(charges), **more})


def raw(body: Any) -> bytes:
    return body if isinstance(body, bytes) else json.dumps(body).encode()


def signature(body: Any, secret: str = SECRET) -> str:
    return "sha256=" + hmac.new(secret.encode(), raw(body), hashlib.sha256).hexdigest()
