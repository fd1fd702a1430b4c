"""Describe the statuses of orders and shipments."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kernel.codes import INVENTORY_EFFECTS, STATUS_TYPES
from kernel.json_schema import enum, named, object_schema, one_of, optional_members
from rest_facade.legacy import value_types as types
from rest_facade.legacy.resource import SEARCH, Record, RecordField, Resource, id_field
from rest_facade.legacy.value_schemas import EMPTY

_parse_inventory = types.code(INVENTORY_EFFECTS).parse


def _parse_params(value: Any, label: str) -> Record:
    """Parse `{inventory, notify}`; CS-Cart's other members are ignored."""
    values = {name: item for name, item in types.parse_object(value, label).items() if item not in (None, "")}
    params: Record = {}
    if "inventory" in values:
        assert _parse_inventory is not None
        params["inventory"] = _parse_inventory(values["inventory"], f"{label}: inventory")
    if "notify" in values:
        params["notify"] = types.parse_flag(values["notify"], f"{label}: notify")
    return params


_PARAMS = named(
    "StatusParams", object_schema("notify", inventory=enum(INVENTORY_EFFECTS.codes), notify=types.FLAG.schema)
)
_PARAMS_INPUT = named(
    "StatusParamsBody",
    optional_members(
        inventory=one_of(enum(INVENTORY_EFFECTS.codes), EMPTY), notify=one_of(types.FLAG.body_schema, EMPTY)
    ),
)


def _render_params(params: Record) -> Record:
    rendered = {"notify": "Y" if params["notify"] else "N"}
    return rendered if params["inventory"] is None else {"inventory": params["inventory"], **rendered}


STATUSES = Resource(
    path="statuses",
    display_name="status",
    privilege_area="orders",
    texts=("description",),
    fields=(
        id_field("status_id"),
        RecordField("status", types.optional(replace(types.ORDER_STATUS, parse=types.TEXT.parse)), "letter", "letter"),
        RecordField("type", types.optional(types.code(STATUS_TYPES)), "type", "type"),
        RecordField("description", types.TEXT, "description", "description"),
        RecordField("is_default", types.FLAG, filter_name="is_built_in"),
        RecordField("color", replace(types.TEXT, parse_filter=str.lower), "color", "color"),
        RecordField(
            "params",
            types.rendered_by(_render_params, _parse_params, schema=_PARAMS, body_schema=_PARAMS_INPUT),
            "params",
            source="params { inventory notify }",
        ),
        RecordField("position", types.INTEGER, "position", "position"),
    ),
    required=("description",),
    filters=(SEARCH,),
    sorts={"position": "POSITION", "description": "DESCRIPTION", "status": "LETTER", "status_id": "ID"},
)
