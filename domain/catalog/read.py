"""Queryable fields of the catalog: visibility, filters and sort orders."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from domain.catalog.availability import STOCK
from domain.catalog.listing import (
    LISTED,
    LISTED_CATEGORY,
    LISTED_IN_CATEGORY,
    OPEN,
    OPEN_CATEGORY,
    UNLISTED_CATEGORY,
    listed_or,
    of_row,
)
from domain.catalog.tags import has_tag
from domain.catalog.variation_members import DEFAULT_SQL
from domain.filters import (
    created_range,
    exact,
    exact_second,
    exact_value,
    full_text_search,
    has_vendor_name,
    ids,
    linked_to,
    optional_references,
    references,
    sorts,
    statuses,
    substring,
)
from domain.taxes.read import has_tax
from domain.visibility import VisibleRows, is_shopper, published
from kernel.product_fields import SEO_FIELDS
from kernel.scope import Scope
from kernel.text import search_terms
from models.reading.queries import (
    Condition,
    Entity,
    EntityFilter,
    Sort,
    ToMany,
    any_of,
    by_ids,
    compares,
    flag,
    has_any_id,
    refers_to,
)


def _in_category(value: Any, which: str) -> Condition:
    condition = refers_to("l.category_id", "categories")(value)
    among = has_any_id("l.category_id", "categories c", "c.id", Condition(of_row(which, "c")))
    placed = Condition(f"({condition.sql}) AND {among.sql}", condition.params)
    return has_any_id("t.id", "product_categories l", "l.product_id", placed)


def _below_category(value: Any, which: str = "true") -> Condition:
    # `id_path` lists the ids of the ancestors and the category's own.
    condition = by_ids(value)
    named = (
        f"SELECT x.id::text FROM categories x WHERE x.tenant_id = {{tenant}} AND ({condition.sql.replace('t.', 'x.')})"
        f" AND {of_row(which, 'x')}"
    )
    is_below = Condition(f"string_to_array(c.id_path, '/') && ARRAY({named})", condition.params)
    in_category = has_any_id("pc.category_id", "categories c", "c.id", is_below)
    return has_any_id("t.id", "product_categories pc", "pc.product_id", in_category)


def _listed_in(placed: Callable[[Any, str], Condition]) -> Callable[[Scope, Any], Condition | None]:
    """Return what lists narrowed to categories show: shoppers also see the products of hidden ones that they name."""

    def listed(scope: Scope, value: Any) -> Condition | None:
        if not is_shopper(scope) or not value:
            return _LISTED(scope)
        in_opened = placed(value, UNLISTED_CATEGORY)
        return Condition(listed_or(in_opened.sql), in_opened.params)

    return listed


def _is_below(category: str, ancestor: str) -> str:
    """Return the condition that a category is another one or below it: a range of the index of paths, `0` follows the `/` of `3/17`."""
    path = f'{category}.id_path COLLATE "C"'
    return (
        f"({category}.id = {ancestor}.id OR {path} > {ancestor}.id_path || '/' AND {path} < {ancestor}.id_path || '0')"
    )


def _placed_below(ancestor: str, product: str) -> str:
    """Return the condition that a product is in a category or below it."""
    return (
        "EXISTS (SELECT FROM product_categories pc JOIN categories d ON d.tenant_id = pc.tenant_id AND d.id = pc.category_id"
        f" WHERE pc.tenant_id = {ancestor}.tenant_id AND pc.product_id = {product}.id AND {_is_below('d', ancestor)})"
    )


# Each is looked up by its key: a join may compare all products with all while PostgreSQL's statistics are older than an import.
_COUNTED = "EXISTS (SELECT FROM products p WHERE p.tenant_id = l.tenant_id AND p.id = l.product_id AND p.deleted_at IS NULL{} OFFSET 0)"
_COUNT_IN = (
    "(SELECT count(*) FROM product_categories l"
    f" WHERE l.tenant_id = t.tenant_id AND l.category_id = t.id AND {_COUNTED})"
)
PRODUCT_COUNT = _COUNT_IN.format("")
_COUNT_BELOW = (
    "(SELECT count(DISTINCT l.product_id) FROM categories d"
    " JOIN product_categories l ON l.tenant_id = d.tenant_id AND l.category_id = d.id"
    f" WHERE d.tenant_id = t.tenant_id AND {_is_below('d', 't')} AND {_COUNTED})"
)
_COUNT_IN_COLLECTION = (
    "(SELECT count(*) FROM collection_products l"
    f" WHERE l.tenant_id = t.tenant_id AND l.collection_id = t.id AND {_COUNTED})"
)
_IN_OPENED = "{opened}"


def _listed_below(product: str, category: str) -> str:
    """Return the condition of products that shoppers find below a category that they opened."""
    return of_row(listed_or(_IN_OPENED), product).replace(_IN_OPENED, f"({of_row(UNLISTED_CATEGORY, category)})")


def product_count(include_descendants: bool = False) -> Callable[[Scope], Condition]:
    """Return the number of a category's products, or of those in it and below; shoppers count those that they find there."""
    sql, shown = _COUNT_IN, of_row(LISTED_IN_CATEGORY, "p")
    if include_descendants:
        sql, shown = _COUNT_BELOW, _listed_below("p", "t")
    return _count_of(sql, shown)


