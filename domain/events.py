"""Emit events into the transactional outbox; a worker delivers them to webhook endpoints (docs/reference/shared.md#events).

The events of each subject (an order, a product, a user, a cart) are numbered from 1 without gaps, so that a receiver can drop stale ones.
The counter is a row of `event_sequences`; incrementing it locks that row until the transaction ends, so concurrent transactions about one
subject are serialized and a rollback leaves no gap.

The `*_data` functions build the `data` object of each event (docs/reference/shared.md#event-data); its times are in UTC.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson

from domain.combined_stock import stock_sql
from domain.event_types import (
    CART,
    CHECKOUT_COMPLETED,
    CUSTOMER,
    CUSTOMER_CREATED,
    ORDER,
    ORDER_CANCELLED,
    ORDER_CREATED,
    ORDER_UPDATED,
    PRODUCT,
    PRODUCT_DELETED,
    USER,
    USER_REGISTERED,
)
from domain.media.addresses import with_image_urls
from domain.notifications import write as notifications
from kernel import tracing
from kernel.clock import RFC3339_JSON, RFC3339_SQL
from kernel.ids import uuid7
from kernel.product_fields import PRODUCT_RECORD
from kernel.scope import Scope
from models.connection.database import execute_later, fetch

CHANNEL = "vitrine_events"
"""NOTIFY channel on which workers listen for new events."""

FISCAL_FIELDS = ("link_nota", "codigo_pedido_erp", "chave_nota", "pdf_nota", "nota_fiscal")

_CANCELLED = "I"  # as domain.orders.transitions, which this module can't import

ROLES = {"A": "admin", "V": "vendor", "C": "customer"}


@dataclass(frozen=True, slots=True)
class Event:
    """An event about one subject, identified by its public id."""

    name: str
    subject_type: str
    subject_id: UUID
    data: Mapping[str, Any]

    @property
    def json(self) -> str:
        """Return the data as receivers get it."""
        return orjson.dumps(self.data, option=RFC3339_JSON).decode()


# NOTIFY serializes commits, so it is sent only when an active endpoint exists.
_HAS_ENDPOINT = (
    "EXISTS (SELECT 1 FROM event_endpoints p WHERE p.tenant_id = $1 AND p.status = 'A' AND p.deleted_at IS NULL)"
)
# Counters are locked in one order, so that two transactions about the same subjects can't deadlock.
_EMIT = f"""
counters AS (
    INSERT INTO event_sequences (tenant_id, public_id, subject_type, subject_id, latest)
    SELECT $1, (array_agg(public_id))[1], subject_type, subject_id, count(*)
    FROM new_events GROUP BY subject_type, subject_id ORDER BY subject_type, subject_id
    ON CONFLICT (tenant_id, subject_type, subject_id)
        DO UPDATE SET latest = event_sequences.latest + excluded.latest
    RETURNING subject_type, subject_id, latest
), inserted AS (
    INSERT INTO outbox_events
        (tenant_id, public_id, name, subject_type, subject_id, sequence, data, request_id, created_at, traceparent)
    SELECT $1, t.public_id, t.name, t.subject_type, t.subject_id,
        c.latest + 1 - row_number() OVER (PARTITION BY t.subject_type, t.subject_id ORDER BY t.position DESC),
        t.data::jsonb, $2, $3, $5
    FROM new_events t JOIN counters c USING (subject_type, subject_id)
    ORDER BY t.position
    RETURNING 1
)
SELECT 1 WHERE CASE WHEN EXISTS (SELECT 1 FROM inserted) AND {_HAS_ENDPOINT} THEN pg_notify($4, '') IS NULL ELSE false END
"""
_EMIT_ALL = f"""
WITH new_events AS (
    SELECT * FROM unnest($6::uuid[], $7::text[], $8::text[], $9::uuid[], $10::text[])
        WITH ORDINALITY AS t (public_id, name, subject_type, subject_id, data, position)
), {_EMIT}"""
_EMIT_RECORDS = f"""
WITH records AS ({{records}}), new_events AS (
    SELECT e.public_id, e.name, $8::text AS subject_type, r.subject_id, r.data, row_number() OVER (ORDER BY r.id) AS position
    FROM unnest($6::bigint[], $7::uuid[], $9::text[]) AS e (id, public_id, name) JOIN records r USING (id)
), {_EMIT}"""


def event_sql(parameters: Sequence[str]) -> str:
    """Return the common table expressions that emit one event, for the statement that writes its subject, or for `emit_all`.

    `notified` must be read by the statement. `parameters` are the names of parameters for `event_arguments`.
    """
    public_id, name, subject_type, subject_id, data, request_id, at, channel, traceparent = parameters
    return f"""
