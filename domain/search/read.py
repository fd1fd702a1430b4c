"""What a product search is narrowed down and sorted by, and which entries each caller sees.

A search reads `search_entries` (migration 0025), here `t`: what is compared and counted of each product. The rows that a caller sees are
those of the list of products, whose condition names columns that an entry has too. `p` is the product, joined where it is needed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from domain.catalog.collections import COLLECTIONS
from domain.catalog.listing import OPEN, UNLISTED_CATEGORY, listed_or, of_row
from domain.catalog.read import CATEGORIES, FEATURES, PRODUCTS
from domain.catalog.tags import normalize_tag
from domain.marketplace.read import VENDORS
from domain.visibility import is_shopper
from kernel.scope import Scope
from models.reading.queries import Condition, Entity, Sort, compares, has_any_id

MAX_FEATURES = 10
"""The number of features that a search may be narrowed down by."""
MAX_VALUES = 100
"""The number of values of a facet that a search may be narrowed down to."""

RELEVANCE, RATING = "relevance", "rating"


class Dimension(StrEnum):
    """What has a facet; each feature has one of its own."""

    CATEGORY = "category"
    VENDOR = "vendor"
    PRICE = "price"
    RATING = "rating"
    AVAILABILITY = "availability"
    TAG = "tag"


@dataclass(frozen=True, slots=True)
class Choice:
    """A choice of facet values: `dimension` is a `Dimension`, or the id of a feature."""

    dimension: str
    condition: Condition


def on_entry(text: str) -> str:
    """Return a condition on a product, whose columns an entry has too."""
    return re.sub(r"\bt\.id\b", "t.product_id", text)


PRICE = "{price}"
"""The price of an entry that the caller pays, which the statement of a search replaces (`domain.promotions.price_sql`)."""
IS_AVAILABLE = (
    f"((t.in_advance OR t.in_stock AND (t.available_since IS NULL OR t.available_since <= now())) AND {on_entry(OPEN)})"
)
"""Whether it can be bought, as `domain.catalog.availability.IS_AVAILABLE`."""


def on_product(text: str) -> str:
    """Return an expression over the row `t` of a product as one over `p`."""
    return of_row(text, "p")


def visible_entries(scope: Scope, ids: list[Any], slugs: list[str]) -> Condition:
    """Return the condition of the entries that a search shows; raise the error of a caller who may search nothing.

    Shoppers see the products of hidden categories only where they name these by id or slug.
    """
    condition = _shown(PRODUCTS, scope)
    if is_shopper(scope) and (ids or slugs):
        opened = _in_categories(ids, slugs, f" AND {of_row(UNLISTED_CATEGORY, 'x')}")
        condition = Condition(listed_or(opened.sql), opened.params)
    return Condition(on_entry(condition.sql), condition.params)


def _product_sort(name: str) -> Sort:
    sort = PRODUCTS.sorts[name]
    return replace(sort, sql=on_product(sort.sql))


SORTS: Mapping[str, Sort] = {
    **{name: _product_sort(name) for name in PRODUCTS.sorts},
    "created_at": Sort("t.created_at", "timestamptz", "time of creation"),
    "price": Sort(PRICE, "bigint", "price for the caller"),
    "id": Sort("t.product_id", "bigint", "creation order"),
    RATING: Sort("t.rating::bigint", "bigint", "mean rating, unrated lowest"),
}
"""The sort orders by name, besides the relevance."""
BY_RELEVANCE = Sort("", "bigint", "relevance")
"""The sort order of a score that depends on the words (`domain.search.statement`)."""


def category_choice(ids: list[Any], slugs: list[str]) -> Choice:
    """Return the choice of products in any of the categories or below."""
    return Choice(Dimension.CATEGORY, _in_categories(ids, slugs))


def placed_in(ids: list[Any], slugs: list[str]) -> Condition:
    """Return the condition of the products in any of the categories, not below."""
    categories = _ids_of("categories", ids, slugs)
    placed = Condition(f"l.category_id = ANY(ARRAY({categories.sql}))", categories.params)
    return has_any_id("t.product_id", "product_categories l", "l.product_id", placed)


def collected_in(scope: Scope, ids: list[Any], slugs: list[str]) -> Condition:
    """Return the condition of the products of any of the collections that the caller sees."""
    chosen, shown = _ids_of("collections", ids, slugs), _of("c", COLLECTIONS, scope)
    matches = Condition(f"c.id = ANY(ARRAY({chosen.sql})) AND {shown.sql}", (*chosen.params, *shown.params))
    source = "collection_products l JOIN collections c ON c.tenant_id = l.tenant_id AND c.id = l.collection_id"
    return has_any_id("t.product_id", source, "l.product_id", matches)


def vendor_choice(ids: list[Any], slugs: list[str]) -> Choice:
    """Return the choice of products of any of the vendors."""
    vendors = _ids_of("vendors", ids, slugs)
    return Choice(Dimension.VENDOR, Condition(f"t.vendor_id = ANY(ARRAY({vendors.sql}))", vendors.params))


def price_choice(lowest: int | None, highest: int | None) -> Choice:
    """Return the choice of products at these prices for the caller, in cents, both included."""
    bounds = [(f"{PRICE} >= {{}}", lowest), (f"{PRICE} <= {{}}", highest)]
    limits = [(sql, value) for sql, value in bounds if value is not None]
    return Choice(
        Dimension.PRICE, Condition(" AND ".join([sql for sql, _ in limits]), tuple([value for _, value in limits]))
    )


def rating_choice(lowest: int) -> Choice:
    """Return the choice of products with at least this mean rating."""
    return Choice(Dimension.RATING, compares("t.rating", ">=")(lowest * 100))


def availability_choice(is_available: bool) -> Choice:
    """Return the choice of products that can, or can't, be bought."""
    return Choice(Dimension.AVAILABILITY, Condition(IS_AVAILABLE if is_available else f"NOT {IS_AVAILABLE}"))