def collection_count() -> Callable[[Scope], Condition]:
    """Return the number of a collection's products; shoppers count those that they find in lists."""
    return _count_of(_COUNT_IN_COLLECTION, of_row(LISTED, "p"))


def _count_of(sql: str, shown: str) -> Callable[[Scope], Condition]:
    return lambda scope: Condition(sql.format(f" AND {shown}" if is_shopper(scope) else ""))


def _products(rows: str) -> VisibleRows:
    return published(("view_products",), "read_products", rows, vendor="t.vendor_id = {company}")


def _categories(rows: str) -> VisibleRows:
    privileges, scopes = ("view_catalog", "view_products"), ("read_categories", "read_products")
    return published(privileges, scopes, rows, vendor="t.status <> 'D'")


_LISTED = _products(LISTED)


def _has_words(expression: str, text: str) -> Condition:
    """Match what contains all words of a text, anywhere in its words; a text without a word matches nothing, a blank one everything."""
    words = search_terms(text)
    if not words:
        return Condition("false") if text.strip() else Condition("true")
    return Condition(f"vitrine_words({expression}) LIKE ALL ({{}}::text[])", ([f"%{word}%" for word in words],))


_TEXTS = {"n": ("name", "search_words"), "s": ("short_description",), "f": ("description",), "k": ("meta_keywords",)}


def _words_in(value: str) -> Condition:
    """Match products of which the texts with these codes together contain each word, ignoring case and accents."""
    codes, _, text = value.partition(":") if ":" in value else ("", "", value)
    columns = ", ".join(
        f"t.{column}" for code, of_code in _TEXTS.items() if code in (codes or _TEXTS) for column in of_code
    )
    # Without an index: only programs written for CS-Cart search so.
    return _has_words(f"concat_ws(' ', {columns})", text)


_OF_PRODUCT = "WHERE m.tenant_id = t.tenant_id AND m.product_id = t.id"
_MEMBERSHIP = f"variation_group_products m {_OF_PRODUCT}"
PARENT_NUMBER = f"coalesce((SELECT nullif({DEFAULT_SQL.format('m')}, t.id) FROM {_MEMBERSHIP}), 0)"
"""The product that this one is shown as a variation of, or 0."""
GROUP_NUMBER = f"coalesce((SELECT m.group_id FROM {_MEMBERSHIP}), 0)"
_WITH_GROUP = "variation_group_products m JOIN {} g ON g.tenant_id = m.tenant_id AND g.{} = m.group_id"
_CODES = f"{_WITH_GROUP.format('variation_groups', 'id')} {_OF_PRODUCT}"
GROUP_CODE = f"coalesce((SELECT g.code FROM {_CODES}), '')"
_DIFFERENCES = f"{_WITH_GROUP.format('variation_group_features', 'group_id')} {_OF_PRODUCT}"
GROUP_FEATURES = f"ARRAY(SELECT g.feature_id FROM {_DIFFERENCES} ORDER BY g.position)"
HAS_OPTIONS = "EXISTS (SELECT FROM product_options l WHERE l.tenant_id = t.tenant_id AND l.product_id = t.id)"


def _has_product_type(value: Any) -> Condition:
    """Match products on their own, those shown as one included (`P`), or variations of these (`V`)."""
    wanted = {str(item).upper() for item in (value if isinstance(value, list) else [value])}
    choices = {"P": f"{PARENT_NUMBER} = 0", "V": f"{PARENT_NUMBER} <> 0"}
    return Condition(" OR ".join(sql for letter, sql in choices.items() if letter in wanted) or "false")


