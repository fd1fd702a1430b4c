"""Describe products."""

from __future__ import annotations

from kernel.letters import PRODUCT_LETTERS
from rest_facade.legacy.kinds import (
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
    letter,
    one_of,
    shown_with,
)
from rest_facade.legacy.resource import Field, Filter, Nested, Resource, Together, id_field
from rest_facade.legacy.resources.discussions import DISCUSSIONS
from rest_facade.legacy.resources.features import PRODUCT_FEATURES, features_from, features_shown
from rest_facade.legacy.resources.pictures import PICTURE, PICTURES
from rest_facade.legacy.resources.product_filters import in_category

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
        Field("product", TEXT, "name", "name", label="product (name)"),
        Field("product_code", TEXT, "sku", "sku"),
        Field("price", MONEY, "price_cents", "price_cents"),
        Field("list_price", OPTIONAL_MONEY, "compare_at_cents", "compare_at_cents"),
        Field("amount", NUMBER, "stock", "stock"),
        Field("status", letter(PRODUCT_LETTERS), "status", "status"),
        Field("company_id", ID, "vendor_id", "seller_id"),
        Field("company_name", TEXT, filters="vendor_name"),
        Field("category_ids", IDS, "category_ids", "category_id"),
        Field("main_category", ID, "category_id", "main_category_id"),
        Field("main_pair", PICTURE, "main_image"),
        Field("timestamp", UNIX, filters="created_at"),
        Field("updated_timestamp", UNIX, filters="updated_at"),
        Field("weight", WEIGHT, "weight_grams", "weight_grams"),
        Field("short_description", TEXT, "short_description", "short_description"),
        Field("full_description", TEXT, "description", "description"),
        Field("is_edp", FLAG, "is_edp", "is_edp"),
        Field("free_shipping", FLAG, "free_shipping", "free_shipping"),
        Field("tracking", one_of("B", "D"), "tracking", "tracking"),
        Field("min_qty", SMALL_NUMBER, "min_quantity", "min_quantity"),
        Field("max_qty", SMALL_NUMBER, "max_quantity", "max_quantity"),
        Field("tax_ids", IDS, "tax_ids", "tax_id"),
        # CS-Cart's: numbers with commas between, 0 for everybody.
        Field("usergroup_ids", shown_with(lambda numbers: ",".join(map(str, numbers)) or "0")),
        Field("seo_name", TEXT, "slug", "slug"),
    ),
    single=(
        Field("image_pairs", PICTURES, "more_images"),
        Field("product_features", shown_with(features_shown, features_from), "features"),
    ),
    required={"product": "product (name) is required", "price": "price is required"},
    says={"vendor": "company_id", "tax": "tax_ids", "taxes": "tax_ids"},
    filters=(
        Filter("q", "search", TEXT, many=False),
        Filter("pcode", "sku", TEXT, keys=False),
        Filter("price_from", "price_from", MONEY, many=False, keys=False),
        Filter("price_to", "price_to", MONEY, many=False, keys=False),
        Filter("amount_from", "stock_from", NUMBER, many=False, keys=False),
        Filter("amount_to", "stock_to", NUMBER, many=False, keys=False),
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
