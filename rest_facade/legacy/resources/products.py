"""Describe products."""

from __future__ import annotations

from kernel.codes import PRODUCT_STATUSES
from rest_facade.legacy.resource import Nested, QueryFilter, RecordField, Resource, Together, id_field
from rest_facade.legacy.resources.discussions import DISCUSSIONS
from rest_facade.legacy.resources.features import PRODUCT_FEATURES, features_from, features_shown
from rest_facade.legacy.resources.pictures import PICTURE, PICTURES
from rest_facade.legacy.resources.product_filters import in_category
from rest_facade.legacy.value_types import (
    FLAG,
    ID,
    IDS,
    MONEY,
    NUMBER,
    OPTIONAL_MONEY,
    SMALL_NUMBER,
    TEXT,
    UNIX,
    WEIGHT,
    code,
    one_of,
    shown_with,
)

PRODUCTS = Resource(
    path="products",
    key="product_id",
    thing="product",
    area="products",
    operations="Product",
    open_to_vendors=True,
    kept_from_vendors=("company_id",),
    fields=(
        id_field("product_id"),
        RecordField("product", TEXT, "name", "name", label="product (name)"),
        RecordField("product_code", TEXT, "sku", "sku"),
        RecordField("price", MONEY, "price_cents", "price_cents"),
        RecordField("list_price", OPTIONAL_MONEY, "compare_at_cents", "compare_at_cents"),
        RecordField("amount", NUMBER, "stock", "stock"),
        RecordField("status", code(PRODUCT_STATUSES), "status", "status"),
        RecordField("company_id", ID, "vendor_id", "seller_id"),
        RecordField("company_name", TEXT, filters="vendor_name"),
        RecordField("category_ids", IDS, "category_ids", "category_id"),
        RecordField("main_category", ID, "category_id", "main_category_id"),
        RecordField("main_pair", PICTURE, "main_image"),
        RecordField("timestamp", UNIX, filters="created_at"),
        RecordField("updated_timestamp", UNIX, filters="updated_at"),
        RecordField("weight", WEIGHT, "weight_grams", "weight_grams"),
        RecordField("short_description", TEXT, "short_description", "short_description"),
        RecordField("full_description", TEXT, "description", "description"),
        RecordField("is_edp", FLAG, "is_edp", "is_edp"),
        RecordField("free_shipping", FLAG, "free_shipping", "free_shipping"),
        RecordField("tracking", one_of("B", "D"), "tracking", "tracking"),
        RecordField("min_qty", SMALL_NUMBER, "min_quantity", "min_quantity"),
        RecordField("max_qty", SMALL_NUMBER, "max_quantity", "max_quantity"),
        RecordField("tax_ids", IDS, "tax_ids", "tax_id"),
        # CS-Cart's: numbers with commas between, 0 for everybody.
        RecordField("usergroup_ids", shown_with(lambda numbers: ",".join(map(str, numbers)) or "0")),
        RecordField("seo_name", TEXT, "slug", "slug"),
    ),
    single=(
        RecordField("image_pairs", PICTURES, "more_images"),
        RecordField("product_features", shown_with(features_shown, features_from), "features"),
    ),
    required={"product": "product (name) is required", "price": "price is required"},
    says={"vendor": "company_id", "tax": "tax_ids", "taxes": "tax_ids"},
    filters=(
        QueryFilter("q", "search", TEXT, many=False),
        QueryFilter("pcode", "sku", TEXT, keys=False),
        QueryFilter("price_from", "price_from", MONEY, many=False, keys=False),
        QueryFilter("price_to", "price_to", MONEY, many=False, keys=False),
        QueryFilter("amount_from", "stock_from", NUMBER, many=False, keys=False),
        QueryFilter("amount_to", "stock_to", NUMBER, many=False, keys=False),
        Together(("category_id", "cid", "subcats"), in_category, keys=("category_id",)),
    ),
    sorts={
        "product": "NAME",
        "price": "PRICE",
        "amount": "STOCK",
        "timestamp": "CREATED_AT",
        "updated_timestamp": "UPDATED_AT",
        "code": "SKU",
        "product_code": "SKU",
        "status": "STATUS",
        "product_id": "ID",
    },
    default_sort=("timestamp", "desc"),
    below=(
        Nested(path="discussions", operation="ProductDiscussions", of=DISCUSSIONS, by="product_id"),
        Nested(path="features", operation="ProductFeatures", of=PRODUCT_FEATURES),
    ),
)
