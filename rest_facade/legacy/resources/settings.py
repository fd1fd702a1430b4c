"""Describe store settings; each has one text value."""

from __future__ import annotations

from typing import Any

from kernel.text import nfc
from rest_facade.legacy import value_types as types
from rest_facade.legacy.resource import SEARCH, Record, RecordField, Resource, id_field
from rest_facade.legacy.value_schemas import SCALAR


def _parse_value(value: Any, label: str) -> str | None:
    """Parse a value: a text, a number or a JSON boolean."""
    if isinstance(value, bool):
        return "Y" if value else "N"
    if value is None or isinstance(value, str | int | float):
        return None if value is None else str(value)
    raise types.unexpected(label, value, "a text")


_VARIANTS = {"type": "object", "additionalProperties": {"type": "string"}}


def _render_variants(variants: list[Record]) -> Record:
    return {variant["value"]: variant["name"] for variant in variants}


SETTINGS = Resource(
    path="settings",
    key="object_id",
    privilege_area="settings",
    results={"update": "setting_id: number"},
    actions=("list", "show", "update"),
    fields=(
        id_field("object_id"),
        RecordField("name", types.TEXT, filter_name="name"),
        RecordField("section_id", types.TEXT, filter_name="section"),
        RecordField("type", types.choice("C", "S", "U", "I", "P"), filter_name="type"),
        RecordField(
            "value", types.ValueType(parse=_parse_value, parse_filter=nfc, body_schema=SCALAR), "value", "value"
        ),
        RecordField("description", types.TEXT, filter_name="description"),
        RecordField(
            "variants", types.rendered_by(_render_variants, schema=_VARIANTS), source="variants { value name }"
        ),
    ),
    filters=(SEARCH,),
    sorts={"section_id": "SECTION", "section": "SECTION", "name": "NAME", "object_id": "ID"},
)
