"""The readable entities of destinations: visible rows, filters and sort orders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from domain.visibility import VisibleRows
from models.queries import Condition, Entity, EntityFilter, Sort, any_of, by_ids

_PUBLIC_ROWS = "t.status = 'A'"


def _contains(column: str) -> Callable[[Any], Condition]:
    def build(value: Any) -> Condition:
        return Condition(f"t.{column} && {{}}::text[]", (value if isinstance(value, list) else [value],))

    return build


DESTINATIONS = Entity(
    name="destination",
    table="destinations",
    base_condition="t.deleted_at IS NULL",
    visible=VisibleRows(
        admin=("view_shipping", "view_payments"),
        app="read_shipping",
        vendor=_PUBLIC_ROWS,
        customer=_PUBLIC_ROWS,
        storefront="storefront:read",
        storefront_rows=_PUBLIC_ROWS,
    ),
    filters={
        "id": EntityFilter("id", by_ids, "any of these destinations", many=True),
        "status": EntityFilter("switch_status", any_of("t.status"), "any of these statuses", many=True),
        "name": EntityFilter("text", any_of("t.name"), "exact name", many=True),
        "search": EntityFilter(
            "text",
            lambda text: Condition("strpos(vitrine_fold(t.name), vitrine_fold({}::text)) > 0", (text,)),
            "part of the name",
        ),
        "country": EntityFilter("text", _contains("countries"), "lists any of these countries", many=True),
        "state": EntityFilter("text", _contains("states"), "lists any of these states", many=True),
        "city": EntityFilter("text", _contains("cities"), "lists any of these cities", many=True),
    },
    sorts={"name": Sort("t.name", "text", "name"), "id": Sort("t.id", "bigint", "creation order")},
    default_sort="id",
)

# Reached only through a destination, whose rows are filtered already.
DESTINATION_ZIPCODES = Entity(
    name="range of CEPs",
    table="destination_zipcodes",
    visible=VisibleRows(
        admin=("view_shipping", "view_payments"),
        app="read_shipping",
        vendor="",
        customer="",
        storefront="storefront:read",
    ),
)
