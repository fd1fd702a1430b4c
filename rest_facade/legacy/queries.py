"""Parse the query of a list (pagination, sorting, filters) and build its response envelope (docs/reference/legacy.md#lists)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from kernel.errors import MalformedRequest
from kernel.request_bodies import MalformedBody, parse_form
from kernel.scope import Scope
from kernel.text import MAX_FILTER_LENGTH, MAX_FILTER_VALUES, InvalidValue
from rest_facade.legacy.reshape import ignored_header, is_cscart
from rest_facade.legacy.resource import (
    CombinedFilter,
    QueryFilter,
    Record,
    RecordField,
    Resource,
    in_cscart_dialect,
)
from rest_facade.legacy.value_types import ValueType

DEFAULT_SIZE = 10
MAX_SIZE = 250
MAX_CSCART_SIZE = 50_000
ALL_RECORDS = 0
"""The page size `items_per_page=0` of CS-Cart's dialect: every record, in one page."""
_MAX_PAGE = 2**31 - 1
_RESERVED = frozenset({"page", "items_per_page", "sort_by", "sort_order"})
IGNORED_PARAMETERS = "X-Ignored-Parameters"
_FOR_DISPLAY = frozenset(
    {
        "access_key",
        "ajax_custom",
        "detailed_params",
        "extend",
        "is_ajax",
        "pfull",
        "pkeywords",
        "pname",
        "pshort",
        "result_ids",
        "simple",
    }
)
_ORDERS = ("asc", "desc")
_DIGITS = re.compile(r"\s*[0-9]+\s*")
# Above every limit, and short enough for `int`.
_MAX_DIGITS = 18


@dataclass(slots=True)
class ListQuery:
    """Hold the parsed query of a list.

    `filter` is the GraphQL filter. `echo` repeats the applied filters, `is_keyed`: the response is an object keyed by id,
    `matches_nothing`: a filter can't match any record. `ignored` are the parameters that have no effect, and aren't known to have none.
    """

    page: int
    size: int
    sort: str | None
    order: Mapping[str, str]
    filter: dict[str, Any] = field(default_factory=dict)
    echo: dict[str, Any] = field(default_factory=dict)
    is_keyed: bool = False
    matches_nothing: bool = False
    ignored: list[str] = field(default_factory=list)

    @property
    def headers(self) -> dict[str, str]:
        """Return the response header that names the ignored parameters."""
        return ignored_header(IGNORED_PARAMETERS, self.ignored)

    @property
    def variables(self) -> dict[str, Any]:
        """Return the variables of the list operation."""
        return {"page": self.page, "per_page": self.size, "filter": self.filter or None, "sort": self.sort}


ParseQuery: TypeAlias = Callable[[str, Scope], ListQuery]


@dataclass(frozen=True, slots=True)
class _Filter:
    """Hold how one parameter becomes a GraphQL filter, or with a `constant` is compared with the value of all records."""

    filter_name: str
    value_type: ValueType
    multiple: bool
    keys_rows: bool = True
    permission: str | None = None
    constant: str | None = None


def query_parser(resource: Resource) -> ParseQuery:
    """Build the function that parses the raw query string of a resource's list.

    The last occurrence of a repeated parameter wins; `name[]=a&name[]=b` matches either value. Unknown and empty parameters are
    ignored, and named in a header; an invalid value (unknown code, wrong type) matches nothing (docs/reference/legacy.md#filters).
    """
    fields = (*resource.detail_fields, *resource.fields)
    contract, cscart = (dict(_single_filters(columns, resource)) for columns in (fields, in_cscart_dialect(fields)))
    cscart |= {
        other.name: _query_filter(other)[1] for other in resource.cscart_filters if isinstance(other, QueryFilter)
    }
    contract_groups, of_cscart = map(_combined, (resource.filters, resource.cscart_filters))
    replaced = {name for group in of_cscart for name in group.parameters}
    cscart = {name: spec for name, spec in cscart.items() if name not in replaced}
    cscart_groups = [*contract_groups, *of_cscart]
    cscart_sorts = {**resource.sorts, **resource.cscart_sorts}
    known = {*_RESERVED, *(name for group in contract_groups for name in group.parameters)}

    def parse(raw: str, scope: Scope) -> ListQuery:
        parameters = parse_query(raw)
        page_size, filters, groups, sorts = (
            (_cscart_page_size, cscart, cscart_groups, cscart_sorts)
            if is_cscart(scope)
            else (_page_size, contract, contract_groups, resource.sorts)
        )
        size = page_size(parameters)
        page = 1 if size == ALL_RECORDS else page_number(parameters)
        query = ListQuery(page, size, *_sort(resource, sorts, parameters))
        if _texts("sort_by", parameters.get("sort_by", "")) not in ([], [query.order.get("sort_by")]):
            query.ignored.append("sort_by")
        for name, value in parameters.items():
            spec = filters.get(name)
            if spec is not None and (spec.permission is None or resource.permissions[spec.permission](scope)):
                _apply_filter(query, name, spec, _texts(name, value))
            elif (
                name not in known
                and not (groups is cscart_groups and name in replaced)
                and not _is_for_display(name)
                and _texts(name, value)
            ):
                query.ignored.append(name)
        for group in groups:
            _apply_combined(query, group, parameters, scope)
        return query

    return parse


