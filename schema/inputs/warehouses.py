"""Define what is given of warehouses."""

from __future__ import annotations

import strawberry

from schema.inputs.given import given_field
from schema.scalars import AllocationType, Ident, SwitchStatus


@strawberry.input(description="A range of postal codes, both ends in it.")
class WarehouseZipcodesInput:
    """The two ends."""

    zipcode_from: str = strawberry.field(description="The first CEP, 8 digits with or without hyphen.")
    zipcode_to: str = strawberry.field(description="The last CEP.")


@strawberry.input(
    description="Where a warehouse delivers: ranges of postal codes, else cities, else states decide. Creation needs `area_name`."
)
class WarehouseAreaInput:
    """Fields of a delivery area."""

    area_id: Ident | None = given_field(
        "Within a warehouse: the area that is meant; without it the area is new."
    )
    area_name: str | None = given_field("The name.")
    states: list[str] | None = given_field("States of Brazil, two letters each.")
    cities: list[str] | None = given_field("Cities.")
    zipcodes: list[WarehouseZipcodesInput] | None = given_field(
        "All ranges of postal codes; they must not overlap."
    )
    delivery_time: int | None = given_field("How long it takes, in hours.")
    status: SwitchStatus | None = given_field("The status letter.")


@strawberry.input(description="How a warehouse serves a group of customers. Adding one needs `usergroup_id`.")
class WarehouseUsergroupInput:
    """Fields of a group's place."""

    usergroup_id: Ident | None = given_field("The group.")
    priority: int | None = given_field("The higher goes before.")
    allocation_type: AllocationType | None = given_field("`P` before others, `E` nobody else.")
    status: SwitchStatus | None = given_field("The status letter.")


@strawberry.input(
    description="A place that goods are sent from. Creation needs `name`; `areas` and `usergroups`, when given, are all there will be."
)
class WarehouseInput:
    """Fields of a warehouse."""

    name: str | None = given_field("The name.")
    code: str | None = given_field("What the store calls it for short.")
    description: str | None = given_field("The description.")
    status: SwitchStatus | None = given_field("The status letter.")
    address: str | None = given_field("Street and number.")
    city: str | None = given_field("The city.")
    state: str | None = given_field("The state, two letters.")
    country: str | None = given_field("The country, ISO 3166 code of two letters; BR unless given.")
    zipcode: str | None = given_field("The CEP.")
    phone: str | None = given_field("The phone number.")
    email: str | None = given_field("The e-mail address.")
    latitude: str | None = given_field("Degrees north, a decimal text.")
    longitude: str | None = given_field("Degrees east, a decimal text.")
    priority: int | None = given_field("The higher goes before.")
    is_default: bool | None = given_field("Whether it is its vendor's default; another one stands back.")
    shipping_delay: int | None = given_field("Days that it adds to the time of delivery.")
    min_items_in_box: int | None = given_field("How many items a box holds at least.")
    max_items_in_box: int | None = given_field("How many items a box holds at most.")
    vendor_id: Ident | None = given_field("Whose it is; null for the store's own.")
    areas: list[WarehouseAreaInput] | None = given_field("Where it delivers.")
    usergroups: list[WarehouseUsergroupInput] | None = given_field("Whom it serves.")
