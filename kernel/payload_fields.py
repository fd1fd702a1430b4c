"""Describe JSON objects that clients receive: the `data` of events, and the product record."""

from __future__ import annotations

from dataclasses import dataclass

UUID_TEXT, TEXT, INTEGER, TIME = "string (UUID)", "string", "integer", "string (RFC 3339, UTC)"
OBJECTS = "array of objects"


@dataclass(frozen=True, slots=True)
class PayloadField:
    """A key of an object: its documented type and description, and the fields of a nested object."""

    name: str
    type: str
    text: str
    fields: tuple[PayloadField, ...] = ()