def _is_for_display(name: str) -> bool:
    """Return whether a parameter of CS-Cart decides only what a record shows, and needs no effect."""
    return name.startswith("get_") or name in _FOR_DISPLAY


def params_of(query: ListQuery, total: int) -> dict[str, Any]:
    """Return the `params` of a list."""
    return {"page": query.page, "items_per_page": query.size, "total_items": total, **query.order, **query.echo}


def envelope(
    resource: Resource, scope: Scope, query: ListQuery, rows: list[Record], total: int, *, name: str = ""
) -> Any:
    """Build the response body of a list in the store's dialect; `name` replaces the collection's, if the path does."""
    params, name = params_of(query, total), name or resource.name
    if is_cscart(scope):
        records: Any = _keyed(resource, rows) if resource.always_keyed else rows
        return records if resource.unwrapped else {name: records, "params": params}
    if query.is_keyed:
        return {name: _keyed(resource, rows), "search": query.echo, "params": params}
    records = _keyed(resource, rows) if resource.always_keyed else rows
    search = {"search": query.echo} if resource.always_has_search else {}
    return {name: records, **search, "params": params}


def _keyed(resource: Resource, rows: list[Record]) -> dict[str, Record]:
    key, fallback = resource.key, resource.fallback_key
    keyed: dict[str, Record] = {}
    for row in rows:
        keyed[str(row[fallback] if fallback and row[key] in keyed else row[key])] = row
    return keyed


# --- Pagination and sorting --------------------------------------------------------------------------------------------------


def parse_query(raw: str) -> dict[str, Any]:
    """Parse a raw query string like PHP: the last of a repeated parameter wins, brackets build lists and objects."""
    if not raw:
        return {}
    try:
        return parse_form(raw)
    except MalformedBody as error:
        raise MalformedRequest("invalid parameter", detail=str(error)) from error


def page_number(parameters: Mapping[str, Any]) -> int:
    """Return the requested page; 1 for anything that is not a positive number."""
    return min(max(natural_number(parameters.get("page")) or 1, 1), _MAX_PAGE)


def _page_size(parameters: Mapping[str, Any]) -> int:
    requested = natural_number(parameters.get("items_per_page"))
    return min(requested, MAX_SIZE) if requested else DEFAULT_SIZE


def _cscart_page_size(parameters: Mapping[str, Any]) -> int:
    """Return the size that was asked for; 0 means all, an unreadable one the default."""
    requested = parameters.get("items_per_page")
    if not isinstance(requested, str) or not _DIGITS.fullmatch(requested):
        return DEFAULT_SIZE
    return min(natural_number(requested), MAX_CSCART_SIZE)


def natural_number(value: Any) -> int:
    """Parse a non-negative number, however long; anything else is 0."""
    if not isinstance(value, str) or not _DIGITS.fullmatch(value):
        return 0
    digits = value.strip().lstrip("0")
    return int(digits or 0) if len(digits) <= _MAX_DIGITS else 10**_MAX_DIGITS


