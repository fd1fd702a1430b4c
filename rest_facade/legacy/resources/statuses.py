"""Describe the statuses of orders and parcels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kernel.codes import INVENTORY_EFFECTS, STATUS_TYPES
from rest_facade.legacy.resource import QueryFilter, Record, RecordField, Resource, id_field
from rest_facade.legacy.value_types import (
    FLAG,
    ORDER_STATUS,
    SMALL_NUMBER,
    TEXT,
    code,
    flag_from,
    if_given,
    object_from,
    shown_with,
)

_inventory = code(INVENTORY_EFFECTS).read


def _params_from(value: Any, label: str) -> Record:
    """Read `{inventory, notify}`; what CS-Cart keeps there besides is ignored."""
    given = {name: item for name, item in object_from(value, label).items() if item not in (None, "")}
    read: Record = {}
    if "inventory" in given:
        assert _inventory is not None
        read["inventory"] = _inventory(given["inventory"], f"{label}: inventory")
    if "notify" in given:
        read["notify"] = flag_from(given["notify"], f"{label}: notify")
    return read


_PARAMS = {
    "type": "object",
    "properties": {
        "inventory": {"type": "string", "enum": ["D", "I"]},
        "notify": {"type": "string", "enum": ["Y", "N"]},
    },
    "required": ["notify"],
}


def _params_shown(params: Record) -> Record:
    shown = {"notify": "Y" if params["notify"] else "N"}
    return shown if params["inventory"] is None else {"inventory": params["inventory"], **shown}


STATUSES = Resource(
    path="statuses",
    key="status_id",
    thing="status",
    area="orders",
    operations="Status",
    fields=(
        id_field("status_id"),
        RecordField("status", if_given(replace(ORDER_STATUS, read=TEXT.read)), "letter", "letter"),
        RecordField("type", if_given(code(STATUS_TYPES)), "type", "type"),
        RecordField("description", TEXT, "description", "description"),
        RecordField("is_default", FLAG, filters="is_built_in"),
        RecordField("color", replace(TEXT, seek=str.lower), "color", "color"),
        RecordField("params", shown_with(_params_shown, _params_from, _PARAMS), "params"),
        RecordField("position", SMALL_NUMBER, "position", "position"),
    ),
    required={"description": "description is required"},
    filters=(QueryFilter("q", "search", TEXT, many=False),),
    sorts={
        "position": "POSITION",
        "description": "DESCRIPTION",
        "status": "LETTER",
        "status_id": "ID",
    },
    default_sort=("position", "asc"),
)
