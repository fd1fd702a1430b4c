"""Queryable fields of the catalog: visibility, filters and sort orders."""

from __future__ import annotations

from typing import Any

from domain.filters import (
    BY_CREATED,
    BY_ID,
    BY_NAME,
    BY_POSITION,
    BY_STATUS,
    exact_cents,
    exact_integer,
    exact_second,
    exact_text,
    full_text_search,
    has_vendor_name,
    ids,
    optional_references,
    references,
    statuses,
)
from domain.taxes.read import has_tax
from domain.visibility import VisibleRows
from models.queries import Condition, Entity, EntityFilter, Sort, any_of, by_ids, compares, flag, refers_to

STOREFRONT_SCOPE = "storefront:read"


def _in_category(value: Any) -> Condition:
    condition = refers_to("x.category_id", "categories")(value)
    return Condition(
        "t.id IN (SELECT pc.product_id FROM product_categories pc JOIN categories c ON c.tenant_id = pc.tenant_id"
        " AND c.id = pc.category_id WHERE pc.tenant_id = {tenant} AND ("
        + condition.sql.replace("x.category_id", "pc.category_id")
        + "))",
        condition.params,
    )


def _below_category(value: Any) -> Condition:
    # `id_path` lists the ancestors, so a descendant's path starts with the category's own.
    condition = by_ids(value)
    return Condition(
        "t.id IN (SELECT pc.product_id FROM categories top JOIN categories c ON c.tenant_id = top.tenant_id"
        " AND (c.id = top.id OR starts_with(c.id_path, top.id_path || '/'))"
        " JOIN product_categories pc ON pc.tenant_id = c.tenant_id AND pc.category_id = c.id"
        " WHERE top.tenant_id = {tenant} AND (" + condition.sql.replace("t.", "top.") + "))",
        condition.params,
    )


PRODUCTS = Entity(
    name="product",
    table="products",
    base_condition="t.deleted_at IS NULL",
    visible=VisibleRows(
        admin=("view_products",),
        app="read_products",
        vendor="t.vendor_id = {company}",
        customer="t.status = 'A'",
        storefront=STOREFRONT_SCOPE,
        storefront_rows="t.status = 'A'",
    ),
    filters={
        "id": ids("products"),
        "status": statuses("product_status"),
        "search": EntityFilter(
            "text",
            full_text_search("search_products"),
            "words, or beginnings of words, of name, SKU or description",
        ),
        "sku": exact_text("t.sku", "SKU"),
        "category_id": EntityFilter("id", _in_category, "in any of these categories", many=True),
        "below_category_id": EntityFilter(
            "id", _below_category, "in any of these categories or their descendants", many=True
        ),
        "vendor_id": references("t.vendor_id", "vendors", "sold by any of these vendors"),
        "tax_id": EntityFilter("id", has_tax("product_taxes"), "any of these taxes applies to it", many=True),
        "price_from": EntityFilter("cents", compares("t.price_cents", ">="), "at least this price, in cents"),
        "price_to": EntityFilter("cents", compares("t.price_cents", "<="), "at most this price, in cents"),
        "stock_from": EntityFilter("big_int", compares("t.stock", ">="), "at least this available stock"),
        "stock_to": EntityFilter("big_int", compares("t.stock", "<="), "at most this available stock"),
        "created_from": EntityFilter("time", compares("t.created_at", ">="), "created at or after this time"),
        "created_before": EntityFilter("time", compares("t.created_at", "<"), "created before this time"),
        "updated_from": EntityFilter("time", compares("t.updated_at", ">="), "updated at or after this time"),
        "free_shipping": EntityFilter("boolean", flag("t.free_shipping"), "ships free of charge"),
        "is_edp": EntityFilter("boolean", flag("t.is_edp"), "is downloaded instead of shipped"),
        "name": exact_text("t.name", "name"),
        "price_cents": exact_cents("t.price_cents", "price in cents"),
        "compare_at_cents": exact_cents(
            "coalesce(t.compare_at_cents, 0)", "compare-at price, 0 for none", internal=True
        ),
        "seller_id": optional_references(
            "t.vendor_id", "vendors", "sold by any of these vendors; 0 means by none", internal=True
        ),
        "vendor_name": EntityFilter(
            "text", has_vendor_name("t.vendor_id"), "exact name of the vendor", many=True, internal=True
        ),
        "description": exact_text("t.description", "description", internal=True),
        "short_description": exact_text("t.short_description", "short description", internal=True),
        "min_quantity": exact_integer("t.min_quantity", "smallest quantity", internal=True),
        "max_quantity": exact_integer("t.max_quantity", "largest quantity", internal=True),
        "updated_at": exact_second("t.updated_at", "updated within that second"),
        "stock": exact_integer("t.stock", "stock", internal=True),
        "weight_grams": exact_integer("t.weight_grams", "weight", internal=True),
        "main_category_id": optional_references(
            "t.category_id", "categories", "has this main category; 0 means none", internal=True
        ),
        "slug": exact_text("t.slug", "slug"),
        "tracking": exact_text("t.tracking", "tracking code", internal=True),
        "created_at": exact_second("t.created_at", "created within that second"),
    },
    sorts={
        "created_at": BY_CREATED,
        "updated_at": Sort("t.updated_at", "timestamptz", "time of the last change"),
        "name": Sort("t.name_folded", "text", "name, without case and accents"),
        "price": Sort("t.price_cents", "bigint", "price"),
        "stock": Sort("t.stock", "bigint", "available stock"),
        "sku": Sort("t.sku", "text", "SKU"),
        "slug": Sort("t.slug", "text", "slug"),
        # Without an index, because it is rarely used: the store's products are sorted for it.
        "compare_at": Sort("coalesce(t.compare_at_cents, 0)", "bigint", "compare-at price, none lowest"),
        "status": BY_STATUS,
        "id": BY_ID,
    },
    default_sort="-created_at",
)

