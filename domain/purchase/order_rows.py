"""Insert an order with all its rows, its event and notifications, and change its stock: one statement.

Foreign keys are checked at its end, so that child rows may refer to the order inserted in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from domain import events
from domain.catalog import stock
from domain.mails.texts import MailType
from domain.notifications import write as notifications
from domain.purchase.lines import PricedLine
from domain.purchase.totals import ChargedTax, line_commissions
from domain.store_settings import setting
from kernel.errors import Conflict
from kernel.ids import uuid7
from kernel.scope import Scope
from models.connection.database import CheckViolation, Plans, ReferenceViolation, fetch
from models.numbers import take_numbers
from models.rows import insert_sql, rows_sql
from models.tables.orders import Order, OrderAddress, OrderLine
from models.tables.taxes import OrderTax

_ORDER, _LINE, _ADDRESS, _TAX = (table.column_defaults() for table in (Order, OrderLine, OrderAddress, OrderTax))


def _parameters(first: int, count: int) -> list[str]:
    return [f"${number}" for number in range(first, first + count)]


_VENDORS = "SELECT l.vendor_id FROM lines AS l"
# The stock comes after all other rows but the history, so that popular products stay locked briefly. NULL as status, which the column
# rejects, cancels the statement.
_INSERT = f"""
WITH inserted AS (
    {insert_sql("orders", ("id", *_ORDER))} RETURNING id, public_id, user_id
), lines AS (
    {insert_sql("order_lines", ("id", *_LINE), rows_sql("order_lines", 3))} RETURNING vendor_id
), addresses AS (
    {insert_sql("order_addresses", _ADDRESS, rows_sql("order_addresses", 4))} RETURNING 1
), taxes AS (
    {insert_sql("order_taxes", _TAX, rows_sql("order_taxes", 13))} RETURNING 1
), payments AS (
    INSERT INTO payments (tenant_id, public_id, order_id, kind, amount_cents, created_at)
    SELECT $1, $7, inserted.id, $6, $5, $8 FROM inserted WHERE $5::bigint IS NOT NULL
), audited AS (
    INSERT INTO audit_entries (tenant_id, public_id, at, actor_kind, user_id, app_id, action, subject_type, subject_id,
        ip_address, request_id)
    SELECT $1, $7, $14, $10, $11, $12, 'order.created', 'order', inserted.public_id::text, $15, $16 FROM inserted
), {events.event_sql(_parameters(22, 9))}, notifications AS (
    {notifications.placed_order_sql("$7", "$14", _VENDORS)} RETURNING 1
), mailed AS (
    INSERT INTO order_mails (tenant_id, order_id, kind, created_at)
    SELECT $1, inserted.id, '{MailType.ORDER_PLACED}', $14 FROM inserted
    WHERE $31::boolean AND coalesce((SELECT s.notify FROM statuses s
        WHERE s.tenant_id = $1 AND s.type = 'O' AND s.letter = $9 AND s.deleted_at IS NULL), true)
), vendors_locked AS MATERIALIZED (
    -- Foreign keys lock the vendors only at the end of the statement; a vendor's deletion locks it before its products.
    SELECT v.id FROM vendors v
    WHERE v.tenant_id = $1 AND v.id IN ({_VENDORS})
    ORDER BY v.id FOR KEY SHARE OF v
), stock AS MATERIALIZED (
    SELECT changed.* FROM (
        SELECT (SELECT count(*) FROM lines) + (SELECT count(*) FROM addresses) + (SELECT count(*) FROM taxes)
            + (SELECT count(*) FROM notifications) + (SELECT count(*) FROM notified)
            + (SELECT count(*) FROM vendors_locked) AS rows
    ) AS written CROSS JOIN LATERAL vitrine_adjust_product_stock(
        $1, CASE WHEN written.rows >= 0 THEN $17::bigint[] END, $18, $19, (SELECT id FROM inserted)) AS changed
), history AS (
    INSERT INTO order_status_changes (tenant_id, public_id, order_id, at, to_status, actor_kind, user_id, app_id)
    SELECT $1, $7, inserted.id, $8, CASE WHEN NOT $21::boolean OR (
            SELECT count(*) = cardinality($17::bigint[]) AND bool_and(NOT (stock_before > $20::bigint AND stock_after <= $20)) IS NOT FALSE
            FROM stock
        ) THEN $9::text END, $10, $11, $12
    FROM inserted
)
SELECT inserted.id AS order_id, stock.id, stock.name, stock.vendor_id, stock.stock_before, stock.stock_after
FROM inserted LEFT JOIN stock ON true
"""
_STATUS_REQUIRED = "order_status_changes_to_status_not_null"


@dataclass(frozen=True, slots=True)
class InitialPayment:
    """A payment received together with the order, in cents."""

    amount_cents: int
    kind: str


@dataclass(frozen=True, slots=True)
class NewOrder:
    """An order to insert: `columns` has every column, `addresses` are keyed by kind.

    With `is_mailed` the customer gets a mail about it (`domain.mails.order_mails`), if its status sends any.
    """

    columns: Mapping[str, Any]
    lines: Sequence[PricedLine]
    addresses: Mapping[str, Mapping[str, str]]
    payment: InitialPayment | None
    taxes: Sequence[ChargedTax]
    event: events.Event
    is_mailed: bool


class StockNeedsAttention(Exception):
    """An order was not inserted, because stock is missing or has fallen to the threshold of a notification."""


async def insert_order(scope: Scope, order: NewOrder, changes: Mapping[int, stock.StockChange]) -> int:
    """Insert an order in one statement, change the stock of products, and return its id, as part of the current transaction.

    Raises Conflict when a referenced user was deleted concurrently and RuleViolation `out_of_stock`.
    """
    records = await _insert(scope, order, changes, is_strict=False)
    await stock.check_changes(scope, changes, [record for record in records if record["id"] is not None])
    return int(records[0]["order_id"])


async def insert_order_alone(scope: Scope, order: NewOrder, changes: Mapping[int, stock.StockChange]) -> int:
    """Insert an order as `insert_order` does, without a transaction around the statement: no lock waits for this process.

    Raises StockNeedsAttention where a second statement would be necessary; nothing is inserted then.
    """
    try:
        records = await _insert(scope, order, changes, is_strict=True)
    except CheckViolation as error:
        if error.constraint != _STATUS_REQUIRED:
            raise
        raise StockNeedsAttention from error
    return int(records[0]["order_id"])


async def _insert(
    scope: Scope, order: NewOrder, changes: Mapping[int, stock.StockChange], *, is_strict: bool
) -> list[Any]:
    actor = scope.actor
    numbers = await take_numbers(scope, {"orders": 1, "order_lines": len(order.lines)})
    [order_id], columns = numbers["orders"], order.columns
    rows = (
        [{**_ORDER, **columns, "id": order_id}],
        line_rows(order_id, order.lines, numbers["order_lines"]),
        [address_row(order_id, kind, address) for kind, address in order.addresses.items()],
        tax_rows(order_id, order.taxes),
    )
    order_text, lines_text, addresses_text, taxes_text = [
        orjson.dumps([{"public_id": uuid7(), **row} for row in each]).decode() for each in rows
    ]
    parameters = (
        scope.store.id,
        order_text,
        lines_text,
        addresses_text,
        order.payment.amount_cents if order.payment else None,
        order.payment.kind if order.payment else None,
        uuid7(),
        columns["created_at"],
        columns["status"],
        actor.kind.value,
        actor.user_id,
        actor.app_id,
        taxes_text,
        scope.now,
        scope.client_ip,
        scope.request_id,
        list(changes),
        [change.on_hand for change in changes.values()],
        [change.reserved for change in changes.values()],
        setting(scope, "low_stock_at"),
        is_strict,
        *events.event_arguments(scope, order.event),
        order.is_mailed,
    )
    try:
        return await fetch(_INSERT, *parameters, plans=Plans.REUSED)
    except ReferenceViolation as error:
        raise Conflict("what the order refers to was removed meanwhile; try again") from error


def line_rows(order_id: int, lines: Sequence[PricedLine], numbers: Sequence[int]) -> list[dict[str, Any]]:
    """Return the columns of an order's lines, which get these numbers."""
    commissions = line_commissions(
        (line.offer.vendor_id, line.offer.rate, line.quantity * line.price_cents) for line in lines
    )
    return [
        {**_line_row(line), "id": number, "order_id": order_id, "position": position, "commission_cents": commission}
        for position, (line, number, commission) in enumerate(zip(lines, numbers, commissions, strict=True), start=1)
    ]


def _line_row(line: PricedLine) -> dict[str, Any]:
    return {
        **_LINE,
        "product_id": line.offer.id or None,
        "vendor_id": line.offer.vendor_id,
        "product_name": line.offer.name,
        "product_code": line.sku,
        "quantity": line.quantity,
        "price_cents": line.price_cents,
        "base_price_cents": line.base_price_cents,
        "weight_grams": line.offer.weight_grams,
        "tracked": line.tracked,
        "in_advance": line.in_advance,
        "combination_id": line.combination_id,
        "options": list(line.selection.options) if line.selection is not None else [],
        "extra": dict(line.extra),
        "commission": line.offer.commission,
        "commission_type": line.offer.commission_type,
    }


def tax_rows(order_id: int, taxes: Sequence[ChargedTax]) -> list[dict[str, Any]]:
    """Return the columns of the taxes charged on an order."""
    return [
        {
            "order_id": order_id,
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


def address_row(order_id: int, kind: str, address: Mapping[str, str]) -> dict[str, Any]:
    """Return the columns of an order's address, with defaults for missing values."""
    return {**_ADDRESS, **address, "order_id": order_id, "kind": kind}
