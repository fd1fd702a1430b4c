"""Emit the events of categories, collections, customers, shipments, payments, refunds and stock: the record as the transaction sees it.

The statements build each record in the database, with the keys that `domain.event_types` documents.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from domain import event_types, events
from domain.combined_stock import stock_sql
from domain.event_types import EVENT_TYPES
from domain.events import Event
from kernel.clock import RFC3339_SQL
from kernel.ids import uuid7
from kernel.scope import Scope

_CATEGORIES = f"""
SELECT c.id, c.public_id AS subject_id, jsonb_build_object(
    'id', c.public_id, 'name', c.name, 'slug', c.slug, 'parent_id', p.public_id, 'position', c.position, 'status', c.status,
    'description', c.description,
    'image', CASE WHEN c.image_url <> '' THEN jsonb_build_object('url', [image:c.image_url], 'alt', c.image_alt) END,
    'created_at', {RFC3339_SQL.format("c.created_at")}, 'updated_at', {RFC3339_SQL.format("c.updated_at")}
) AS data
FROM categories c LEFT JOIN categories p ON p.tenant_id = c.tenant_id AND p.id = c.parent_id
WHERE c.tenant_id = $1 AND c.id = ANY($6::bigint[])
"""
_COLLECTIONS = f"""
SELECT c.id, c.public_id AS subject_id, jsonb_build_object(
    'id', c.public_id, 'name', c.name, 'slug', c.slug, 'position', c.position, 'status', c.status, 'description', c.description,
    'image', CASE WHEN c.image_url <> '' THEN jsonb_build_object('url', [image:c.image_url], 'alt', c.image_alt) END,
    'created_at', {RFC3339_SQL.format("c.created_at")}, 'updated_at', {RFC3339_SQL.format("c.updated_at")}
) AS data
FROM collections c WHERE c.tenant_id = $1 AND c.id = ANY($6::bigint[])
"""
_CUSTOMERS = f"""
SELECT u.id, u.public_id AS subject_id, jsonb_build_object(
    'id', u.public_id, 'name', btrim(u.firstname || ' ' || u.lastname), 'email', coalesce(u.email, ''), 'status', u.status,
    'created_at', {RFC3339_SQL.format("u.created_at")}, 'updated_at', {RFC3339_SQL.format("u.updated_at")}
) AS data
FROM users u WHERE u.tenant_id = $1 AND u.id = ANY($6::bigint[])
"""
_SHIPMENTS = f"""
SELECT s.id, s.public_id AS subject_id, jsonb_build_object(
    'id', s.public_id, 'order_id', o.public_id, 'status', s.status, 'carrier', s.carrier, 'tracking_number', s.tracking_number,
    'items', (
        SELECT coalesce(jsonb_agg(jsonb_build_object(
            'product_id', p.public_id, 'name', l.product_name, 'quantity', i.quantity) ORDER BY l.position, l.id), '[]')
        FROM shipment_lines i JOIN order_lines l ON l.tenant_id = i.tenant_id AND l.id = i.order_line_id
        LEFT JOIN products p ON p.tenant_id = l.tenant_id AND p.id = l.product_id
        WHERE i.tenant_id = s.tenant_id AND i.shipment_id = s.id
    ),
    'created_at', {RFC3339_SQL.format("s.created_at")}, 'updated_at', {RFC3339_SQL.format("s.updated_at")}
) AS data
FROM shipments s JOIN orders o ON o.tenant_id = s.tenant_id AND o.id = s.order_id
WHERE s.tenant_id = $1 AND s.id = ANY($6::bigint[])
"""
PAYMENT_DATA = f"""jsonb_build_object(
    'id', p.public_id, 'order_id', o.public_id, 'number', p.order_id || '-' || p.sequence, 'kind', p.kind, 'status', p.status,
    'amount_cents', p.amount_cents, 'refunded_cents', p.refunded_cents, 'currency', p.currency, 'installments', p.installments,
    'gateway', p.gateway, 'gateway_charge_id', p.gateway_charge_id, 'failure', p.failure,
    'expires_at', {RFC3339_SQL.format("p.expires_at")}, 'paid_at', {RFC3339_SQL.format("p.paid_at")},
    'created_at', {RFC3339_SQL.format("p.created_at")}
)"""
"""The data of an event about a payment `p` of the order `o`."""
_PAYMENTS = f"""
SELECT p.id, p.public_id AS subject_id, {PAYMENT_DATA} AS data
FROM payments p JOIN orders o ON o.tenant_id = p.tenant_id AND o.id = p.order_id
WHERE p.tenant_id = $1 AND p.id = ANY($6::bigint[])
"""
_STOCK = f"""
SELECT p.id, p.public_id AS subject_id, jsonb_build_object(
    'id', p.public_id, 'sku', p.sku, 'stock', {stock_sql("p")}, 'combinations', (
        SELECT coalesce(jsonb_agg(jsonb_build_object('id', c.public_id, 'sku', c.sku, 'stock', c.stock) ORDER BY c.id), '[]')
        FROM combinations c WHERE c.tenant_id = p.tenant_id AND c.product_id = p.id AND c.deleted_at IS NULL
    )
) AS data
FROM products p WHERE p.tenant_id = $1 AND p.id = ANY($6::bigint[]) AND p.deleted_at IS NULL
"""
_RECORDS: Mapping[str, str] = {
    event_types.CATEGORY: _CATEGORIES,
    event_types.COLLECTION: _COLLECTIONS,
    event_types.CUSTOMER: _CUSTOMERS,
    event_types.SHIPMENT: _SHIPMENTS,
    event_types.PAYMENT: _PAYMENTS,
    event_types.STOCK: _STOCK,
}


async def emit_records(scope: Scope, name: str, ids: Iterable[int]) -> None:
    """Emit an event about each record (internal ids) in its current state; records that are gone are left out."""
    subject_type = EVENT_TYPES[name].subject
    await events.emit_records(scope, subject_type, _RECORDS[subject_type], dict.fromkeys(ids, name))


async def emit_deleted(scope: Scope, name: str, public_ids: Iterable[UUID]) -> None:
    """Emit an event for each record that is being deleted."""
    await events.emit_all(
        scope,
        [
            Event(name, EVENT_TYPES[name].subject, public_id, {"id": str(public_id), "deleted_at": scope.now})
            for public_id in public_ids
        ],
    )


async def emit_customer_changed(
    scope: Scope, user_id: int, public_id: UUID, previous_type: str, user_type: str
) -> None:
    """Emit the event of a changed account: a customer that was changed, has become one, or is none any longer."""
    if user_type == "C":
        name = event_types.CUSTOMER_UPDATED if previous_type == "C" else event_types.CUSTOMER_CREATED
        await emit_records(scope, name, [user_id])
    elif previous_type == "C":
        await emit_deleted(scope, event_types.CUSTOMER_DELETED, [public_id])


async def emit_refund(
    scope: Scope, order_id: UUID, *, amount_cents: int, refunded_cents: int, currency: str, payment_status: str
) -> None:
    """Emit `refund.created` for money returned for an order; `refunded_cents` is the sum of its refunds."""
    refund_id = uuid7()
    data: dict[str, Any] = {
        "id": str(refund_id),
        "order_id": str(order_id),
        "amount_cents": amount_cents,
        "refunded_cents": refunded_cents,
        "currency": currency,
        "payment_status": payment_status,
        "refunded_at": scope.now,
    }
    await events.emit(scope, event_types.REFUND_CREATED, event_types.REFUND, refund_id, data)
