"""Import orders with their lines, payments and addresses.

An imported order never reserves stock, whatever its status, and is not repriced.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from domain import events
from domain.imports.references import find_imported_ids, lock_import, store_external_ids
from domain.orders.payments import payment_status
from kernel.ids import uuid7
from kernel.scope import Scope
from models.database import execute, fetch, transaction
from models.numbers import take_numbers
from models.rows import json_text

_CUSTOMERS = "SELECT id, email, firstname, lastname FROM users WHERE tenant_id = $1 AND id = ANY($2::bigint[])"
_PRODUCTS = (
    "SELECT id, name, sku, price_cents, weight_grams FROM products WHERE tenant_id = $1 AND id = ANY($2::bigint[])"
)
_ORDERS = """
INSERT INTO orders (tenant_id, id, public_id, user_id, vendor_id, status, stock_state, origin, currency, subtotal_cents, shipping_cents,
    total_cents, paid_cents, payment_status, email, firstname, lastname, imported, created_at, updated_at)
SELECT $1, o.id, o.public_id, o.user_id, o.vendor_id, o.status, 'N', 'import', $3, o.subtotal_cents, o.shipping_cents,
    o.total_cents, o.paid_cents, o.payment_status, o.email, o.firstname, o.lastname, true, o.created_at, o.updated_at
FROM jsonb_populate_recordset(NULL::orders, $2::text::jsonb) AS o
"""
_LINES = """
INSERT INTO order_lines (tenant_id, id, public_id, order_id, position, product_id, vendor_id, product_name, product_code, quantity,
    price_cents, base_price_cents, shipping_cents, weight_grams, tracked)
SELECT $1, l.id, l.public_id, l.order_id, l.position, l.product_id, l.vendor_id, l.product_name, l.product_code, l.quantity,
    l.price_cents, l.base_price_cents, l.shipping_cents, l.weight_grams, false
