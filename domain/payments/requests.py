"""What a caller sends to create a payment, and what its gateway is asked for.

Never a card number: a field that looks like one is refused, and its value is in no message (docs/payments.md#cards).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from domain.addresses import ADDRESS
from domain.ledger.split import ChargeShare
from domain.orders.payments import ChargedPayment
from domain.payments.gateway import ChargeItem, ChargeRequest, Payer, PaymentKind
from domain.payments.split import gateway_shares
from domain.payments.statement import statement_descriptor
from kernel.check_digits import reject_card_numbers
from kernel.documents import is_cnpj, is_cpf, normalize_document
from kernel.errors import ValidationFailed
from kernel.fields import InputField, InputValues, email_text, integer, read_fields, short_text, text
from kernel.installments import MAX_INSTALLMENTS
from kernel.money import allocate
from kernel.scope import Scope
from kernel.text import InvalidValue

_ONLINE = (PaymentKind.PIX, PaymentKind.BOLETO, PaymentKind.CARD)
_MAX_TOKEN = 500


def document_text(value: object) -> str:
    """Read a CPF or CNPJ with valid check digits, with or without punctuation; blank for none. The message doesn't repeat it."""
    document = normalize_document(str(short_text(value)))
    if document and not (is_cpf(document) or is_cnpj(document)):
        raise InvalidValue("is no valid CPF or CNPJ")
    return document


_FIELDS: Mapping[str, InputField] = {
    "card_token": InputField("card_token", text(_MAX_TOKEN), code="card_token_invalid"),
    "installments": InputField("installments", integer(1, MAX_INSTALLMENTS), code="installments_invalid"),
}
_BILLING: Mapping[str, InputField] = {
    "name": InputField("name", short_text),
    "email": InputField("email", email_text, code="email_invalid"),
    "document": InputField("document", document_text, code="document_invalid"),
    "phone": InputField("phone", short_text),
}
_ADDRESS_FIELDS = {name: declared for name, declared in ADDRESS.items() if name not in ("name", "phone")}

ORDER_COLUMNS = """t.email, btrim(t.firstname || ' ' || t.lastname) AS name, t.phone,
    coalesce(nullif(t.fields_data ->> 'cpf', ''), nullif(t.fields_data ->> 'cnpj', ''), u.cpf, u.cnpj, '') AS document,
    (SELECT row_to_json(a) FROM order_addresses a WHERE a.tenant_id = t.tenant_id AND a.order_id = t.id
        ORDER BY a.kind LIMIT 1)::text AS address,
    (SELECT json_agg(json_build_object('code', l.product_code, 'name', l.product_name, 'quantity', l.quantity,
        'cents', l.quantity * l.price_cents) ORDER BY l.position, l.id)
        FROM order_lines l WHERE l.tenant_id = t.tenant_id AND l.order_id = t.id)::text AS lines"""
"""What `build_request` reads of an order `t` and its customer `u`, besides its amounts."""


@dataclass(frozen=True, slots=True)
class PaymentInput:
    """The validated input of a new payment. `billing` has only what was sent."""

    kind: PaymentKind
    card_token: str = field(default="", repr=False)
    installments: int = 1
    billing: Mapping[str, Any] = field(default_factory=dict, repr=False)


def parse_input(kind: str, values: InputValues) -> PaymentInput:
    """Validate the input of a new payment: `card_token`, `installments`, `billing`; raises ValidationFailed."""
    values = {name: value for name, value in values.items() if value is not None}
    reject_card_numbers(values)
    if kind not in _ONLINE:
        raise ValidationFailed(f"kind is {kind}; expected {', '.join(_ONLINE)}", field="kind", code="kind_invalid")
    fields = read_fields(_FIELDS, values)
    payment_kind, token = PaymentKind(kind), fields.get("card_token", "").strip()
    if (payment_kind is PaymentKind.CARD) is not bool(token):
        expected = "is required for a card" if not token else "is for cards only"
        raise ValidationFailed(f"card_token {expected}", field="card_token", code="card_token_invalid")
    billing = _read_billing(values.get("billing") or {})
    return PaymentInput(payment_kind, token, fields.get("installments", 1), billing)


def _read_billing(values: Mapping[str, Any]) -> dict[str, Any]:
    billing = read_fields(_BILLING, values, within="billing")
    address = values.get("address")
    if address:
        billing["address"] = read_fields(_ADDRESS_FIELDS, address, within="billing.address")
    return billing


def build_request(
    scope: Scope, order: Mapping[str, Any], payment: ChargedPayment, shares: Sequence[ChargeShare], input: PaymentInput
) -> ChargeRequest:
    """Return what the gateway is asked for; `order` has the columns above, its ids and amounts."""
    return ChargeRequest(
        payment_id=payment.public_id,
        order_id=order["public_id"],
        order_number=order["id"],
        kind=input.kind,
        amount_cents=payment.amount_cents,
        currency=payment.currency,
        installments=input.installments,
        card_token=input.card_token or None,
        expires_at=payment.expires_at,
        payer=_payer(order, input.billing),
        items=charge_items(order, payment.amount_cents),
        shares=gateway_shares(shares),
        statement_descriptor=statement_descriptor(scope),
    )


def _payer(order: Mapping[str, Any], billing: Mapping[str, Any]) -> Payer:
    address = billing.get("address") or orjson.loads(order["address"] or "{}")
    known = {name: billing.get(name) or order[name] for name in ("name", "email", "document", "phone")}
    return Payer(**known, address=address)


def charge_items(order: Mapping[str, Any], amount_cents: int) -> tuple[ChargeItem, ...]:
    """Return the parts of an amount: lines less the order's discount, shipping, surcharge, taxes; one part where they aren't all of it."""
    lines: Sequence[Mapping[str, Any]] = orjson.loads(order["lines"] or "[]")
    discounts = allocate(order["discount_cents"], [line["cents"] for line in lines])
    items = [
        ChargeItem(line["code"], line["name"], line["quantity"], line["cents"] - discount)
        for line, discount in zip(lines, discounts, strict=True)
    ]
    others = (("shipping", "Entrega"), ("surcharge", "Acréscimo"), ("tax", "Impostos"))
    items += [ChargeItem(name, label, 1, order[f"{name}_cents"]) for name, label in others]
    items = [item for item in items if item.amount_cents > 0]
    if sum(item.amount_cents for item in items) == amount_cents:
        return tuple(items)
    return (ChargeItem(str(order["id"]), f"Pedido {order['id']}", 1, amount_cents),)
