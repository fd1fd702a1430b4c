"""Say what clients see of what isn't set."""

from __future__ import annotations

from enum import Enum


class Unset(Enum):
    """What the public schema shows in place of the empty text of what isn't set; the internal one, of the REST families, shows the text."""

    NULL = "null"
    """Null: the field is nullable, and its description says null for "; empty"."""
    LATER = "later"
    """The empty text until `NULL_FROM`, which the description adds: the last release has the field, as non-null."""


NULL_FROM = "0.5.0"
"""The release in which fields that are `Unset.LATER` become `Unset.NULL`."""