CATEGORIES = Entity(
    name="category",
    table="categories",
    base_condition="t.deleted_at IS NULL",
    visible=VisibleRows(
        admin=("view_catalog", "view_products"),
        app=("read_categories", "read_products"),
        vendor="t.status <> 'D'",
        customer="t.status = 'A'",
        storefront=STOREFRONT_SCOPE,
        storefront_rows="t.status = 'A'",
    ),
    filters={
        "id": ids("categories"),
        "status": statuses("category_status"),
        "created_from": EntityFilter("time", compares("t.created_at", ">="), "created at or after this time"),
        "created_before": EntityFilter("time", compares("t.created_at", "<"), "created before this time"),
        "parent_id": optional_references(
            "t.parent_id", "categories", "children of any of these; 0 means the roots"
        ),
        "name": exact_text("t.name", "name"),
        "search": EntityFilter(
            "text",
            lambda text: Condition("vitrine_words(t.name) LIKE ALL ({}::text[])", (_like_words(text),)),
            "words, or beginnings of words, of the name",
        ),
        "position": exact_integer("t.position", "position", internal=True),
        "vendor_id": references("t.vendor_id", "vendors", "of any of these vendors"),
        "seller_id": optional_references(
            "t.vendor_id", "vendors", "of any of these vendors; 0 means of none", internal=True
        ),
        "id_path": exact_text("t.id_path", "path of ids", internal=True),
        "description": exact_text("t.description", "description", internal=True),
        "created_at": exact_second("t.created_at", "created within that second"),
        "product_count": exact_integer(
            "(SELECT count(*) FROM product_categories pc JOIN products p ON p.tenant_id = pc.tenant_id AND p.id = pc.product_id"
            " WHERE pc.tenant_id = t.tenant_id AND pc.category_id = t.id AND p.deleted_at IS NULL)",
            "number of products",
            internal=True,
        ),
    },
    sorts={
        "position": Sort("t.position", "bigint", "position among the siblings"),
        "name": BY_NAME,
        "created_at": BY_CREATED,
        "id": BY_ID,
    },
    default_sort="position",
)


def _like_words(text: str) -> list[str]:
    from kernel.text import search_terms

    return [f"%{term}%" for term in search_terms(text)] or ["%"]


def _of_category(value: Any) -> Condition:
    condition = refers_to("fc.category_id", "categories")(value)
    return Condition(
        "t.id IN (SELECT fc.feature_id FROM feature_categories fc WHERE fc.tenant_id = {tenant} AND ("
        f"{condition.sql}))",
        condition.params,
    )


# Reached only through a product or a feature, whose rows are already filtered.
_WITH_PRODUCT = VisibleRows(
    admin=("view_products", "view_catalog", "view_orders"),
    app="read_products",
    vendor="",
    customer="",
    storefront=STOREFRONT_SCOPE,
)

PRODUCT_IMAGES = Entity(name="image", table="product_images", visible=_WITH_PRODUCT)
FEATURE_VALUES = Entity(name="feature value", table="feature_values", visible=_WITH_PRODUCT)
FEATURE_VARIANTS = Entity(name="variant", table="feature_variants", visible=_WITH_PRODUCT)

FEATURES = Entity(
    name="feature",
    table="features",
    base_condition="t.deleted_at IS NULL",
    visible=VisibleRows(
        admin=("view_catalog", "view_products"),
        app="read_products",
        vendor="t.status = 'A'",
        customer="t.status = 'A'",
        storefront=STOREFRONT_SCOPE,
        storefront_rows="t.status = 'A'",
    ),
    filters={
        "id": ids("features"),
        "type": EntityFilter("text", any_of("t.type"), "any of these types", many=True),
        "status": statuses(),
        "group_id": optional_references("t.parent_id", "features", "in any of these groups; 0 means in none"),
        "category_id": EntityFilter(
            "id", _of_category, "used by products of any of these categories", many=True
        ),
        "name": exact_text("t.name", "name"),
        "position": exact_integer("t.position", "position", internal=True),
        "prefix": exact_text("t.prefix", "prefix", internal=True),
        "suffix": exact_text("t.suffix", "suffix", internal=True),
        "comparison": EntityFilter(
            "boolean", flag("t.comparison"), "products are compared by it", internal=True
        ),
        "display_on_product": EntityFilter(
            "boolean", flag("t.display_on_product"), "shown on a product's page", internal=True
        ),
        "display_on_catalog": EntityFilter(
            "boolean", flag("t.display_on_catalog"), "shown in lists of products", internal=True
        ),
    },
    sorts={"position": BY_POSITION, "name": BY_NAME, "id": BY_ID},
    default_sort="position",
)
