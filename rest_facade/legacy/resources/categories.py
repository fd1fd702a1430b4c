"""Describe categories."""

from __future__ import annotations

from kernel.codes import CATEGORY_STATUSES
from kernel.product_fields import SEO_FIELDS
from rest_facade.legacy import value_types as types
from rest_facade.legacy.reshape import is_cscart
from rest_facade.legacy.resource import (
    IN_CSCART,
    SEARCH,
    NestedList,
    Record,
    RecordField,
    Resource,
    id_field,
    same_names,
)
from rest_facade.legacy.resources.images import CATEGORY_IMAGE
from rest_facade.legacy.resources.products import PRODUCTS


def _number_image(category: Record) -> None:
    """Give the image, which has no number of its own, that of its category."""
    if category.get("main_pair"):
        category["main_pair"]["number"] = category["category_id"]


CATEGORIES = Resource(
    path="categories",
    privilege_area="catalog",
    texts=("category", "description", "seo_name", *SEO_FIELDS),
    fields=(
        id_field("category_id"),
        RecordField("category", types.TEXT, "name", "name"),
        RecordField("parent_id", types.ID, "parent_id", "parent_id", cscart_type=types.PARENT_ID),
        RecordField("status", types.code(CATEGORY_STATUSES), "status", "status"),
        RecordField("position", types.INTEGER, "position", "position"),
        RecordField("product_count", types.BIGINT, filter_name="product_count"),
        RecordField("id_path", types.TEXT, filter_name="id_path"),
        RecordField("description", types.TEXT, "description", "description"),
        RecordField("seo_name", types.TEXT, "slug", "slug"),
        *same_names(types.TEXT, *SEO_FIELDS),
        RecordField("company_id", types.ID, "vendor_id", "company_id"),
        RecordField("timestamp", types.UNIX_TIME, filter_name="created_at"),
        RecordField(
            "main_pair",
            CATEGORY_IMAGE,
            "image",
            source="image { url alt width height }",
            cscart_absent="empty",
            permission=IN_CSCART,
        ),
    ),
    permissions={IN_CSCART: is_cscart},
    prepare=_number_image,
    required=("category",),
    message_terms={"parent": "parent_id", "vendor": "company_id", "url": "image_path"},
    filters=(SEARCH,),
    sorts={"position": "POSITION", "category": "NAME", "timestamp": "CREATED_AT", "category_id": "ID"},
    subroutes=(NestedList("products", "CategoryProducts", PRODUCTS, parent_filter="category_id"),),
)
