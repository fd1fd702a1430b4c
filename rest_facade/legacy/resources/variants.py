"""Parse variants of features and options: a list, or an object whose keys may be their ids."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kernel.ids import parse_reference
from rest_facade.legacy import value_types as types


def variant_entries(value: Any, label: str, *, name: str) -> Iterator[tuple[str | None, Mapping[str, Any]]]:
    """Yield each variant's id (None for a new one) and its members; a plain text is its `name`.

    A `variant_id` member takes precedence over the key. A key that is not an id (`0`, `new`) is ignored.
    """
    if isinstance(value, Mapping):
        entries = [(key if parse_reference(key) is not None else None, entry) for key, entry in value.items()]
    elif isinstance(value, list) or value is None:
        entries = [(None, entry) for entry in value or []]
    else:
        raise types.unexpected(label, value, "an array, or an object keyed by variant_id")
    for key, entry in entries:
        members = {name: entry} if isinstance(entry, str | int | float) else entry
        if not isinstance(members, Mapping):
            raise types.unexpected(label, entry, f"objects such as {{{name}}}", verb="holds")
        variant_id = types.parse_id(members.get("variant_id", key), f"{label}: variant_id")
        yield (None if variant_id is types.ABSENT else variant_id), members
