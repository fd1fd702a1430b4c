"""Write what happened into the outbox, in the transaction in which it happened; a worker sends it later (decisions section 7).

Every subject (an order, a product, a user, a cart) counts its events from 1 without a gap, so that a receiver can drop stale ones.
The count lies in `event_sequences`: raising it locks that one row until the end of the transaction, so two transactions about one
subject number their events one after the other, and a rolled-back one leaves no hole.

The functions named like a subject build the data of its events, to the letter of the contract (Events) and decisions section 7.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson

from domain.notifications import write as notifications
from kernel.clock import rfc3339
from kernel.ids import uuid7
from kernel.scope import Scope
from models.database import execute, rows

ORDER_CREATED = "order.created"
ORDER_UPDATED = "order.updated"
ORDER_CANCELLED = "order.cancelled"
PRODUCT_CREATED = "product.created"
PRODUCT_UPDATED = "product.updated"
PRODUCT_DELETED = "product.deleted"
USER_REGISTERED = "user.registered"
CHECKOUT_COMPLETED = "checkout.completed"
CART_UPDATED = "cart.updated"
NAMES = (
    ORDER_CREATED,
    ORDER_UPDATED,
    ORDER_CANCELLED,
    PRODUCT_CREATED,
    PRODUCT_UPDATED,
    PRODUCT_DELETED,
    USER_REGISTERED,
    CHECKOUT_COMPLETED,
    CART_UPDATED,
)

ORDER, PRODUCT, USER, CART = "order", "product", "user", "cart"

CHANNEL = "vitrine_events"
"""Where workers hear that there is something to deliver."""

ROLES = {"A": "admin", "V": "vendor", "C": "customer"}


@dataclass(frozen=True, slots=True)
class Event:
    """Describe something that happened to one subject, named by its public id."""

    name: str
    subject_type: str
    subject_id: UUID
    data: Mapping[str, Any]


# Commits that notify wait for one another: only where somebody is to be told.
# Subjects are counted in one order, so that two transactions about the same subjects can't wait for each other.
_RECORD = """
WITH told AS (
    SELECT * FROM unnest($2::uuid[], $3::text[], $4::text[], $5::uuid[], $6::text[])
        WITH ORDINALITY AS t (public_id, name, subject_type, subject_id, data, place)
), counted AS (
    INSERT INTO event_sequences (tenant_id, public_id, subject_type, subject_id, latest)
    SELECT $1, (array_agg(public_id))[1], subject_type, subject_id, count(*)
    FROM told GROUP BY subject_type, subject_id ORDER BY subject_type, subject_id
    ON CONFLICT (tenant_id, subject_type, subject_id)
        DO UPDATE SET latest = event_sequences.latest + excluded.latest
    RETURNING subject_type, subject_id, latest
)
, written AS (
    INSERT INTO outbox_events
        (tenant_id, public_id, name, subject_type, subject_id, sequence, data, request_id, created_at)
    SELECT $1, t.public_id, t.name, t.subject_type, t.subject_id,
        c.latest + 1 - row_number() OVER (PARTITION BY t.subject_type, t.subject_id ORDER BY t.place DESC),
        t.data::jsonb, $7, $8
    FROM told t JOIN counted c USING (subject_type, subject_id)
    ORDER BY t.place
    RETURNING 1
)
SELECT pg_notify($9, '') WHERE EXISTS (SELECT 1 FROM written)
    AND EXISTS (SELECT 1 FROM event_endpoints p WHERE p.tenant_id = $1 AND p.status = 'A' AND p.deleted_at IS NULL)
