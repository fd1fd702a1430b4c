"""Describe orders; their lines and addresses are in `order_parts`."""

from __future__ import annotations

from kernel.scope import ActorKind
from rest_facade.legacy.resource import QueryFilter, RecordField, Resource, Together, id_field
from rest_facade.legacy.resources import order_parts as parts
from rest_facade.legacy.value_types import (
    EMAIL,
    ID,
    IDS,
    MONEY,
    OBJECT,
    ORDER_STATUS,
    PLAIN,
    TEXT,
    UNIX,
    if_given,
    shown_with,
)

_USER_DATA = "user_data"

ORDERS = Resource(
    path="orders",
    key="order_id",
    thing="order",
    area="orders",
    operations="Order",
    open_to_vendors=True,
    fields=(
        id_field("order_id"),
        RecordField("user_id", ID, "customer_id", "buyer_id"),
        RecordField("company_id", ID, filters="sole_vendor_id"),
        RecordField("status", ORDER_STATUS, "status", "status"),
        RecordField("total", MONEY, filters="total_cents"),
        RecordField("subtotal", MONEY, filters="subtotal_cents"),
        RecordField("shipping_cost", MONEY, filters="shipping_cents"),
        RecordField("timestamp", UNIX, filters="created_at"),
        RecordField("firstname", TEXT, "firstname", "firstname", within=_USER_DATA),
        RecordField("lastname", TEXT, "lastname", "lastname", within=_USER_DATA),
        RecordField("email", EMAIL, "email", "email", within=_USER_DATA),
        RecordField("phone", TEXT, "phone", "phone", within=_USER_DATA),
        RecordField("products", parts.LINES, "items"),
    ),
    single=(
        RecordField("payment_id", ID, "payment_method_id", "payment_method_id"),
        RecordField("payment_method", shown_with(parts.payment_shown)),
        RecordField("shipping_ids", parts.FIRST_ID, "shipping_method_id", "shipping_method_id"),
        RecordField("shipping", PLAIN),
        RecordField("discount", MONEY, filters="discount_cents"),
        RecordField("tax_subtotal", MONEY, filters="tax_cents"),
        RecordField("fields", OBJECT, "fields"),
        RecordField("notes", TEXT, "notes", "notes"),
        RecordField("details", TEXT, "details", "details", right="is_staff"),
        RecordField("ip_address", TEXT, "ip_address", "ip_address", right="is_staff"),
        RecordField("shipment_ids", IDS, filters="shipment_id"),
        RecordField("status_history", shown_with(parts.history_shown)),
        RecordField("product_groups", PLAIN),
        *parts.address_fields("b", "billing", _USER_DATA),
        *parts.address_fields("s", "shipping", _USER_DATA),
    ),
    inputs=(
        RecordField("shipping_id", ID, "shipping_method_id"),
        RecordField("coupon_code", if_given(TEXT), "coupon_code"),
    ),
    required={"user_id": "user_id is required", "products": "products is required"},
    says={
        "customer_id or customer_email": "user_data.email",
        "quantity": "amount",
        "price_cents": "price",
        "number": "address",
    },
    complete=parts.complete,
    filters=(
        QueryFilter("q", "search", TEXT, many=False),
        QueryFilter("shipping_id", "shipping_method_id", ID),
        Together(("period", "time_from", "time_to"), parts.placed_within),
    ),
    sorts={
        "timestamp": "CREATED_AT",
        "date": "CREATED_AT",
        "order_id": "NUMBER",
        "status": "STATUS",
        "total": "TOTAL",
        "updated_at": "UPDATED_AT",
    },
    default_sort=("timestamp", "desc"),
    default_order="desc",
    rights={
        "is_staff": lambda scope: scope.actor.kind is ActorKind.ADMIN,
        "sees_processors": lambda scope: scope.actor.holds("view_payments"),
    },
)
