"""Declare what of destinations can be read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from domain.visibility import Rows
from models.reading import Entity, EntityFilter, Sort, Where, any_of, named

_SHOPPER_SEES = "t.status = 'A'"


def _holds(column: str) -> Callable[[Any], Where]:
    def build(value: Any) -> Where:
        return Where(f"t.{column} && {{}}::text[]", (value if isinstance(value, list) else [value],))

    return build


DESTINATIONS = Entity(
    name="destination",
    table="destinations",
    alive="t.deleted_at IS NULL",
    visible=Rows(
        admin=("view_shipping", "view_payments"),
        app="read_shipping",
        vendor=_SHOPPER_SEES,
        customer=_SHOPPER_SEES,
        storefront="storefront:read",
        storefront_rows=_SHOPPER_SEES,
    ),
    filters={
        "id": EntityFilter("id", named, "any of these destinations", many=True),
        "status": EntityFilter("switch_status", any_of("t.status"), "any of these statuses", many=True),
        "name": EntityFilter("text", any_of("t.name"), "exact name", many=True),
        "search": EntityFilter(
            "text",
            lambda text: Where("strpos(vitrine_fold(t.name), vitrine_fold({}::text)) > 0", (text,)),
            "part of the name",
        ),
        "country": EntityFilter("text", _holds("countries"), "names any of these countries", many=True),
        "state": EntityFilter("text", _holds("states"), "names any of these states", many=True),
        "city": EntityFilter("text", _holds("cities"), "names any of these cities", many=True),
    },
    sorts={
        "name": Sort("t.name", "text", "name"),
        "id": Sort("t.id", "bigint", "order of entry"),
    },
    default_sort="id",
)

# Reached only through a destination, whose rows were filtered already.
DESTINATION_ZIPCODES = Entity(
    name="range of CEPs",
    table="destination_zipcodes",
    visible=Rows(
        admin=("view_shipping", "view_payments"),
        app="read_shipping",
        vendor="",
        customer="",
        storefront="storefront:read",
    ),
)
