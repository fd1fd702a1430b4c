"""Insert an order with its lines, addresses, taxes, initial payment, status history and audit entry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from domain.orders.draft import ADDRESS_FIELDS
from domain.orders.lines import PricedLine
from domain.taxes.calculation import ChargedTax
from kernel.errors import Conflict
from kernel.ids import uuid7
from kernel.scope import Scope
from models.database import ReferenceViolation, fetchval
from models.numbers import take_numbers

# One statement: foreign keys are checked at its end, so the child rows may refer to the order inserted in it.
_INSERT = """
WITH inserted AS (
    INSERT INTO orders (tenant_id, id, public_id, user_id, vendor_id, status, stock_state, origin, currency,
        subtotal_cents, discount_cents, shipping_cents, surcharge_cents, tax_cents, total_cents,
        paid_cents, payment_status, payment_method_id, shipping_method_id, tracking_code, coupon_code,
        email, firstname, lastname, phone, notes, details, ip_address, fields_data, hold_until,
        created_at, updated_at)
    SELECT $1, id, public_id, user_id, vendor_id, status, stock_state, origin, currency,
        subtotal_cents, discount_cents, shipping_cents, surcharge_cents, tax_cents, total_cents,
        paid_cents, payment_status, payment_method_id, shipping_method_id, tracking_code, coupon_code,
        email, firstname, lastname, phone, notes, details, ip_address, fields_data, hold_until,
        created_at, updated_at
    FROM jsonb_populate_record(NULL::orders, $2::text::jsonb)
    RETURNING id, public_id
), lines AS (
    INSERT INTO order_lines (tenant_id, id, public_id, order_id, position, product_id, vendor_id, product_name,
        product_code, quantity, price_cents, base_price_cents, weight_grams, tracked, combination_id, options, extra)
    SELECT $1, l.id, l.public_id, inserted.id, l.position, l.product_id, l.vendor_id, l.product_name,
        l.product_code, l.quantity, l.price_cents, l.base_price_cents, l.weight_grams,
        l.tracked, l.combination_id, l.options, l.extra
    FROM inserted, jsonb_populate_recordset(NULL::order_lines, $3::text::jsonb) AS l
), addresses AS (
    INSERT INTO order_addresses (tenant_id, public_id, order_id, kind, firstname, lastname, street, number,
        complement, district, city, state, country, zipcode, phone)
    SELECT $1, a.public_id, inserted.id, a.kind, a.firstname, a.lastname, a.street, a.number,
        a.complement, a.district, a.city, a.state, a.country, a.zipcode, a.phone
    FROM inserted, jsonb_populate_recordset(NULL::order_addresses, $4::text::jsonb) AS a
), taxes AS (
    INSERT INTO order_taxes (tenant_id, public_id, order_id, tax_id, name, rate_type, rate_value, included, amount_cents, position)
    SELECT $1, x.public_id, inserted.id, x.tax_id, x.name, x.rate_type, x.rate_value, x.included, x.amount_cents, x.position
    FROM inserted, jsonb_populate_recordset(NULL::order_taxes, $13::text::jsonb) AS x
), payments AS (
    INSERT INTO payments (tenant_id, public_id, order_id, kind, amount_cents, created_at)
    SELECT $1, $7, inserted.id, $6, $5, $8 FROM inserted WHERE $5::bigint IS NOT NULL
), history AS (
    INSERT INTO order_status_changes (tenant_id, public_id, order_id, at, to_status, actor_kind, user_id, app_id)
    SELECT $1, $7, inserted.id, $8, $9, $10, $11, $12 FROM inserted
), audited AS (
    INSERT INTO audit_entries (tenant_id, public_id, at, actor_kind, user_id, app_id, action, subject_type, subject_id,
        ip_address, request_id)
    SELECT $1, $7, $14, $10, $11, $12, 'order.created', 'order', inserted.public_id::text, $15, $16 FROM inserted
)
SELECT id FROM inserted
"""

_ADDRESS = {**dict.fromkeys(ADDRESS_FIELDS, ""), "country": "BR"}


@dataclass(frozen=True, slots=True)
class InitialPayment:
    """A payment received together with the order, in cents."""

    amount_cents: int
    kind: str


async def insert_order(
    scope: Scope,
    order: Mapping[str, Any],
    lines: Sequence[PricedLine],
    addresses: Mapping[str, Mapping[str, str]],
    payment: InitialPayment | None,
    taxes: Sequence[ChargedTax] = (),
) -> int:
    """Insert an order in one statement and return its id; `order` has every column, `addresses` are keyed by kind.

    Raises Conflict when a referenced user was deleted concurrently.
    """
    actor = scope.actor
    numbers = await take_numbers(scope, {"orders": 1, "order_lines": len(lines)})
    parameters = (
        scope.store.id,
        _json({**order, "id": numbers["orders"][0]}),
        _json(line_rows(lines, numbers["order_lines"])),
        _json([address_row(kind, address) for kind, address in addresses.items()]),
        payment.amount_cents if payment else None,
        payment.kind if payment else None,
        uuid7(),
        order["created_at"],
        order["status"],
        actor.kind.value,
        actor.user_id,
        actor.app_id,
        _json(tax_rows(taxes)),
        scope.now,
        scope.client_ip,
        scope.request_id,
    )
    try:
        order_id: int = await fetchval(_INSERT, *parameters)
    except ReferenceViolation as error:
        raise Conflict("what the order refers to was removed meanwhile; try again") from error
    return order_id


def line_rows(lines: Sequence[PricedLine], numbers: Sequence[int]) -> list[dict[str, Any]]:
    """Return the columns of an order's lines, which get these numbers."""
    return [
        {"id": number, **_line_row(line, position)}
        for position, (line, number) in enumerate(zip(lines, numbers, strict=True), start=1)
    ]


def _line_row(line: PricedLine, position: int) -> dict[str, Any]:
    return {
        "public_id": uuid7(),
        "position": position,
        "product_id": line.offer.id,
        "vendor_id": line.offer.vendor_id,
        "product_name": line.offer.name,
        "product_code": line.sku,
        "quantity": line.quantity,
        "price_cents": line.price_cents,
        "base_price_cents": line.base_price_cents,
        "weight_grams": line.offer.weight_grams,
        "tracked": line.tracked,
        "combination_id": line.combination_id,
        "options": list(line.selection.options) if line.selection is not None else [],
        "extra": dict(line.extra),
    }


def tax_rows(taxes: Sequence[ChargedTax]) -> list[dict[str, Any]]:
    """Return the columns of the taxes charged on an order."""
    return [
        {
            "public_id": uuid7(),
            "tax_id": charged.tax.id,
            "name": charged.tax.name,
            "rate_type": charged.tax.rate_type,
            "rate_value": charged.tax.rate_value,
            "included": charged.tax.included,
            "amount_cents": charged.amount_cents,
            "position": position,
        }
        for position, charged in enumerate(taxes)
    ]


def address_row(kind: str, address: Mapping[str, str]) -> dict[str, Any]:
    """Return the columns of an address, with defaults for missing values."""
    return {**_ADDRESS, **address, "kind": kind, "public_id": uuid7()}


def _json(value: object) -> str:
    return orjson.dumps(value).decode()
