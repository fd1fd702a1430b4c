"""Build the filter input and the sort enum of an entity from its filters and sorts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import Enum
from functools import cache
from typing import Any, Optional

import strawberry
from strawberry import UNSET

from kernel.errors import ValidationFailed
from kernel.scope import Scope
from kernel.text import MAX_FILTER_LENGTH, MAX_FILTER_VALUES
from models.reading.queries import Condition, Entity
from schema.column_guards import ColumnGuards
from schema.fields import INTERNAL, TEXT_INTERNALLY
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
    return built_of_provided(strawberry.input(type(name, (), namespace), name=name, description=description))


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
    visible = entity.visible(scope)
    return [condition for condition in shown or [entity.listed(scope)] if condition not in (None, visible)]


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
