"""Describe usergroups."""

from __future__ import annotations

from typing import Any

from kernel.codes import CATEGORY_STATUSES, USERGROUP_TYPES
from kernel.json_schema import STRING, array, map_of, one_of
from rest_facade.legacy import value_types as types
from rest_facade.legacy.resource import SEARCH, RecordField, Resource, id_field


def _parse_privileges(value: Any, label: str) -> list[str]:
    """Parse privilege names: a list, PHP's map with numeric keys, or one comma-separated text."""
    parts = value.split(",") if isinstance(value, str) else types.as_list([] if value is None else value)
    if not all(isinstance(part, str) for part in parts):
        raise types.unexpected(label, value, "an array of privileges")
    return [part.strip() for part in parts if part.strip()]


USERGROUPS = Resource(
    path="usergroups",
    privilege_area="users",
    texts=("usergroup",),
    fields=(
        id_field("usergroup_id"),
        RecordField("usergroup", types.TEXT, "name", "name"),
        RecordField("type", types.code(USERGROUP_TYPES), "type", "type"),
        RecordField("status", types.code(CATEGORY_STATUSES), "status", "status"),
        RecordField(
            "privileges",
            types.ValueType(
                parse=_parse_privileges, parse_filter=str, body_schema=one_of(array(STRING), map_of(STRING), STRING)
            ),
            "privileges",
            "privilege",
        ),
    ),
    required=("usergroup",),
    sorts={"usergroup_id": "ID", "usergroup": "NAME", "name": "NAME", "type": "TYPE", "status": "STATUS"},
    filters=(SEARCH,),
    always_keyed=True,
    unwrapped=True,
)
