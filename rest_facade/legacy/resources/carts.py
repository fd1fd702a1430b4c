"""Describe the open carts of customers, which are identified by their customer."""

from __future__ import annotations

from rest_facade.legacy import value_types as types
from rest_facade.legacy.record_schemas import rows_type
from rest_facade.legacy.resource import (
    SEARCH,
    CombinedFilter,
    QueryFilter,
    RecordField,
    Resource,
    selection_of,
    split_ids,
)
from rest_facade.legacy.resources.order_parts import parse_period

_LINE = (
    RecordField("product_id", types.ID, source="product_number"),
    RecordField("product", types.TEXT, source="name"),
    RecordField("product_code", types.OPTIONAL_TEXT, source="sku"),
    RecordField("amount", types.BIGINT, source="quantity"),
    RecordField("price", types.MONEY, source="price_cents"),
)

CARTS = Resource(
    path="carts",
    key="user_id",
    privilege_area="orders",
    operations="CustomerCart",
    root_fields={"show": "customer_cart_of", "delete": "customer_carts_expire"},
    actions=("list", "show"),
    cscart_actions=("delete",),
    fields=(
        RecordField("user_id", types.ID, filter_name="customer_id", source="user_number"),
        RecordField("timestamp", types.UNIX_TIME, filter_name="updated_at"),
        RecordField("products", rows_type("CartLine", _LINE), source=f"items {selection_of(_LINE)}"),
        RecordField("total", types.MONEY, filter_name="total_cents"),
    ),
    filters=(SEARCH,),
    cscart_filters=(
        CombinedFilter(("period", "time_from", "time_to"), parse_period),
        QueryFilter("cname", "search", types.TEXT, multiple=False, keys_rows=False),
        QueryFilter("email", "email", types.TEXT, keys_rows=False),
        QueryFilter("users_type", "owner", types.TEXT, multiple=False, keys_rows=False),
        QueryFilter("total_from", "total_from", types.MONEY, multiple=False, keys_rows=False),
        QueryFilter("total_to", "total_to", types.MONEY, multiple=False, keys_rows=False),
        split_ids("p_ids", "product_id"),
        # The carts of customers have both: contact information and products.
        CombinedFilter(("with_info_only", "product_type_c"), lambda parameters, scope: {}),
    ),
    sorts=dict(timestamp="UPDATED_AT", date="UPDATED_AT", user_id="CUSTOMER", total="TOTAL", customer="CUSTOMER_NAME"),
    default_sort=("timestamp", "desc"),
)
