"""The readable entities of payment methods and payments: visible rows, filters and sort orders."""

from __future__ import annotations

from domain.filters import exact, ids, optional_references, references, sorts, statuses, substring
from domain.taxes.read import has_tax
from domain.visibility import ORDER_OF_CUSTOMER, ORDER_OF_VENDOR, VisibleRows, published
from models.reading.queries import Condition, Entity, Sort

# As `domain.purchase.references`.
ACCEPTED = Condition("t.status = 'A'")
"""The payment methods that a new order may name."""

PAYMENT_METHODS = Entity(
    table="payment_methods",
    visible=published(("view_payments", "view_orders"), "read_orders"),
    filters={
        "id": ids("methods"),
        "status": statuses(),
        "vendor_id": references("vendors", "of any of these vendors"),
        **exact("text", "name", processor="any of these processors"),
        "search": substring("name", "t.name"),
        "tax_id": has_tax("payment_method_taxes", "has any of these taxes"),
        "company_id": optional_references(
            "vendors", "of any of these vendors; 0 means without a vendor", internal=True
        ),
        **exact("text", "description", "instructions", internal=True),
        **exact("cents", "surcharge_cents", internal=True),
        **exact("big_int", "surcharge_percent", "position", internal=True),
    },
    sorts=sorts("position", "name", "id"),
)

PAYMENTS = Entity(
    table="payments",
    visible=VisibleRows(
        admin=("view_payments", "view_orders"), app="read_orders", vendor=ORDER_OF_VENDOR, customer=ORDER_OF_CUSTOMER
    ),
    filters={
        "id": ids("payments"),
        "order_id": references("orders", "for any of these orders"),
        **exact("text", kind="any of these kinds"),
    },
    sorts={"created_at": Sort("t.created_at", "timestamptz", "time of receipt"), **sorts("id")},
    default_sort="-created_at",
)
