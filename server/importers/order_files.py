"""The past orders of a file: customers, lines, amounts, addresses (docs/reference/bulk.md#orders)."""

from __future__ import annotations

from domain.imports.past_orders import import_past_orders
from domain.purchase.draft import ADDRESS_FIELDS
from models.connection.database import Plans
from server.importers.file_rows import Column, ColumnGroup, RecordFormat
from server.importers.file_values import moment, money, whole
from server.importers.record_files import FileKind, writing

_TEXTS = (
    *("number", "status", "email", "firstname", "lastname", "phone", "currency", "payment_method", "payment_kind"),
    *("shipping_method", "tracking_code", "coupon_code", "ip_address", "notes", "details"),
)
_AMOUNTS = ("total", "discount", "shipping", "surcharge", "tax", "paid", "refunded")


def _amount(name: str) -> dict[str, Column]:
    """Return the two columns of an amount: with a decimal point, and in cents."""
    return {name: Column(f"{name}_cents", money, money), f"{name}_cents": Column(f"{name}_cents", whole)}


_ADDRESS_COLUMNS = {name: Column(name) for name in ADDRESS_FIELDS}
_COLUMNS = {name: Column(name) for name in _TEXTS} | {
    "installments": Column("installments", whole),
    "created_at": Column("created_at", moment, moment),
    "updated_at": Column("updated_at", moment, moment),
}
for _name in _AMOUNTS:
    _COLUMNS |= _amount(_name)

ORDERS = FileKind(
    "orders",
    RecordFormat(
        _COLUMNS,
        (
            ColumnGroup(
                "lines",
                "line_",
                {
                    "sku": Column("sku"),
                    "vendor_id": Column("vendor"),
                    "name": Column("name"),
                    "quantity": Column("quantity", whole),
                    **_amount("price"),
                },
                is_list=True,
            ),
            ColumnGroup("billing_address", "billing_", _ADDRESS_COLUMNS),
            ColumnGroup("shipping_address", "shipping_", _ADDRESS_COLUMNS),
        ),
        key="number",
    ),
    writing(import_past_orders),
    Plans.FOR_VALUES,  # as in `domain.imports.orders`: a plan made for the first orders reads all of them for each reference to one
)
