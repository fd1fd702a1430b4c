"""Requests of the product search: the search that arguments ask for, and the page of its result; for the executor and compiled reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from auth.access import Access
from domain.catalog.read import PRODUCTS
from domain.search import read as search_read
from domain.search.products import Facets, SearchResult, search_words
from domain.search.read import Choice
from domain.search.statement import Search
from kernel.errors import ValidationFailed
from kernel.scope import Scope
from models.reading.queries import Condition, Row
from schema.connections import PageRequest
from schema.cursors import KeysetOrder
from schema.filters import check_filter_size, check_filter_text, column_guards
from schema.inputs import provided_fields
from schema.pagination import DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE, check_page_bounds
from schema.scalars import ID, parse_id
from schema.types.catalog import ProductObject

SEARCH_FIELD = "vitrine.search"
"""The metadata key of a root field that is a `SearchField`."""

_SORTS = {**search_read.SORTS, search_read.RELEVANCE: search_read.BY_RELEVANCE}
_RESTRICTIONS = ("category_id", "status", "created_from", "created_before")
# Returns the rows of results with what they refer to; the path is where they are below the root field.
Link: TypeAlias = Callable[..., Sequence[Any]]


@dataclass(frozen=True, slots=True)
class SearchField:
    """A root field that searches: a connection, or a numbered page."""

    access: Access
    is_page: bool

    def request(self, scope: Scope, values: Mapping[str, Any], selected: Iterable[str]) -> Search:
        """Return the search for the arguments, and the selected fields and facets; raise `ValidationFailed` for an invalid argument."""
        search = _search(scope, values.get("query"), values.get("filter"), values.get("sort"))
        search = replace(
            search,
            facets="facets" in selected,
            tags="tags" in selected,
            counts=self.is_page or not {"total", "total_count"}.isdisjoint(selected),
        )
        if not self.is_page:
            return _page_of(search, *(values.get(name) for name in ("first", "after", "last", "before")))
        page, size = values["page"], values["per_page"]
        check_page_bounds(size, 0, MAX_PAGE_SIZE, "per_page")
        check_page_bounds(page, 0, 2**31 - 1, "page")
        return replace(search, limit=size, offset=(max(page, 1) - 1) * size)


def _search(scope: Scope, query: str | None, filter: Any, sort: Any) -> Search:
    """Return the search for the arguments; raise `ValidationFailed` for an invalid one."""
    check_filter_text("query", query or "")
    provided: Mapping[str, Any] = filter if isinstance(filter, Mapping) else provided_fields(filter) if filter else {}
    values = {name: value for name, value in provided.items() if value is not None}
    name: str = getattr(sort, "value", sort) or f"-{search_read.RELEVANCE}"
    if name == search_read.RELEVANCE:
        name = f"-{name}"
    guards = column_guards(ProductObject, PRODUCTS)
    guards.check_sort(scope, name)
    return Search(
        words=search_words(query),
        visible=search_read.visible_entries(scope, *_named(values, "below_category")),
        restrictions=tuple(_restrictions(scope, values)),
        choices=tuple(_choices(scope, values)),
        sort=name.lstrip("-"),
        descending=name.startswith("-"),
    )


def _restrictions(scope: Scope, values: Mapping[str, Any]) -> list[Condition]:
    restrictions = [_restriction(name, values[name]) for name in _RESTRICTIONS if name in values]
    below = _named(values, "below_category")
    if not values.get("include_descendants", True) and any(below):
        restrictions.append(search_read.placed_in(*below))
    if "collection_id" in values or "collection_slug" in values:
        restrictions.append(search_read.collected_in(scope, *_named(values, "collection")))
    return restrictions


def _restriction(name: str, value: Any) -> Condition:
    condition = PRODUCTS.filters[name].build(_ids(name, value) if name.endswith("_id") else value)
    return Condition(search_read.on_entry(condition.sql), condition.params)


def _choices(scope: Scope, values: Mapping[str, Any]) -> list[Choice]:
    choices = []
    for name, choice in (("below_category", search_read.category_choice), ("vendor", search_read.vendor_choice)):
        if f"{name}_id" in values or f"{name}_slug" in values:
            choices.append(choice(*_named(values, name)))
    if "price_from" in values or "price_to" in values:
        choices.append(search_read.price_choice(values.get("price_from"), values.get("price_to")))
    if "rating_from" in values:
        choices.append(search_read.rating_choice(_rating(values["rating_from"])))
    if "is_available" in values:
        choices.append(search_read.availability_choice(values["is_available"]))
    if "tag" in values:
        check_filter_size("tag", values["tag"], search_read.MAX_VALUES)
        check_filter_text("tag", values["tag"])
        choices.append(search_read.tag_choice(values["tag"]))
    return choices + _feature_choices(scope, values.get("features", []))


def _named(values: Mapping[str, Any], name: str) -> tuple[list[Any], list[str]]:
    """Return the ids and the slugs of the records that a search is narrowed down to."""
    slugs = values.get(f"{name}_slug", [])
    check_filter_size(f"{name}_slug", slugs, search_read.MAX_VALUES)
    return _ids(f"{name}_id", values.get(f"{name}_id", [])), slugs


def _feature_choices(scope: Scope, values: Sequence[Mapping[str, Any]]) -> list[Choice]:
    features = [parse_id(value["feature_id"]) for value in values]
    check_filter_size("features", features, search_read.MAX_FEATURES)
    if len(set(features)) < len(features):
        raise ValidationFailed("features names a feature twice", field="features", code="duplicate")
    return [
        search_read.feature_choice(scope, feature, _ids("variant_ids", value["variant_ids"]))
        for feature, value in zip(features, values, strict=True)
    ]


def _ids(name: str, values: Sequence[ID]) -> list[Any]:
    """Parse ids; a malformed one names nothing."""
    check_filter_size(name, values, search_read.MAX_VALUES)
    return [reference for value in values if (reference := parse_id(value)) is not None]


def _rating(value: int) -> int:
    if not 1 <= value <= 5:
        raise ValidationFailed(f"rating_from is {value}; expected 1 to 5", field="rating_from", code="out_of_range")
    return value


def _page_of(search: Search, first: int | None, after: str | None, last: int | None, before: str | None) -> Search:
    """Return the search for a page: `first` records after a cursor, or the `last` before one."""
    backward = last is not None or before is not None
    if backward and (first is not None or after is not None):
        raise ValidationFailed("expected either first and after, or last and before", field="last", code="invalid")
    size, cursor, name = (last, before, "before") if backward else (first, after, "after")
    limit = DEFAULT_PAGE_SIZE if size is None else size
    check_page_bounds(limit, 0, MAX_PAGE_SIZE, "last" if backward else "first")
    position = None
    if cursor is not None:
        position = _order(search).position(name, cursor)
    return replace(search, limit=limit, after=position, backward=backward)


def _order(search: Search) -> KeysetOrder:
    """Return the order, whose cursors contain the sort key and the id of a product."""
    name = f"{'-' if search.descending else ''}{search.sort}"
    return KeysetOrder(PRODUCTS.table, name, _SORTS[search.sort])


def search_page(
    field: SearchField,
    search: Search,
    result: SearchResult,
    values: Mapping[str, Any],
    records: Mapping[int, Any] | None,
) -> dict[str, Any]:
    """Return the page but for its facets; `records` by id, None if none are selected. One that was deleted meanwhile is left out."""
    summary = {"total": result.total, "facets": None, "corrected_query": result.corrected_query}
    if field.is_page:
        page = result.page[: search.limit]
        items = [records[number] for _, number in page if records is not None and number in records]
        return {"items": items, "page": max(values["page"], 1), "per_page": search.limit, **summary}
    request = PageRequest(search.limit, search.backward, values.get("after"), values.get("before"))
    rows = [(None if records is None else records.get(number), (key, number)) for key, number in result.page]
    connection = request.connection(_order(search), rows, total_count=result.total)
    if records is not None:
        connection["edges"] = [edge for edge in connection["edges"] if edge["node"] is not None]
    return {**connection, **summary}


def _unlinked(records: Iterable[Mapping[str, Any]], *_path: str) -> list[Row]:
    return [Row(record) for record in records]


def facet_values(facets: Facets, link: Link = _unlinked) -> Row:
    """Return the facets; `link` returns the rows of categories, vendors, features and variants."""
    features = link([_record("feature", feature) for feature in facets.features], "features")
    values = [_counted("variant", value) for feature in facets.features for value in feature.values]
    rows = iter(link(values, "features", "values"))
    for row, feature in zip(features, facets.features, strict=True):
        row["values"] = [next(rows) for _ in feature.values]
    return Row(
        categories=link([_counted("category", record) for record in facets.categories], "categories"),
        vendors=link([_counted("vendor", record) for record in facets.vendors], "vendors"),
        prices=[Row(from_cents=step.from_cents, to_cents=step.to_cents, count=step.count) for step in facets.prices],
        ratings=[Row(rating_from=rating, count=count) for rating, count in facets.ratings],
        availability=[Row(is_available=value, count=count) for value, count in facets.availability],
        features=features,
        tags=[Row(name=tag, count=count) for tag, count in facets.tags],
    )


def _record(name: str, record: Any) -> dict[str, Any]:
    return {f"{name}_id": record.public_id, name: record.id, "name": record.name}


def _counted(name: str, record: Any) -> dict[str, Any]:
    return {**_record(name, record), "count": record.count}
