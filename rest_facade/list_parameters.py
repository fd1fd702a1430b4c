"""Read the query parameters of a list into the variables of its page operation (decisions section 6, lists of every family).

Everything refused here is a `MalformedRequest` `invalid <parameter>` with a detail, which each family writes in its form. Parameters
that a list doesn't know are ignored, and so are filters that are given empty, as forms send them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from kernel.clock import day_bounds, parse_date, rfc3339
from kernel.codes import CodeTable, parse_code
from kernel.errors import MalformedRequest
from kernel.scope import Store
from kernel.text import Malformed, shown

Query: TypeAlias = Mapping[str, str]

T = TypeVar("T")

DEFAULT_SIZE = 20
MOST = 100
LAST_PAGE = 2**31 - 1
DIRECTIONS = ("asc", "desc")

_WHOLE = re.compile(r"[0-9]+")
# Longer than any page there is, short enough for Python to read: past the bounds either way.
_MOST_DIGITS = 18


@dataclass(frozen=True, slots=True)
class Parameter:
    """Say which filter of the operation a parameter sets, and how its text is read (raising `Malformed`).

    `of_store` gives the reader where it depends on the store.
    """

    filter: str
    read: Callable[[str], Any] = str
    of_store: Callable[[Store], Callable[[str], Any]] | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    """Describe a list: its filters by parameter, and its sorts by the record's field, the default one first.

    A sort is the operation's word without its direction: `PRICE` stands for `PRICE_ASC` and `PRICE_DESC`. `always` holds what the
    list is about, unless a filter of its name is given. `size` is the family's word for the size of a page.
    """

    filters: Mapping[str, Parameter]
    sorts: Mapping[str, str]
    always: Mapping[str, Any] = field(default_factory=dict)
    size: str = "per_page"

    def variables(self, query: Query, store: Store) -> dict[str, Any]:
        """Give the variables of the page operation; raises `MalformedRequest` naming the first parameter that is wrong."""
        return {
            "page": page_number(query),
            "per_page": page_size(query, self.size),
            "filter": self._filter(query, store),
            "sort": self._sort(query),
        }

    def _filter(self, query: Query, store: Store) -> dict[str, Any]:
        found = dict(self.always)
        for name, parameter in self.filters.items():
            text = query.get(name, "").strip()
            if text:
                read = parameter.read if parameter.of_store is None else parameter.of_store(store)
                found[parameter.filter] = _read(name, read, text)
        return found

    def _sort(self, query: Query) -> str | None:
        name, direction = query.get("sort_by"), query.get("sort_order")
        if not name and not direction:
            return None
        column = _read("sort_by", self._column, name) if name else next(iter(self.sorts.values()))
        return f"{column}_{_read('sort_order', _direction, direction) if direction else 'ASC'}"

    def _column(self, name: str) -> str:
        if name not in self.sorts:
            raise Malformed(f"sort_by is {shown(name)}; expected one of {', '.join(self.sorts)}")
        return self.sorts[name]


def page_number(query: Query) -> int:
    """Read `page`, from 1."""
    return _bounded(query, "page", 1, LAST_PAGE)


def page_size(query: Query, name: str = "per_page") -> int:
    """Read `per_page`, or what the family calls it, from 1; above 100 is 100."""
    return min(_bounded(query, name, DEFAULT_SIZE), MOST)


def first_day(text: str) -> str:
    """Read the day from which on records are listed."""
    return rfc3339(day_bounds(parse_date(text))[0])


def last_day(text: str) -> str:
    """Read the last day of the records listed, which is included: give the moment after it."""
    return rfc3339(day_bounds(parse_date(text))[1])


def code_of(table: CodeTable) -> Callable[[object], str]:
    """Read a status letter or one of its long names."""
    return lambda value: parse_code(value, table)


def one_of(name: str, words: tuple[str, ...]) -> Callable[[str], str]:
    """Read one of a few words, in either case."""

    def read(text: str) -> str:
        if text.lower() not in words:
            raise Malformed(f"{name} is {shown(text)}; expected one of {', '.join(words)}")
        return text.lower()

    return read


_direction_word = one_of("sort_order", DIRECTIONS)


def _direction(text: str) -> str:
    return _direction_word(text).upper()


def _bounded(query: Query, name: str, default: int, most: int | None = None) -> int:
    text = query.get(name)
    if text is None:
        return default
    return _read(name, lambda given: _whole(name, given, most), text)


def _whole(name: str, text: str, most: int | None) -> int:
    expected = "a whole number from 1" + (f" to {most}" if most is not None else "")
    if not text.isascii() or not _WHOLE.fullmatch(text):
        raise Malformed(f"{name} is {shown(text)}; expected {expected}")
    number = int(text) if len(text) <= _MOST_DIGITS else 10**_MOST_DIGITS
    if number < 1 or (most is not None and number > most):
        raise Malformed(f"{name} is {shown(text)}; expected {expected}")
    return number


def _read(name: str, read: Callable[[str], T], text: str) -> T:
    try:
        return read(text)
    except Malformed as error:
        raise MalformedRequest(f"invalid {name}", detail=str(error)) from error