event_number AS (
    INSERT INTO event_sequences (tenant_id, public_id, subject_type, subject_id, latest)
    SELECT $1, {public_id}, {subject_type}, {subject_id}, 1
    ON CONFLICT (tenant_id, subject_type, subject_id) DO UPDATE SET latest = event_sequences.latest + 1
    RETURNING latest
), event AS (
    INSERT INTO outbox_events
        (tenant_id, public_id, name, subject_type, subject_id, sequence, data, request_id, created_at, traceparent)
    SELECT $1, {public_id}, {name}, {subject_type}, {subject_id}, latest, {data}::text::jsonb, {request_id}, {at}, {traceparent}
    FROM event_number
), notified AS (
    SELECT pg_notify({channel}, '') AS sent WHERE {_HAS_ENDPOINT}
)
"""


def event_arguments(scope: Scope, event: Event) -> tuple[Any, ...]:
    """Return the arguments of `event_sql`."""
    return (
        uuid7(),
        event.name,
        event.subject_type,
        event.subject_id,
        event.json,
        scope.request_id,
        scope.now,
        CHANNEL,
        tracing.active and tracing.active.traceparent(),
    )


_EMIT_ONE = f"WITH {event_sql([f'${number}' for number in range(2, 11)])} SELECT 1 FROM notified WHERE sent IS NULL"


async def emit(scope: Scope, name: str, subject_type: str, subject_id: UUID, data: Mapping[str, Any]) -> None:
    """Insert one event into the outbox, as part of the current transaction."""
    await emit_all(scope, [Event(name, subject_type, subject_id, data)])


async def emit_all(scope: Scope, events: Sequence[Event]) -> None:
    """Insert events in order, in one statement; events of one subject get consecutive sequence numbers."""
    if len(events) == 1:  # takes two thirds of the time
        await execute_later(_EMIT_ONE, scope.store.id, *event_arguments(scope, events[0]))
        return
    if not events:
        return
    await execute_later(
        _EMIT_ALL,
        *emit_arguments(scope),
        [uuid7() for _ in events],
        [event.name for event in events],
        [event.subject_type for event in events],
        [event.subject_id for event in events],
        [event.json for event in events],
    )


async def emit_records(
    scope: Scope, subject_type: str, records: str, names: Mapping[int, str], *parameters: object
) -> None:
    """Emit an event about each record (internal id → event name) as it is in the transaction; records that are gone are left out.

    The statement `records` selects the `id`, `subject_id` and `data` of those whose id is in `$6`; its `parameters` begin with `$10`. In it
    `[image:<alias>.<link>]` is the address of a row's image.
    """
    await execute_later(
        _EMIT_RECORDS.format(records=with_image_urls(records)),
        *emit_arguments(scope),
        [*names],
        [uuid7() for _ in names],
        subject_type,
        [*names.values()],
        *parameters,
    )


def emit_arguments(scope: Scope) -> tuple[Any, ...]:
    """Return the arguments of each statement that emits events: the store, and what `event_sql` calls `request_id` to `traceparent`."""
    return scope.store.id, scope.request_id, scope.now, CHANNEL, tracing.active and tracing.active.traceparent()


# --- Orders ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EventCustomer:
    """The customer of an order; a guest has no account and therefore no id."""

    id: UUID | None
    name: str
    email: str


@dataclass(frozen=True, slots=True)
class EventItem:
    """An order line as sold; `product_id` is null for a line imported without its product."""

    product_id: UUID | None
    name: str
    quantity: int
    price_cents: int


@dataclass(frozen=True, slots=True)
class OrderEventData:
    """What the data of an order event is built from."""

    id: UUID
    status: str
    total_cents: int
    currency: str
    customer: EventCustomer
    items: Iterable[EventItem]
    created_at: datetime
    tracking_code: str | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    """The order's fields, those of its invoice (nota fiscal) among them."""


def order_data(order: OrderEventData, *, previous_status: str | None = None) -> dict[str, Any]:
    """Build the data of an order event; `previous_status` is null for a new order and for changes other than of the status."""
    return {
        "id": str(order.id),
        "status": order.status,
        "total_cents": order.total_cents,
        "currency": order.currency,
        "customer": _customer(order.customer),
        "items": _items(order.items),
        "created_at": order.created_at,
        "previous_status": previous_status,
        "tracking_code": order.tracking_code,
        "fiscal_data": fiscal_data(order.fields),
    }


