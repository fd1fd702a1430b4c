"""Declare what of payment methods and payments can be read."""

from __future__ import annotations

from domain.catalog.read import holds_text, refers_to_or_none
from domain.taxes.read import taxed_with
from domain.visibility import Rows
from models.reading import Entity, EntityFilter, Sort, any_of, named, refers_to

PAYMENT_METHODS = Entity(
    name="payment method",
    table="payment_methods",
    alive="t.deleted_at IS NULL",
    visible=Rows(
        admin=("view_payments", "view_orders"),
        app="read_orders",
        vendor="t.status = 'A'",
        customer="t.status = 'A'",
        storefront="storefront:read",
        storefront_rows="t.status = 'A'",
    ),
    filters={
        "id": EntityFilter("id", named, "any of these methods", many=True),
        "status": EntityFilter("switch_status", any_of("t.status"), "any of these statuses", many=True),
        "vendor_id": EntityFilter(
            "id", refers_to("t.vendor_id", "vendors"), "of any of these vendors", many=True
        ),
        "name": EntityFilter("text", any_of("t.name"), "exact name", many=True),
        "processor": EntityFilter("text", any_of("t.processor"), "any of these processors", many=True),
        "search": EntityFilter("text", holds_text("t.name"), "part of the name"),
        "tax_id": EntityFilter(
            "id", taxed_with("payment_method_taxes"), "any of these taxes lies on it", many=True
        ),
        "seller_id": EntityFilter(
            "id",
            refers_to_or_none("t.vendor_id", "vendors"),
            "of any of these vendors; 0 means of none",
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
        "id": Sort("t.id", "bigint", "order of entry"),
    },
    default_sort="position",
)

PAYMENTS = Entity(
    name="payment",
    table="payments",
    visible=Rows(
        admin=("view_payments", "view_orders"),
        app="read_orders",
        vendor="EXISTS (SELECT 1 FROM orders o WHERE o.tenant_id = t.tenant_id AND o.id = t.order_id AND o.vendor_id = {company})",
        customer="EXISTS (SELECT 1 FROM orders o WHERE o.tenant_id = t.tenant_id AND o.id = t.order_id AND o.user_id = {user})",
    ),
    filters={
        "id": EntityFilter("id", named, "any of these payments", many=True),
        "order_id": EntityFilter(
            "id", refers_to("t.order_id", "orders"), "for any of these orders", many=True
        ),
        "kind": EntityFilter("text", any_of("t.kind"), "any of these kinds", many=True),
    },
    sorts={
        "created_at": Sort("t.created_at", "timestamptz", "time of receipt"),
        "id": Sort("t.id", "bigint", "order of entry"),
    },
    default_sort="-created_at",
)
