"""Write an order with everything that hangs on it: lines, addresses, taxes, payments and the first line of its history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from domain.orders.lines import PricedLine
from domain.taxes.computing import TaxTaken
from kernel.errors import Conflict
from kernel.ids import uuid7
from kernel.scope import Scope
from models.database import ReferenceViolation, value

# One statement: foreign keys are checked when it ends, so what hangs on the order may refer to it already.
_INSERT = """
WITH placed AS (
    INSERT INTO orders (tenant_id, public_id, user_id, vendor_id, status, stock_state, origin, currency,
        subtotal_cents, discount_cents, shipping_cents, surcharge_cents, tax_cents, total_cents,
        paid_cents, payment_status, payment_method_id, shipping_method_id, tracking_code, coupon_code,
        email, firstname, lastname, phone, notes, details, ip_address, fields_data, hold_until,
        created_at, updated_at)
    SELECT $1, public_id, user_id, vendor_id, status, stock_state, origin, currency,
        subtotal_cents, discount_cents, shipping_cents, surcharge_cents, tax_cents, total_cents,
        paid_cents, payment_status, payment_method_id, shipping_method_id, tracking_code, coupon_code,
        email, firstname, lastname, phone, notes, details, ip_address, fields_data, hold_until,
        created_at, updated_at
    FROM jsonb_populate_record(NULL::orders, $2::text::jsonb)
    RETURNING id, public_id
), lines AS (
    INSERT INTO order_lines (tenant_id, public_id, order_id, position, product_id, vendor_id, product_name,
        product_code, quantity, price_cents, base_price_cents, weight_grams, tracked, combination_id, options, extra)
    SELECT $1, l.public_id, placed.id, l.position, l.product_id, l.vendor_id, l.product_name,
        l.product_code, l.quantity, l.price_cents, l.base_price_cents, l.weight_grams,
        l.tracked, l.combination_id, l.options, l.extra
    FROM placed, jsonb_populate_recordset(NULL::order_lines, $3::text::jsonb) AS l
), addresses AS (
    INSERT INTO order_addresses (tenant_id, public_id, order_id, kind, firstname, lastname, street, number,
        complement, district, city, state, country, zipcode, phone)
    SELECT $1, a.public_id, placed.id, a.kind, a.firstname, a.lastname, a.street, a.number,
        a.complement, a.district, a.city, a.state, a.country, a.zipcode, a.phone
    FROM placed, jsonb_populate_recordset(NULL::order_addresses, $4::text::jsonb) AS a
), taxes AS (
    INSERT INTO order_taxes (tenant_id, public_id, order_id, tax_id, name, rate_type, rate_value, included, amount_cents, position)
    SELECT $1, x.public_id, placed.id, x.tax_id, x.name, x.rate_type, x.rate_value, x.included, x.amount_cents, x.position
    FROM placed, jsonb_populate_recordset(NULL::order_taxes, $13::text::jsonb) AS x
), payments AS (
    INSERT INTO payments (tenant_id, public_id, order_id, kind, amount_cents, created_at)
    SELECT $1, $7, placed.id, $6, $5, $8 FROM placed WHERE $5::bigint IS NOT NULL
), history AS (
    INSERT INTO order_status_changes (tenant_id, public_id, order_id, at, to_status, actor_kind, user_id, app_id)
    SELECT $1, $7, placed.id, $8, $9, $10, $11, $12 FROM placed
), audited AS (
    INSERT INTO audit_entries (tenant_id, public_id, at, actor_kind, user_id, app_id, action, subject_type, subject_id,
        ip_address, request_id)
    SELECT $1, $7, $14, $10, $11, $12, 'order.created', 'order', placed.public_id::text, $15, $16 FROM placed
)
SELECT id FROM placed
"""

_ADDRESS = {
    "firstname": "",
    "lastname": "",
    "street": "",
    "number": "",
    "complement": "",
    "district": "",
    "city": "",
    "state": "",
    "country": "BR",
    "zipcode": "",
    "phone": "",
}


@dataclass(frozen=True, slots=True)
class InitialPayment:
    """Tell of money that came with the order, in cents, and how."""

    amount_cents: int
    kind: str


async def insert(
    scope: Scope,
    order: Mapping[str, Any],
    lines: Sequence[PricedLine],
    addresses: Mapping[str, Mapping[str, str]],
    payment: InitialPayment | None,
    taxes: Sequence[TaxTaken] = (),
) -> int:
    """Write an order in one statement and give its id; `order` holds every column, `addresses` are keyed by kind.

    Raises Conflict when a user that the order refers to was erased since it was read.
    """
    try:
        return await _insert(scope, order, lines, addresses, payment, taxes)
    except ReferenceViolation as error:
        raise Conflict("what the order refers to was removed meanwhile; try again") from error


async def _insert(
    scope: Scope,
    order: Mapping[str, Any],
    lines: Sequence[PricedLine],
    addresses: Mapping[str, Mapping[str, str]],
    payment: InitialPayment | None,
    taxes: Sequence[TaxTaken],
) -> int:
    actor = scope.actor
    order_id: int = await value(
        _INSERT,
        scope.store.id,
        _json(order),
        _json([line_row(line, position) for position, line in enumerate(lines, start=1)]),
        _json([address_row(kind, given) for kind, given in addresses.items()]),
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
    return order_id


def line_row(line: PricedLine, position: int) -> dict[str, Any]:
    """Give the columns of a line; positions count from 1."""
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
        "options": list(line.choice.options) if line.choice is not None else [],
        "extra": dict(line.extra),
    }


def tax_rows(taxes: Sequence[TaxTaken]) -> list[dict[str, Any]]:
    """Give the columns of what taxes took of an order."""
    return [
        {
            "public_id": uuid7(),
            "tax_id": taken.tax.id,
            "name": taken.tax.name,
            "rate_type": taken.tax.rate_type,
            "rate_value": taken.tax.rate_value,
            "included": taken.tax.included,
            "amount_cents": taken.amount_cents,
            "position": position,
        }
        for position, taken in enumerate(taxes)
    ]


def address_row(kind: str, given: Mapping[str, str]) -> dict[str, Any]:
    """Give the columns of an address, what was not given with its default."""
    return {**_ADDRESS, **given, "kind": kind, "public_id": uuid7()}


def _json(given: object) -> str:
    return orjson.dumps(given).decode()
