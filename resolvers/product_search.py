"""Resolve the product search."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from strawberry import Info

from domain.catalog.read import PRODUCTS
from domain.search.products import find_products
from models.reading import row_reads
from models.reading.queries import Row, by_ids
from resolvers.results import linked
from resolvers.search_requests import SEARCH_FIELD, SearchField, facet_values, search_page
from schema.declaration import declare
from schema.fields import root_field
from schema.pagination import DEFAULT_PAGE_SIZE
from schema.selection import is_requested, requested_shape
from schema.types.product_search import (
    ProductSearchConnectionObject,
    ProductSearchFilter,
    ProductSearchPageObject,
    ProductSearchSort,
)

_ACCESS = PRODUCTS.visible.access  # type: ignore[attr-defined]
_FACETS = (("facets",), ("facets", "tags"))
_TOTALS = (("total",), ("total_count",))  # of connections; pages are always counted
_CONNECTION, _PAGE = SearchField(_ACCESS, is_page=False), SearchField(_ACCESS, is_page=True)


@declare
class ProductSearchQueries:
    """The search of products."""

    @root_field(
        _ACCESS,
        "Searches products by words, with facets. Returns a page (cursor pagination) in the order of relevance unless sorted otherwise.",
        metadata={SEARCH_FIELD: _CONNECTION},
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
        page = {"first": first, "after": after, "last": last, "before": before}
        return await _resolve(info, _CONNECTION, ("edges", "node"), query=query, filter=filter, sort=sort, **page)  # type: ignore[no-any-return]

    @root_field(
        _ACCESS,
        "Searches products by words, with facets; returns a numbered page (offset pagination).",
        internal=True,
        metadata={SEARCH_FIELD: _PAGE},
    )
    async def product_search_page(
        self,
        info: Info,
        query: str | None = None,
        filter: ProductSearchFilter | None = None,
        sort: ProductSearchSort | None = None,
        page: int = 1,
        per_page: int = DEFAULT_PAGE_SIZE,
    ) -> ProductSearchPageObject:
        """Return a numbered page of a search."""
        size = {"page": page, "per_page": per_page}
        return await _resolve(info, _PAGE, ("items",), query=query, filter=filter, sort=sort, **size)  # type: ignore[no-any-return]


async def _resolve(info: Any, field: SearchField, path: Sequence[str], **arguments: Any) -> Any:
    """Search, and read the selected records, which are at `path` below the field."""
    scope = info.context.scope
    counted = _FACETS if field.is_page else (*_TOTALS, *_FACETS)
    selected = [path[-1] for path in counted if is_requested(info, *path)]
    search = field.request(scope, arguments, selected)
    result = await find_products(scope, search, arguments["query"])
    records = None
    if is_requested(info, *path):
        records = await _read(info, [number for _, number in result.page[: search.limit]], *path)
    values = Row(search_page(field, search, result, arguments, records))
    if result.facets is not None:
        values["facets"] = facet_values(result.facets, partial(_link, info))
    return values


async def _read(info: Any, ids: Sequence[int], *path: str) -> dict[int, Row]:
    """Read the selected fields of products by id."""
    if not ids:
        return {}
    rows, keys = await row_reads.fetch_with_keys(
        info.context.scope, requested_shape(info, *path), conditions=[by_ids(list(ids))], sort="id", limit=len(ids)
    )
    return {number: row for (_, number), row in zip(keys, rows, strict=True)}


def _link(info: Any, records: Sequence[Any], *path: str) -> Sequence[Any]:
    rows: Sequence[Any] = linked(info, records, "facets", *path)
    return rows


QUERIES = (ProductSearchQueries,)