def _sort(
    resource: Resource, sorts: Mapping[str, str], parameters: Mapping[str, Any]
) -> tuple[str | None, dict[str, str]]:
    """Return the GraphQL sort and its echo in `params`; an unknown `sort_by` falls back to the default."""
    by, order = parameters.get("sort_by"), parameters.get("sort_order")
    requested = order.lower() if isinstance(order, str) and order.lower() in _ORDERS else None
    if isinstance(by, str) and by in sorts:
        name, direction = by, requested or resource.default_order
    else:
        name, direction = resource.default_sort[0], requested or resource.default_sort[1]
    if not name:
        return None, {}
    return f"{sorts[name]}_{direction.upper()}", {"sort_by": name, "sort_order": direction}


# --- Filters -----------------------------------------------------------------------------------------------------------------


def _single_filters(fields: Iterable[RecordField], resource: Resource) -> Iterable[tuple[str, _Filter]]:
    for column in fields:
        name, value_type = column.filter_name or "", column.value_type
        if (name or column.constant is not None) and column.name not in _RESERVED:
            yield (
                column.name,
                _Filter(name, value_type, value_type.multiple, permission=column.permission, constant=column.constant),
            )
    for other in resource.filters:
        if isinstance(other, QueryFilter):
            yield _query_filter(other)


def _combined(filters: Iterable[QueryFilter | CombinedFilter]) -> list[CombinedFilter]:
    return [group for group in filters if isinstance(group, CombinedFilter)]


def _query_filter(other: QueryFilter) -> tuple[str, _Filter]:
    return other.name, _Filter(other.filter_name, other.value_type, other.multiple, other.keys_rows)


def _texts(name: str, value: Any) -> list[str | None]:
    """Return the non-empty values of a parameter; a nested structure becomes None, which can't match."""
    if isinstance(value, str):
        return [value] if value.strip() else []
    if len(value) > MAX_FILTER_VALUES:
        detail = f"{name} has {len(value)} values; expected at most {MAX_FILTER_VALUES}"
        raise MalformedRequest(f"invalid {name}", detail=detail)
    values = value.values() if isinstance(value, Mapping) else value
    return [item if isinstance(item, str) else None for item in values if item != ""]


def _apply_filter(query: ListQuery, name: str, spec: _Filter, texts: list[str | None]) -> None:
    if not texts:
        return
    values, echoed = [], []
    parse = spec.value_type.parse_filter
    assert parse is not None, name
    for text in texts:
        echoed.append(text)
        if text is None or len(text) > MAX_FILTER_LENGTH:
            continue
        try:
            value = parse(text)
        except InvalidValue:
            continue
        values.append(value)
        if spec.value_type.echoes_parsed:
            echoed[-1] = value
    query.is_keyed |= spec.keys_rows
    query.echo[name] = echoed if len(echoed) > 1 else echoed[0]
    if not values:
        query.matches_nothing = True
        return
    wanted = values if spec.multiple else values[-1:]
    if spec.constant is not None:
        query.matches_nothing |= parse(spec.constant) not in wanted
    elif spec.multiple:
        _add_filter(query, spec.filter_name, wanted)
    else:
        query.filter[spec.filter_name] = wanted[0]


def _apply_combined(query: ListQuery, group: CombinedFilter, parameters: Mapping[str, Any], scope: Scope) -> None:
    present = {
        name: texts for name in group.parameters if name in parameters and (texts := _texts(name, parameters[name]))
    }
    if not present:
        return
    readable = {
        name: [text for text in texts if text is not None and len(text) <= MAX_FILTER_LENGTH]
        for name, texts in present.items()
    }
    filters: Mapping[str, Any] | None = {}
    try:
        if not all(readable.values()):
            raise InvalidValue("a value is unreadable")
        filters = group.parse(readable, scope)
    except InvalidValue:
        query.matches_nothing = True
    if filters is None:
        query.ignored += present
        return
    query.echo |= {name: texts if len(texts) > 1 else texts[0] for name, texts in present.items()}
    query.is_keyed |= any(name in present for name in group.keying_parameters)
    for name, value in filters.items():
        _add_filter(query, name, value)


def _add_filter(query: ListQuery, name: str, value: Any) -> None:
    """Set a filter; two parameters for the same one (`product_code` and `pcode`) are combined with AND."""
    existing = query.filter.get(name)
    if isinstance(existing, list) and isinstance(value, list):
        value = [item for item in value if item in existing]
        query.matches_nothing |= not value
    query.filter[name] = value
