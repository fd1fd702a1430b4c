"""Declare what of the catalogue can be read, by whom, filtered and sorted how."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from domain.taxes.read import taxed_with
from domain.visibility import Rows
from kernel.text import prefix_tsquery
from models.reading import Entity, EntityFilter, Sort, Where, any_of, compares, flag, named, refers_to

SHOPPER = "storefront:read"


def _matches(function: str) -> Any:
    def build(text: str) -> Where:
        query = prefix_tsquery(text)
        if query is None:
            return Where("false") if text.strip() else Where("true")
        # A function, because `@@` is not leakproof: under row-level security the index would not be used. Its result as an array,
        # because the planner joins what `IN (SELECT …)` gives with all rows of the store.
        return Where(f"t.id = ANY(ARRAY(SELECT {function}(to_tsquery('simple', {{}}))))", (query,))

    return build


def _in_category(value: Any) -> Where:
    found = refers_to("x.category_id", "categories")(value)
    return Where(
        "t.id IN (SELECT pc.product_id FROM product_categories pc JOIN categories c ON c.tenant_id = pc.tenant_id"
        " AND c.id = pc.category_id WHERE pc.tenant_id = {tenant} AND ("
        + found.sql.replace("x.category_id", "pc.category_id").replace(
            "FROM categories x", "FROM categories x"
        )
        + "))",
        found.params,
    )


def _below_category(value: Any) -> Where:
    # `id_path` lists the ancestors, so a descendant's path begins with the category's own.
    condition = named(value)
    return Where(
        "t.id IN (SELECT pc.product_id FROM categories top JOIN categories c ON c.tenant_id = top.tenant_id"
        " AND (c.id = top.id OR starts_with(c.id_path, top.id_path || '/'))"
        " JOIN product_categories pc ON pc.tenant_id = c.tenant_id AND pc.category_id = c.id"
        " WHERE top.tenant_id = {tenant} AND (" + condition.sql.replace("t.", "top.") + "))",
        condition.params,
    )


def refers_to_or_none(column: str, table: str) -> Callable[[Any], Where]:
    """Match rows whose `column` refers to any of the records named; 0 among them stands for rows that refer to none."""
    refers = refers_to(column, table)

    def build(value: Any) -> Where:
        values = value if isinstance(value, list) else [value]
        if 0 not in values:
            return refers(values)
        found = refers([item for item in values if item != 0])
        return Where(f"{column} IS NULL OR {found.sql}", found.params)

    return build


def vendor_named(column: str) -> Callable[[Any], Where]:
    """Match rows whose vendor (`column`) bears any of the names; the empty text stands for rows without a vendor."""
    named = "SELECT x.id FROM vendors x WHERE x.tenant_id = {tenant} AND x.name = ANY({}::text[])"

    def build(value: Any) -> Where:
        values = value if isinstance(value, list) else [value]
        return Where(f"{column} IN ({named})" + (f" OR {column} IS NULL" if "" in values else ""), (values,))

    return build


def holds_text(column: str) -> Callable[[Any], Where]:
    """Match rows in whose `column` a text stands, whatever its case and accents; for tables of few rows."""
    return lambda text: Where(f"strpos(vitrine_fold({column}), vitrine_fold({{}}::text)) > 0", (text,))


def in_second(column: str) -> Callable[[Any], Where]:
    """Match rows whose moment lies in any of the seconds given."""
    return any_of(f"date_trunc('second', {column})", "timestamptz")


PRODUCTS = Entity(
    name="product",
    table="products",
    alive="t.deleted_at IS NULL",
    visible=Rows(
        admin=("view_products",),
        app="read_products",
        vendor="t.vendor_id = {company}",
        customer="t.status = 'A'",
        storefront=SHOPPER,
        storefront_rows="t.status = 'A'",
    ),
    filters={
        "id": EntityFilter("id", named, "any of these products", many=True),
        "status": EntityFilter("product_status", any_of("t.status"), "any of these statuses", many=True),
        "search": EntityFilter(
            "text", _matches("search_products"), "words, or beginnings of words, of name, SKU or description"
        ),
        "sku": EntityFilter("text", any_of("t.sku"), "exact SKU", many=True),
        "category_id": EntityFilter("id", _in_category, "stands in any of these categories", many=True),
        "below_category_id": EntityFilter(
            "id", _below_category, "stands in any of these categories or below them", many=True
        ),
        "vendor_id": EntityFilter(
            "id", refers_to("t.vendor_id", "vendors"), "sold by any of these vendors", many=True
        ),
        "tax_id": EntityFilter("id", taxed_with("product_taxes"), "any of these taxes lies on it", many=True),
        "price_from": EntityFilter("cents", compares("t.price_cents", ">="), "at least this price, in cents"),
        "price_to": EntityFilter("cents", compares("t.price_cents", "<="), "at most this price, in cents"),
        "stock_from": EntityFilter("big_int", compares("t.stock", ">="), "at least so many to sell"),
        "stock_to": EntityFilter("big_int", compares("t.stock", "<="), "at most so many to sell"),
        "created_from": EntityFilter("time", compares("t.created_at", ">="), "created then or later"),
        "created_before": EntityFilter("time", compares("t.created_at", "<"), "created before"),
        "updated_from": EntityFilter("time", compares("t.updated_at", ">="), "changed then or later"),
        "free_shipping": EntityFilter("boolean", flag("t.free_shipping"), "ships free of charge"),
        "is_edp": EntityFilter("boolean", flag("t.is_edp"), "is downloaded instead of shipped"),
        "name": EntityFilter("text", any_of("t.name"), "exact name", many=True),
        "price_cents": EntityFilter(
            "cents", any_of("t.price_cents", "bigint"), "exact price in cents", many=True
        ),
        "compare_at_cents": EntityFilter(
            "cents",
            any_of("coalesce(t.compare_at_cents, 0)", "bigint"),
            "exact compare-at price, 0 for none",
            many=True,
            internal=True,
        ),
        "seller_id": EntityFilter(
            "id",
            refers_to_or_none("t.vendor_id", "vendors"),
            "sold by any of these vendors; 0 means by none",
            many=True,
            internal=True,
        ),
        "vendor_name": EntityFilter(
            "text", vendor_named("t.vendor_id"), "exact name of the vendor", many=True, internal=True
        ),
        "description": EntityFilter(
            "text", any_of("t.description"), "exact description", many=True, internal=True
        ),
        "short_description": EntityFilter(
            "text", any_of("t.short_description"), "exact short description", many=True, internal=True
        ),
        "min_quantity": EntityFilter(
            "big_int",
            any_of("t.min_quantity", "bigint"),
            "exact smallest quantity",
            many=True,
            internal=True,
        ),
        "max_quantity": EntityFilter(
            "big_int", any_of("t.max_quantity", "bigint"), "exact largest quantity", many=True, internal=True
        ),
        "updated_at": EntityFilter(
            "time", in_second("t.updated_at"), "changed in that second", many=True, internal=True
        ),
        "stock": EntityFilter(
            "big_int", any_of("t.stock", "bigint"), "exact stock", many=True, internal=True
        ),
        "weight_grams": EntityFilter(
            "big_int", any_of("t.weight_grams", "bigint"), "exact weight", many=True, internal=True
        ),
        "main_category_id": EntityFilter(
            "id",
            refers_to_or_none("t.category_id", "categories"),
            "has this main category; 0 means none",
            many=True,
            internal=True,
        ),
        "slug": EntityFilter("text", any_of("t.slug"), "exact slug", many=True),
        "tracking": EntityFilter(
            "text", any_of("t.tracking"), "exact tracking letter", many=True, internal=True
        ),
        "created_at": EntityFilter(
            "time", in_second("t.created_at"), "created in that second", many=True, internal=True
        ),
    },
    sorts={
        "created_at": Sort("t.created_at", "timestamptz", "time of creation"),
        "updated_at": Sort("t.updated_at", "timestamptz", "time of the last change"),
        "name": Sort("t.name_folded", "text", "name, without case and accents"),
        "price": Sort("t.price_cents", "bigint", "price"),
        "stock": Sort("t.stock", "bigint", "what can be sold"),
        "sku": Sort("t.sku", "text", "SKU"),
        "slug": Sort("t.slug", "text", "address"),
        # Asked for too rarely to have an index: the store's products are put in order for it.
        "compare_at": Sort("coalesce(t.compare_at_cents, 0)", "bigint", "compare-at price, none lowest"),
        "status": Sort("t.status", "text", "status letter"),
        "id": Sort("t.id", "bigint", "order of entry"),
    },
    default_sort="-created_at",
)

CATEGORIES = Entity(
    name="category",
    table="categories",
    alive="t.deleted_at IS NULL",
    visible=Rows(
        admin=("view_catalog", "view_products"),
        app=("read_categories", "read_products"),
        vendor="t.status <> 'D'",
        customer="t.status = 'A'",
        storefront=SHOPPER,
        storefront_rows="t.status = 'A'",
    ),
    filters={
        "id": EntityFilter("id", named, "any of these categories", many=True),
        "status": EntityFilter("category_status", any_of("t.status"), "any of these statuses", many=True),
        "created_from": EntityFilter("time", compares("t.created_at", ">="), "created then or later"),
        "created_before": EntityFilter("time", compares("t.created_at", "<"), "created before"),
        "parent_id": EntityFilter(
            "id",
            refers_to_or_none("t.parent_id", "categories"),
            "children of any of these; 0 means the roots",
            many=True,
        ),
        "name": EntityFilter("text", any_of("t.name"), "exact name", many=True),
        "search": EntityFilter(
            "text",
            lambda text: Where("vitrine_words(t.name) LIKE ALL ({}::text[])", (_like_words(text),)),
            "words, or beginnings of words, of the name",
        ),
        "position": EntityFilter(
            "big_int", any_of("t.position", "bigint"), "exact position", many=True, internal=True
        ),
        "vendor_id": EntityFilter(
            "id", refers_to("t.vendor_id", "vendors"), "of any of these vendors", many=True
        ),
        "seller_id": EntityFilter(
            "id",
            refers_to_or_none("t.vendor_id", "vendors"),
            "of any of these vendors; 0 means of none",
            many=True,
            internal=True,
        ),
        "id_path": EntityFilter("text", any_of("t.id_path"), "exact path of ids", many=True, internal=True),
        "description": EntityFilter(
            "text", any_of("t.description"), "exact description", many=True, internal=True
        ),
        "created_at": EntityFilter(
            "time", in_second("t.created_at"), "created in that second", many=True, internal=True
        ),
        "product_count": EntityFilter(
            "big_int",
            any_of(
                "(SELECT count(*) FROM product_categories pc JOIN products p ON p.tenant_id = pc.tenant_id AND p.id = pc.product_id"
                " WHERE pc.tenant_id = t.tenant_id AND pc.category_id = t.id AND p.deleted_at IS NULL)",
                "bigint",
            ),
            "exact number of products",
            many=True,
            internal=True,
        ),
    },
    sorts={
        "position": Sort("t.position", "bigint", "position among the siblings"),
        "name": Sort("t.name", "text", "name"),
        "created_at": Sort("t.created_at", "timestamptz", "time of creation"),
        "id": Sort("t.id", "bigint", "order of entry"),
    },
    default_sort="position",
)


def _like_words(text: str) -> list[str]:
    from kernel.text import search_terms

    return [f"%{term}%" for term in search_terms(text)] or ["%"]


def _of_category(value: Any) -> Where:
    found = refers_to("fc.category_id", "categories")(value)
    return Where(
        "t.id IN (SELECT fc.feature_id FROM feature_categories fc WHERE fc.tenant_id = {tenant} AND ("
        f"{found.sql}))",
        found.params,
    )


# Images, feature values and links are reached only through a product or a feature, whose rows were filtered already.
_WITH_PRODUCT = Rows(
    admin=("view_products", "view_catalog", "view_orders"),
    app="read_products",
    vendor="",
    customer="",
    storefront=SHOPPER,
)

PRODUCT_IMAGES = Entity(name="image", table="product_images", visible=_WITH_PRODUCT)
FEATURE_VALUES = Entity(name="feature value", table="feature_values", visible=_WITH_PRODUCT)
FEATURE_VARIANTS = Entity(name="variant", table="feature_variants", visible=_WITH_PRODUCT)

FEATURES = Entity(
    name="feature",
    table="features",
    alive="t.deleted_at IS NULL",
    visible=Rows(
        admin=("view_catalog", "view_products"),
        app="read_products",
        vendor="t.status = 'A'",
        customer="t.status = 'A'",
        storefront=SHOPPER,
        storefront_rows="t.status = 'A'",
    ),
    filters={
        "id": EntityFilter("id", named, "any of these features", many=True),
        "type": EntityFilter("text", any_of("t.type"), "any of these types", many=True),
        "status": EntityFilter("switch_status", any_of("t.status"), "any of these statuses", many=True),
        "group_id": EntityFilter(
            "id",
            refers_to_or_none("t.parent_id", "features"),
            "in any of these groups; 0 means in none",
            many=True,
        ),
        "category_id": EntityFilter(
            "id", _of_category, "carried by products of any of these categories", many=True
        ),
        "name": EntityFilter("text", any_of("t.name"), "exact name", many=True),
        "position": EntityFilter(
            "big_int", any_of("t.position", "bigint"), "exact position", many=True, internal=True
        ),
        "prefix": EntityFilter("text", any_of("t.prefix"), "exact prefix", many=True, internal=True),
        "suffix": EntityFilter("text", any_of("t.suffix"), "exact suffix", many=True, internal=True),
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
    sorts={
        "position": Sort("t.position", "bigint", "position"),
        "name": Sort("t.name", "text", "name"),
        "id": Sort("t.id", "bigint", "order of entry"),
    },
    default_sort="position",
)
