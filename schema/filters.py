"""Build the filter input and the sort enum of an entity from its filters and sorts, and derive who may use them.

A filter, a sort and its cursors reveal the values they compare: a caller that may not read a value may not use them either
(docs/reference/graphql.md#access). That follows from the fields that show a column or related table. A relation shows the records of its
target to those whom the target's access rule allows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from functools import cache
from typing import Any, Optional

import strawberry
from strawberry import UNSET
from strawberry.types.base import StrawberryContainer
from strawberry.types.field import StrawberryField
from strawberry.types.lazy_type import LazyType

from auth.access import Access
from kernel.errors import DomainError, ValidationFailed
from kernel.scope import Scope
from kernel.text import MAX_FILTER_LENGTH, MAX_FILTER_VALUES
from models.reading.queries import CallerCache, Condition, Entity, EntityFilter, ToOne
from schema.declaration import declare
from schema.fields import INTERNAL, SOURCE, TEXT_INTERNALLY, ColumnSource, EmbeddedSource, RelationSource
from schema.inputs import built_of_provided, provided_fields
from schema.scalars import FILTER_ENUMS, FILTER_SCALARS, parse_id


@cache
def build_filter_input(entity: Entity, name: str) -> Any:
    """Build the input type with the entity's filters as fields; multiple filters are combined with AND."""
    annotations: dict[str, Any] = {}
    namespace: dict[str, Any] = {"__annotations__": annotations}
    for key, declared in entity.filters.items():
        scalar = FILTER_SCALARS[declared.value_type]
        annotations[key] = Optional[list[scalar]] if declared.many else Optional[scalar]  # noqa: UP045
        namespace[key] = strawberry.field(
            default=UNSET,
            description=declared.description[:1].upper() + declared.description[1:] + ".",
            metadata={INTERNAL: declared.internal, TEXT_INTERNALLY: declared.value_type in FILTER_ENUMS},
        )
    description = f"Filters a list of {_label(entity, name)} records; all conditions must match."
    return built_of_provided(declare(type(name, (), namespace), name, description, is_input=True))


@cache
def build_sort_enum(entity: Entity, name: str) -> Any:
    """Build the enum of the entity's sorts, ascending and descending; ties are broken by id."""
    members: dict[str, Any] = {}
    for key, sort in entity.sorts.items():
        members[f"{key.upper()}_ASC"] = strawberry.enum_value(key, description=f"By {sort.description}, ascending.")
        members[f"{key.upper()}_DESC"] = strawberry.enum_value(
            f"-{key}", description=f"By {sort.description}, descending."
        )
    enum: Any = Enum(name, members)  # type: ignore[misc]  # the names are dynamic
    return strawberry.enum(enum, description=f"Sort orders of a list of {_label(entity, name)} records.")


def _label(entity: Entity, name: str) -> str:
    """Return the name of an entity as prose, from that of its filter or sort orders: `product box` from `ProductBoxFilter`."""
    return entity.label or " ".join(re.findall(r"[A-Z][a-z0-9]*", name)[:-1]).lower()


def build_conditions(
    scope: Scope, entity: Entity, guards: ColumnGuards, filter: Any, status: Any = None
) -> list[Condition]:
    """Convert a filter (an input object, or its values by name) and the argument `status` to query conditions; null values are ignored.

    The conditions of what the entity's lists show are among them. Raise an error for a filter the caller may not use.
    """
    values: Mapping[str, Any] = filter if isinstance(filter, Mapping) else {}
    if filter and values is not filter:
        values = provided_fields(filter)
    conditions: list[Condition] = []
    if status is not None:
        guards.check_filter(scope, "status")
        conditions.append(entity.filters["status"].build([status]))
    for name, value in values.items():
        if value is None:
            continue
        declared = entity.filters[name]
        if declared.many:
            check_filter_size(name, value)
        if not (declared.of_users and _is_caller(scope, value)):
            guards.check_filter(scope, name)
        if declared.value_type == "id":
            valid = _valid_ids(entity, name, value)
            conditions.append(declared.condition(scope, valid) if valid else Condition("false"))
        else:
            if declared.value_type == "text" or declared.value_type in FILTER_ENUMS:
                check_filter_text(name, value)
            conditions.append(declared.condition(scope, value))
    return conditions + _listed(scope, entity, values)


def _valid_ids(entity: Entity, name: str, value: Any) -> list[Any]:
    """Parse the ids of a filter; a malformed one matches no record."""
    references = value if entity.filters[name].many else [value]
    ids = [parse_id(item, numeric=name == "id" and entity.has_numeric_ids) for item in references]
    return [item for item in ids if item is not None]


def _listed(scope: Scope, entity: Entity, values: Mapping[str, Any]) -> list[Condition]:
    """Return the conditions of what the entity's lists show to the caller, where that is less than what the caller sees."""
    if entity.listed is None:
        return []
    shown = [
        declared.listed(scope, _valid_ids(entity, name, values[name]))
        for name, declared in entity.filters.items()
        if declared.listed is not None and values.get(name) is not None
    ]
    visible, listed = _rows_of_caller(entity)(scope)
    return [condition for condition in shown or [listed] if condition not in (None, visible)]


@cache
def _rows_of_caller(entity: Entity) -> CallerCache[tuple[Condition | None, Condition | None]]:
    """Return the conditions of the rows that a caller sees, and of those that lists show to it."""
    return CallerCache(lambda scope: (entity.visible(scope), None if entity.listed is None else entity.listed(scope)))


def _is_caller(scope: Scope, users: list[Any]) -> bool:
    """Return whether the ids name the calling user alone."""
    actor = scope.actor
    return actor.is_user and {parse_id(user) for user in users} <= {actor.user_id, actor.user_public_id} - {None}


def check_filter_size(name: str, values: Sequence[Any], limit: int = MAX_FILTER_VALUES) -> None:
    """Raise `ValidationFailed` for a filter of more values than the limit (docs/reference/shared.md#graphql-limits)."""
    if len(values) > limit:
        raise ValidationFailed(
            f"{name} has {len(values)} values; expected at most {limit}", field=name, code="too_many"
        )


def check_filter_text(name: str, value: str | list[str]) -> None:
    """Raise `ValidationFailed` for a filter text of more than 200 characters (docs/reference/shared.md#graphql-limits)."""
    longest = max(map(len, value if isinstance(value, list) else [value]), default=0)
    if longest > MAX_FILTER_LENGTH:
        raise ValidationFailed(
            f"{name} is {longest} characters long; expected at most {MAX_FILTER_LENGTH}", field=name, code="too_long"
        )


def sort_name(scope: Scope, guards: ColumnGuards, sort: Any) -> str | None:
    """Return the entity's name of a sort, a member of its enum or the member's value; raise an error for one the caller may not use."""
    name: str | None = getattr(sort, "value", sort)
    guards.check_sort(scope, name)
    return name


# --- Access --------------------------------------------------------------------------------------------------------

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
