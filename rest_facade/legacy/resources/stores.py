"""Describe vendors, which this API also calls stores."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kernel.codes import COMMISSION_TYPES, VENDOR_STATUSES
from kernel.json_schema import FREE_OBJECT, INTEGER, STRING, array, one_of
from kernel.money import format_cents, parse_cents
from kernel.product_fields import SEO_FIELDS
from rest_facade.legacy import value_types as types
from rest_facade.legacy.resource import SEARCH, NestedList, RecordField, Resource, id_field, same_names
from rest_facade.legacy.resources.products import PRODUCTS


def _two_decimals(text: str) -> str:
    """Parse a number of a query and format it like records, with two decimals."""
    return format_cents(parse_cents(text))


_RATING = types.ValueType(render=lambda mean: f"{mean or 0:.2f}", parse_filter=_two_decimals, schema=types.MONEY.schema)


def _parse_shippings(value: Any, label: str) -> dict[str, Any]:
    """Parse a vendor's shipping methods: an object, or an array of ids."""
    if isinstance(value, list):
        value = {str(position): method for position, method in enumerate(types.parse_ids(value, label))}
    return types.parse_object(value, label)


_SHIPPINGS = one_of(FREE_OBJECT, array(one_of(STRING, INTEGER)))

STORES = Resource(
    path="stores",
    aliases=("vendors",),
    key="company_id",
    display_name="vendor",
    privilege_area="marketplace",
    operations="Store",
    entity="vendor",
    results=dict.fromkeys(("create", "update"), "store_id: number"),
    open_to_vendors=True,
    protected_from_vendors=("status", "seo_name", "CNPJ", "commission", "commission_type"),
    texts=("company_description", "seo_name", *SEO_FIELDS),
    fields=(
        id_field("company_id"),
        RecordField("company", types.TEXT, "name", "name"),
        RecordField("email", types.EMAIL, "email", "email"),
        RecordField("seo_name", types.TEXT, "slug", "slug"),
        RecordField("status", types.code(VENDOR_STATUSES), "status", "status"),
        *same_names(types.TEXT, "phone", "address", "city", "state", "country", "zipcode"),
        RecordField("CNPJ", types.document(14), "cnpj", "cnpj"),
        RecordField("url", types.OPTIONAL_TEXT, "url", "url"),
        RecordField("commission", replace(types.TEXT, parse_filter=_two_decimals), "commission", "commission"),
        RecordField("commission_type", types.code(COMMISSION_TYPES), "commission_type", "commission_type"),
        RecordField("shippings", replace(types.OBJECT, parse=_parse_shippings, body_schema=_SHIPPINGS), "shippings"),
        RecordField("timestamp", types.UNIX_TIME, filter_name="created_at"),
        RecordField("average_rating", _RATING, filter_name="average_rating"),
        RecordField("company_description", types.TEXT, "description", "description"),
        *same_names(types.TEXT, *SEO_FIELDS),
    ),
    input_fields=(RecordField("has_no_email", types.FLAG, "has_no_email"),),
    required=("company", "email"),
    cscart_defaults={"email": None, "has_no_email": "Y"},
    subroutes=(NestedList("products", "StoreProducts", PRODUCTS, parent_filter="vendor_id"),),
    filters=(SEARCH,),
    sorts=dict(
        company="NAME",
        name="NAME",
        email="EMAIL",
        status="STATUS",
        timestamp="CREATED_AT",
        date="CREATED_AT",
        company_id="ID",
        id="ID",
    ),
)
