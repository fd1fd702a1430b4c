"""Describe settings: what the store can set about itself, a text each."""

from __future__ import annotations

from typing import Any

from kernel.text import Malformed, nfc, shown
from rest_facade.legacy.resource import QueryFilter, Record, RecordField, Resource, id_field
from rest_facade.legacy.value_types import TEXT, ValueType, one_of, shown_with


def _value_from(value: Any, label: str) -> str | None:
    """Read a value: a text, a number, or JSON's own yes and no."""
    if isinstance(value, bool):
        return "Y" if value else "N"
    if value is None or isinstance(value, str | int | float):
        return None if value is None else str(value)
    raise Malformed(f"{label} is {shown(value)}; expected a text")


_VARIANTS = {"type": "object", "additionalProperties": {"type": "string"}}


def _variants_shown(variants: list[Record]) -> Record:
    return {each["value"]: each["name"] for each in variants}


SETTINGS = Resource(
    path="settings",
    key="object_id",
    thing="setting",
    area="settings",
    operations="Setting",
    does=("list", "show", "update"),
    fields=(
        id_field("object_id"),
        RecordField("name", TEXT, filters="name"),
        RecordField("section_id", TEXT, filters="section"),
        RecordField("type", one_of("C", "S", "U", "I", "P"), filters="type"),
        RecordField("value", ValueType(read=_value_from, seek=nfc), "value", "value"),
        RecordField("description", TEXT, filters="description"),
        RecordField("variants", shown_with(_variants_shown, shape=_VARIANTS)),
    ),
    filters=(QueryFilter("q", "search", TEXT, many=False),),
    sorts={"section_id": "SECTION", "section": "SECTION", "name": "NAME", "object_id": "ID"},
    default_sort=("section_id", "asc"),
)
