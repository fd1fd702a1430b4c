"""Describe warehouses, where they deliver and whom they serve."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernel.codes import ALLOCATION_TYPES, WAREHOUSE_STATUSES
from kernel.text import Malformed, shown
from rest_facade.legacy.reshape import body_reader, row_shower
from rest_facade.legacy.resource import Action, Nested, QueryFilter, Record, RecordField, Resource, id_field
from rest_facade.legacy.value_types import (
    FLAG,
    ID,
    INTEGER,
    ISO,
    PLAIN,
    TEXT,
    ValueType,
    code,
    document,
    id_from,
    listed,
    shown_with,
    text_from,
)

_STATUS = code(WAREHOUSE_STATUSES)
_CEP = document(8)


def _texts_from(value: Any, label: str) -> list[str]:
    """Read a list of texts; one alone is a list too."""
    if value is None or value == "":
        return []
    return [text for each in listed(value) if (text := text_from(each, label))]


def _zipcodes_from(value: Any, label: str) -> list[dict[str, str]]:
    """Read `[{zipcode_from, zipcode_to}]`; a CEP given as a number has lost its leading zeros."""
    if value is None or value == "":
        return []
    return [_range_from(each, label) for each in listed(value)]


def _range_from(value: Any, label: str) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise Malformed(f"{label} holds {shown(value)}; expected objects {{zipcode_from, zipcode_to}}")
    assert _CEP.read is not None
    ends = {}
    for name in ("zipcode_from", "zipcode_to"):
        if value.get(name) in (None, ""):
            raise Malformed(f"{label}: {name} is required")
        ends[name] = _CEP.read(value[name], f"{label}: {name}")
    return ends


_TEXTS = ValueType(read=_texts_from)
_AREA_FIELDS = (
    RecordField("area_id", ID, filters="id"),
    RecordField("area_name", TEXT, "area_name", "name"),
    RecordField("states", _TEXTS, "states"),
    RecordField("cities", _TEXTS, "cities"),
    RecordField("zipcodes", ValueType(read=_zipcodes_from), "zipcodes"),
    RecordField("delivery_time", INTEGER, "delivery_time"),
    RecordField("status", _STATUS, "status", "status"),
)
_GROUP_FIELDS = (
    RecordField("usergroup_id", ID, "usergroup_id", "usergroup_id"),
    RecordField("usergroup_name", PLAIN),
    RecordField("priority", INTEGER, "priority"),
    RecordField("allocation_type", code(ALLOCATION_TYPES), "allocation_type"),
    RecordField("status", _STATUS, "status", "status"),
)

_show_area = row_shower(_AREA_FIELDS)
_show_group = row_shower(_GROUP_FIELDS)
_read_area = body_reader(_AREA_FIELDS)
_read_group = body_reader(_GROUP_FIELDS)


def _each_of(value: Any, label: str) -> list[Mapping[str, Any]]:
    if value is None or value == "":
        return []
    if not isinstance(value, list | Mapping):
        raise Malformed(f"{label} is {shown(value)}; expected an array")
    found = listed(value)
    for each in found:
        if not isinstance(each, Mapping):
            raise Malformed(f"{label} holds {shown(each)}; expected objects")
    return found


def _areas_from(value: Any, label: str) -> list[dict[str, Any]]:
    """Read areas; one that names its `area_id` is that one, changed."""
    found = []
    for each in _each_of(value, label):
        area = _read_area(each)
        named = id_from(each.get("area_id", ""), f"{label}: area_id")
        found.append(area | {"area_id": named} if isinstance(named, str) else area)
    return found


def _groups_from(value: Any, label: str) -> list[dict[str, Any]]:
    return [_read_group(each) for each in _each_of(value, label)]


def _within_input(fields: tuple[RecordField, ...]) -> tuple[RecordField, ...]:
    """Give the fields that a single area or group takes, which are all in its operation's `input`."""
    return tuple(
        RecordField(field.name, field.kind, f"input.{field.writes}") for field in fields if field.writes
    )


DELIVERY_AREAS = Resource(
    path="delivery_areas",
    key="area_id",
    thing="delivery area",
    area="warehouses",
    does=(),
    fields=_AREA_FIELDS,
    sorts={"area_id": "ID"},
    default_sort=("area_id", "asc"),
)
USER_GROUPS = Resource(
    path="user_groups",
    key="usergroup_id",
    thing="usergroup",
    area="warehouses",
    does=(),
    fields=_GROUP_FIELDS,
    sorts={"id": "ID"},
    default_sort=("id", "asc"),
)


