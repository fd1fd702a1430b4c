"""Derive from the guards of a type's columns who may filter and sort by them (docs/reference/graphql.md#access).

A filter, a sort and its cursors reveal the values they compare: a caller that may not read a column may not use them either.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any

from strawberry.types.field import StrawberryField

from auth.access import Access
from kernel.errors import DomainError
from kernel.scope import Scope
from models.queries import Entity, EntityFilter, ToOne
from schema.fields import INTERNAL, SOURCE, ColumnSource, EmbeddedSource, RelationSource

_COLUMN = re.compile(r"\bt\.(\w+)")
_IDENTIFIER = re.compile(r"\w+")
# Every type shows its ids.
_UNGUARDED = {"id", "public_id", "tenant_id"}
_SAMPLES: Mapping[str, Any] = {
    "id": 1,
    "big_int": 1,
    "cents": 1,
    "boolean": True,
    "time": datetime(2026, 1, 1, tzinfo=UTC),
}

# For each column the access rules of which one is enough.
Guards = tuple[tuple[Access, ...], ...]


@dataclass(frozen=True)
class ColumnGuards:
    """The access rules of an entity's filters and sorts by name; those without any are for every caller."""

    filters: Mapping[str, Guards]
    sorts: Mapping[str, Guards]

    def check_filter(self, scope: Scope, name: str) -> None:
        """Raise the `DomainError` of the column that the caller may not read."""
        _check(scope, self.filters.get(name, ()))

    def check_sort(self, scope: Scope, name: str | None) -> None:
        """Raise the `DomainError` of the column that the caller may not read; `name` may have a leading `-`."""
        _check(scope, self.sorts.get((name or "").lstrip("-"), ()))


@cache
def column_guards(type_: Any, entity: Entity) -> ColumnGuards:
    """Return the guards of the filters and sorts of an entity, read through the type."""
    public = _guards_by_column(type_, internal=False)
    everything = _guards_by_column(type_, internal=True)
    filters = {
        name: _guards_of(filter_sql(declared), everything if declared.internal else public)
        for name, declared in entity.filters.items()
    }
    sorts = {name: _guards_of(sort.sql, everything if sort.internal else public) for name, sort in entity.sorts.items()}
    return ColumnGuards(
        {name: guards for name, guards in filters.items() if guards},
        {name: guards for name, guards in sorts.items() if guards},
    )


def filter_sql(declared: EntityFilter) -> str:
    """Return the SQL of a filter for an example value."""
    value = _SAMPLES.get(declared.value_type, "x")
    return declared.build([value] if declared.many else value).sql


def columns_in(sql: str) -> set[str]:
    """Return the columns of the row `t` that an expression, or a plain column name, reads."""
    columns = {sql} if _IDENTIFIER.fullmatch(sql) else set(_COLUMN.findall(sql))
    return columns - _UNGUARDED


def _guards_of(sql: str, guards: Mapping[str, list[Access | None]]) -> Guards:
    return tuple(
        tuple(guard for guard in shown if guard is not None)
        for column in sorted(columns_in(sql))
        if (shown := guards.get(column)) and None not in shown
    )


def _guards_by_column(type_: Any, *, internal: bool) -> dict[str, list[Access | None]]:
    """Return, per column of the table, the guards of the fields that show it."""
    shown: dict[str, list[Access | None]] = {}
    for name, source in _sources(type_, internal=internal):
        if isinstance(source, RelationSource):
            columns = {source.link.column} if isinstance(source.link, ToOne) else set()
        elif source.sql is None or isinstance(source.sql, str):
            columns = columns_in(source.sql or name)
        else:
            continue  # the caller's own share of an amount, whose filters and sorts use the share too
        for column in columns:
            shown.setdefault(column, []).append(source.guard)
    return shown


def _sources(type_: Any, *, internal: bool) -> Iterator[tuple[str, ColumnSource | RelationSource]]:
    field: StrawberryField
    for field in type_.__strawberry_definition__.fields:
        if field.metadata.get(INTERNAL) and not internal:
            continue
        source = field.metadata.get(SOURCE)
        if isinstance(source, EmbeddedSource):
            yield from _sources(field.type, internal=internal)
        elif source is not None:
            yield field.python_name, source


def _check(scope: Scope, guards: Guards) -> None:
    for alternatives in guards:
        errors = []
        for guard in alternatives:
            try:
                guard.check(scope)
            except DomainError as error:
                errors.append(error)
        if len(errors) == len(alternatives):
            raise errors[0]
