"""Parse the pagination, sorting and filter parameters of a list into the variables of its page operation.

Every family shares these rules (docs/reference/graphql.md#pagination). Errors are `MalformedRequest` `invalid <parameter>` with a
detail. Unknown parameters and empty filters are ignored. A parameter that is there twice with two values is wrong: a client that appends
`page=2` to an address with `page=1` would read the first page for ever.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from aiohttp import web

from kernel.clock import day_bounds, format_rfc3339, parse_date
from kernel.codes import CodeTable, parse_code
from kernel.errors import MalformedRequest
from kernel.scope import Store
from kernel.text import MAX_FILTER_LENGTH, InvalidValue, repr_value

Query: TypeAlias = Mapping[str, str]

T = TypeVar("T")

DEFAULT_PAGE_SIZE = 20
MAX_PAGE_SIZE = 100
MAX_PAGE = 2**31 - 1
DIRECTIONS = ("asc", "desc")

_INTEGER = re.compile(r"[0-9]+")
# Longer than the highest page, short enough for `int`; all longer numbers mean the same.
_MAX_DIGITS = 18


@dataclass(frozen=True, slots=True)
class FilterParameter:
    """Map a query parameter to a GraphQL filter; `parse` raises `InvalidValue`.

    `store_parser` returns the parser when it depends on the store.
    """

    filter_name: str
    parse: Callable[[str], Any] = str
    store_parser: Callable[[Store], Callable[[str], Any]] | None = None


@dataclass(frozen=True, slots=True)
class ListDefinition:
    """Describe a list: its filters by parameter, and its sorts by record field, the default first.

    A sort value is the GraphQL sort without its direction: `PRICE` for `PRICE_ASC` and `PRICE_DESC`. `fixed_filters` apply unless
    the same filter is requested. `only_listed` leaves out what shoppers don't find, unless a status is requested. `size_parameter` is the
    family's name of the page size, from 1 to `max_size`.
    """

    filters: Mapping[str, FilterParameter]
    sorts: Mapping[str, str]
    fixed_filters: Mapping[str, Any] = field(default_factory=dict)
    size_parameter: str = "per_page"
    default_size: int = DEFAULT_PAGE_SIZE
    max_size: int = MAX_PAGE_SIZE
    only_listed: bool = False

    def variables(self, query: Query, store: Store) -> dict[str, Any]:
        """Return the variables of the page operation; raises `MalformedRequest` for the first invalid parameter."""
        return {
            "page": page_number(query),
            "per_page": page_size(query, self.size_parameter, self.default_size, self.max_size),
            "filter": self.filter(query, store),
            "sort": self._sort(query),
        }

    def filter(self, query: Query, store: Store) -> dict[str, Any]:
        """Return the filter of the operation; raises `MalformedRequest` for the first invalid parameter."""
        filters = dict(self.fixed_filters)
        for name, parameter in self.filters.items():
            text = query.get(name, "").strip()
            # An id of any length names a record or none.
            if len(text) > MAX_FILTER_LENGTH and not name.endswith("_id"):
                detail = f"{name} is {len(text)} characters long; expected at most {MAX_FILTER_LENGTH}"
                raise MalformedRequest(f"invalid {name}", detail=detail)
            if text:
                parse = parameter.parse if parameter.store_parser is None else parameter.store_parser(store)
                filters[parameter.filter_name] = _parse(name, parse, text)
        if self.only_listed and "status" not in filters:
            filters["is_listed"] = True
        return filters

    def _sort(self, query: Query) -> str | None:
        name, direction = query.get("sort_by"), query.get("sort_order")
        if not name and not direction:
            return None
        sort = _parse("sort_by", self._sort_of, name) if name else next(iter(self.sorts.values()))
        return f"{sort}_{_parse('sort_order', _direction, direction) if direction else 'ASC'}"

    def _sort_of(self, name: str) -> str:
        if name not in self.sorts:
            raise InvalidValue(f"sort_by is {repr_value(name)}; expected one of {', '.join(self.sorts)}")
        return self.sorts[name]


class _Query(Mapping[str, str]):
    """The parameters of a request; to read one with two values raises `MalformedRequest`."""

    def __init__(self, request: web.Request) -> None:
        self._values = request.query

    def __getitem__(self, name: str) -> str:
        first, *others = self._values.getall(name)
        if any(other != first for other in others):
            detail = f"{name} is {repr_value(first)} and {repr_value(others[-1])}; expected it once"
            raise MalformedRequest(f"invalid {name}", detail=detail)
        return first

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(self._values))

    def __len__(self) -> int:
        return len(dict.fromkeys(self._values))


def query_of(request: web.Request) -> Query:
    """Return the parameters of a request."""
    return _Query(request)


def page_number(query: Query) -> int:
    """Parse `page`, from 1; the highest number stands for all above it, which are beyond every list."""
    return min(_positive_integer(query, "page", 1), MAX_PAGE)


def page_size(
    query: Query, name: str = "per_page", default: int = DEFAULT_PAGE_SIZE, maximum: int = MAX_PAGE_SIZE
) -> int:
    """Parse the page size, from 1; values over the maximum are capped."""
    return min(_positive_integer(query, name, default), maximum)


def start_of_day(text: str) -> str:
    """Parse a date as an inclusive lower bound."""
    return format_rfc3339(day_bounds(parse_date(text))[0])


def end_of_day(text: str) -> str:
    """Parse a date as an inclusive upper bound: return the start of the next day."""
    return format_rfc3339(day_bounds(parse_date(text))[1])


def code_parser(table: CodeTable) -> Callable[[object], str]:
    """Build the parser of a code or its long labels."""
    return lambda value: parse_code(value, table)


def choice_parser(name: str, words: tuple[str, ...]) -> Callable[[str], str]:
    """Build the parser of an enumeration, in either case."""

    def parse(text: str) -> str:
        if text.lower() not in words:
            raise InvalidValue(f"{name} is {repr_value(text)}; expected one of {', '.join(words)}")
        return text.lower()

    return parse


_parse_direction = choice_parser("sort_order", DIRECTIONS)


def _direction(text: str) -> str:
    return _parse_direction(text).upper()


def _positive_integer(query: Query, name: str, default: int) -> int:
    text = query.get(name)
    if text is None:
        return default
    return _parse(name, lambda value: _parse_integer(name, value), text)


def _parse_integer(name: str, text: str) -> int:
    number = 0
    if text.isascii() and _INTEGER.fullmatch(text):
        number = int(text) if len(text) <= _MAX_DIGITS else 10**_MAX_DIGITS
    if number < 1:
        raise InvalidValue(f"{name} is {repr_value(text)}; expected a whole number from 1")
    return number


def _parse(name: str, parse: Callable[[str], T], text: str) -> T:
    try:
        return parse(text)
    except InvalidValue as error:
        raise MalformedRequest(f"invalid {name}", detail=str(error)) from error
