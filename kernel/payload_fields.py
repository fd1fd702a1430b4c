"""Describe JSON objects that clients receive: the `data` of events, and the product record."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from kernel.clock import format_rfc3339

UUID_TEXT, TEXT, INTEGER, TIME = "string (UUID)", "string", "integer", "string (RFC 3339, UTC)"
OBJECTS = "array of objects"


@dataclass(frozen=True, slots=True)
class PayloadField:
    """A key of an object: its documented type and description, and the fields of a nested object."""

    name: str
    type: str
    text: str
    fields: tuple[PayloadField, ...] = ()


def payload_of(fields: Iterable[PayloadField], values: Iterable[Any]) -> dict[str, Any]:
    """Build an object from a row's values, which are in the order of the fields; nested objects are rows."""
    return {field.name: _to_json(field, value) for field, value in zip(fields, values, strict=True)}


def _to_json(field: PayloadField, value: Any) -> Any:
    if field.fields and value is not None:
        if field.type == OBJECTS:
            return [payload_of(field.fields, item) for item in value]
        return payload_of(field.fields, value)
    if isinstance(value, datetime):
        return format_rfc3339(value)
    return str(value) if isinstance(value, UUID) else value
