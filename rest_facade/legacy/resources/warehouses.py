"""Describe warehouses, their delivery areas and usergroups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernel.codes import ALLOCATION_TYPES, WAREHOUSE_STATUSES
from kernel.json_schema import NULL, STRING, Schema, array, map_of, named, object_schema, one_of
from kernel.text import InvalidValue
from rest_facade.legacy import value_types as types
from rest_facade.legacy.record_schemas import input_record, rows_type
from rest_facade.legacy.reshape import body_parser
from rest_facade.legacy.resource import (
    SEARCH,
    ActionRoute,
    NestedList,
    QueryFilter,
    Record,
    RecordField,
    Resource,
    id_field,
    same_names,
    selection_of,
)
from rest_facade.legacy.value_schemas import WRITTEN_ID, rows_of

_STATUS = types.code(WAREHOUSE_STATUSES)
_CEP = types.document(8)
_CEP_INPUT: Schema = {"type": ["string", "integer"]}


def _parse_texts(value: Any, label: str) -> list[str]:
    """Parse a list of texts, or a single one."""
    if value is None or value == "":
        return []
    return [text for item in types.as_list(value) if (text := types.parse_text(item, label))]


def _parse_zipcodes(value: Any, label: str) -> list[dict[str, str]]:
    """Parse `[{zipcode_from, zipcode_to}]`; restores the leading zeros of a CEP sent as a number."""
    if value is None or value == "":
        return []
    return [_parse_range(item, label) for item in types.as_list(value)]


def _parse_range(value: Any, label: str) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise types.unexpected(label, value, "objects {zipcode_from, zipcode_to}", verb="holds")
    assert _CEP.parse is not None
    bounds = {}
    for name in ("zipcode_from", "zipcode_to"):
        if value.get(name) in (None, ""):
            raise InvalidValue(f"{label}: {name} is required")
        bounds[name] = _CEP.parse(value[name], f"{label}: {name}")
    return bounds


_TEXTS = types.ValueType(parse=_parse_texts, body_schema=one_of(array(STRING), map_of(STRING), STRING, NULL))
_RANGES = rows_of(named("ZipcodeRangeBody", object_schema(zipcode_from=_CEP_INPUT, zipcode_to=_CEP_INPUT)))
_AREA_FIELDS = (
    RecordField("area_id", types.ID, filter_name="id"),
    RecordField("area_name", types.TEXT, "area_name", "name"),
    RecordField("states", _TEXTS, "states"),
    RecordField("cities", _TEXTS, "cities"),
    RecordField(
        "zipcodes",
        types.ValueType(parse=_parse_zipcodes, body_schema=one_of(_RANGES, NULL)),
        "zipcodes",
        source="zipcodes { zipcode_from zipcode_to }",
    ),
    RecordField("delivery_time", types.JSON_INTEGER, "delivery_time"),
    RecordField("status", _STATUS, "status", "status"),
)
_GROUP_FIELDS = (
    RecordField("usergroup_id", types.ID, "usergroup_id", "usergroup_id"),
    RecordField("usergroup_name", types.RAW),
    RecordField("priority", types.JSON_INTEGER, "priority"),
    RecordField("allocation_type", types.code(ALLOCATION_TYPES), "allocation_type"),
    RecordField("status", _STATUS, "status", "status"),
)

_parse_area = body_parser(_AREA_FIELDS)
_parse_group = body_parser(_GROUP_FIELDS)


def _parse_objects(value: Any, label: str) -> list[Mapping[str, Any]]:
    if value is None or value == "":
        return []
    if not isinstance(value, list | Mapping):
        raise types.unexpected(label, value, "an array")
    items = types.as_list(value)
    for item in items:
        if not isinstance(item, Mapping):
            raise types.unexpected(label, item, "objects", verb="holds")
    return items


def _parse_areas(value: Any, label: str) -> list[dict[str, Any]]:
    """Parse areas; an entry with an `area_id` updates that area."""
    areas = []
    for entry in _parse_objects(value, label):
        area = _parse_area(entry)
        area_id = types.parse_id(entry.get("area_id", ""), f"{label}: area_id")
        areas.append(area | {"area_id": area_id} if isinstance(area_id, str) else area)
    return areas


def _parse_groups(value: Any, label: str) -> list[dict[str, Any]]:
    return [_parse_group(entry) for entry in _parse_objects(value, label)]


def _input_fields(fields: tuple[RecordField, ...]) -> tuple[RecordField, ...]:
    """Return the writable fields of an area or group, whose values go into the operation's `input`."""
    return tuple(
        RecordField(field.name, field.value_type, f"input.{field.input_path}") for field in fields if field.input_path
    )


