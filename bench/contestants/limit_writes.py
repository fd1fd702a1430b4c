"""The hand-written writes: one call of a function of `sql/writes.sql` each, which builds the response as well."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson


@dataclass(frozen=True)
class Write:
    """A statement that returns the bytes of the response, and its arguments from the request's body."""

    sql: str
    arguments: Callable[[dict[str, Any]], Sequence[Any]]


_ORDER = """json_build_object('id', o.public_id, 'number', o.id, 'status', o.status, 'total_cents', o.total_cents,
    'shipping_cents', o.shipping_cents)"""


def _respond(key: str, source: str, value: str = _ORDER, alias: str = "o") -> str:
    return f"SELECT json_build_object('data', json_build_object('{key}', {value})) FROM {source} {alias}"


WRITES: Mapping[str, Write] = {
    "W1": Write(
        _respond("order_create", "place_order($1::uuid, $2::uuid, $3::uuid, $4::text::jsonb)"),
        lambda body: (
            body["customer_id"],
            body["payment_method_id"],
            body["shipping_method_id"],
            orjson.dumps(body["items"]).decode(),
        ),
    ),
    "W2": Write(
        _respond("cart_checkout", "check_out($1::uuid, $2::uuid, $3::uuid)", f"json_build_object('order', {_ORDER})"),
        lambda body: (body["id"], body["input"]["customer_id"], body["input"]["payment_id"]),
    ),
    "W3": Write(
        _respond("order_set_status", "set_status($1::uuid, $2::text::varchar)"),
        lambda body: (body["id"], body["status"]),
    ),
    "W4": Write(
        _respond("product_update", "set_stock($1::uuid, $2)", "json_build_object('id', o.public_id, 'stock', o.stock)"),
        lambda body: (body["id"], body["stock"]),
    ),
    "W5": Write(
        _respond(
            "product_bulk_upsert",
            "upsert_products($1::text::jsonb) WITH ORDINALITY",
            "json_agg(json_build_object('index', o.ordinality - 1, 'id', o.id, 'created', false) ORDER BY o.ordinality)",
            "o (id, ordinality)",
        ),
        lambda body: (orjson.dumps(body["rows"]).decode(),),
    ),
}

CREATE_PAYMENT = "SELECT public_id, order_id, amount_cents, expires_at FROM create_payment($1::uuid)"
# What the gateway `sandbox` writes.
CHARGE_PAYMENT = """
INSERT INTO sandbox_charges (tenant_id, charge_id, payment_id, order_id, order_number, kind, status, currency, amount_cents, expires_at,
    details)
VALUES ($1, 'ch_' || replace(gen_random_uuid()::text, '-', ''), $2, $3::text::uuid, $4, 'PIX', 'PENDING', 'BRL', $5, $6,
    jsonb_build_object('pix', jsonb_build_object('code', $7::text)))
RETURNING charge_id
"""
ANSWER_PAYMENT = _respond(
    "payment_create",
    "answer_payment($1, $2, $3, $4)",
    "json_build_object('id', o.public_id, 'status', o.status, 'amount_cents', o.amount_cents)",
)
"""A payment is three statements, each its own transaction: before the gateway is called, the charge of the gateway, and its answer."""
