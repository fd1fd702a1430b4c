"""Describe stores: the sellers of the marketplace, which clients call vendors as well."""

from __future__ import annotations

from dataclasses import replace

from kernel.letters import COMMISSION_TYPE_LETTERS, VENDOR_LETTERS
from kernel.money import cents_from, decimal_text
from rest_facade.legacy.kinds import EMAIL, MONEY, OBJECT, OPTIONAL_TEXT, TEXT, UNIX, Kind, document, letter
from rest_facade.legacy.resource import Field, Filter, Resource, id_field


def _two_decimals(text: str) -> str:
    """Read a number of a query as records show it: with two decimals."""
    return decimal_text(cents_from(text))


_RATING = Kind(show=lambda mean: f"{mean or 0:.2f}", seek=_two_decimals, shape=MONEY.shape)

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
        Field("company", TEXT, "name", "name"),
        Field("email", EMAIL, "email", "email"),
        Field("status", letter(VENDOR_LETTERS), "status", "status"),
        Field("phone", TEXT, "phone", "phone"),
        Field("address", TEXT, "address", "address"),
        Field("city", TEXT, "city", "city"),
        Field("state", TEXT, "state", "state"),
        Field("country", TEXT, "country", "country"),
        Field("zipcode", TEXT, "zipcode", "zipcode"),
        Field("CNPJ", document(14), "cnpj", "cnpj"),
        Field("url", OPTIONAL_TEXT, "url", "url"),
        Field("commission", replace(TEXT, seek=_two_decimals), "commission", "commission"),
        Field("commission_type", letter(COMMISSION_TYPE_LETTERS), "commission_type", "commission_type"),
        Field("shippings", OBJECT, "shippings"),
        Field("timestamp", UNIX, filters="created_at"),
        Field("average_rating", _RATING, filters="average_rating"),
    ),
    required={"company": "company is required", "email": "email is required"},
    filters=(Filter("q", "search", TEXT, many=False),),
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
