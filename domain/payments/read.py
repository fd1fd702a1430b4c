"""The readable entities of payment methods and payments: visible rows, filters and sort orders."""

from __future__ import annotations

from domain.filters import contains_text, refers_to_or_none
from domain.taxes.read import has_tax
from domain.visibility import VisibleRows
from models.queries import Entity, EntityFilter, Sort, any_of, by_ids, refers_to

PAYMENT_METHODS = Entity(
    name="payment method",
    table="payment_methods",
    base_condition="t.deleted_at IS NULL",
    visible=VisibleRows(
        admin=("view_payments", "view_orders"),
        app="read_orders",
        vendor="t.status = 'A'",
        customer="t.status = 'A'",
        storefront="storefront:read",
        storefront_rows="t.status = 'A'",
    ),
    filters={
        "id": EntityFilter("id", by_ids, "any of these methods", many=True),
        "status": EntityFilter("switch_status", any_of("t.status"), "any of these statuses", many=True),
        "vendor_id": EntityFilter(
            "id", refers_to("t.vendor_id", "vendors"), "of any of these vendors", many=True
        ),
        "name": EntityFilter("text", any_of("t.name"), "exact name", many=True),
        "processor": EntityFilter("text", any_of("t.processor"), "any of these processors", many=True),
        "search": EntityFilter("text", contains_text("t.name"), "part of the name"),
        "tax_id": EntityFilter("id", has_tax("payment_method_taxes"), "has any of these taxes", many=True),
        "seller_id": EntityFilter(
            "id",
            refers_to_or_none("t.vendor_id", "vendors"),
            "of any of these vendors; 0 means without a vendor",
            many=True,
            internal=True,
        ),
        "description": EntityFilter(
            "text", any_of("t.description"), "exact description", many=True, internal=True
        ),
        "instructions": EntityFilter(
            "text", any_of("t.instructions"), "exact instructions", many=True, internal=True
        ),
        "surcharge_cents": EntityFilter(
            "cents", any_of("t.surcharge_cents", "bigint"), "exact surcharge", many=True, internal=True
        ),
        "surcharge_percent": EntityFilter(
            "big_int", any_of("t.surcharge_percent", "bigint"), "exact percentage", many=True, internal=True
        ),
        "position": EntityFilter(
            "big_int", any_of("t.position", "bigint"), "exact position", many=True, internal=True
        ),
    },
    sorts={
        "position": Sort("t.position", "bigint", "position"),
        "name": Sort("t.name", "text", "name"),
        "id": Sort("t.id", "bigint", "creation order"),
    },
    default_sort="position",
)

PAYMENTS = Entity(
    name="payment",
    table="payments",
    visible=VisibleRows(
        admin=("view_payments", "view_orders"),
        app="read_orders",
        vendor="EXISTS (SELECT 1 FROM orders o WHERE o.tenant_id = t.tenant_id AND o.id = t.order_id AND o.vendor_id = {company})",
        customer="EXISTS (SELECT 1 FROM orders o WHERE o.tenant_id = t.tenant_id AND o.id = t.order_id AND o.user_id = {user})",
    ),
    filters={
        "id": EntityFilter("id", by_ids, "any of these payments", many=True),
        "order_id": EntityFilter(
            "id", refers_to("t.order_id", "orders"), "for any of these orders", many=True
        ),
        "kind": EntityFilter("text", any_of("t.kind"), "any of these kinds", many=True),
    },
    sorts={
        "created_at": Sort("t.created_at", "timestamptz", "time of receipt"),
        "id": Sort("t.id", "bigint", "creation order"),
    },
    default_sort="-created_at",
)
