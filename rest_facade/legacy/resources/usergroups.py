"""Describe usergroups."""

from __future__ import annotations

from typing import Any

from kernel.codes import CATEGORY_STATUSES, USERGROUP_TYPES
from kernel.text import Malformed, shown
from rest_facade.legacy.resource import QueryFilter, RecordField, Resource, id_field
from rest_facade.legacy.value_types import TEXT, ValueType, code, listed


def _names_from(value: Any, label: str) -> list[str]:
    """Read names of privileges: a list, PHP's map with numbers as keys, or one text with commas between."""
    parts = value.split(",") if isinstance(value, str) else listed([] if value is None else value)
    if not all(isinstance(part, str) for part in parts):
        raise Malformed(f"{label} is {shown(value)}; expected an array of privileges")
    return [part.strip() for part in parts if part.strip()]


USERGROUPS = Resource(
    path="usergroups",
    key="usergroup_id",
    thing="usergroup",
    area="users",
    operations="Usergroup",
    fields=(
        id_field("usergroup_id"),
        RecordField("usergroup", TEXT, "name", "name"),
        RecordField("type", code(USERGROUP_TYPES), "type", "type"),
        RecordField("status", code(CATEGORY_STATUSES), "status", "status"),
        RecordField("privileges", ValueType(read=_names_from, seek=str), "privileges", "privilege"),
    ),
    required={"usergroup": "usergroup is required"},
    sorts={"usergroup_id": "ID", "usergroup": "NAME", "name": "NAME", "type": "TYPE", "status": "STATUS"},
    default_sort=("usergroup_id", "asc"),
    filters=(QueryFilter("q", "search", TEXT, many=False),),
    always_keyed=True,
    bare=True,
)
