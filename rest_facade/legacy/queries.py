"""Read the query of a list: page, order and filters; and write the envelope that answers it (decisions-legacy section 2)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from kernel.errors import MalformedRequest
from kernel.json_bodies import MalformedBody, php_form
from kernel.scope import Scope
from kernel.text import Malformed
from rest_facade.legacy.resource import QueryFilter, Record, RecordField, Resource, Together
from rest_facade.legacy.value_types import Seek

DEFAULT_SIZE = 10
MAX_SIZE = 250
_MAX_PAGE = 2**31 - 1
_OWN = frozenset({"page", "items_per_page", "sort_by", "sort_order"})
_ORDERS = ("asc", "desc")
_DIGITS = re.compile(r"\s*[0-9]{1,18}\s*")

CSCART = "cscart"


@dataclass(slots=True)
class ListQuery:
    """Hold what a list is asked for.

    `filter` is GraphQL's. `echo` repeats the filters applied, `is_keyed` says that they make the list a filtered one, and
    `matches_nothing` that one of them can't match any record.
    """

    page: int
    size: int
    sort: str | None
    order: Mapping[str, str]
    filter: dict[str, Any] = field(default_factory=dict)
    echo: dict[str, Any] = field(default_factory=dict)
    is_keyed: bool = False
    matches_nothing: bool = False

    @property
    def variables(self) -> dict[str, Any]:
        """Give the variables of the page's operation."""
        return {"page": self.page, "per_page": self.size, "filter": self.filter or None, "sort": self.sort}


ReadQuery: TypeAlias = Callable[[str, Scope], ListQuery]


@dataclass(frozen=True, slots=True)
class _Sought:
    """Hold what a parameter needs to become a filter."""

    filters: str
    seek: Seek
    many: bool
    keys: bool
    echoes_sought: bool
    right: str | None = None


def query_reader(resource: Resource) -> ReadQuery:
    """Make the function that reads the raw query of a resource's list.

    Of a repeated parameter the last counts; `name[]=a&name[]=b` means any of them. What nobody knows is ignored, an empty value is
    none, and a value that can't be (an unknown letter, a wrong type) matches nothing.
    """
    singles = dict(_singles(resource))
    groups = [group for group in resource.filters if isinstance(group, Together)]

    def read(raw: str, scope: Scope) -> ListQuery:
        given = parameters(raw)
        asked = ListQuery(page_number(given), _size(given), *_sorting(resource, given))
        for name, value in given.items():
            sought = singles.get(name)
            if sought is not None and (sought.right is None or resource.rights[sought.right](scope)):
                _seek(asked, name, sought, _texts(value))
        for group in groups:
            _seek_together(asked, group, given, scope)
        return asked

    return read


def envelope(resource: Resource, scope: Scope, asked: ListQuery, rows: list[Record], total: int) -> Any:
    """Write a list in the store's form: the contract's, or CS-Cart's (setting `legacy_lists`)."""
    params = {
        "page": asked.page,
        "items_per_page": asked.size,
        "total_items": total,
        **asked.order,
        **asked.echo,
    }
    if scope.store.settings.get("legacy_lists") == CSCART:
        if not resource.bare:
            return {resource.name: rows, "params": params}
        return _keyed(resource, rows) if resource.always_keyed else rows
    if asked.is_keyed:
        return {resource.name: _keyed(resource, rows), "search": asked.echo, "params": params}
    found = _keyed(resource, rows) if resource.always_keyed else rows
    told = {"search": asked.echo} if resource.always_searching else {}
    return {resource.name: found, **told, "params": params}


def _keyed(resource: Resource, rows: list[Record]) -> dict[str, Record]:
    key, spare = resource.key, resource.spare_key
    keyed: dict[str, Record] = {}
    for row in rows:
        keyed[row[spare] if spare and row[key] in keyed else row[key]] = row
    return keyed


# --- What is asked for -------------------------------------------------------------------------------------------------------


def parameters(raw: str) -> dict[str, Any]:
    """Read a raw query as PHP does: of a repeated parameter the last counts, brackets make lists and objects."""
    if not raw:
        return {}
    try:
        return php_form(raw)
    except MalformedBody as error:
        raise MalformedRequest("invalid parameter", detail=str(error)) from error


