"""Make the filter input and the sort enum of an entity from what its reader offers."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, Optional

import strawberry
from strawberry import UNSET

from kernel.errors import ValidationFailed
from models.reading import Entity, Where
from schema.fields import INTERNAL
from schema.scalars import FILTER_KINDS, reference


def filter_input(entity: Entity, name: str) -> Any:
    """Make the input type whose fields are the entity's filters; several given at once must all hold."""
    annotations: dict[str, Any] = {}
    namespace: dict[str, Any] = {"__annotations__": annotations}
    for key, described in entity.filters.items():
        scalar = FILTER_KINDS[described.kind]
        annotations[key] = Optional[list[scalar]] if described.many else Optional[scalar]  # noqa: UP045
        namespace[key] = strawberry.field(
            default=UNSET,
            description=described.description[:1].upper() + described.description[1:] + ".",
            metadata={INTERNAL: described.internal},
        )
    made = type(name, (), namespace)
    return strawberry.input(
        made, name=name, description=f"Narrows a list of {entity.name} records; all that is given must hold."
    )


def sort_enum(entity: Entity, name: str) -> Any:
    """Make the enum of the entity's sorts, each ascending and descending; the id breaks ties."""
    members: dict[str, Any] = {}
    for key, described in entity.sorts.items():
        members[f"{key.upper()}_ASC"] = strawberry.enum_value(
            key, description=f"By {described.description}, lowest first."
        )
        members[f"{key.upper()}_DESC"] = strawberry.enum_value(
            f"-{key}", description=f"By {described.description}, highest first."
        )
    made: Any = Enum(name, members)  # type: ignore[misc]  # the names are the data
    return strawberry.enum(made, description=f"Orders of a list of {entity.name} records.")


def conditions(entity: Entity, given: Any, status: Any = None) -> list[Where]:
    """Turn a filter input (and the short `status` argument) into conditions for the reader."""
    if given is None or given is UNSET:
        return conditions_given(entity, None, status)
    values = {name: value for name in entity.filters if (value := getattr(given, name)) is not UNSET}
    return conditions_given(entity, values, status)


def conditions_given(entity: Entity, given: Mapping[str, Any] | None, status: Any = None) -> list[Where]:
    """Turn the values of a filter, by name, into conditions for the reader; null filters nothing."""
    found: list[Where] = []
    if status is not None:
        found.append(entity.filters["status"].build([status]))
    for name, value in (given or {}).items():
        if value is None:
            continue
        described = entity.filters[name]
        if described.kind == "id":
            # An id without the form of one names nothing.
            references = [reference(item) for item in (value if described.many else [value])]
            values = [item for item in references if item is not None]
            found.append(described.build(values) if values else Where("false"))
        else:
            found.append(described.build(value))
    return found


def sort_name(given: Any) -> str | None:
    """Give the reader's name of a sort enum's member."""
    return None if given is None or given is UNSET else given.value


def window(limit: int, offset: int, most: int, name: str = "limit") -> None:
    """Refuse a window outside 0 to `most`, or an offset that can't be."""
    if not 0 <= limit <= most:
        raise ValidationFailed(f"{name} is {limit}; expected 0 to {most}", field=name)
    if not 0 <= offset < 2**31:
        raise ValidationFailed(f"offset is {offset}; expected 0 or more", field="offset")