PRODUCTS = Entity(
    table="products",
    visible=_products(OPEN),
    listed=_LISTED,
    filters={
        "id": ids("products"),
        "status": statuses("product_status"),
        "is_listed": EntityFilter("boolean", flag(f"({LISTED})"), "found by shoppers in lists and searches"),
        "search": EntityFilter(
            "text", full_text_search("search_products"), "words, or beginnings of words, of name, SKU or description"
        ),
        "words_in": EntityFilter(
            "text", _words_in, "words in any of some texts, by the codes of these: `nk:mug`", internal=True
        ),
        **exact("text", sku="exact SKU"),
        "category_id": replace(
            linked_to("product_categories", "product_id", "category_id", "categories", "in any of these categories"),
            listed=_listed_in(_in_category),
        ),
        "below_category_id": EntityFilter(
            "id",
            _below_category,
            "in any of these categories or their descendants",
            many=True,
            listed=_listed_in(_below_category),
        ),
        "vendor_id": references("vendors", "sold by any of these vendors"),
        "tag": EntityFilter("text", has_tag, "with any of these tags", many=True),
        "tax_id": has_tax("product_taxes", "any of these taxes applies to it"),
        "price_from": EntityFilter("cents", compares("t.price_cents", ">="), "at least this price, in cents"),
        "price_to": EntityFilter("cents", compares("t.price_cents", "<="), "at most this price, in cents"),
        "stock_from": EntityFilter("big_int", compares(STOCK, ">="), "at least this available stock"),
        "stock_to": EntityFilter("big_int", compares(STOCK, "<="), "at most this available stock"),
        **created_range(),
        "updated_from": EntityFilter("time", compares("t.updated_at", ">="), "updated at or after this time"),
        **exact("boolean", free_shipping="ships free of charge", is_edp="is downloaded instead of shipped"),
        **exact("text", "name"),
        **exact("cents", price_cents="exact price in cents"),
        "compare_at_cents": exact_value(
            "cents", "coalesce(t.compare_at_cents, 0)", "exact compare-at price, 0 for none", internal=True
        ),
        "company_id": optional_references("vendors", "sold by any of these vendors; 0 means by none", internal=True),
        "vendor_name": EntityFilter("text", has_vendor_name, "exact name of the vendor", many=True, internal=True),
        **exact("text", "description", "short_description", internal=True),
        **exact("text", *SEO_FIELDS, internal=True),
        "order_id": linked_to(
            "order_lines", "product_id", "order_id", "orders", "sold in any of these orders", internal=True
        ),
        **exact(
            "big_int",
            "min_quantity",
            "max_quantity",
            "quantity_step",
            "quantity_choices",
            "low_stock_limit",
            internal=True,
        ),
        **exact("text", "out_of_stock_action", "zero_price_action", internal=True),
        **exact("text", "promo_text", internal=True),
        **exact("text", ncm="exact NCM"),
        **exact("boolean", "unlimited_download", internal=True),
        "available_since": exact_second(
            "coalesce(t.available_since, to_timestamp(0))", "available since that second; of 1970 without a time"
        ),
        "updated_at": exact_second("t.updated_at", "updated within that second"),
        **exact("text", gtin="exact GTIN"),
        **exact("big_int", "weight_grams", "length_mm", "width_mm", "height_mm", internal=True),
        **exact("cents", "shipping_freight_cents", internal=True),
        "stock": exact_value("big_int", STOCK, "exact available stock", internal=True),
        "main_category_id": optional_references("categories", "has this main category; 0 means none", internal=True),
        **exact("text", "slug"),
        **exact("text", "tracking", internal=True),
        "created_at": exact_second("t.created_at", "created within that second"),
        "variation_group_id": optional_references(
            "variation_groups",
            "in any of these variation groups; 0 means in none",
            column=f"(SELECT m.group_id FROM {_MEMBERSHIP})",
        ),
        "variation_group_code": exact_value("text", GROUP_CODE, "the code of its variation group", internal=True),
        "has_variation_group": EntityFilter(
            "boolean", flag(f"EXISTS (SELECT FROM {_MEMBERSHIP})"), "in a variation group", internal=True
        ),
        "variation_parent_id": EntityFilter(
            "text", any_of(PARENT_NUMBER + "::text", "text"), "a variation of any of these", many=True, internal=True
        ),
        "product_type": EntityFilter("text", _has_product_type, "`P` or `V`", many=True, internal=True),
    },
    sorts={
        **sorts("created_at"),
        "updated_at": Sort("t.updated_at", "timestamptz", "time of the last change"),
        "name": Sort("t.name_folded", "text", "name, without case and accents"),
        "price": Sort("t.price_cents", "bigint", "price"),
        "stock": Sort(STOCK, "bigint", "available stock"),
        "best_selling": Sort("t.sales_rank", "bigint", "units sold lately (setting `best_seller_days`)"),
        **sorts(("sku", "SKU"), "slug"),
        # Without an index each, because they are rarely used: the store's products are sorted for them.
        "compare_at": Sort("coalesce(t.compare_at_cents, 0)", "bigint", "compare-at price, none lowest"),
        "category": Sort("coalesce(t.category_id, 0)", "bigint", "main category, none lowest"),
        **sorts("description", "short_description", ("gtin", "GTIN"), *SEO_FIELDS),
        **{
            name: Sort(f"t.{name}", "bigint", name.rpartition("_")[0].replace("_", " "))
            for name in ("weight_grams", "length_mm", "width_mm", "height_mm", "shipping_freight_cents")
        },
        **sorts("status", "id"),
    },
    default_sort="-created_at",
)

