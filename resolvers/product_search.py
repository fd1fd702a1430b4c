"""Resolve the product search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import strawberry
from strawberry import Info

from domain.catalog.read import PRODUCTS
from domain.search import read as search_read
from domain.search.products import FacetRecord, Facets, SearchResult, find_products, search_words
from domain.search.read import Choice
from domain.search.statement import Search
from kernel.errors import ValidationFailed
from kernel.scope import Scope
from models import row_reads
from models.queries import Condition, Entity, Row, by_ids
from resolvers.cursors import cursor_position, encode_cursor
from resolvers.results import linked
from schema.column_guards import column_guards
from schema.fields import root_field
from schema.filters import check_filter_text
from schema.inputs.optional_fields import provided_fields
from schema.inputs.product_search import ProductSearchFilter, ProductSearchSort
from schema.pagination import DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE, check_page_bounds, page_info
from schema.scalars import ID, parse_id
from schema.selection import is_requested, requested_shape
from schema.types.catalog import ProductObject
from schema.types.product_search import ProductSearchConnectionObject, ProductSearchPageObject

_ACCESS = PRODUCTS.visible.access  # type: ignore[attr-defined]
# Cursors contain the sort key and the id of a product.
_CURSORS = Entity(
    "product",
    PRODUCTS.table,
    PRODUCTS.visible,
    sorts={**search_read.SORTS, search_read.RELEVANCE: search_read.BY_RELEVANCE},
)
_RESTRICTIONS = ("category_id", "status", "created_from", "created_before")


@strawberry.type
class ProductSearchQueries:
    """The search of products."""

    @root_field(
        _ACCESS,
        "Searches products by words, with facets. Returns a page (cursor pagination) in the order of relevance unless sorted otherwise.",
    )
    async def product_search(
        self,
        info: Info,
        query: str | None = None,
        filter: ProductSearchFilter | None = None,
        sort: ProductSearchSort | None = None,
        first: int | None = None,
        after: str | None = None,
        last: int | None = None,
        before: str | None = None,
    ) -> ProductSearchConnectionObject:
        """Return a page of a search."""
        scope: Scope = info.context.scope
        search = _search(
            scope, query, filter, sort, facets=is_requested(info, "facets"), counts=is_requested(info, "total")
        )
        search = _page_of(search, scope, first, after, last, before)
        result = await find_products(scope, search, query)
        return await _connection(info, search, result)  # type: ignore[no-any-return]

    @root_field(
        _ACCESS, "Searches products by words, with facets; returns a numbered page (offset pagination).", internal=True
    )
    async def product_search_page(
        self,
        info: Info,
        query: str,
        filter: ProductSearchFilter | None = None,
        sort: ProductSearchSort | None = None,
        page: int = 1,
        per_page: int = DEFAULT_PAGE_SIZE,
    ) -> ProductSearchPageObject:
        """Return a numbered page of a search."""
        scope: Scope = info.context.scope
        check_page_bounds(per_page, 0, MAX_PAGE_SIZE, "per_page")
        check_page_bounds(page, 0, 2**31 - 1, "page")
        page = max(page, 1)
        search = _search(scope, query, filter, sort, facets=is_requested(info, "facets"), counts=True)
        search = replace(search, limit=per_page, offset=(page - 1) * per_page)
        result = await find_products(scope, search, query)
        rows = await _read(info, [number for _, number in result.page[:per_page]], "items")
        return Row(  # type: ignore[return-value]
            items=[row for _, row in rows], page=page, per_page=per_page, **_summary(info, result)
        )


def _search(scope: Scope, query: str | None, filter: Any, sort: Any, *, facets: bool, counts: bool) -> Search:
    """Return the search for the arguments; raise `ValidationFailed` for an invalid one."""
    check_filter_text("query", query or "")
    values = {name: value for name, value in provided_fields(filter).items() if value is not None} if filter else {}
    name: str = getattr(sort, "value", sort) or f"-{search_read.RELEVANCE}"
    if name == search_read.RELEVANCE:
        name = f"-{name}"
    guards = column_guards(ProductObject, PRODUCTS)
    guards.check_sort(scope, name)
    return Search(
        words=search_words(query),
        visible=search_read.visible_entries(scope),
        restrictions=tuple(_restriction(name, values[name]) for name in _RESTRICTIONS if name in values),
        choices=tuple(_choices(scope, values)),
        sort=name.lstrip("-"),
        descending=name.startswith("-"),
        facets=facets,
        counts=counts,
    )


def _restriction(name: str, value: Any) -> Condition:
    condition = PRODUCTS.filters[name].build(_ids(name, value) if name.endswith("_id") else value)
    return Condition(search_read.on_product(condition.sql), condition.params)


def _choices(scope: Scope, values: Mapping[str, Any]) -> list[Choice]:
    choices = []
    if "below_category_id" in values:
        choices.append(search_read.category_choice(_ids("below_category_id", values["below_category_id"])))
    if "vendor_id" in values:
        choices.append(search_read.vendor_choice(_ids("vendor_id", values["vendor_id"])))
    if "price_from" in values or "price_to" in values:
        choices.append(search_read.price_choice(values.get("price_from"), values.get("price_to")))
    if "rating_from" in values:
        choices.append(search_read.rating_choice(_rating(values["rating_from"])))
    if "is_available" in values:
        choices.append(search_read.availability_choice(values["is_available"]))
    return choices + _feature_choices(scope, values.get("features", []))


def _feature_choices(scope: Scope, values: Sequence[Mapping[str, Any]]) -> list[Choice]:
    features = [parse_id(value["feature_id"]) for value in values]
    if len(features) > search_read.MAX_FEATURES:
        raise _too_many("features", len(features), search_read.MAX_FEATURES)
    if len(set(features)) < len(features):
        raise ValidationFailed("features names a feature twice", field="features", code="duplicate")
    return [
        search_read.feature_choice(scope, feature, _ids("variant_ids", value["variant_ids"]))
        for feature, value in zip(features, values, strict=True)
    ]


def _ids(name: str, values: Sequence[ID]) -> list[Any]:
    """Parse ids; a malformed one names nothing."""
    if len(values) > search_read.MAX_VALUES:
        raise _too_many(name, len(values), search_read.MAX_VALUES)
    return [reference for value in values if (reference := parse_id(value)) is not None]


def _too_many(name: str, count: int, limit: int) -> ValidationFailed:
    return ValidationFailed(f"{name} has {count} values; expected at most {limit}", field=name, code="too_many")


def _rating(value: int) -> int:
    if not 1 <= value <= 5:
        raise ValidationFailed(f"rating_from is {value}; expected 1 to 5", field="rating_from", code="out_of_range")
    return value


def _page_of(
    search: Search, scope: Scope, first: int | None, after: str | None, last: int | None, before: str | None
) -> Search:
    """Return the search for a page: `first` records after a cursor, or the `last` before one."""
    backward = last is not None or before is not None
    if backward and (first is not None or after is not None):
        raise ValidationFailed("expected either first and after, or last and before", field="last", code="invalid")
    size, cursor, name = (last, before, "before") if backward else (first, after, "after")
    limit = DEFAULT_PAGE_SIZE if size is None else size
    check_page_bounds(limit, 0, MAX_PAGE_SIZE, "last" if backward else "first")
    position = None
    if cursor is not None:
        position = cursor_position(_CURSORS, _sort_name(search), cursor, name)
    return replace(search, limit=limit, after=position, backward=backward)


def _sort_name(search: Search) -> str:
    return f"{'-' if search.descending else ''}{search.sort}"


async def _connection(info: Any, search: Search, result: SearchResult) -> Any:
    page = list(result.page[: search.limit])
    has_more, has_other = len(result.page) > search.limit, search.after is not None
    if search.backward:
        page.reverse()
    cursors = [encode_cursor(_CURSORS, _sort_name(search), key, number) for key, number in page]
    has_next, has_previous = (has_other, has_more) if search.backward else (has_more, has_other)
    rows = dict(await _read(info, [number for _, number in page], "edges", "node"))
    return Row(
        # A product that was deleted meanwhile is left out.
        edges=[
            Row(cursor=cursor, node=rows[number])
            for cursor, (_, number) in zip(cursors, page, strict=True)
            if number in rows
        ],
        page_info=page_info(cursors, has_next=has_next, has_previous=has_previous),
        **_summary(info, result),
    )


async def _read(info: Any, ids: Sequence[int], *path: str) -> list[tuple[int, Row]]:
    """Read the selected fields of products with their ids, in the order of the ids."""
    if not ids or not is_requested(info, *path):
        return []
    rows, keys = await row_reads.fetch_with_keys(
        info.context.scope, requested_shape(info, *path), conditions=[by_ids(list(ids))], sort="id", limit=len(ids)
    )
    by_number = {number: row for (_, number), row in zip(keys, rows, strict=True)}
    return [(number, by_number[number]) for number in ids if number in by_number]


def _summary(info: Any, result: SearchResult) -> dict[str, Any]:
    facets = _facet_rows(info, result.facets) if result.facets is not None else None
    return {"total": result.total, "facets": facets, "corrected_query": result.corrected_query}


def _facet_rows(info: Any, facets: Facets) -> Row:
    features = linked(info, [_record("feature", feature) for feature in facets.features], "facets", "features")
    values = [_record("variant", value) for feature in facets.features for value in feature.values]
    rows = iter(linked(info, values, "facets", "features", "values"))
    for row, feature in zip(features, facets.features, strict=True):
        row["values"] = [next(rows) for _ in feature.values]
    return Row(
        categories=linked(info, [_record("category", record) for record in facets.categories], "facets", "categories"),
        vendors=linked(info, [_record("vendor", record) for record in facets.vendors], "facets", "vendors"),
        prices=[Row(from_cents=step.from_cents, to_cents=step.to_cents, count=step.count) for step in facets.prices],
        ratings=[Row(rating_from=rating, count=count) for rating, count in facets.ratings],
        availability=[Row(is_available=value, count=count) for value, count in facets.availability],
        features=features,
    )


def _record(name: str, record: Any) -> dict[str, Any]:
    row = {f"{name}_id": record.public_id, name: record.id, "name": record.name}
    return {**row, "count": record.count} if isinstance(record, FacetRecord) else row


QUERIES = (ProductSearchQueries,)
