"""Declare what of shipping methods and shipments can be read."""

from __future__ import annotations

from domain.catalog.read import holds_text, in_second, refers_to_or_none
from domain.taxes.read import taxed_with
from domain.visibility import Rows
from models.reading import Entity, EntityFilter, Sort, any_of, compares, named, refers_to

SHIPPING_METHODS = Entity(
    name="shipping method",
    table="shipping_methods",
    alive="t.deleted_at IS NULL",
    visible=Rows(
        admin=("view_shipping", "view_orders"),
        app="read_shipping",
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
        "search": EntityFilter("text", holds_text("t.name"), "part of the name"),
        "tax_id": EntityFilter(
            "id", taxed_with("shipping_method_taxes"), "any of these taxes lies on it", many=True
        ),
        "seller_id": EntityFilter(
            "id",
            refers_to_or_none("t.vendor_id", "vendors"),
            "of any of these vendors; 0 means of none",
            many=True,
            internal=True,
        ),
        "delivery_time": EntityFilter(
            "text", any_of("t.delivery_time"), "exact delivery time", many=True, internal=True
        ),
        "rate_calculation": EntityFilter(
            "text", any_of("t.rate_calculation"), "any of these rate letters", many=True, internal=True
        ),
        "min_weight_grams": EntityFilter(
            "big_int",
            any_of("t.min_weight_grams", "bigint"),
            "exact lightest order",
            many=True,
            internal=True,
        ),
        "max_weight_grams": EntityFilter(
            "big_int",
            any_of("t.max_weight_grams", "bigint"),
            "exact heaviest order",
            many=True,
            internal=True,
        ),
        "free_from_cents": EntityFilter(
            "cents",
            any_of("coalesce(t.free_from_cents, 0)", "bigint"),
            "free from exactly this subtotal, 0 for never",
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
        "id": Sort("t.id", "bigint", "order of entry"),
    },
    default_sort="position",
)

# Reached only through a method, whose rows were filtered already.
SHIPPING_RATES = Entity(
    name="shipping rate",
    table="shipping_rates",
    visible=Rows(
        admin=("view_shipping", "view_orders"),
        app="read_shipping",
        vendor="",
        customer="",
        storefront="storefront:read",
    ),
)

# A vendor sees the parcels that hold lines of its own.
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
    visible=Rows(
        admin=("view_orders",),
        app="read_orders",
        vendor=_OWN_LINES,
        customer="EXISTS (SELECT 1 FROM orders o WHERE o.tenant_id = t.tenant_id AND o.id = t.order_id AND o.user_id = {user})",
    ),
    filters={
        "id": EntityFilter("id", named, "any of these shipments", many=True),
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
            "text", any_of("t.shipping_name"), "any of these names of methods", many=True
        ),
        "comments": EntityFilter("text", any_of("t.comments"), "exact remarks", many=True, internal=True),
        "group_key": EntityFilter("text", any_of("t.group_key"), "any of these parts of orders", many=True),
        "created_from": EntityFilter("time", compares("t.created_at", ">="), "recorded then or later"),
        "created_before": EntityFilter("time", compares("t.created_at", "<"), "recorded before"),
        "created_at": EntityFilter(
            "time", in_second("t.created_at"), "recorded in that second", many=True, internal=True
        ),
        "order_placed_at": EntityFilter(
            "time",
            in_second(ORDER_PLACED_AT),
            "of an order placed in that second",
            many=True,
            internal=True,
        ),
    },
    sorts={
        "created_at": Sort("t.created_at", "timestamptz", "time of recording"),
        "order": Sort("t.order_id", "bigint", "number of the order"),
        "id": Sort("t.id", "bigint", "order of entry"),
    },
    default_sort="-created_at",
)

SHIPMENT_LINES = Entity(
    name="shipment line",
    table="shipment_lines",
    visible=Rows(
        admin=("view_orders",),
        app="read_orders",
        vendor=(
            "EXISTS (SELECT 1 FROM order_lines ol WHERE ol.tenant_id = t.tenant_id AND ol.id = t.order_line_id"
            " AND ol.vendor_id = {company})"
        ),
        customer="",
    ),
)