"""


async def record(
    scope: Scope, name: str, subject_type: str, subject_id: UUID, data: Mapping[str, Any]
) -> None:
    """Write one event into the outbox, as part of the current transaction."""
    await record_all(scope, [Event(name, subject_type, subject_id, data)])


async def record_all(scope: Scope, events: Sequence[Event]) -> None:
    """Write events in their order, in one statement; events of one subject get consecutive numbers."""
    if not events:
        return
    await execute(
        _RECORD,
        scope.store.id,
        [uuid7() for _ in events],
        [event.name for event in events],
        [event.subject_type for event in events],
        [event.subject_id for event in events],
        [orjson.dumps(event.data).decode() for event in events],
        scope.request_id,
        scope.now,
        CHANNEL,
    )


# --- Orders ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EventCustomer:
    """Name the buyer of an order; a guest has no account and so no id."""

    id: UUID | None
    name: str
    email: str


@dataclass(frozen=True, slots=True)
class EventItem:
    """Name a line of an order as sold; `product_id` is null for what was imported without its product."""

    product_id: UUID | None
    name: str
    quantity: int
    price_cents: int


@dataclass(frozen=True, slots=True)
class OrderFacts:
    """Hold what the events of an order tell."""

    id: UUID
    status: str
    total_cents: int
    currency: str
    customer: EventCustomer
    items: Iterable[EventItem]
    created_at: datetime
    tracking_code: str | None = None


def order(facts: OrderFacts, *, previous_status: str | None = None) -> dict[str, Any]:
    """Build the data of an order event; `previous_status` is null for a new order and for changes of other kinds."""
    return {
        "id": str(facts.id),
        "status": facts.status,
        "total_cents": facts.total_cents,
        "currency": facts.currency,
        "customer": _customer(facts.customer),
        "items": _items(facts.items),
        "created_at": rfc3339(facts.created_at),
        "previous_status": previous_status,
        "tracking_code": facts.tracking_code,
    }


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


_ORDER_FACTS = """
SELECT o.id, o.public_id, o.status, o.total_cents, o.currency, o.created_at, o.tracking_code,
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


async def order_changed(
    scope: Scope,
    order_id: int,
    *,
    previous_status: str | None = None,
    cancelled: bool = False,
    told: bool = True,
) -> None:
    """Write `order.updated` for an order as it now stands; `cancelled` adds `order.cancelled` right behind it.

    A change of status also goes into the inboxes. `told=False` writes nothing (an import without `--events`).
    """
    if not told:
        return
    names = (ORDER_UPDATED, ORDER_CANCELLED) if cancelled else (ORDER_UPDATED,)
    [facts] = await _tell_of_orders(scope, [order_id], names, previous_status)
    if previous_status is not None and previous_status != facts.status:
        await notifications.order_moved(scope, order_id, previous_status, facts.status)


async def orders_created(scope: Scope, order_ids: Iterable[int]) -> None:
    """Write `order.created` for orders that were imported, as they now stand."""
    await _tell_of_orders(scope, list(order_ids), (ORDER_CREATED,), None)


async def order_gone(scope: Scope, order_id: int) -> None:
    """Write `order.cancelled` alone, for an order that is deleted after it had been cancelled."""
    await _tell_of_orders(scope, [order_id], (ORDER_CANCELLED,), None)


async def checkout_completed(scope: Scope, cart_id: UUID, order_id: int) -> None:
    """Write `checkout.completed` for the cart that just became the order."""
    [found] = await rows(_ORDER_FACTS, scope.store.id, [order_id])
    data = checkout(cart_id, _facts_from(found), scope.now)
    await record(scope, CHECKOUT_COMPLETED, CART, cart_id, data)


async def _tell_of_orders(
    scope: Scope, order_ids: Sequence[int], names: Sequence[str], previous_status: str | None
) -> list[OrderFacts]:
    found = await rows(_ORDER_FACTS, scope.store.id, order_ids)
    missing = set(order_ids) - {each["id"] for each in found}
    if missing:
        raise LookupError(f"orders {sorted(missing)} are not there to tell of")
    told = []
    every = [_facts_from(each) for each in found]
    for facts in every:
        data = order(facts, previous_status=previous_status)
        told += [Event(name, ORDER, facts.id, data) for name in names]
    await record_all(scope, told)
    return every


def _facts_from(found: Mapping[str, Any]) -> OrderFacts:
    lines = zip(
        found["product_ids"] or (),
        found["names"] or (),
        found["quantities"] or (),
        found["prices"] or (),
        strict=True,
    )
    return OrderFacts(
        id=found["public_id"],
        status=found["status"],
        total_cents=found["total_cents"],
        currency=found["currency"],
        customer=EventCustomer(found["customer_id"], found["customer_name"], found["customer_email"]),
        items=[EventItem(*line) for line in lines],
        created_at=found["created_at"],
        tracking_code=found["tracking_code"],
    )


