"""Define the inputs of warehouses."""

from __future__ import annotations

import strawberry

from domain.warehouses.inputs import WAREHOUSE_FIELDS
from schema.enums import AllocationType, SwitchStatus
from schema.inputs.optional_fields import input_type, optional_copies, optional_field
from schema.scalars import ID
from schema.types.warehouses import WarehouseObject


@input_type
class WarehouseZipcodesInput:
    """A range of postal codes (CEP), both ends included."""

    zipcode_from: str = strawberry.field(description="The first CEP, 8 digits with or without hyphen.")
    zipcode_to: str = strawberry.field(description="The last CEP.")


@input_type
class WarehouseAreaInput:
    """A delivery area, matched by postal code ranges, else cities, else states. `area_name` is required on creation."""

    area_id: ID | None = optional_field("The existing area when nested in a warehouse; omitted for a new area.")
    area_name: str | None = optional_field("The name.")
    states: list[str] | None = optional_field("Brazilian state codes, two letters each.")
    cities: list[str] | None = optional_field("City names.")
    zipcodes: list[WarehouseZipcodesInput] | None = optional_field("All postal code ranges, non-overlapping.")
    delivery_time: int | None = optional_field("The delivery time, in hours.")
    status: SwitchStatus | None = optional_field("The status code.")


@input_type
class WarehouseUsergroupInput:
    """How a warehouse serves a usergroup. `usergroup_id` is required on creation."""

    usergroup_id: ID | None = optional_field("The group.")
    priority: int | None = optional_field("The priority; higher values come first.")
    allocation_type: AllocationType | None = optional_field("`P` preferred, `E` exclusive.")
    status: SwitchStatus | None = optional_field("The status code.")


@input_type
@optional_copies(WarehouseObject, WAREHOUSE_FIELDS)
class WarehouseInput:
    """A warehouse. `name` is required on creation; `areas` and `usergroups` replace the existing lists."""

    state: str | None = optional_field("The state: its code, or the name of a state of Brazil.")
    country: str | None = optional_field("The country code, ISO 3166 alpha-2; defaults to BR.")
    latitude: str | None = optional_field("The latitude, a decimal string.")
    longitude: str | None = optional_field("The longitude, a decimal string.")
    is_default: bool | None = optional_field(
        "Whether this becomes the vendor's default warehouse, replacing the current one."
    )
    min_items_in_box: int | None = optional_field("The minimum number of items per box.")
    max_items_in_box: int | None = optional_field("The maximum number of items per box.")
    vendor_id: ID | None = optional_field("The vendor that owns the warehouse; null for the store's own.")
    areas: list[WarehouseAreaInput] | None = optional_field("The delivery areas.")
    usergroups: list[WarehouseUsergroupInput] | None = optional_field("The customer groups served.")
