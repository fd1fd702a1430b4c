"""Optional input fields, which distinguish an omitted field (UNSET) from null."""

from __future__ import annotations

from typing import Any

import strawberry
from strawberry import UNSET

from schema.fields import INTERNAL


def optional_field(description: str, *, internal: bool = False) -> Any:
    """Declare an optional input field, UNSET if omitted."""
    return strawberry.field(default=UNSET, description=description, metadata={INTERNAL: internal})


def provided_fields(input: Any) -> dict[str, Any]:
    """Return the fields of an input that are not UNSET, nested inputs included, as plain data for the domain."""
    return {
        name: _to_plain(value)
        for name in input.__dataclass_fields__
        if (value := getattr(input, name)) is not UNSET
    }


def _to_plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_to_plain(item) for item in value]
    return provided_fields(value) if hasattr(value, "__strawberry_definition__") else value
