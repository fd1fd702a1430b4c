"""Convert orders with their lines, addresses, taxes, payments and history, and shipments.

An order is history: its amounts and texts are those of the source. It holds no stock, is not repriced, and emits no event.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from domain.catalog.product_options import TYPES_WITH_VARIANTS
from domain.imports.commissions import keep_commissions
from domain.imports.numbered import ImportKind, ImportTable, PartNumbers, Row, Rows, load_references
from domain.ledger.reconciliation import queue_orders
from domain.orders.statuses import ORDERS, SHIPMENTS
from domain.orders.transitions import payment_status
from domain.purchase.draft import MAX_UNITS
from kernel.codes import TAX_RATE_TYPES
from kernel.fields import MAX_INTEGER, MAX_NAME, InputField, normalize_email, read_fields, short_text
from kernel.fields import text as long_text
from kernel.money import MAX_CENTS
from kernel.scope import Scope
from models.connection.database import fetch
from models.tables.orders import Order, OrderAddress, OrderLine, OrderStatusChange
from models.tables.payments import Payment
from models.tables.shipping import Shipment, ShipmentLine
from models.tables.taxes import OrderTax
from server.importers.cscart.context import SOURCE, Context
from server.importers.cscart.values import (
    NotBrought,
    Record,
    as_number,
    cents,
    entries,
    flag,
    integer,
    moment,
    numbers,
    objects,
    own_number,
    rounded,
    text,
)

LINE_REFERENCE = "order_line"


async def _complete_lines(scope: Scope, lines: list[Row]) -> None:
    """Set the commissions of the lines, and let the ledger of their orders be written."""
    await keep_commissions(scope, lines)
    await queue_orders(scope, (line["order_id"] for line in lines))


ORDER = ImportKind(
    "order",
    ImportTable(
        Order,
        without=("refunded_cents", "tracking_code", "hold_until", "points_earned", "points_spent", "points_cents"),
        only_new=frozenset({"created_at", "currency", "origin", "stock_state"}),
    ),
    ImportTable(
        OrderLine,
        without=("shipping_cents", "weight_grams", "combination_id"),
        owner="order_id",
        numbers=PartNumbers.PREFERRED,
        reference_kind=LINE_REFERENCE,
        complete=_complete_lines,
        # Out of the way: a line may get the position of another.
        before_update=(
            "UPDATE order_lines SET position = position + 1000000 WHERE tenant_id = $1 AND order_id = ANY($2::bigint[])"
        ),
    ),
    ImportTable(OrderAddress, without=("number", "district"), owner="order_id"),
    ImportTable(OrderTax, owner="order_id"),
    ImportTable(Payment, without=("sequence",), owner="order_id"),
    ImportTable(OrderStatusChange, without=("app_id",), owner="order_id"),
)
_TEXT_FIELDS = {
    **{
        name: InputField(name, short_text)
        for name in ("firstname", "lastname", "phone", "fax", "ip_address", "coupon_code")
    },
    "company_name": InputField("company_name", short_text),
    **{name: InputField(name, long_text()) for name in ("notes", "details")},
}
_ADDRESS_TEXTS = ("firstname", "lastname", "city", "state", "country", "zipcode", "phone")
_ADDRESS_FIELDS = {name: InputField(name, short_text) for name in (*_ADDRESS_TEXTS, "street", "complement")}
_LINE_FIELDS = {
    "product_name": InputField("product_name", long_text()),
    "product_code": InputField("product_code", short_text),
}
# In CS-Cart an order in one of these statuses has been paid for.
_PAID_STATUSES = ("P", "C")
_IMPORTED = "imported"
_MAX_DIGITS = 18
_CHARGED = """
SELECT o.id FROM orders o WHERE o.tenant_id = $1 AND o.imported AND o.id IN (
    SELECT order_id FROM payments WHERE tenant_id = $1 AND gateway <> ''
    UNION SELECT order_id FROM charges WHERE tenant_id = $1 AND order_id IS NOT NULL
)
"""


def convert_order(context: Context, record: Record) -> Rows:
    """Convert an order."""
    order = own_number(record, "order_id")
    if flag(record, "is_parent_order"):
        raise NotBrought("it only joins the orders of several vendors, which are brought themselves")
    if order in context.charged_orders:
        raise NotBrought("a gateway of this store was asked for its payment; it stays as it is here")
    status = _status(context, text(record, "status"), ORDERS)
    created = moment(record, "timestamp")
    if created is None:
        raise NotBrought("timestamp is missing")
    lines = [_line(context, order, place, key, line) for place, (key, line) in enumerate(_lines(record), start=1)]
    total = _amount(record, "total")
    payments, paid = _payments(record, order, total, created)
    history = _history(context, order, record, status, created)
    row = {
        "id": order,
        "status": status,
        "stock_state": "N",
        "origin": "import",
        "currency": context.scope.store.currency,
        "imported": True,
        "user_id": context.optional(record, "user_id", "users"),
        "vendor_id": context.optional(record, "company_id", "vendors"),
        "payment_method_id": context.optional(record, "payment_id", "payment_methods"),
        "shipping_method_id": _shipping_method(context, record),
        "delivery_time": _delivery_time(record),
        "subtotal_cents": _amount(record, "subtotal"),
        # CS-Cart has the discounts of products in `discount`, those of the order in `subtotal_discount`.
        "discount_cents": _amount(record, "subtotal_discount" if "display_subtotal" in record else "discount"),
        "shipping_cents": _amount(record, "shipping_cost"),
        "surcharge_cents": _amount(record, "payment_surcharge"),
        "tax_cents": _amount(record, "tax_subtotal"),
        "total_cents": total,
        "paid_cents": paid,
        "payment_status": payment_status(total, paid),
        "email": normalize_email(text(record, "email"))[:320],
        "fields_data": entries(record.get("fields")),
        **read_fields(
            _TEXT_FIELDS,
            {
                **{name: text(record, name) for name in _TEXT_FIELDS},
                "company_name": text(record, "company"),
                "coupon_code": _coupon(record),
            },
        ),
        **context.times(created, max(step["at"] for step in history)),
    }
    return {
        "orders": [row],
        "order_lines": lines,
        "order_addresses": _addresses(order, record),
        "order_taxes": _taxes(context, order, record),
        "payments": payments,
        "order_status_changes": history,
    }


def _status(context: Context, status: str, type_: str) -> str:
    if status not in context.status_letters.get(type_, ()):
        raise NotBrought(f"status {status!r} is not among the statuses")
    return status


def _is_status_code(status: str) -> bool:
    return len(status) == 1 and "A" <= status <= "Z"


def _amount(record: Record, name: str) -> int:
    amount = cents(record, name)
    if not 0 <= amount <= MAX_CENTS:
        raise NotBrought(f"{name} is {record.get(name)}; expected zero or more")
    return amount


def shipping_numbers(record: Record) -> list[int]:
    """Return the shipping methods of an order."""
    return numbers(record, "shipping_ids") or [
        method for shipping in objects(record.get("shipping")) if (method := as_number(shipping.get("shipping_id")))
    ]


def _shipping_method(context: Context, record: Record) -> int | None:
    present = context.present(shipping_numbers(record)[:1], "shipping", "shipping_methods")
    return present[0] if present else None


def _delivery_time(record: Record) -> str | None:
    """Return the delivery time of the first shipping method; None leaves it to that of the method that was brought."""
    times = (text(shipping, "delivery_time") for shipping in objects(record.get("shipping")))
    return next(times, "")[:MAX_NAME] or None


def _coupon(record: Record) -> str:
    """Return the coupon; CS-Cart has a map of coupons to promotions."""
    coupons = record.get("coupons")
    return next(iter(coupons), "") if isinstance(coupons, dict) else text(record, "coupon_code")


def _payments(record: Record, order: int, total: int, created: Any) -> tuple[list[Row], int]:
    """Return the payment received, and the amount paid. CS-Cart's `payment_info` is the processor's and never brought."""
    received = entries(record.get("payment_info"))
    if "amount" in received and "kind" in received:
        amount = _amount(received, "amount")
        payment = {
            "order_id": order,
            "kind": text(received, "kind")[:MAX_NAME],
            "installments": max(0, min(integer(received, "installments", 1), MAX_INTEGER)),
            "amount_cents": amount,
            "created_at": created,
        }
        return [payment], amount
    is_paid = "status_history" not in record and text(record, "status") in _PAID_STATUSES
    return [], total if is_paid else 0


# --- Lines -----------------------------------------------------------------------------------------------------------------------


def _lines(record: Record) -> list[tuple[str, Record]]:
    return [(key, line) for key, line in entries(record.get("products")).items() if isinstance(line, dict)]


def _line(context: Context, order: int, place: int, key: str, line: Record) -> Row:
    item = text(line, "item_id") or key
    quantity = integer(line, "amount")
    if not 0 < quantity <= MAX_UNITS:
        raise NotBrought(f"item {item}: amount is {line.get('amount')}; expected 1 or more")
    extra = entries(line.get("extra"))
    name = text(line, "product") or text(extra, "product") or "?"
    price = _amount(line, "price")
    return {
        "id": as_number(item),
        "external_id": f"{order}:{item}",
        "order_id": order,
        "position": place,
        "product_id": context.optional(line, "product_id", "products"),
        "vendor_id": context.optional(line, "company_id", "vendors"),
        "quantity": quantity,
        "price_cents": price,
        "base_price_cents": _amount(line, "base_price") if line.get("base_price") not in (None, "") else price,
        "tracked": False,
        "options": _options(context, extra),
        "extra": extra,
        **read_fields(_LINE_FIELDS, {"product_name": name, "product_code": text(line, "product_code")}),
    }


async def load_orders(context: Context) -> None:
    """Load the orders that a gateway of this store was asked to charge, and the public ids of options and variants, which lines name."""
    context.charged_orders = {row["id"] for row in await fetch(_CHARGED, context.scope.store.id)}
    for table, ids in (("options", context.option_ids), ("option_variants", context.option_variant_ids)):
        statement = f"SELECT id, public_id FROM {table} WHERE tenant_id = $1"  # two constants
        rows = await fetch(statement, context.scope.store.id)
        ids |= {row["id"]: row["public_id"] for row in rows if row["id"] in context.known[table]}


def _options(context: Context, extra: Record) -> list[Row]:
    """Return the choices of a line as `domain.purchase.option_selection` stores them; those of deleted options are in `extra` only."""
    choices: list[Row] = []
    for entry in objects(extra.get("product_options_value")):
        has_variants = text(entry, "option_type", "S") in TYPES_WITH_VARIANTS
        option = _public_id(context, "options", context.option_ids, text(entry, "option_id"))
        variant = None
        if has_variants:
            variant = _public_id(context, "option_variants", context.option_variant_ids, text(entry, "value"))
        if option is None or (has_variants and variant is None):
            continue
        choices.append(
            {
                "option_id": str(option),
                "name": text(entry, "option_name"),
                "variant_id": str(variant) if variant else None,
                "value": text(entry, "variant_name") or text(entry, "value"),
                "modifier": cents(entry, "modifier") if variant else 0,
                "modifier_type": text(entry, "modifier_type") or "A",
            }
        )
    return choices


def _public_id(context: Context, table: str, ids: Mapping[int, UUID], digits: str) -> UUID | None:
    """Return the public id of an option or variant; one that is not here is no loss worth a note, since `extra` has it."""
    if not (digits.isascii() and digits.isdigit()) or len(digits) > _MAX_DIGITS:
        return None
    public_id = ids.get(int(digits))
    if public_id is None:
        context.missing.add((table, int(digits)))
    return public_id


# --- Addresses, taxes, history ---------------------------------------------------------------------------------------------------


def _addresses(order: int, record: Record) -> list[Row]:
    rows = []
    for kind, prefix in (("B", "b"), ("S", "s")):
        values = {name: text(record, f"{prefix}_{name}") for name in _ADDRESS_TEXTS}
        values["street"] = text(record, f"{prefix}_address")
        values["complement"] = text(record, f"{prefix}_address_2")
        if any(values.values()):
            rows.append({"order_id": order, "kind": kind, **read_fields(_ADDRESS_FIELDS, values)})
    return rows


def _taxes(context: Context, order: int, record: Record) -> list[Row]:
    rows = []
    for place, (key, tax) in enumerate(entries(record.get("taxes")).items()):
        if not isinstance(tax, dict):
            continue
        reference = as_number(tax.get("tax_id", key if key.isdigit() else None))
        rate_type = text(tax, "rate_type", "P")
        rows.append(
            {
                "order_id": order,
                "tax_id": next(iter(context.present([reference], "tax", "taxes")), None) if reference else None,
                "name": text(tax, "description"),
                "rate_type": rate_type if rate_type in TAX_RATE_TYPES.codes else "P",
                "rate_value": max(0, rounded(tax, "rate_value", 1_000)),
                "included": flag(tax, "price_includes_tax"),
                "amount_cents": _amount(tax, "tax_subtotal"),
                "position": place,
            }
        )
    return rows


def _history(context: Context, order: int, record: Record, status: str, created: Any) -> list[Row]:
    """Return the changes of the status, also to one that was deleted since; without any in the answer the present one is a change."""
    steps = [
        {
            "order_id": order,
            "at": moment(step, "timestamp") or created,
            "from_status": before if _is_status_code(before := text(step, "status_from")) else "",
            "to_status": after,
            "forced": flag(step, "forced"),
            "reason": text(step, "reason")[:MAX_NAME],
            "actor_kind": text(step, "actor")[:MAX_NAME] or "system",
            "user_id": context.optional(step, "user_id", "users"),
        }
        for step in objects(record.get("status_history"))
        if _is_status_code(after := text(step, "status"))
    ]
    present = {"order_id": order, "at": created, "to_status": status, "reason": _IMPORTED}
    return steps or [{**present, "from_status": "", "forced": False, "actor_kind": "system", "user_id": None}]


async def load_line_numbers(context: Context) -> None:
    """Load the numbers of order lines that could not keep that of their item."""
    lines = await load_references(context.scope, SOURCE, LINE_REFERENCE)
    context.line_numbers = {external_id: line.number for external_id, line in lines.items()}


# --- Shipments -------------------------------------------------------------------------------------------------------------------

SHIPMENT = ImportKind("shipment", ImportTable(Shipment), ImportTable(ShipmentLine, owner="shipment_id"))
_SHIPMENT_FIELDS = {
    **{name: InputField(name, short_text) for name in ("shipping_name", "carrier", "tracking_number", "group_key")},
    "comments": InputField("comments", long_text()),
}


def convert_shipment(context: Context, record: Record) -> Rows:
    """Convert a shipment; its items are numbered within their order at the source."""
    shipment = own_number(record, "shipment_id")
    order = context.required(record, "order_id", "orders")
    status = text(record, "status") or "S"
    values = {
        "shipping_name": text(record, "shipping"),
        "carrier": text(record, "carrier"),
        "tracking_number": text(record, "tracking_number"),
        "group_key": text(record, "group_key"),
        "comments": text(record, "comments"),
    }
    row = {
        "id": shipment,
        "order_id": order,
        "shipping_method_id": context.optional(record, "shipping_id", "shipping_methods"),
        "user_id": context.optional(record, "user_id", "users"),
        "status": _status(context, status, SHIPMENTS),
        "order_placed_at": moment(record, "order_timestamp"),
        **read_fields(_SHIPMENT_FIELDS, values),
        **context.times(moment(record, "timestamp", "shipment_timestamp")),
    }
    lines = []
    for item, entry in entries(record.get("products")).items():
        amount = integer(entry, "amount") if isinstance(entry, dict) else integer({"amount": entry}, "amount")
        if amount > 0:
            line = context.line_numbers.get(f"{order}:{item}")
            if line is None:
                line = as_number(item)
                if line not in context.known["order_lines"]:
                    raise NotBrought(f"item {item} is not among the lines of order {order}")
            lines.append({"shipment_id": shipment, "order_line_id": line, "quantity": amount})
    return {"shipments": [row], "shipment_lines": lines}
