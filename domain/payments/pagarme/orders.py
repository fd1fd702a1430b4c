"""Write the order that Pagar.me is asked to charge, POST /orders (docs/payments-pagarme.md#create)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from domain.payments.gateway import ChargeItem, ChargeRequest, Payer, PaymentKind, Share
from kernel.clock import format_rfc3339

_MAX_NAME, _MAX_EMAIL, _MAX_DESCRIPTION, _MAX_CODE, _MAX_LINE, _MAX_INSTRUCTIONS = 64, 64, 256, 52, 256, 256
_MAX_STATEMENT, _MAX_DOCUMENT_NUMBER = 13, 16
_CNPJ_LENGTH = 14
_NOT_DIGITS = re.compile(r"[^0-9]")
_BRAZIL = "55"


def order_body(request: ChargeRequest) -> dict[str, Any]:
    """Return the body. `code` is the store's order, by which notifications name it; the payment is in the metadata."""
    metadata = {"payment_id": str(request.payment_id), "order_id": str(request.order_id)}
    payment: dict[str, Any] = {"amount": request.amount_cents, "metadata": metadata, **_method(request)}
    if request.shares:
        payment["split"] = split_rules(request.shares)
    return {
        "code": str(request.order_id),
        "closed": True,
        "items": [_item(item) for item in request.items],
        "customer": _customer(request.payer),
        "payments": [payment],
        "metadata": metadata,
    }


def _item(item: ChargeItem) -> dict[str, Any]:
    # The amount of an item is multiplied by its quantity, and a discounted line can't always be divided by it.
    name = item.description if item.quantity == 1 else f"{item.quantity} x {item.description}"
    return {
        "code": item.code[:_MAX_CODE] or "item",
        "description": name[:_MAX_DESCRIPTION] or "Item",
        "quantity": 1,
        "amount": item.amount_cents,
    }


def _customer(payer: Payer) -> dict[str, Any]:
    customer: dict[str, Any] = {
        "name": payer.name[:_MAX_NAME],
        "email": payer.email[:_MAX_EMAIL],
        "type": "company" if len(payer.document) == _CNPJ_LENGTH else "individual",
    }
    if payer.document:
        customer |= {
            "document": payer.document,
            "document_type": "CNPJ" if len(payer.document) == _CNPJ_LENGTH else "CPF",
        }
    if (phone := _phone(payer.phone)) is not None:
        customer["phones"] = {"mobile_phone": phone}
    if (address := _address(payer.address)) is not None:
        customer["address"] = address
    return customer


def _phone(text: str) -> dict[str, str] | None:
    """Return a Brazilian phone with its area code; None for another one."""
    digits = _NOT_DIGITS.sub("", text)
    if len(digits) in (12, 13) and digits.startswith(_BRAZIL):
        digits = digits[2:]
    if len(digits) not in (10, 11):
        return None
    return {"country_code": _BRAZIL, "area_code": digits[:2], "number": digits[2:]}


def _address(address: Mapping[str, Any]) -> dict[str, str] | None:
    values = {name: str(address.get(name) or "") for name in ("street", "number", "complement", "district", "city")}
    zipcode = _NOT_DIGITS.sub("", str(address.get("zipcode") or ""))
    if not (zipcode and values["street"] and values["city"]):
        return None
    written = {
        "line_1": ", ".join(filter(None, (values["number"], values["street"], values["district"])))[:_MAX_LINE],
        "line_2": values["complement"][:_MAX_LINE],
        "zip_code": zipcode,
        "city": values["city"][:_MAX_NAME],
        "state": str(address.get("state") or ""),
        "country": str(address.get("country") or "BR"),
    }
    return {name: value for name, value in written.items() if value}


def _method(request: ChargeRequest) -> dict[str, Any]:
    expires_at = None if request.expires_at is None else format_rfc3339(request.expires_at)
    match request.kind:
        case PaymentKind.PIX:
            return {"payment_method": "pix", "pix": {"expires_at": expires_at}}
        case PaymentKind.BOLETO:
            boleto = {
                "instructions": f"Pedido {request.order_number}"[:_MAX_INSTRUCTIONS],
                "due_at": expires_at,
                "document_number": str(request.order_number)[:_MAX_DOCUMENT_NUMBER],
                "type": "DM",
            }
            return {"payment_method": "boleto", "boleto": boleto}
        case PaymentKind.CARD:
            card: dict[str, Any] = {
                "operation_type": "auth_and_capture",
                "installments": request.installments,
                "statement_descriptor": request.statement_descriptor[:_MAX_STATEMENT],
                "card_token": request.card_token,
            }
            if (address := _address(request.payer.address)) is not None:
                card["card"] = {"billing_address": address}
            return {"payment_method": "credit_card", "credit_card": card}
        case PaymentKind.OFFLINE:
            raise ValueError("a gateway takes no offline payments")


def split_rules(shares: Sequence[Share]) -> list[dict[str, Any]]:
    """Return the rules that divide an amount; what remains of its receivables is the store's, or else the last recipient's."""
    remainder = next((share for share in shares if share.is_store), shares[-1])
    return [
        {
            "type": "flat",
            "amount": share.amount_cents,
            "recipient_id": share.recipient_id,
            "options": {
                "liable": share.is_liable,
                "charge_processing_fee": share.pays_fees,
                "charge_remainder_fee": share is remainder,
            },
        }
        for share in shares
    ]