def tag_choice(tags: list[str]) -> Choice:
    """Return the choice of products with any of the tags."""
    return Choice(Dimension.TAG, Condition("t.tags && {}::text[]", ([normalize_tag(tag) for tag in tags],)))


def feature_choice(scope: Scope, feature: Any, variants: list[Any]) -> Choice:
    """Return the choice of products with any of the variants of a filterable feature; one that the caller can't see matches nothing."""
    visible = filterable_features(scope)
    sql = (
        "t.variant_ids && ARRAY(SELECT x.id FROM feature_variants x JOIN features f ON f.tenant_id = x.tenant_id"
        f" AND f.id = x.feature_id WHERE x.tenant_id = {{tenant}} AND {visible.sql} AND f.public_id = ANY({{}}::uuid[])"
        " AND x.public_id = ANY({}::uuid[]))"
    )
    return Choice(str(feature), Condition(sql, (*visible.params, _uuids([feature]), _uuids(variants))))


def filterable_features(scope: Scope) -> Condition:
    """Return the condition of the features `f` that a search may be narrowed down by."""
    return _of("f", FEATURES, scope, "f.filterable")


def shown_categories(scope: Scope) -> Condition:
    """Return the condition of the categories `c` that the caller sees."""
    return _of("c", CATEGORIES, scope)


def shown_vendors(scope: Scope) -> Condition:
    """Return the condition of the vendors `v` that the caller sees."""
    return _of("v", VENDORS, scope)


def _shown(entity: Entity, scope: Scope) -> Condition:
    """Return the condition of the rows of an entity that lists show to the caller."""
    return entity.in_lists.visible(scope) or Condition("true")


def _of(alias: str, entity: Entity, scope: Scope, *more: str) -> Condition:
    visible = _shown(entity, scope)
    sql = " AND ".join([f"({text})" for text in (entity.base_condition, visible.sql, *more)])
    return Condition(of_row(sql, alias), visible.params)


def _in_categories(ids: list[Any], slugs: list[str], which: str = "") -> Condition:
    categories = _ids_of("categories", ids, slugs)
    return Condition(f"t.category_ids && ARRAY({categories.sql}{which})", categories.params)


def _ids_of(table: str, ids: list[Any], slugs: list[str]) -> Condition:
    """Return the internal ids of the records with any of the ids (internal ids or UUIDs) or slugs, as a query."""
    matches = "x.public_id = ANY({}::uuid[]) OR x.id = ANY({}::bigint[])"
    params: tuple[Any, ...] = (_uuids(ids), [item for item in ids if isinstance(item, int)])
    if slugs:
        matches, params = f"{matches} OR (x.slug = ANY({{}}::text[]) AND x.deleted_at IS NULL)", (*params, slugs)
    return Condition(f"SELECT x.id FROM {table} x WHERE x.tenant_id = {{tenant}} AND ({matches})", params)


def _uuids(ids: list[Any]) -> list[Any]:
    return [item for item in ids if not isinstance(item, int)]
