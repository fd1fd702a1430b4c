"""Search products: a page of ids in order, the number of products, and facets (docs/reference/graphql.md#search)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, groupby
from typing import Any

import orjson

from domain.promotions.catalog import shopper_id
from domain.promotions.price_sql import paid_price
from domain.search.best_matches import find_best_subsets
from domain.search.spelling import correct_query
from domain.search.statement import PRICE_STEPS, Search, write_search
from kernel.scope import Scope
from kernel.text import compound_words
from models.connection.database import fetchrow

MAX_RATING = 5
ID_LENGTH = 36


@dataclass(frozen=True, slots=True)
class FacetRecord:
    """A category, vendor or variant and the number of products; `id` is the internal one."""

    id: int
    public_id: str
    name: str
    count: int


@dataclass(frozen=True, slots=True)
class FeatureFacet:
    """A feature and the numbers of products of its variants."""

    id: int
    public_id: str
    name: str
    values: tuple[FacetRecord, ...]


@dataclass(frozen=True, slots=True)
class PriceStep:
    """The number of products at prices for the caller in cents, both bounds included; the last step has no end."""

    from_cents: int
    to_cents: int | None
    count: int


@dataclass(frozen=True, slots=True)
class Facets:
    """The facets of a search. `ratings`: the number of products with at least that mean rating; `tags` only if asked for."""

    categories: tuple[FacetRecord, ...]
    vendors: tuple[FacetRecord, ...]
    prices: tuple[PriceStep, ...]
    ratings: tuple[tuple[int, int], ...]
    availability: tuple[tuple[bool, int], ...]
    features: tuple[FeatureFacet, ...]
    tags: tuple[tuple[str, int], ...]

    @property
    def least_size(self) -> tuple[int, int]:
        """The number of objects in an answer with all facets, and about the number of bytes of their ids."""
        others = (
            self.categories,
            self.vendors,
            self.prices,
            self.ratings,
            self.availability,
            self.features,
            self.tags,
        )
        objects = sum(map(len, others)) + sum(len(feature.values) for feature in self.features)
        return objects, objects * ID_LENGTH


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The sort keys and internal ids of a page, one more than its size if there are further ones, and what else was asked for."""

    page: tuple[tuple[Any, int], ...]
    total: int | None = None
    facets: Facets | None = None
    corrected_query: str | None = None


def search_words(query: str | None) -> tuple[str, ...] | None:
    """Return the words of a query; None if it is blank, and so asks for all products."""
    return None if query is None or not query.strip() else tuple(compound_words(query))


async def find_products(scope: Scope, search: Search, query: str | None) -> SearchResult:
    """Search products; when none has all words of the query, search for the words that were meant, then for the best matches.

    The page has up to one id more than `search.limit`.
    """
    if search.needs_price:
        search = replace(search, price=await paid_price(scope, shopper_id(scope)))
    result = await _run(scope, search)
    if result.page or not search.words:
        return result
    corrected = await correct_query(scope, search.visible, query or "")
    if corrected is not None:
        search = replace(search, words=search_words(corrected))
        result = await _run(scope, search)
    if not result.page:
        subsets = await find_best_subsets(scope, search.visible, search.words or ())
        result = await _run(scope, replace(search, subsets=subsets)) if subsets else result
    return replace(result, corrected_query=corrected)


async def _run(scope: Scope, search: Search) -> SearchResult:
    statement = write_search(scope, replace(search, limit=search.limit + 1))
    row = await fetchrow(statement.sql, *statement.params)
    assert row is not None
    page = tuple((key, number) for key, number in orjson.loads(row["page"])[: search.limit + 1])
    total = (row["total"] or 0) if search.counts or search.facets else None
    return SearchResult(page, total, _facets(row) if search.facets else None)


def _facets(row: Mapping[str, Any]) -> Facets:
    values = {
        name: orjson.loads(row[name] or "[]")
        for name in ("categories", "vendors", "prices", "ratings", "availability", "features", "tags")
    }
    return Facets(
        categories=tuple(FacetRecord(*record[:4]) for record in values["categories"]),
        vendors=tuple(FacetRecord(*record[:4]) for record in values["vendors"]),
        prices=tuple(_price_step(step, count) for step, count in values["prices"]),
        ratings=_at_least(values["ratings"]),
        availability=tuple(sorted(((value, count) for value, count in values["availability"]), reverse=True)),
        features=tuple(
            _feature(list(records)) for _, records in groupby(values["features"], key=lambda record: record[0])
        ),
        tags=tuple((tag, count) for tag, count in values["tags"]),
    )


def _price_step(step: int, count: int) -> PriceStep:
    return PriceStep(
        PRICE_STEPS[step - 1] if step else 0, PRICE_STEPS[step] - 1 if step < len(PRICE_STEPS) else None, count
    )


def _at_least(counts: Sequence[Sequence[int]]) -> tuple[tuple[int, int], ...]:
    """Return for each rating, the highest first, the number of products rated as high or higher; without those that no product has."""
    by_stars: dict[int, int] = {stars: count for stars, count in counts}  # noqa: C416  # typed
    stars = range(MAX_RATING, 0, -1)
    totals = accumulate(by_stars.get(rating, 0) for rating in stars)
    return tuple((rating, total) for rating, total in zip(stars, totals, strict=True) if total)


def _feature(records: list[list[Any]]) -> FeatureFacet:
    number, public_id, name = records[0][:3]
    return FeatureFacet(number, public_id, name, tuple(FacetRecord(*record[3:]) for record in records))
