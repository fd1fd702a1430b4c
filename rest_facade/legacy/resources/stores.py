"""Describe stores: the sellers of the marketplace, which clients call vendors as well."""

from __future__ import annotations

from dataclasses import replace

from kernel.codes import COMMISSION_TYPES, VENDOR_STATUSES
from kernel.money import cents_from, decimal_text
from rest_facade.legacy.resource import QueryFilter, RecordField, Resource, id_field
from rest_facade.legacy.value_types import (
    EMAIL,
    MONEY,
    OBJECT,
    OPTIONAL_TEXT,
    TEXT,
    UNIX,
    ValueType,
    code,
    document,
)


def _two_decimals(text: str) -> str:
    """Read a number of a query as records show it: with two decimals."""
    return decimal_text(cents_from(text))


_RATING = ValueType(show=lambda mean: f"{mean or 0:.2f}", seek=_two_decimals, shape=MONEY.shape)

STORES = Resource(
    path="stores",
    aliases=("vendors",),
    key="company_id",
    thing="vendor",
    area="marketplace",
    operations="Store",
    open_to_vendors=True,
    kept_from_vendors=("status", "CNPJ", "commission", "commission_type"),
    fields=(
        id_field("company_id"),
        RecordField("company", TEXT, "name", "name"),
        RecordField("email", EMAIL, "email", "email"),
        RecordField("status", code(VENDOR_STATUSES), "status", "status"),
        RecordField("phone", TEXT, "phone", "phone"),
        RecordField("address", TEXT, "address", "address"),
        RecordField("city", TEXT, "city", "city"),
        RecordField("state", TEXT, "state", "state"),
        RecordField("country", TEXT, "country", "country"),
        RecordField("zipcode", TEXT, "zipcode", "zipcode"),
        RecordField("CNPJ", document(14), "cnpj", "cnpj"),
        RecordField("url", OPTIONAL_TEXT, "url", "url"),
        RecordField("commission", replace(TEXT, seek=_two_decimals), "commission", "commission"),
        RecordField("commission_type", code(COMMISSION_TYPES), "commission_type", "commission_type"),
        RecordField("shippings", OBJECT, "shippings"),
        RecordField("timestamp", UNIX, filters="created_at"),
        RecordField("average_rating", _RATING, filters="average_rating"),
    ),
    required={"company": "company is required", "email": "email is required"},
    filters=(QueryFilter("q", "search", TEXT, many=False),),
    sorts={
        "company": "NAME",
        "name": "NAME",
        "email": "EMAIL",
        "status": "STATUS",
        "timestamp": "CREATED_AT",
        "date": "CREATED_AT",
        "company_id": "ID",
        "id": "ID",
    },
    default_sort=("company", "asc"),
)