def _area_id(done: Record, _address: Mapping[str, str]) -> Record:
    return {"area_id": str(done["area_id"])}


def _usergroup_id(done: Record, _address: Mapping[str, str]) -> Record:
    return {"usergroup_id": str(done["usergroup_id"])}


_AREA = {"warehouse_id": "id", "area_id": "area_id"}
_GROUP = {"warehouse_id": "id", "usergroup_id": "usergroup_id"}

WAREHOUSES = Resource(
    path="warehouses",
    key="warehouse_id",
    thing="warehouse",
    area="warehouses",
    operations="Warehouse",
    fields=(
        id_field("warehouse_id"),
        RecordField("name", TEXT, "name", "name"),
        RecordField("code", TEXT, "code", "code"),
        RecordField("description", TEXT, "description", "description"),
        RecordField("status", _STATUS, "status", "status"),
        RecordField("address", TEXT, "address", "address"),
        RecordField("city", TEXT, "city", "city"),
        RecordField("state", TEXT, "state", "state"),
        RecordField("country", TEXT, "country", "country"),
        # As a filter it asks where a warehouse delivers, not where it stands (decisions-legacy section 5).
        RecordField("zipcode", TEXT, "zipcode"),
        RecordField("phone", TEXT, "phone", "phone"),
        RecordField("email", TEXT, "email", "email"),
        RecordField("latitude", TEXT, "latitude", "latitude"),
        RecordField("longitude", TEXT, "longitude", "longitude"),
        RecordField("priority", INTEGER, "priority", "priority"),
        RecordField("is_default", FLAG, "is_default", "is_default"),
        RecordField("shipping_delay", INTEGER, "shipping_delay", "shipping_delay"),
        RecordField("min_items_in_box", INTEGER, "min_items_in_box", "min_items_in_box"),
        RecordField("max_items_in_box", INTEGER, "max_items_in_box", "max_items_in_box"),
        RecordField("company_id", ID, "vendor_id", "owner_id"),
        RecordField(
            "delivery_areas",
            shown_with(lambda rows: [_show_area(row) for row in rows], _areas_from),
            "areas",
        ),
        RecordField(
            "user_groups",
            shown_with(lambda rows: [_show_group(row) for row in rows], _groups_from),
            "usergroups",
        ),
        RecordField("created_at", ISO, filters="created_at"),
        RecordField("updated_at", ISO, filters="updated_at"),
    ),
    required={"name": "name is required"},
    says={"vendor": "company_id"},
    filters=(
        QueryFilter("q", "search", TEXT, many=False),
        QueryFilter("zipcode", "covers_zipcode", TEXT, many=False),
    ),
    sorts={"priority": "PRIORITY", "name": "NAME", "created_at": "CREATED_AT", "warehouse_id": "ID"},
    default_sort=("priority", "desc"),
    below=(
        Nested(path="delivery_areas", operation="WarehouseAreas", of=DELIVERY_AREAS, by="warehouse_id"),
        Action(
            method="POST",
            path="delivery_areas",
            operation="WarehouseAreaCreate",
            arguments={"warehouse_id": "id"},
            takes=_within_input(_AREA_FIELDS),
            required={"area_name": "area_name is required"},
            answers=_area_id,
            status=201,
        ),
        Action(
            method="PUT",
            path="delivery_areas/{area_id}",
            operation="WarehouseAreaUpdate",
            arguments=_AREA,
            takes=_within_input(_AREA_FIELDS),
            answers=_area_id,
        ),
        Action(
            method="DELETE",
            path="delivery_areas/{area_id}",
            operation="WarehouseAreaDelete",
            arguments=_AREA,
        ),
        Nested(path="user_groups", operation="WarehouseGroups", of=USER_GROUPS, by="warehouse_id"),
        Action(
            method="POST",
            path="user_groups",
            operation="WarehouseGroupAdd",
            arguments={"warehouse_id": "id"},
            takes=_within_input(_GROUP_FIELDS),
            required={"usergroup_id": "usergroup_id is required"},
            answers=_usergroup_id,
            status=201,
        ),
        Action(
            method="PUT",
            path="user_groups/{usergroup_id}",
            operation="WarehouseGroupUpdate",
            arguments=_GROUP,
            takes=_within_input(_GROUP_FIELDS[1:]),
            answers=_usergroup_id,
        ),
        Action(
            method="DELETE",
            path="user_groups/{usergroup_id}",
            operation="WarehouseGroupRemove",
            arguments=_GROUP,
        ),
    ),
)