DELIVERY_AREAS = Resource(
    path="delivery_areas",
    entity="warehouse_area",
    key="area_id",
    privilege_area="warehouses",
    actions=(),
    fields=_AREA_FIELDS,
    sorts={"area_id": "ID"},
)
USER_GROUPS = Resource(
    path="user_groups",
    entity="warehouse_usergroup",
    display_name="usergroup",
    privilege_area="warehouses",
    actions=(),
    fields=_GROUP_FIELDS,
    sorts={"id": "ID"},
)


def _member_routes(
    resource: Resource, list_operation: str, number: str, verbs: tuple[str, str], required: str
) -> tuple[NestedList | ActionRoute, ...]:
    """Describe the routes of a warehouse's areas or groups; `number` is the GraphQL field of their id."""
    key, entity = resource.key, "".join(map(str.capitalize, resource.entity.split("_")))
    single, arguments = f"{resource.path}/{{{key}}}", {"warehouse_id": "id", key: key}
    inputs = _input_fields(resource.fields)

    def render_id(done: Record, _path: Mapping[str, str]) -> Record:
        return {key: done[key]}

    def route(method: str, verb: str, path: str = single, **options: Any) -> ActionRoute:
        operation = f"{entity}{verb}"
        return ActionRoute(method=method, path=path, operation=operation, **{"path_arguments": arguments, **options})

    written: dict[str, Any] = {
        "result": f"{key}: {number}",
        "render_result": render_id,
        "result_schema": object_schema(**{key: WRITTEN_ID}),
    }
    return (
        NestedList(resource.path, list_operation, resource, parent_filter="warehouse_id"),
        route(
            "POST",
            verbs[0],
            resource.path,
            path_arguments={"warehouse_id": "id"},
            body_fields=inputs,
            required=(required,),
            status=201,
            **written,
        ),
        route("PUT", "Update", body_fields=tuple(f for f in inputs if f.name != key), **written),
        route("DELETE", verbs[1]),
    )


WAREHOUSES = Resource(
    path="warehouses",
    privilege_area="warehouses",
    fields=(
        id_field("warehouse_id"),
        *same_names(types.TEXT, "name", "code", "description"),
        RecordField("status", _STATUS, "status", "status"),
        *same_names(types.TEXT, "address", "city", "state", "country"),
        # As a filter, `zipcode` matches the delivery areas, not the address (docs/reference/legacy.md#warehouses).
        RecordField("zipcode", types.TEXT, "zipcode"),
        *same_names(types.TEXT, "phone", "email", "latitude", "longitude"),
        RecordField("priority", types.JSON_INTEGER, "priority", "priority"),
        RecordField("is_default", types.FLAG, "is_default", "is_default"),
        *same_names(types.JSON_INTEGER, "shipping_delay", "min_items_in_box", "max_items_in_box"),
        RecordField("company_id", types.ID, "vendor_id", "owner_id"),
        RecordField(
            "delivery_areas",
            rows_type(
                "WarehouseArea",
                _AREA_FIELDS,
                _parse_areas,
                body_schema=rows_of(input_record("WarehouseAreaBody", _AREA_FIELDS)),
            ),
            "areas",
            source=f"areas {selection_of(_AREA_FIELDS)}",
        ),
        RecordField(
            "user_groups",
            rows_type(
                "WarehouseUsergroup",
                _GROUP_FIELDS,
                _parse_groups,
                body_schema=rows_of(input_record("WarehouseUsergroupBody", _GROUP_FIELDS)),
            ),
            "usergroups",
            source=f"usergroups {selection_of(_GROUP_FIELDS)}",
        ),
        RecordField("created_at", types.ISO_TIME, filter_name="created_at", source="created_at"),
        RecordField("updated_at", types.ISO_TIME, filter_name="updated_at", source="updated_at"),
    ),
    required=("name",),
    message_terms={"vendor": "company_id"},
    filters=(SEARCH, QueryFilter("zipcode", "covers_zipcode", types.TEXT, multiple=False)),
    sorts={"priority": "PRIORITY", "name": "NAME", "created_at": "CREATED_AT", "warehouse_id": "ID"},
    default_sort=("priority", "desc"),
    subroutes=(
        *_member_routes(DELIVERY_AREAS, "WarehouseAreas", "number", ("Create", "Delete"), "area_name"),
        *_member_routes(USER_GROUPS, "WarehouseGroups", "usergroup_number", ("Add", "Remove"), "usergroup_id"),
    ),
)