def fiscal_data(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return what events say of an order's invoice, by its fields: not the XML, which is large and names the customer."""
    texts = {name: None if fields.get(name) is None else str(fields[name]) for name in FISCAL_FIELDS}
    is_valid = fields.get("chave_nota_valid")
    return {**texts, "chave_nota_valid": None if is_valid is None else is_valid == "Y"}


def _customer(customer: EventCustomer) -> dict[str, Any]:
    public_id = str(customer.id) if customer.id else None
    return {"id": public_id, "name": customer.name, "email": customer.email}


def _items(items: Iterable[EventItem]) -> list[dict[str, Any]]:
    return [
        {
            "product_id": str(item.product_id) if item.product_id else None,
            "name": item.name,
            "quantity": item.quantity,
            "price_cents": item.price_cents,
        }
        for item in items
    ]


_ORDER_ROWS = """
SELECT o.id, o.public_id, o.status, o.total_cents, o.currency, o.created_at, o.tracking_code,
    o.fields_data - '{xml_nota,base64_xml}'::text[] AS fields,
    u.public_id AS customer_id,
    btrim(o.firstname || ' ' || o.lastname) AS customer_name, o.email AS customer_email,
    l.product_ids, l.names, l.quantities, l.prices
FROM orders o
LEFT JOIN users u ON u.tenant_id = o.tenant_id AND u.id = o.user_id
CROSS JOIN LATERAL (
    SELECT array_agg(p.public_id ORDER BY l.position, l.id) AS product_ids,
        array_agg(l.product_name ORDER BY l.position, l.id) AS names,
        array_agg(l.quantity ORDER BY l.position, l.id) AS quantities,
        array_agg(l.price_cents ORDER BY l.position, l.id) AS prices
    FROM order_lines l LEFT JOIN products p ON p.tenant_id = l.tenant_id AND p.id = l.product_id
    WHERE l.tenant_id = o.tenant_id AND l.order_id = o.id
) l
WHERE o.tenant_id = $1 AND o.id = ANY($2::bigint[])
ORDER BY o.id
"""


async def emit_order_updated(
    scope: Scope,
    order_id: int,
    *,
    previous_status: str | None = None,
) -> None:
    """Emit `order.updated` with the current state of an order, followed by `order.cancelled` if that is its new status.

    A change of status also creates notifications.
    """
    [order] = await _load_orders(scope, [order_id])
    has_new_status = previous_status not in (None, order.status)
    names = (ORDER_UPDATED, ORDER_CANCELLED) if has_new_status and order.status == _CANCELLED else (ORDER_UPDATED,)
    await _emit_order_events(scope, [order], names, previous_status)
    if previous_status is not None and has_new_status:
        await notifications.notify_order_status_changed(scope, order_id, previous_status, order.status)


def order_created(order: OrderEventData) -> Event:
    """Return `order.created` of a new order."""
    return Event(ORDER_CREATED, ORDER, order.id, order_data(order))


async def emit_orders_created(scope: Scope, order_ids: Iterable[int]) -> None:
    """Emit `order.created` for imported orders."""
    await _emit_order_events(scope, await _load_orders(scope, list(order_ids)), (ORDER_CREATED,))


async def emit_order_cancelled(scope: Scope, order_id: int) -> None:
    """Emit `order.cancelled` alone, for an order that is deleted after its cancellation."""
    await _emit_order_events(scope, await _load_orders(scope, [order_id]), (ORDER_CANCELLED,))


async def emit_checkout_completed(scope: Scope, cart_id: UUID, order: OrderEventData) -> None:
    """Emit `checkout.completed` for the cart that became the order."""
    await emit(scope, CHECKOUT_COMPLETED, CART, cart_id, checkout_data(cart_id, order, scope.now))


async def _load_orders(scope: Scope, order_ids: Sequence[int]) -> list[OrderEventData]:
    rows = await fetch(_ORDER_ROWS, scope.store.id, order_ids)
    missing = set(order_ids) - {row["id"] for row in rows}
    if missing:
        raise LookupError(f"can't emit events: orders {sorted(missing)} not found")
    return [_event_data_of(row) for row in rows]


async def _emit_order_events(
    scope: Scope, orders: Iterable[OrderEventData], names: Sequence[str], previous_status: str | None = None
) -> None:
    events = []
    for order in orders:
        data = order_data(order, previous_status=previous_status)
        events += [Event(name, ORDER, order.id, data) for name in names]
    await emit_all(scope, events)


def _event_data_of(row: Mapping[str, Any]) -> OrderEventData:
    lines = zip(row["product_ids"] or (), row["names"] or (), row["quantities"] or (), row["prices"] or (), strict=True)
    return OrderEventData(
        id=row["public_id"],
        status=row["status"],
        total_cents=row["total_cents"],
        currency=row["currency"],
        customer=EventCustomer(row["customer_id"], row["customer_name"], row["customer_email"]),
        items=[EventItem(*line) for line in lines],
        created_at=row["created_at"],
        tracking_code=row["tracking_code"],
        fields=orjson.loads(row["fields"]),
    )


# --- Products --------------------------------------------------------------------------------------------------------------

# The SQL of the record's fields that aren't columns of the product.
_PRODUCT_SQL = {
    "id": "p.public_id",
    "currency": "$10::text",
    "stock": stock_sql("p"),
    "category_id": "c.public_id",
    "category": "CASE WHEN c.id IS NOT NULL THEN jsonb_build_object('id', c.public_id, 'name', c.name) END",
    "images": """(
        SELECT coalesce(jsonb_agg(jsonb_build_object('url', [image:i.url], 'alt', i.alt) ORDER BY i.position, i.id), '[]')
        FROM product_images i WHERE i.tenant_id = p.tenant_id AND i.product_id = p.id
    )""",
    "created_at": RFC3339_SQL.format("p.created_at"),
    "updated_at": RFC3339_SQL.format("p.updated_at"),
}
_PRODUCTS = f"""
SELECT p.id, p.public_id AS subject_id, jsonb_build_object(
    {", ".join(f"'{field.name}', {_PRODUCT_SQL.get(field.name, f'p.{field.name}')}" for field in PRODUCT_RECORD)}
) AS data
FROM products p
LEFT JOIN categories c ON c.tenant_id = p.tenant_id AND c.id = p.category_id AND c.deleted_at IS NULL
WHERE p.tenant_id = $1 AND p.id = ANY($6::bigint[])
"""


async def emit_products_changed(scope: Scope, names: Mapping[int, str]) -> None:
    """Emit `product.created` or `product.updated` for products (internal id → event name)."""
    await emit_records(scope, PRODUCT, _PRODUCTS, names, scope.store.currency)


async def emit_products_deleted(scope: Scope, public_ids: Iterable[UUID]) -> None:
    """Emit `product.deleted` for products that were just soft-deleted."""
    await emit_all(
        scope,
        [
            Event(PRODUCT_DELETED, PRODUCT, public_id, {"id": str(public_id), "deleted_at": scope.now})
            for public_id in public_ids
        ],
    )


# --- Users -----------------------------------------------------------------------------------------------------------------


def user_data(public_id: UUID, name: str, email: str | None, user_type: str, created_at: datetime) -> dict[str, Any]:
    """Build the data of `user.registered`; `user_type` is the one-letter code, sent as a role."""
    return {
        "id": str(public_id),
        "name": name,
        "email": email or "",
        "role": ROLES[user_type],
        "created_at": created_at,
    }


def registration_events(user: Mapping[str, Any], created_at: datetime) -> list[Event]:
    """Return `user.registered`, and `customer.created` for a customer; keys `public_id`, `name`, `email`, `user_type`, `status`."""
    public_id = user["public_id"]
    data = user_data(public_id, user["name"], user["email"], user["user_type"], created_at)
    registered = [Event(USER_REGISTERED, USER, public_id, data)]
    if user["user_type"] == "C":
        at = data["created_at"]
        customer = {"id": data["id"], "name": data["name"], "email": data["email"], "status": user["status"]}
        registered.append(
            Event(CUSTOMER_CREATED, CUSTOMER, public_id, {**customer, "created_at": at, "updated_at": at})
        )
    return registered


async def emit_user_registered(scope: Scope, user: Mapping[str, Any]) -> None:
    """Emit the events of a new user (`registration_events`); required for every new user, however created."""
    await emit_all(scope, registration_events(user, scope.now))


# --- Carts -----------------------------------------------------------------------------------------------------------------


def cart_data(
    public_id: UUID,
    customer: EventCustomer | None,
    items: Iterable[EventItem],
    total_cents: int,
    currency: str,
    updated_at: datetime,
) -> dict[str, Any]:
    """Build the data of `cart.updated`; a cart may have no customer yet."""
    return {
        "id": str(public_id),
        "customer": _customer(customer) if customer else None,
        "items": _items(items),
        "total_cents": total_cents,
        "currency": currency,
        "updated_at": updated_at,
    }


def checkout_data(cart_id: UUID, order: OrderEventData, completed_at: datetime) -> dict[str, Any]:
    """Build the data of `checkout.completed` from the order created by the checkout."""
    return {
        "cart_id": str(cart_id),
        "order_id": str(order.id),
        "total_cents": order.total_cents,
        "currency": order.currency,
        "customer": _customer(order.customer),
        "items": _items(order.items),
        "completed_at": completed_at,
    }
