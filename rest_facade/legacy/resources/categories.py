"""Describe categories."""

from __future__ import annotations

from kernel.codes import CATEGORY_STATUSES
from rest_facade.legacy.resource import Nested, QueryFilter, RecordField, Resource, id_field
from rest_facade.legacy.resources.products import PRODUCTS
from rest_facade.legacy.value_types import ID, NUMBER, SMALL_NUMBER, TEXT, UNIX, code

CATEGORIES = Resource(
    path="categories",
    key="category_id",
    thing="category",
    area="catalog",
    operations="Category",
    fields=(
        id_field("category_id"),
        RecordField("category", TEXT, "name", "name"),
        RecordField("parent_id", ID, "parent_id", "parent_id"),
        RecordField("status", code(CATEGORY_STATUSES), "status", "status"),
        RecordField("position", SMALL_NUMBER, "position", "position"),
        RecordField("product_count", NUMBER, filters="product_count"),
        RecordField("id_path", TEXT, filters="id_path"),
        RecordField("description", TEXT, "description", "description"),
        RecordField("company_id", ID, "vendor_id", "seller_id"),
        RecordField("timestamp", UNIX, filters="created_at"),
    ),
    required={"category": "category is required"},
    says={"parent": "parent_id", "vendor": "company_id"},
    filters=(QueryFilter("q", "search", TEXT, many=False),),
    sorts={"position": "POSITION", "category": "NAME", "timestamp": "CREATED_AT", "category_id": "ID"},
    default_sort=("position", "asc"),
    below=(Nested(path="products", operation="CategoryProducts", of=PRODUCTS, by="category_id"),),
)