FROM jsonb_populate_recordset(NULL::order_lines, $2::text::jsonb) AS l
"""
_ADDRESSES = """
INSERT INTO order_addresses (tenant_id, public_id, order_id, kind, firstname, lastname, city, state, zipcode)
SELECT $1, a.public_id, a.order_id, a.kind, a.firstname, a.lastname, a.city, a.state, a.zipcode
FROM jsonb_populate_recordset(NULL::order_addresses, $2::text::jsonb) AS a
"""
_PAYMENTS = """
INSERT INTO payments (tenant_id, public_id, order_id, sequence, kind, installments, amount_cents, created_at)
SELECT $1, p.public_id, p.order_id, p.sequence, p.kind, p.installments, p.amount_cents, p.created_at
FROM jsonb_populate_recordset(NULL::payments, $2::text::jsonb) AS p
"""
_HISTORY = """
INSERT INTO order_status_changes (tenant_id, public_id, order_id, at, from_status, to_status, reason, actor_kind)
SELECT $1, h.public_id, h.order_id, h.at, h.from_status, h.to_status, 'imported', 'system'
FROM jsonb_populate_recordset(NULL::order_status_changes, $2::text::jsonb) AS h
"""

Rows = list[dict[str, Any]]


async def import_orders(
    scope: Scope, source: str, records: Sequence[Mapping[str, Any]], *, emit_events: bool = False
) -> int:
    """Import orders; return how many were new. `emit_events` emits `order.created` for each.

    An order is `{external_id, customer, status, created_at, address {city, state, zipcode}, history [{at, from_status, to_status}], lines
    [{product, vendor, price_cents, shipping_cents, quantity}], payments [{sequence, kind, installments, amount_cents}]}`; `customer`,
    `product` and `vendor` are external ids imported before. Its total is items + freight; an order without lines has the sum of its
    payments as total.
    """
    async with transaction(scope):
        await lock_import(scope, source)
        existing = await find_imported_ids(scope, source, "order", (row["external_id"] for row in records))
        new = [row for row in records if row["external_id"] not in existing]
        if not new:
            return 0
        users, products, vendors = await _references(scope, source, new)
        numbers = await take_numbers(scope, {"orders": len(new), "order_lines": sum(len(row["lines"]) for row in new)})
        orders = [
            {"id": number, **_order(scope, row, users[row["customer"]], vendors)}
            for row, number in zip(new, numbers["orders"], strict=True)
        ]
        await execute(_ORDERS, scope.store.id, json_text(orders), scope.store.currency)
        ids = {row["external_id"]: order["id"] for row, order in zip(new, orders, strict=True)}
        await _write_parts(scope, new, orders, numbers["order_lines"], products, vendors)
        await store_external_ids(scope, source, "order", ids)
        if emit_events:
            await events.emit_orders_created(scope, ids.values())
    return len(new)


async def _references(
    scope: Scope, source: str, new: Sequence[Mapping[str, Any]]
) -> tuple[dict[str, Any], dict[str, Any], dict[str, int]]:
    customer_ids = await find_imported_ids(scope, source, "customer", {row["customer"] for row in new})
    customer_rows = {row["id"]: row for row in await fetch(_CUSTOMERS, scope.store.id, list(customer_ids.values()))}
    lines = [line for row in new for line in row["lines"]]
    product_ids = await find_imported_ids(scope, source, "product", {line["product"] for line in lines})
    product_rows = {row["id"]: row for row in await fetch(_PRODUCTS, scope.store.id, list(product_ids.values()))}
    vendors = await find_imported_ids(scope, source, "vendor", {line["vendor"] for line in lines})
    return (
        {external_id: customer_rows[internal_id] for external_id, internal_id in customer_ids.items()},
        {external_id: product_rows[internal_id] for external_id, internal_id in product_ids.items()},
        vendors,
    )


def _order(scope: Scope, row: Mapping[str, Any], customer: Any, vendors: Mapping[str, int]) -> dict[str, Any]:
    lines, payments = row["lines"], row["payments"]
    subtotal = sum(line["price_cents"] * line["quantity"] for line in lines)
    shipping = sum(line["shipping_cents"] for line in lines)
    paid = sum(payment["amount_cents"] for payment in payments)
    total = subtotal + shipping if lines else paid
    line_vendors = {vendors[line["vendor"]] for line in lines}
    return {
        "public_id": uuid7(),
        "user_id": customer["id"],
        "vendor_id": line_vendors.pop() if len(line_vendors) == 1 else None,
        "status": row["status"],
        "subtotal_cents": subtotal,
        "shipping_cents": shipping,
        "total_cents": total,
        "paid_cents": paid,
        "payment_status": payment_status(total, paid),
        "email": customer["email"],
        "firstname": customer["firstname"],
        "lastname": customer["lastname"],
        "created_at": row["created_at"],
        "updated_at": row["history"][-1]["at"],
    }


async def _write_parts(
    scope: Scope,
    new: Sequence[Mapping[str, Any]],
    orders: Rows,
    line_numbers: Iterable[int],
    products: Mapping[str, Any],
    vendors: Mapping[str, int],
) -> None:
    lines: Rows = []
    addresses: Rows = []
    payments: Rows = []
    history: Rows = []
    free_numbers = iter(line_numbers)
    for row, order in zip(new, orders, strict=True):
        order_id = order["id"]
        lines += [
            {"id": next(free_numbers), **_line(order_id, position, line, products[line["product"]], vendors)}
            for position, line in enumerate(row["lines"], 1)
        ]
        name = {"firstname": order["firstname"], "lastname": order["lastname"]}
        addresses += [
            {**row["address"], **name, "public_id": uuid7(), "order_id": order_id, "kind": kind} for kind in ("B", "S")
        ]
        payments += [
            {**payment, "public_id": uuid7(), "order_id": order_id, "created_at": row["created_at"]}
            for payment in row["payments"]
        ]
        history += [{**step, "public_id": uuid7(), "order_id": order_id} for step in row["history"]]
    for statement, part_rows in ((_LINES, lines), (_ADDRESSES, addresses), (_PAYMENTS, payments), (_HISTORY, history)):
        if part_rows:
            await execute(statement, scope.store.id, json_text(part_rows))


def _line(
    order_id: int, position: int, line: Mapping[str, Any], product: Any, vendors: Mapping[str, int]
) -> dict[str, Any]:
    return {
        "public_id": uuid7(),
        "order_id": order_id,
        "position": position,
        "product_id": product["id"],
        "vendor_id": vendors[line["vendor"]],
        "product_name": product["name"],
        "product_code": product["sku"],
        "quantity": line["quantity"],
        "price_cents": line["price_cents"],
        "base_price_cents": product["price_cents"],
        "shipping_cents": line["shipping_cents"],
        "weight_grams": product["weight_grams"],
    }
