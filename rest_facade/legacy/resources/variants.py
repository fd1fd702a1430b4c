"""Read variants, of features and options alike: a list, or an object whose keys may be their ids."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kernel.ids import parse_reference
from kernel.text import Malformed, shown
from rest_facade.legacy.value_types import ABSENT, id_from


def entries_of(value: Any, label: str, *, name: str) -> Iterator[tuple[str | None, Mapping[str, Any]]]:
    """Give each variant's id (None for a new one) and what was given for it; a bare text is its `name`.

    A `variant_id` within goes before the key. A key that is no id (`0`, `new`) stands for nothing.
    """
    if isinstance(value, Mapping):
        entries = [(key if parse_reference(key) is not None else None, entry) for key, entry in value.items()]
    elif isinstance(value, list) or value is None:
        entries = [(None, entry) for entry in value or []]
    else:
        raise Malformed(f"{label} is {shown(value)}; expected an array, or an object keyed by variant_id")
    for key, entry in entries:
        given = {name: entry} if isinstance(entry, str | int | float) else entry
        if not isinstance(given, Mapping):
            raise Malformed(f"{label} holds {shown(entry)}; expected objects such as {{{name}}}")
        named = id_from(given.get("variant_id", key), f"{label}: variant_id")
        yield (None if named is ABSENT else named), given
