"""Derive from the fields that show a column or related table who may filter and sort by it (docs/reference/graphql.md#access).

A filter, a sort and its cursors reveal the values they compare: a caller that may not read a value may not use them either. A relation
shows the records of its target to those whom the target's access rule allows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from typing import Any

from strawberry.types.base import StrawberryContainer
from strawberry.types.field import StrawberryField
from strawberry.types.lazy_type import LazyType

from auth.access import Access
from kernel.errors import DomainError
from kernel.scope import Scope
from models.reading.queries import Entity, EntityFilter, ToOne
from schema.fields import INTERNAL, SOURCE, ColumnSource, EmbeddedSource, RelationSource

_COLUMN = re.compile(r"\bt\.(\w+)")
_TABLE = re.compile(r"\b(?:FROM|JOIN)\s+(\w+)")
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

# The access rules of a field that shows a value, all of which must allow the caller; none for a field that every caller may read.
Rules = tuple[Access, ...]
# For each value the rules of the fields that show it, of which one is enough.
Guards = tuple[tuple[Rules, ...], ...]


@dataclass(frozen=True)
class ColumnGuards:
    """The access rules of an entity's filters and sorts by name; those without any are for every caller.

    The legacy layer has its own, because its records show the numbers of related records.
    """

    filters: Mapping[str, Guards]
    sorts: Mapping[str, Guards]
    legacy: ColumnGuards | None = field(default=None, repr=False)

    def check_filter(self, scope: Scope, name: str) -> None:
        """Raise the `DomainError` of the value that the caller may not read."""
        _check(scope, self._of(scope).filters.get(name, ()))

    def check_sort(self, scope: Scope, name: str | None) -> None:
        """Raise the `DomainError` of the value that the caller may not read; `name` may have a leading `-`."""
        _check(scope, self._of(scope).sorts.get((name or "").lstrip("-"), ()))

    def _of(self, scope: Scope) -> ColumnGuards:
        return self.legacy if self.legacy is not None and scope.family == "legacy" else self


@cache
def column_guards(type_: Any, entity: Entity) -> ColumnGuards:
    """Return the guards of the filters and sorts of an entity, read through the type."""
    public, everything = (_shown_values(type_, internal=internal) for internal in (False, True))
    legacy = _guards(entity, everything, everything)
    return _guards(entity, public, everything, legacy)


def filter_sql(declared: EntityFilter) -> str:
    """Return the SQL of a filter for an example value."""
    value = _SAMPLES.get(declared.value_type, "x")
    return declared.build([value] if declared.many else value).sql


def values_in(sql: str) -> set[str]:
    """Return what an expression, or a plain column name, reads: columns of the row `t`, and other tables as `FROM <table>`."""
    if _IDENTIFIER.fullmatch(sql):
        return {sql} - _UNGUARDED
    return (set(_COLUMN.findall(sql)) - _UNGUARDED) | {f"FROM {table}" for table in _TABLE.findall(sql)}


def _guards(
    entity: Entity,
    public: Mapping[str, list[Rules]],
    everything: Mapping[str, list[Rules]],
    legacy: ColumnGuards | None = None,
) -> ColumnGuards:
    """Return the guards of public filters and sorts from the `public` fields, those of internal ones from `everything`."""
    filters = {
        name: _guards_of(filter_sql(declared), everything if declared.internal else public)
        for name, declared in entity.filters.items()
    }
    sorts = {name: _guards_of(sort.sql, everything if sort.internal else public) for name, sort in entity.sorts.items()}
    return ColumnGuards(
        {name: guards for name, guards in filters.items() if guards},
        {name: guards for name, guards in sorts.items() if guards},
        legacy,
    )


def _guards_of(sql: str, shown: Mapping[str, list[Rules]]) -> Guards:
    return tuple(
        tuple(alternatives)
        for value in sorted(values_in(sql))
        if (alternatives := shown.get(value)) and () not in alternatives
    )


def _shown_values(type_: Any, *, internal: bool) -> dict[str, list[Rules]]:
    """Return, for each column of the table and each related table, the rules of the fields that show it."""
    shown: dict[str, dict[Rules, None]] = {}
    for name, source, target in _sources(type_, internal=internal):
        rules: Rules = () if source.guard is None else (source.guard,)
        if isinstance(source, RelationSource):
            rules += (target.__access__,)
            values = {f"FROM {target.__entity__.table}"} | _link_values(source)
        elif source.sql is None or isinstance(source.sql, str):
            values = values_in(source.shows or source.sql or name)
        else:
            continue  # the caller's own share of an amount, whose filters and sorts use the share too
        for value in values:
            shown.setdefault(value, {})[rules] = None
    return {value: list(rules) for value, rules in shown.items()}


def _link_values(source: RelationSource) -> set[str]:
    if isinstance(source.link, ToOne):
        return {source.link.column}
    return {value for value in values_in(f"FROM {source.link.through}") if value.startswith("FROM ")}


def _sources(type_: Any, *, internal: bool) -> Iterator[tuple[str, ColumnSource | RelationSource, Any]]:
    """Yield the name, the source and the type of each field."""
    declared: StrawberryField
    for declared in type_.__strawberry_definition__.fields:
        if declared.metadata.get(INTERNAL) and not internal:
            continue
        source = declared.metadata.get(SOURCE)
        if isinstance(source, EmbeddedSource):
            yield from _sources(declared.type, internal=internal)
        elif isinstance(source, ColumnSource | RelationSource):
            yield declared.python_name, source, _named_type(declared.type)


def _named_type(type_: Any) -> Any:
    while isinstance(type_, StrawberryContainer):
        type_ = type_.of_type
    type_ = type_.resolve_type() if isinstance(type_, LazyType) else type_
    return _named_type(type_.__node__) if hasattr(type_, "__node__") else type_  # of a connection its records


def _check(scope: Scope, guards: Guards) -> None:
    for alternatives in guards:
        errors = [error for rules in alternatives if (error := _error(scope, rules)) is not None]
        if len(errors) == len(alternatives):
            raise errors[0]


def _error(scope: Scope, rules: Rules) -> DomainError | None:
    for rule in rules:
        try:
            rule.check(scope)
        except DomainError as error:
            return error
    return None
