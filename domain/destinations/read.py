"""The readable entities of destinations: visible rows, filters and sort orders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from domain.filters import exact, ids, sorts, statuses, substring
from domain.visibility import published
from models.reading.queries import Condition, Entity, EntityFilter


def _contains(column: str) -> Callable[[Any], Condition]:
    def build(value: Any) -> Condition:
        return Condition(f"t.{column} && {{}}::text[]", (value if isinstance(value, list) else [value],))

    return build


DESTINATIONS = Entity(
    table="destinations",
    visible=published(("view_shipping", "view_payments"), "read_shipping"),
    filters={
        "id": ids("destinations"),
        "status": statuses(),
        **exact("text", "name"),
        "search": substring("name", "t.name"),
        "country": EntityFilter("text", _contains("countries"), "lists any of these countries", many=True),
        "state": EntityFilter("text", _contains("states"), "lists any of these states", many=True),
        "city": EntityFilter("text", _contains("cities"), "lists any of these cities", many=True),
    },
    sorts=sorts("name", "id"),
    default_sort="id",
)

# Reached only through a destination, whose rows are filtered already.
DESTINATION_ZIPCODES = Entity(
    table="destination_zipcodes",
    visible=published(("view_shipping", "view_payments"), "read_shipping", ""),
)
