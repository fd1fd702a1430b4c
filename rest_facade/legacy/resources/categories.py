"""Describe categories."""

from __future__ import annotations

from kernel.letters import CATEGORY_LETTERS
from rest_facade.legacy.kinds import ID, NUMBER, SMALL_NUMBER, TEXT, UNIX, letter
from rest_facade.legacy.resource import Field, Filter, Nested, Resource, id_field
from rest_facade.legacy.resources.products import PRODUCTS

CATEGORIES = Resource(
    path="categories",
    key="category_id",
    thing="category",
    area="catalog",
    operations="Category",
    fields=(
        id_field("category_id"),
        Field("category", TEXT, "name", "name"),
        Field("parent_id", ID, "parent_id", "parent_id"),
        Field("status", letter(CATEGORY_LETTERS), "status", "status"),
        Field("position", SMALL_NUMBER, "position", "position"),
        Field("product_count", NUMBER, filters="product_count"),
        Field("id_path", TEXT, filters="id_path"),
        Field("description", TEXT, "description", "description"),
        Field("company_id", ID, "vendor_id", "seller_id"),
        Field("timestamp", UNIX, filters="created_at"),
    ),
    required={"category": "category is required"},
    says={"parent": "parent_id", "vendor": "company_id"},
    filters=(Filter("q", "search", TEXT, many=False),),
    sorts={"position": "POSITION", "category": "NAME", "timestamp": "CREATED_AT", "category_id": "ID"},
    default_sort=("position", "asc"),
    below=(Nested(path="products", operation="CategoryProducts", of=PRODUCTS, by="category_id"),),
)