# --- Products --------------------------------------------------------------------------------------------------------------

_PRODUCT_FACTS = """
SELECT p.id, p.public_id, p.name, p.sku, p.slug, p.description, p.short_description, p.status, p.price_cents,
    p.compare_at_cents, p.stock, c.public_id AS category_id, c.name AS category_name,
    array(SELECT i.url FROM product_images i WHERE i.tenant_id = p.tenant_id AND i.product_id = p.id
        ORDER BY i.position, i.id) AS urls,
    array(SELECT i.alt FROM product_images i WHERE i.tenant_id = p.tenant_id AND i.product_id = p.id
        ORDER BY i.position, i.id) AS alts,
    p.created_at, p.updated_at
FROM products p
LEFT JOIN categories c ON c.tenant_id = p.tenant_id AND c.id = p.category_id AND c.deleted_at IS NULL
WHERE p.tenant_id = $1 AND p.id = ANY($2::bigint[])
ORDER BY p.id
"""


async def products_changed(scope: Scope, names: Mapping[int, str]) -> dict[int, UUID]:
    """Write `product.created` or `product.updated` for products as they now stand: internal id → name of the event.

    Give their public ids.
    """
    found = await rows(_PRODUCT_FACTS, scope.store.id, list(names))
    await record_all(
        scope,
        [
            Event(names[facts["id"]], PRODUCT, facts["public_id"], product(facts, scope.store.currency))
            for facts in found
        ],
    )
    return {facts["id"]: facts["public_id"] for facts in found}


async def products_deleted(scope: Scope, public_ids: Iterable[UUID]) -> None:
    """Write `product.deleted` for products that were just hidden."""
    await record_all(
        scope,
        [
            Event(
                PRODUCT_DELETED,
                PRODUCT,
                public_id,
                {"id": str(public_id), "deleted_at": rfc3339(scope.now)},
            )
            for public_id in public_ids
        ],
    )


def product(facts: Mapping[str, Any], currency: str) -> dict[str, Any]:
    """Build the product record of decisions section 6 from a row of the catalogue."""
    category_id = str(facts["category_id"]) if facts["category_id"] else None
    return {
        "id": str(facts["public_id"]),
        "name": facts["name"],
        "sku": facts["sku"],
        "slug": facts["slug"],
        "description": facts["description"],
        "short_description": facts["short_description"],
        "status": facts["status"],
        "price_cents": facts["price_cents"],
        "compare_at_cents": facts["compare_at_cents"],
        "currency": currency,
        "stock": facts["stock"],
        "category_id": category_id,
        "category": {"id": category_id, "name": facts["category_name"]} if category_id else None,
        "images": [{"url": url, "alt": alt} for url, alt in zip(facts["urls"], facts["alts"], strict=True)],
        "created_at": rfc3339(facts["created_at"]),
        "updated_at": rfc3339(facts["updated_at"]),
    }


# --- Users -----------------------------------------------------------------------------------------------------------------


def user(
    public_id: UUID, name: str, email: str | None, user_type: str, created_at: datetime
) -> dict[str, Any]:
    """Build the data of `user.registered`; `user_type` is the letter, told as a role."""
    return {
        "id": str(public_id),
        "name": name,
        "email": email or "",
        "role": ROLES[user_type],
        "created_at": rfc3339(created_at),
    }


async def user_registered(
    scope: Scope, public_id: UUID, name: str, email: str | None, user_type: str, created_at: datetime
) -> None:
    """Write `user.registered`; every new user fires it, however made."""
    data = user(public_id, name, email, user_type, created_at)
    await record(scope, USER_REGISTERED, USER, public_id, data)


# --- Carts -----------------------------------------------------------------------------------------------------------------


def cart(
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
        "updated_at": rfc3339(updated_at),
    }


def checkout(cart_id: UUID, facts: OrderFacts, completed_at: datetime) -> dict[str, Any]:
    """Build the data of `checkout.completed` from the order that the cart became."""
    return {
        "cart_id": str(cart_id),
        "order_id": str(facts.id),
        "total_cents": facts.total_cents,
        "currency": facts.currency,
        "customer": _customer(facts.customer),
        "items": _items(facts.items),
        "completed_at": rfc3339(completed_at),
    }
