"""The readable entities of shipping methods and shipments: visible rows, filters and sort orders."""

from __future__ import annotations

from dataclasses import replace

from domain.filters import (
    created_range,
    exact,
    exact_second,
    ids,
    optional_references,
    references,
    sorts,
    statuses,
    substring,
)
from domain.order_access import CHECKOUT, PLACED
from domain.taxes.read import has_tax
from domain.visibility import ORDER_OF_CUSTOMER, SHIPMENT_OF_VENDOR, VisibleRows, published
from models.reading.queries import Condition, Entity, EntityFilter, Sort, any_of

SHIPPING_METHODS = Entity(
    table="shipping_methods",
    visible=published(("view_shipping", "view_orders"), "read_shipping"),
    filters={
        "id": ids("methods"),
        "status": statuses(),
        "vendor_id": references("vendors", "of any of these vendors"),
        **exact("text", "name"),
        "search": substring("name", "t.name"),
        "tax_id": has_tax("shipping_method_taxes", "has any of these taxes"),
        "company_id": optional_references(
            "vendors", "of any of these vendors; 0 means without a vendor", internal=True
        ),
        **exact("text", "delivery_time", "rate_calculation", "rate_source", internal=True),
        **exact("big_int", "min_weight_grams", "max_weight_grams", internal=True),
        "free_from_cents": EntityFilter(
            "cents",
            any_of("coalesce(t.free_from_cents, 0)", "bigint"),
            "exact subtotal for free shipping, 0 for never",
            many=True,
            internal=True,
        ),
        **exact("big_int", "position", internal=True),
    },
    sorts=sorts("position", "name", "id"),
)

# Reached only through a method, whose rows are filtered already.
SHIPPING_RATES = Entity(
    table="shipping_rates",
    visible=published(("view_shipping", "view_orders"), "read_shipping", ""),
)

ORDER_PLACED_AT = (
    "coalesce(t.order_placed_at,"
    " (SELECT o.created_at FROM orders o WHERE o.tenant_id = t.tenant_id AND o.id = t.order_id))"
)


SHIPMENTS = Entity(
    table="shipments",
    visible=VisibleRows(
        admin=("view_orders",), app="read_orders", vendor=SHIPMENT_OF_VENDOR, customer=ORDER_OF_CUSTOMER
    ),
    filters={
        "id": ids("shipments"),
        "order_id": references("orders", "of any of these orders"),
        "status": statuses("shipment_status"),
        **exact("text", carrier="any of these carriers", tracking_number="any of these tracking numbers"),
        "search": EntityFilter(
            "text",
            lambda text: Condition("t.tracking_number = {} OR t.id::text = {}", (text.strip(), text.strip())),
            "number or tracking number",
        ),
        "shipping_method_id": optional_references("shipping_methods", "sent by any of these methods; 0 means by none"),
        "user_id": optional_references("users", "sent to any of these users; 0 means to guests"),
        **exact("text", shipping_name="any of these method names"),
        **exact("text", "comments", internal=True),
        **exact("text", group_key="any of these order groups"),
        **created_range("recorded"),
        "created_at": exact_second("t.created_at", "recorded in this second"),
        "order_placed_at": exact_second(ORDER_PLACED_AT, "of an order placed in this second"),
    },
    sorts={
        "created_at": Sort("t.created_at", "timestamptz", "time of recording"),
        "order": Sort("t.order_id", "bigint", "order number"),
        **sorts("id"),
    },
    default_sort="-created_at",
)

PLACED_SHIPMENTS = replace(SHIPMENTS, visible=PLACED)
"""The shipments of an order of `PLACED_ORDERS`."""

SHIPMENT_LINES = Entity(
    table="shipment_lines",
    visible=VisibleRows(
        admin=("view_orders",),
        app="read_orders",
        vendor=(
            "EXISTS (SELECT 1 FROM order_lines ol WHERE ol.tenant_id = t.tenant_id AND ol.id = t.order_line_id"
            " AND ol.vendor_id = {company})"
        ),
        customer="",
        storefront=CHECKOUT,
    ),
)

# Reached only through a shipment, whose rows are filtered already.
TRACKING_EVENTS = Entity(
    table="tracking_events",
    visible=VisibleRows(admin=("view_orders",), app="read_orders", vendor="", customer="", storefront=CHECKOUT),
)
