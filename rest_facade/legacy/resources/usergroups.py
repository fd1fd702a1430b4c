"""Describe usergroups."""

from __future__ import annotations

from typing import Any

from kernel.letters import CATEGORY_LETTERS, USERGROUP_TYPE_LETTERS
from kernel.text import Malformed, shown
from rest_facade.legacy.kinds import TEXT, Kind, letter, listed
from rest_facade.legacy.resource import Field, Filter, Resource, id_field


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
        Field("usergroup", TEXT, "name", "name"),
        Field("type", letter(USERGROUP_TYPE_LETTERS), "type", "type"),
        Field("status", letter(CATEGORY_LETTERS), "status", "status"),
        Field("privileges", Kind(read=_names_from, seek=str), "privileges", "privilege"),
    ),
    required={"usergroup": "usergroup is required"},
    sorts={"usergroup_id": "ID", "usergroup": "NAME", "name": "NAME", "type": "TYPE", "status": "STATUS"},
    default_sort=("usergroup_id", "asc"),
    filters=(Filter("q", "search", TEXT, many=False),),
    always_keyed=True,
    bare=True,
)
