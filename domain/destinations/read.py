"""Declare what of destinations can be read."""

from __future__ import annotations

from domain.visibility import Rows
from models.reading import Entity, Filter, Sort, any_of, named

_SHOPPER_SEES = "t.status = 'A'"

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
        "id": Filter("id", named, "any of these destinations", many=True),
        "status": Filter("switch_status", any_of("t.status"), "any of these statuses", many=True),
        "name": Filter("text", any_of("t.name"), "exact name", many=True),
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
