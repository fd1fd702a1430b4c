"""Describe orders; their lines and addresses are in `order_parts`."""

from __future__ import annotations

from kernel.scope import ActorKind
from rest_facade.legacy import value_types as types
from rest_facade.legacy.reshape import is_cscart
from rest_facade.legacy.resource import (
    IN_CSCART,
    SEARCH,
    CombinedFilter,
    QueryFilter,
    Record,
    RecordField,
    Resource,
    id_field,
)
from rest_facade.legacy.resources import order_parts as parts
from rest_facade.legacy.round_trip import complete_lines

_USER_DATA = "user_data"


def _complete_update(changes: Record, record: Record) -> Record:
    """Keep what a body doesn't say about the lines of the order, and all of them if it says nothing else than the record."""
    if "products" not in changes:
        return changes
    lines = parts.with_staying_lines(complete_lines(changes["products"], record), record["products"])
    if parts.are_current_lines(lines, record["products"]):
        return {name: value for name, value in changes.items() if name != "products"}
    return {**changes, "products": lines}


ORDERS = Resource(
    path="orders",
    privilege_area="orders",
    open_to_vendors=True,
    fields=(
        id_field("order_id"),
        RecordField("user_id", types.ID, "customer_id", "buyer_id", source="user_number"),
        RecordField("company_id", types.ID, filter_name="sole_vendor_id", source="vendor_number"),
        RecordField("status", types.ORDER_STATUS, "status", "status"),
        # Orders of several vendors are one order here, not a parent with one for each.
        RecordField("is_parent_order", types.FLAG, constant="N", contract_single=True),
        RecordField("parent_order_id", types.ID, constant="0", contract_single=True),
        # Who entered an order is in the audit log, and credit notes are documents of a fiscal system.
        *(RecordField(name, types.ID, constant="0", contract_single=True) for name in ("issuer_id", "credit_memo_id")),
        RecordField("invoice_id", types.TEXT, source="invoice", permission=IN_CSCART),
        RecordField("updated_at", types.UNIX_TIME, source="updated_unix", permission=IN_CSCART),
        RecordField("total", types.MONEY, filter_name="total_cents"),
        RecordField("subtotal", types.MONEY, filter_name="subtotal_cents"),
        RecordField("shipping_cost", types.MONEY, filter_name="shipping_cents"),
        RecordField("timestamp", types.UNIX_TIME, filter_name="created_at"),
        RecordField("firstname", types.TEXT, "firstname", "firstname", parent_object=_USER_DATA),
        RecordField("lastname", types.TEXT, "lastname", "lastname", parent_object=_USER_DATA),
        RecordField("email", types.EMAIL, "email", "email", parent_object=_USER_DATA),
        RecordField("phone", types.TEXT, "phone", "phone", parent_object=_USER_DATA),
        *(
            RecordField(name, types.TEXT, column, column, parent_object=_USER_DATA, permission=IN_CSCART)
            for name, column in (("company", "company_name"), ("fax", "fax"))
        ),
        RecordField("products", parts.LINES, "items", source=parts.LINES_SOURCE, cscart_type=parts.LINES_BY_ID),
    ),
    detail_fields=(
        RecordField("payment_id", types.ID, "payment_method_id", "payment_method_id", source="payment_number"),
        RecordField(
            "payment_method",
            types.rendered_by(parts.render_payment, schema=parts.PAYMENT_SCHEMA),
            source=parts.PAYMENT_SOURCE,
        ),
        RecordField(
            "shipping_ids", parts.FIRST_ID, "shipping_method_id", "shipping_method_id", source="shipping_number"
        ),
        RecordField("shipping", parts.SHIPPING, source=parts.SHIPPING_SOURCE),
        RecordField("discount", types.MONEY, filter_name="discount_cents"),
        RecordField("tax_subtotal", types.MONEY, filter_name="tax_cents"),
        RecordField("subtotal_discount", types.MONEY, filter_name="discount_cents"),
        RecordField("payment_surcharge", types.MONEY, filter_name="surcharge_cents"),
        RecordField(
            "taxes", types.rendered_by(parts.render_taxes, schema=parts.TAXES_SCHEMA), source=parts.TAXES_SOURCE
        ),
        RecordField(
            "payment_info",
            types.rendered_by(parts.render_payment_info, schema=parts.PAYMENT_INFO_SCHEMA),
            source=parts.PAYMENTS_SOURCE,
        ),
        RecordField("points_info", types.added(parts.POINTS_SCHEMA), source=None),
        RecordField("lang_code", types.TEXT, filter_name="lang_code"),
        RecordField("fields", types.OBJECT, "fields"),
        RecordField("notes", types.TEXT, "notes", "notes"),
        RecordField("details", types.TEXT, "details", "details", permission="is_staff"),
        RecordField("ip_address", types.TEXT, "ip_address", "ip_address", permission="is_staff"),
        RecordField("shipment_ids", parts.SHIPMENT_IDS, filter_name="shipment_id", source="shipments { number }"),
        RecordField("status_history", parts.HISTORY, source=parts.HISTORY_SOURCE),
        RecordField("product_groups", parts.PRODUCT_GROUPS, source=None),
        *parts.address_fields("b", "billing", _USER_DATA),
        *parts.address_fields("s", "shipping", _USER_DATA),
    ),
    input_fields=(
        RecordField("shipping_id", parts.FIRST_ID, "shipping_method_id"),
        RecordField("restock", types.optional(types.FLAG), "restock"),
        RecordField("coupon_code", types.optional(types.TEXT), "coupon_code"),
        RecordField("points_to_use", types.optional(types.INTEGER), "points_to_use"),
    ),
    required=("user_id", "products"),
    cscart_defaults={"user_id": None},
    message_terms={
        "customer_id or customer_email": "user_data.email",
        "quantity": "products: amount",
        "price_cents": "products: price",
        "number": "address",
    },
    complete=parts.complete_order,
    cscart_complete=parts.complete_cscart_order,
    coupled=(("user_id", "firstname", "lastname", "email", "phone"),),
    complete_update=_complete_update,
    extra_selection=f"{parts.ADDRESSES} {parts.POINTS_SOURCE} delivery_time",
    filters=(
        SEARCH,
        QueryFilter("shipping_id", "shipping_method_id", types.ID),
        QueryFilter("invoice_id", "invoice", types.TEXT, keys_rows=False),
        CombinedFilter(("period", "time_from", "time_to"), parts.parse_period),
    ),
    cscart_filters=(QueryFilter("updated_at", "updated_at", types.UNIX_TIME),),
    sorts=dict(
        timestamp="CREATED_AT",
        date="CREATED_AT",
        order_id="NUMBER",
        status="STATUS",
        total="TOTAL",
        updated_at="UPDATED_AT",
    ),
    default_sort=("timestamp", "desc"),
    default_order="desc",
    permissions={
        IN_CSCART: is_cscart,
        "is_staff": lambda scope: scope.actor.kind is ActorKind.ADMIN,
        "sees_processors": lambda scope: scope.actor.has_privilege("view_payments"),
    },
)
