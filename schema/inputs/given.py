"""Tell what was given from what was left out: null is a value, absence is not."""

from __future__ import annotations

from typing import Any

import strawberry
from strawberry import UNSET

from schema.fields import INTERNAL


def given_field(description: str, *, internal: bool = False) -> Any:
    """Declare an optional input field that knows whether it was given."""
    return strawberry.field(default=UNSET, description=description, metadata={INTERNAL: internal})


def provided(given: Any) -> dict[str, Any]:
    """Give the fields of an input that were given, nested inputs included, as plain data for the domain."""
    return {
        name: _plain(value)
        for name in given.__dataclass_fields__
        if (value := getattr(given, name)) is not UNSET
    }


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return provided(value) if hasattr(value, "__strawberry_definition__") else value