def page_number(given: Mapping[str, Any]) -> int:
    """Give the number of the page asked for; the first for what is no number, or below 1."""
    return min(max(natural(given.get("page")) or 1, 1), _MAX_PAGE)


def _size(given: Mapping[str, Any]) -> int:
    asked = natural(given.get("items_per_page"))
    return min(asked, MAX_SIZE) if asked else DEFAULT_SIZE


def natural(value: Any) -> int:
    """Give the number a text holds; 0 for what is none, or below."""
    return int(value) if isinstance(value, str) and _DIGITS.fullmatch(value) else 0


def _sorting(resource: Resource, given: Mapping[str, Any]) -> tuple[str | None, dict[str, str]]:
    """Give GraphQL's order and what the answer says of it; an unknown `sort_by` falls back to the default."""
    by, order = given.get("sort_by"), given.get("sort_order")
    wanted = order.lower() if isinstance(order, str) and order.lower() in _ORDERS else None
    if isinstance(by, str) and by in resource.sorts:
        name, direction = by, wanted or resource.default_order
    else:
        name, direction = resource.default_sort[0], wanted or resource.default_sort[1]
    if not name:
        return None, {}
    return f"{resource.sorts[name]}_{direction.upper()}", {"sort_by": name, "sort_order": direction}


# --- Filters -----------------------------------------------------------------------------------------------------------------


def _singles(resource: Resource) -> Iterable[tuple[str, _Sought]]:
    for each in (*resource.single, *resource.fields):
        if each.filters is not None and each.name not in _OWN:
            yield each.name, _of_field(each, each.filters)
    for other in resource.filters:
        if isinstance(other, QueryFilter):
            assert other.kind.seek is not None, other.name
            yield (
                other.name,
                _Sought(other.filters, other.kind.seek, other.many, other.keys, other.kind.echoes_sought),
            )


def _of_field(described: RecordField, filters: str) -> _Sought:
    kind = described.kind
    assert kind.seek is not None, described.name
    return _Sought(filters, kind.seek, kind.many, True, kind.echoes_sought, described.right)


def _texts(value: Any) -> list[str | None]:
    """Give the values of a parameter: one, or several in brackets. Empty ones are none; what is nested deeper can't match: None."""
    if isinstance(value, str):
        return [value] if value.strip() else []
    values = value.values() if isinstance(value, Mapping) else value
    return [each if isinstance(each, str) else None for each in values if each != ""]


def _seek(asked: ListQuery, name: str, sought: _Sought, texts: list[str | None]) -> None:
    if not texts:
        return
    found, echoed = [], []
    for text in texts:
        echoed.append(text)
        if text is None:
            continue
        try:
            value = sought.seek(text)
        except Malformed:
            continue
        found.append(value)
        if sought.echoes_sought:
            echoed[-1] = value
    asked.is_keyed |= sought.keys
    asked.echo[name] = echoed if len(echoed) > 1 else echoed[0]
    if not found:
        asked.matches_nothing = True
    elif sought.many:
        _narrow(asked, sought.filters, found)
    else:
        asked.filter[sought.filters] = found[-1]


def _seek_together(asked: ListQuery, group: Together, given: Mapping[str, Any], scope: Scope) -> None:
    held = {name: texts for name in group.names if name in given and (texts := _texts(given[name]))}
    if not held:
        return
    asked.echo |= {name: texts if len(texts) > 1 else texts[0] for name, texts in held.items()}
    asked.is_keyed |= any(name in held for name in group.keys)
    readable = {name: [text for text in texts if text is not None] for name, texts in held.items()}
    if not all(readable.values()):
        asked.matches_nothing = True
        return
    try:
        for name, value in group.read(readable, scope).items():
            _narrow(asked, name, value)
    except Malformed:
        asked.matches_nothing = True


def _narrow(asked: ListQuery, name: str, value: Any) -> None:
    """Add a filter; two parameters that mean the same one (`product_code` and `pcode`) must both hold."""
    before = asked.filter.get(name)
    if isinstance(before, list) and isinstance(value, list):
        value = [each for each in value if each in before]
        asked.matches_nothing |= not value
    asked.filter[name] = value
