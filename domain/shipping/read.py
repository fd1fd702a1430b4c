"""The readable entities of shipping methods and shipments: visible rows, filters and sort orders."""

from __future__ import annotations

from domain.filters import contains_text, refers_to_or_none, within_second
from domain.taxes.read import has_tax
from domain.visibility import VisibleRows
from models.queries import Entity, EntityFilter, Sort, any_of, by_ids, compares, refers_to

SHIPPING_METHODS = Entity(
    name="shipping method",
    table="shipping_methods",
    base_condition="t.deleted_at IS NULL",
    visible=VisibleRows(
        admin=("view_shipping", "view_orders"),
        app="read_shipping",
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
        "search": EntityFilter("text", contains_text("t.name"), "part of the name"),
        "tax_id": EntityFilter("id", has_tax("shipping_method_taxes"), "has any of these taxes", many=True),
        "seller_id": EntityFilter(
            "id",
            refers_to_or_none("t.vendor_id", "vendors"),
            "of any of these vendors; 0 means without a vendor",
            many=True,
            internal=True,
        ),
        "delivery_time": EntityFilter(
            "text", any_of("t.delivery_time"), "exact delivery time", many=True, internal=True
        ),
        "rate_calculation": EntityFilter(
            "text", any_of("t.rate_calculation"), "any of these rate types", many=True, internal=True
        ),
        "min_weight_grams": EntityFilter(
            "big_int",
            any_of("t.min_weight_grams", "bigint"),
            "exact minimum weight",
            many=True,
            internal=True,
        ),
        "max_weight_grams": EntityFilter(
            "big_int",
            any_of("t.max_weight_grams", "bigint"),
            "exact maximum weight",
            many=True,
            internal=True,
        ),
        "free_from_cents": EntityFilter(
            "cents",
            any_of("coalesce(t.free_from_cents, 0)", "bigint"),
            "exact subtotal for free shipping, 0 for never",
            many=True,
            internal=True,
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

# Reached only through a method, whose rows are filtered already.
SHIPPING_RATES = Entity(
    name="shipping rate",
    table="shipping_rates",
    visible=VisibleRows(
        admin=("view_shipping", "view_orders"),
        app="read_shipping",
        vendor="",
        customer="",
        storefront="storefront:read",
    ),
)

# A vendor sees the shipments with lines of its own.
_OWN_LINES = (
    "EXISTS (SELECT 1 FROM shipment_lines sl JOIN order_lines ol ON ol.tenant_id = sl.tenant_id AND ol.id = sl.order_line_id"
    " WHERE sl.tenant_id = t.tenant_id AND sl.shipment_id = t.id AND ol.vendor_id = {company})"
)

ORDER_PLACED_AT = (
    "coalesce(t.order_placed_at,"
    " (SELECT o.created_at FROM orders o WHERE o.tenant_id = t.tenant_id AND o.id = t.order_id))"
)


SHIPMENTS = Entity(
    name="shipment",
    table="shipments",
    visible=VisibleRows(
        admin=("view_orders",),
        app="read_orders",
        vendor=_OWN_LINES,
        customer="EXISTS (SELECT 1 FROM orders o WHERE o.tenant_id = t.tenant_id AND o.id = t.order_id AND o.user_id = {user})",
    ),
    filters={
        "id": EntityFilter("id", by_ids, "any of these shipments", many=True),
        "order_id": EntityFilter(
            "id", refers_to("t.order_id", "orders"), "of any of these orders", many=True
        ),
        "status": EntityFilter("shipment_status", any_of("t.status"), "any of these statuses", many=True),
        "carrier": EntityFilter("text", any_of("t.carrier"), "any of these carriers", many=True),
        "tracking_number": EntityFilter(
            "text", any_of("t.tracking_number"), "any of these tracking numbers", many=True
        ),
        "shipping_method_id": EntityFilter(
            "id",
            refers_to_or_none("t.shipping_method_id", "shipping_methods"),
            "sent by any of these methods; 0 means by none",
            many=True,
        ),
        "user_id": EntityFilter(
            "id",
            refers_to_or_none("t.user_id", "users"),
            "sent to any of these users; 0 means to guests",
            many=True,
        ),
        "shipping_name": EntityFilter(
            "text", any_of("t.shipping_name"), "any of these method names", many=True
        ),
        "comments": EntityFilter("text", any_of("t.comments"), "exact comments", many=True, internal=True),
        "group_key": EntityFilter("text", any_of("t.group_key"), "any of these order groups", many=True),
        "created_from": EntityFilter(
            "time", compares("t.created_at", ">="), "recorded at or after this time"
        ),
        "created_before": EntityFilter("time", compares("t.created_at", "<"), "recorded before this time"),
        "created_at": EntityFilter(
            "time", within_second("t.created_at"), "recorded in this second", many=True, internal=True
        ),
        "order_placed_at": EntityFilter(
            "time",
            within_second(ORDER_PLACED_AT),
            "of an order placed in this second",
            many=True,
            internal=True,
        ),
    },
    sorts={
        "created_at": Sort("t.created_at", "timestamptz", "time of recording"),
        "order": Sort("t.order_id", "bigint", "order number"),
        "id": Sort("t.id", "bigint", "creation order"),
    },
    default_sort="-created_at",
)

SHIPMENT_LINES = Entity(
    name="shipment line",
    table="shipment_lines",
    visible=VisibleRows(
        admin=("view_orders",),
        app="read_orders",
        vendor=(
            "EXISTS (SELECT 1 FROM order_lines ol WHERE ol.tenant_id = t.tenant_id AND ol.id = t.order_line_id"
            " AND ol.vendor_id = {company})"
        ),
        customer="",
    ),
)
