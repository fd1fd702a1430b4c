"""Write the orders of a file, which were placed in another shop, in batches (docs/reference/bulk.md#orders).

Such an order is history: its amounts and texts are those of the file. It holds no stock, whatever its status, is not priced again, earns no
points, uses no coupon and sends no mail. One that was imported before is never changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, NamedTuple

import orjson

from domain import events
from domain.addresses import country_code
from domain.imports.commissions import keep_commissions
from domain.imports.customers import SOURCE
from domain.imports.numbered import ImportedRecord, ImportKind, ImportTable, PartNumbers, Row, Rows, write_records
from domain.imports.references import lock_import
from domain.imports.results import RecordProblem, RecordResult, TakeNumbers
from domain.ledger.entries import write_order_entries
from domain.orders.transitions import payment_status
from domain.purchase.draft import ADDRESS_FIELDS, MAX_LINES, MAX_UNITS
from kernel.codes import order_statuses
from kernel.fields import (
    FieldErrors,
    InputField,
    cents,
    code_in,
    integer,
    is_email,
    name_text,
    normalize_email,
    read_with_errors,
    short_text,
    text,
    timestamp,
)
from kernel.ids import parse_uuid
from kernel.money import MAX_CENTS
from kernel.scope import Scope
from kernel.text import InvalidValue, nfc, repr_value
from models.connection.database import fetch, transaction
from models.numbers import take_numbers
from models.tables.orders import Order, OrderAddress, OrderLine, OrderStatusChange
from models.tables.payments import Payment

KIND = "order"
_AMOUNTS = ("discount_cents", "shipping_cents", "surcharge_cents", "tax_cents", "paid_cents", "refunded_cents")
_TEXTS = ("firstname", "lastname", "phone", "ip_address", "coupon_code", "tracking_code")
_PAID = ("P", "C")
_IMPORTED = "imported"

PAST_ORDER = ImportKind(
    KIND,
    ImportTable(
        Order,
        without=(
            "fields_data",
            "company_name",
            "fax",
            "hold_until",
            "points_earned",
            "points_spent",
            "points_cents",
        ),
    ),
    ImportTable(
        OrderLine,
        without=("shipping_cents", "weight_grams", "options", "extra"),
        owner="order_id",
        numbers=PartNumbers.KEPT,
        complete=keep_commissions,
    ),
    ImportTable(OrderAddress, owner="order_id"),
    ImportTable(Payment, without=("sequence",), owner="order_id"),
    ImportTable(
        OrderStatusChange, without=("from_status", "forced", "actor_kind", "user_id", "app_id"), owner="order_id"
    ),
)

_IMPORTED_BEFORE = """
SELECT r.external_id, r.digest FROM external_references r JOIN orders o ON o.tenant_id = r.tenant_id AND o.id = r.local_id
WHERE r.tenant_id = $1 AND r.source = $2 AND r.kind = $3 AND r.external_id = ANY($4::text[]) AND o.deleted_at IS NULL
"""
_CUSTOMERS = """
SELECT email, id, firstname, lastname FROM users
WHERE tenant_id = $1 AND email = ANY($2::text[]) AND user_type = 'C' AND deleted_at IS NULL
"""
_PRODUCTS = """
SELECT p.sku, p.id, NULL::bigint AS combination_id, p.name, p.price_cents, p.vendor_id, v.public_id AS vendor
FROM products p LEFT JOIN vendors v ON v.tenant_id = p.tenant_id AND v.id = p.vendor_id
WHERE p.tenant_id = $1 AND p.sku = ANY($2::text[]) AND p.deleted_at IS NULL
UNION ALL
SELECT c.sku, p.id, c.id, p.name, p.price_cents + c.price_cents, p.vendor_id, v.public_id
FROM combinations c JOIN products p ON p.tenant_id = c.tenant_id AND p.id = c.product_id
LEFT JOIN vendors v ON v.tenant_id = p.tenant_id AND v.id = p.vendor_id
WHERE c.tenant_id = $1 AND c.sku = ANY($2::text[]) AND c.deleted_at IS NULL AND p.deleted_at IS NULL
"""
# Of several with one name the oldest counts.
_METHODS = {
    name: f"SELECT name, id FROM {name}s WHERE tenant_id = $1 AND deleted_at IS NULL ORDER BY id DESC"
    for name in ("payment_method", "shipping_method")
}


def _email(value: object) -> str:
    email = normalize_email(str(short_text(value)))
    if email and not is_email(email):
        raise InvalidValue(f"is {repr_value(value)}; expected an address such as ana@example.com")
    return email


_ADDRESS_FIELDS = {
    **{name: InputField(name, short_text) for name in ADDRESS_FIELDS},
    "country": InputField("country", country_code),
}
_LINE_FIELDS = {
    "sku": InputField("product_code", short_text),
    "name": InputField("product_name", text(10_000)),
    "quantity": InputField("quantity", integer(1, MAX_UNITS), required="required"),
    "price_cents": InputField("price_cents", cents(), required="required"),
}


def _fields(scope: Scope) -> dict[str, InputField]:
    return {
        "number": InputField("number", name_text, required="required"),
        "status": InputField("status", code_in(order_statuses(scope.store.order_statuses)), required="required"),
        "created_at": InputField("created_at", timestamp, required="required"),
        "updated_at": InputField("updated_at", timestamp),
        "email": InputField("email", _email),
        "total_cents": InputField("total_cents", cents(), required="required"),
        **{name: InputField(name, cents()) for name in _AMOUNTS},
        **{name: InputField(name, short_text) for name in _TEXTS},
        **{name: InputField(name, text()) for name in ("notes", "details")},
        "payment_kind": InputField("payment_kind", short_text),
        "installments": InputField("installments", integer(1, 1_000)),
    }


class _Product(NamedTuple):
    id: int
    combination_id: int | None
    name: str
    price_cents: int
    vendor_id: int | None


@dataclass(slots=True)
class _Draft:
    """An order to write: its own values, its lines and addresses by kind, and what is wrong with it."""

    record: Mapping[str, Any]
    values: dict[str, Any] = field(default_factory=dict)
    lines: list[Row] = field(default_factory=list)
    addresses: dict[str, Row] = field(default_factory=dict)
    problems: list[RecordProblem] = field(default_factory=list)
    digest: bytes = b""
    is_known: bool = False

    def reject(self, errors: FieldErrors, prefix: str = "", item: int | None = None) -> None:
        self.problems += [RecordProblem(prefix + name, message, item) for name, (_, message) in errors.items()]


async def import_past_orders(
    scope: Scope, records: Sequence[Mapping[str, Any]], *, emit_events: bool = False, take: TakeNumbers = take_numbers
) -> list[RecordResult]:
    """Write orders that were placed elsewhere; return the result of each, in a constant number of statements.

    A record has `number` (the order's there), `status`, `created_at`, `total_cents`, `lines` (`{sku, vendor, name, quantity,
    price_cents}`), `billing_address`, `shipping_address`, other amounts in cents, `email`, names, and the names of `payment_method` and
    `shipping_method`. The customer with the e-mail becomes the order's. A number that was imported before is left as it is, or refused when
    its record is another. `emit_events` emits `order.created`.
    """
    drafts = [_read(scope, record) for record in records]
    _reject_repeated(drafts)
    async with transaction(scope):
        await lock_import(scope, SOURCE)
        await _recognize(scope, drafts)
        await _resolve(scope, [draft for draft in drafts if not draft.is_known])
        new = [draft for draft in drafts if not draft.problems and not draft.is_known]
        if new:
            lines = sum(len(draft.lines) for draft in new)
            numbers = await take(scope, {"orders": len(new), "order_lines": lines})
            line_numbers = iter(numbers["order_lines"])
            imported = [
                ImportedRecord(number, draft.values["number"], draft.digest, _rows(scope, draft, number, line_numbers))
                for draft, number in zip(new, numbers["orders"], strict=True)
            ]
            await write_records(scope, SOURCE, PAST_ORDER, imported)
            await write_order_entries(scope, *numbers["orders"], is_late=True)
            if emit_events:
                await events.emit_orders_created(scope, numbers["orders"])
    return [_result(draft) for draft in drafts]


def _result(draft: _Draft) -> RecordResult:
    if draft.problems:
        return RecordResult("refused", draft.problems)
    return RecordResult("unchanged" if draft.is_known else "created")


# --- Validation -------------------------------------------------------------------------------------------------------


def _read(scope: Scope, values_of_file: Mapping[str, Any]) -> _Draft:
    record = _present(values_of_file) | {"lines": [_present(line) for line in values_of_file.get("lines") or ()]}
    values, errors = read_with_errors(_fields(scope), record, creating=True)
    draft = _Draft(record, values, digest=_digest(record))
    draft.reject(errors)
    currency = record.get("currency")
    if currency not in (None, "", scope.store.currency):
        message = f"currency is {repr_value(currency)}; expected {scope.store.currency}, the store's"
        draft.problems.append(RecordProblem("currency", message))
    if values.get("refunded_cents", 0) > _paid(values):
        draft.problems.append(RecordProblem("refunded_cents", "refunded_cents is more than was paid"))
    _read_lines(draft, record["lines"])
    for kind, name in (("B", "billing_address"), ("S", "shipping_address")):
        if record.get(name):
            address, wrong = read_with_errors(_ADDRESS_FIELDS, _present(record[name]))
            draft.reject(wrong, f"{name}.")
            draft.addresses[kind] = address
    return draft


def _present(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that are not null: what is null is left out."""
    return {name: value for name, value in values.items() if value is not None}


def _read_lines(draft: _Draft, lines: Sequence[Mapping[str, Any]]) -> None:
    if not 1 <= len(lines) <= MAX_LINES:
        message = f"the order has {len(lines)} lines; expected 1 to {MAX_LINES}"
        draft.problems.append(RecordProblem("lines", message))
        return
    for item, values in enumerate(lines):
        line, wrong = read_with_errors(_LINE_FIELDS, values, creating=True)
        draft.reject(wrong, "lines.", item)
        draft.lines.append(line)
    if not draft.problems and _subtotal(draft) > MAX_CENTS:
        draft.problems.append(RecordProblem("lines.price_cents", "the lines amount to too much", 0))


def _subtotal(draft: _Draft) -> int:
    return sum(line["price_cents"] * line["quantity"] for line in draft.lines)


def _paid(values: Mapping[str, Any]) -> int:
    """Return what was paid: by default the total of an order that is processed or complete."""
    default = values.get("total_cents", 0) if values.get("status") in _PAID else 0
    paid: int = values.get("paid_cents", default)
    return paid


def _digest(record: Mapping[str, Any]) -> bytes:
    return blake2b(orjson.dumps(record, option=orjson.OPT_SORT_KEYS), digest_size=16).digest()


def _reject_repeated(drafts: Iterable[_Draft]) -> None:
    seen: set[str] = set()
    for draft in drafts:
        number = draft.values.get("number")
        if number in seen:
            draft.problems.append(RecordProblem("number", f"number {repr_value(number)} is that of an earlier record"))
        elif number:
            seen.add(number)


async def _recognize(scope: Scope, drafts: Iterable[_Draft]) -> None:
    """Find the orders that were imported before."""
    right = {draft.values["number"]: draft for draft in drafts if not draft.problems}
    for row in await fetch(_IMPORTED_BEFORE, scope.store.id, SOURCE, KIND, list(right)):
        draft = right[row["external_id"]]
        draft.is_known = True
        if row["digest"] != draft.digest:
            message = "the order was imported with other values; delete it to import it again"
            draft.problems.append(RecordProblem("number", message))


# --- References -------------------------------------------------------------------------------------------------------


async def _resolve(scope: Scope, drafts: Sequence[_Draft]) -> None:
    """Find customers, methods and products."""
    emails = {draft.values["email"] for draft in drafts if draft.values.get("email")}
    customers = {row["email"]: row for row in await fetch(_CUSTOMERS, scope.store.id, sorted(emails))}
    methods = {name: await _methods(scope, name, drafts) for name in _METHODS}
    products = await _products(scope, drafts)
    for draft in drafts:
        customer = customers.get(draft.values.get("email", ""))
        if customer is not None:
            names = {name: customer[name] for name in ("firstname", "lastname") if not draft.record.get(name)}
            draft.values |= {"user_id": customer["id"], **names}
        for name, ids in methods.items():
            method = nfc(str(draft.record.get(name) or "")).strip()
            draft.values[f"{name}_id"] = ids.get(method.lower())
            if method and method.lower() not in ids:
                message = f"the store has no {name.replace('_', ' ')} {repr_value(method)}"
                draft.problems.append(RecordProblem(name, message))
        for item, line in enumerate(draft.lines):
            _resolve_line(draft, item, line, products)


async def _methods(scope: Scope, name: str, drafts: Iterable[_Draft]) -> dict[str, int]:
    """Return the store's methods by name, in lower case; none when no order has one."""
    if not any(draft.record.get(name) for draft in drafts):
        return {}
    return {row["name"].strip().lower(): row["id"] for row in await fetch(_METHODS[name], scope.store.id)}


async def _products(scope: Scope, drafts: Iterable[_Draft]) -> dict[str, dict[Any, _Product]]:
    """Return the products by SKU, and of these by vendor (None: the store's own)."""
    skus = {line["product_code"] for draft in drafts for line in draft.lines if line.get("product_code")}
    products: dict[str, dict[Any, _Product]] = {}
    for row in await fetch(_PRODUCTS, scope.store.id, sorted(skus)) if skus else ():
        product = _Product(row["id"], row["combination_id"], row["name"], row["price_cents"], row["vendor_id"])
        products.setdefault(row["sku"], {}).setdefault(row["vendor"], product)
    return products


def _resolve_line(draft: _Draft, item: int, line: Row, products: Mapping[str, Mapping[Any, _Product]]) -> None:
    """Set the product of a line; one that the store doesn't have is sold by its name alone."""
    candidates = products.get(line.get("product_code", ""), {})
    vendor = draft.record["lines"][item].get("vendor")
    if vendor:
        product = candidates.get(parse_uuid(str(vendor)))
        if product is None:
            message = f"{repr_value(vendor)} is no vendor of this SKU"
            draft.problems.append(RecordProblem("lines.vendor", message, item))
    elif len(candidates) > 1 and None not in candidates:
        message = f"{len(candidates)} vendors have the SKU {repr_value(line['product_code'])}; name the vendor"
        draft.problems.append(RecordProblem("lines.sku", message, item))
        return
    else:
        product = candidates.get(None) or next(iter(candidates.values()), None)
    if product is not None:
        line |= {"product_id": product.id, "combination_id": product.combination_id, "vendor_id": product.vendor_id}
        line["product_name"] = line.get("product_name") or product.name
        line["base_price_cents"] = product.price_cents
    elif not vendor and not line.get("product_name"):
        message = f"the store has no product {repr_value(line.get('product_code', ''))}, and the line has no name"
        draft.problems.append(RecordProblem("lines.sku", message, item))


# --- Rows -------------------------------------------------------------------------------------------------------------


def _rows(scope: Scope, draft: _Draft, number: int, line_numbers: Iterable[int]) -> Rows:
    values, numbers = draft.values, iter(line_numbers)
    created, paid, refunded = values["created_at"], _paid(values), values.get("refunded_cents", 0)
    vendors = {line.get("vendor_id") for line in draft.lines}
    details = values.pop("details", "")
    payment = {"kind": values.pop("payment_kind", ""), "installments": values.pop("installments", 1)}
    order = {
        "stock_state": "N",
        "origin": "import",
        "currency": scope.store.currency,
        "imported": True,
        **dict.fromkeys(_AMOUNTS, 0),
        "updated_at": created,
        **values,
        "id": number,
        # Where a search for the number finds it.
        "details": f"{values['number']}\n{details}".strip(),
        "vendor_id": vendors.pop() if len(vendors) == 1 else None,
        "subtotal_cents": _subtotal(draft),
        "paid_cents": paid,
        "payment_status": payment_status(values["total_cents"], paid, refunded),
    }
    return {
        "orders": [order],
        "order_lines": [
            {
                "base_price_cents": line["price_cents"],
                **line,
                "id": next(numbers),
                "order_id": number,
                "position": place,
            }
            | {"tracked": False}
            for place, line in enumerate(draft.lines, 1)
        ],
        "order_addresses": [{**row, "order_id": number, "kind": kind} for kind, row in draft.addresses.items()],
        "payments": [{**payment, "order_id": number, "amount_cents": paid, "created_at": created}] if paid else [],
        "order_status_changes": [
            {"order_id": number, "at": created, "to_status": values["status"], "reason": _IMPORTED}
        ],
    }
