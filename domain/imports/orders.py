"""Import orders with their lines, payments and addresses.

An imported order never reserves stock, whatever its status, and is not repriced.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from domain import events
from domain.imports.commissions import keep_commissions
from domain.imports.references import begin_import, find_imported_ids, store_external_ids
from domain.ledger.entries import write_order_entries
from domain.orders.transitions import payment_status
from kernel.scope import Scope
from models.connection.database import Plans, fetch, transaction
from models.numbers import take_numbers
from models.rows import insert_rows

_CUSTOMERS = "SELECT id, email, firstname, lastname FROM users WHERE tenant_id = $1 AND id = ANY($2::bigint[])"
_PRODUCTS = (
    "SELECT id, name, sku, price_cents, weight_grams FROM products WHERE tenant_id = $1 AND id = ANY($2::bigint[])"
)
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
    # In a database without statistics, a plan made for the first orders reads all orders of the store for each reference to one.
    async with transaction(scope, Plans.FOR_VALUES):
        new = await begin_import(scope, source, "order", records)
        if not new:
            return 0
        users, products, vendors = await _references(scope, source, new)
        numbers = await take_numbers(scope, {"orders": len(new), "order_lines": sum(len(row["lines"]) for row in new)})
        orders = [
            {"id": number, **_order(scope, row, users[row["customer"]], vendors)}
            for row, number in zip(new, numbers["orders"], strict=True)
        ]
        await insert_rows(scope, "orders", orders)
        ids = {row["external_id"]: order["id"] for row, order in zip(new, orders, strict=True)}
        await _write_parts(scope, new, orders, numbers["order_lines"], products, vendors)
        await write_order_entries(scope, *numbers["orders"], is_late=True)
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
        "user_id": customer["id"],
        "vendor_id": line_vendors.pop() if len(line_vendors) == 1 else None,
        "status": row["status"],
        "stock_state": "N",
        "origin": "import",
        "imported": True,
        "currency": scope.store.currency,
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
        addresses += [{**row["address"], **name, "order_id": order_id, "kind": kind} for kind in ("B", "S")]
        payments += [{**payment, "order_id": order_id, "created_at": row["created_at"]} for payment in row["payments"]]
        history += [
            {**step, "order_id": order_id, "reason": "imported", "actor_kind": "system"} for step in row["history"]
        ]
    await keep_commissions(scope, lines)
    await insert_rows(scope, "order_lines", lines)
    await insert_rows(scope, "order_addresses", addresses)
    await insert_rows(scope, "payments", payments)
    await insert_rows(scope, "order_status_changes", history)


def _line(
    order_id: int, position: int, line: Mapping[str, Any], product: Any, vendors: Mapping[str, int]
) -> dict[str, Any]:
    return {
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
        "tracked": False,
    }