PRODUCTS_OF_CATEGORY = replace(PRODUCTS, visible=_products(LISTED_IN_CATEGORY), listed=None)
"""The products of a category that was opened."""
PRODUCTS_BELOW_CATEGORY = ToMany(
    "a.id",
    "t.created_at DESC, t.id DESC",
    through="categories a JOIN products t ON t.tenant_id = a.tenant_id",
    where=f"a.tenant_id = {{tenant}} AND {_placed_below('a', 't')}",
    entity=replace(PRODUCTS, visible=_products(_listed_below("t", "a")), listed=None),
)
"""The link to the products in a category and below it, newest first."""

RELATED_PRODUCTS = ToMany(
    "o.id",
    "t.created_at DESC, t.id DESC",
    through="products o JOIN products t ON t.tenant_id = o.tenant_id AND t.category_id = o.category_id AND t.id <> o.id",
    where="t.status = 'A'",
    match="t.category_id = (SELECT o.category_id FROM products o WHERE o.tenant_id = {tenant} AND o.id = {parent}) AND t.id <> {parent}",
)
"""The link from a product to the others of its main category."""

CATEGORIES = Entity(
    table="categories",
    visible=_categories(OPEN_CATEGORY),
    listed=_categories(LISTED_CATEGORY),
    filters={
        "id": ids("categories"),
        "status": statuses("category_status"),
        **created_range(),
        "parent_id": optional_references(
            "categories", "children of any of these; 0 means the roots", column="t.parent_id"
        ),
        **exact("text", "name", "slug"),
        "search": EntityFilter(
            "text",
            lambda text: _has_words("t.name", text),
            "words, or beginnings of words, of the name",
        ),
        **exact("big_int", "position", internal=True),
        "vendor_id": references("vendors", "of any of these vendors"),
        "company_id": optional_references("vendors", "of any of these vendors; 0 means of none", internal=True),
        **exact("text", "id_path", "description", *SEO_FIELDS, internal=True),
        "created_at": exact_second("t.created_at", "created within that second"),
        "product_count": exact_value("big_int", PRODUCT_COUNT, "exact number of products", internal=True),
    },
    sorts={
        "position": Sort("t.position", "bigint", "position among the siblings"),
        "name": Sort("vitrine_fold(t.name)", "text", "name, without case and accents"),
        **sorts("created_at", "id"),
    },
)


# Reached only through a product or a feature, whose rows are already filtered.
_WITH_PRODUCT = published(("view_products", "view_catalog", "view_orders"), "read_products", "")

# The image of a category is part of its row, and the entity's table the same.
CATEGORY_IMAGES = Entity(table="categories", visible=CATEGORIES.visible, base_condition="")
PRODUCT_IMAGES = Entity(table="product_images", visible=_WITH_PRODUCT)
FEATURE_VALUES = Entity(table="feature_values", visible=_WITH_PRODUCT)
FEATURE_VARIANTS = Entity(table="feature_variants", visible=_WITH_PRODUCT)

FEATURES = Entity(
    table="features",
    visible=published(("view_catalog", "view_products"), "read_products"),
    filters={
        "id": ids("features"),
        **exact("feature_type", type="any of these types"),
        "status": statuses(),
        "group_id": optional_references("features", "in any of these groups; 0 means in none", column="t.parent_id"),
        "product_id": linked_to(
            "feature_values",
            "feature_id",
            "product_id",
            "products",
            "of which any of these products has a value",
            internal=True,
        ),
        "category_id": linked_to(
            "feature_categories",
            "feature_id",
            "category_id",
            "categories",
            "used by products of any of these categories",
        ),
        **exact("text", "name"),
        "search": substring("name", "t.name"),
        **exact("big_int", "position", internal=True),
        **exact("text", "prefix", "suffix", internal=True),
        **exact("boolean", "comparison", "display_on_product", "display_on_catalog", internal=True),
    },
    sorts=sorts("position", "name", "id"),
)
