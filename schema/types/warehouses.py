"""Define warehouses, their delivery areas and usergroups."""

from __future__ import annotations

from typing import Any

import strawberry

from auth.access import Access
from domain.warehouses.inputs import WAREHOUSE_FIELDS
from domain.warehouses.read import (
    WAREHOUSE_AREAS,
    WAREHOUSE_STOCK,
    WAREHOUSE_USERGROUPS,
    WAREHOUSE_ZIPCODES,
    WAREHOUSES,
)
from models.reading.queries import ToMany, ToOne
from schema.enums import AllocationType, SwitchStatus
from schema.fields import column, computed, entity_type, legacy_number, referenced, relation
from schema.inputs import input_type, optional_copies, optional_field
from schema.scalars import ID, BigInt
from schema.types.marketplace import VendorObject
from schema.types.people import UsergroupObject
from schema.unset import Unset

_INVENTORY_READERS = Access(privileges=("view_catalog", "view_products"), app_scope="read_products", vendor=True)


@entity_type(WAREHOUSE_ZIPCODES, "WarehouseZipcodes")
class WarehouseZipcodesObject:
    """A range of postal codes (CEP), both ends included."""

    zipcode_from: str = column(description="The first CEP, as entered.")
    zipcode_to: str = column(description="The last CEP, as entered.")


@entity_type(WAREHOUSE_AREAS, "WarehouseArea", key="area_id", times="created_at updated_at")
class WarehouseAreaObject:
    """A delivery area of a warehouse."""

    area_name: str = column("name", "The name.")
    states: list[str] = column(description="Brazilian state codes, two letters each.")
    cities: list[str] = column(description="City names.")
    zipcodes: list[WarehouseZipcodesObject] = relation(
        ToMany("t.area_id", "t.first_cep, t.id"), "Postal code ranges; if set, states and cities are ignored."
    )
    delivery_time: int = column(description="The delivery time, in hours.")
    status: SwitchStatus = column(description="The status code.")


@entity_type(WAREHOUSE_USERGROUPS, "WarehouseUsergroup", times="created_at updated_at")
class WarehouseUsergroupObject:
    """A usergroup served by a warehouse."""

    id: ID = column("public_id", "The unique ID (UUID).")
    usergroup_id: ID = column(referenced("usergroups", "usergroup_id"), "The group.")
    usergroup: UsergroupObject | None = relation(ToOne("usergroup_id"), "The group.")
    usergroup_number: BigInt = column("usergroup_id", "The legacy numeric ID of the group.", internal=True)
    usergroup_name: str = column(referenced("usergroups", "usergroup_id", "name"), "The name of the group.")
    priority: int = column(description="The priority; higher values come first.")
    allocation_type: AllocationType = column(description="`P` priority, `E` exclusive.")
    status: SwitchStatus = column(description="The status code.")


@entity_type(WAREHOUSES, "Warehouse", key="warehouse_id", times="created_at updated_at")
class WarehouseObject:
    """A warehouse."""

    name: str = column(description="The name.")
    code: str = column(description="The store's short code for the warehouse.")
    description: str = column(description="The description.")
    status: SwitchStatus = column(description="The status code.")
    address: str = column(description="Street and number.")
    city: str = column(description="The city.")
    state: str = column(description="The state code, two letters.")
    country: str = column(description="The country code, ISO 3166 alpha-2.")
    zipcode: str = column(description="The CEP.")
    phone: str = column(description="The phone number.", unset=Unset.LATER)
    email: str = column(description="The e-mail address.", unset=Unset.LATER)
    latitude: str = column(description="The latitude, a decimal string; empty if not set.", unset=Unset.LATER)
    longitude: str = column(description="The longitude, a decimal string; empty if not set.", unset=Unset.LATER)
    priority: int = column(description="The priority; higher values come first.")
    is_default: bool = column(description="Whether this is the vendor's default warehouse.")
    shipping_delay: int = column(description="Days added to the delivery time.")
    min_items_in_box: int = column(description="The minimum number of items per box; 0 if not set.")
    max_items_in_box: int = column(description="The maximum number of items per box; 0 if not set.")
    vendor_id: ID | None = column(
        referenced("vendors", "vendor_id"), "The vendor that owns the warehouse; null for the store's own."
    )
    vendor_number: BigInt = legacy_number("vendor_id", "the owning vendor")
    vendor: VendorObject | None = relation(
        ToOne("vendor_id"), "The vendor that owns the warehouse; null for the store's own."
    )
    areas: list[WarehouseAreaObject] = relation(ToMany("t.warehouse_id", "t.id"), "The delivery areas.")
    usergroups: list[WarehouseUsergroupObject] = relation(
        ToMany("t.warehouse_id", "t.id"), "The customer groups served."
    )


@entity_type(WAREHOUSE_STOCK, "WarehouseStock")
class WarehouseStockObject:
    """The units of a product or combination in a warehouse."""

    warehouse_id: ID = computed(referenced("warehouses", "warehouse_id"), "The warehouse.")
    warehouse_name: str = computed(referenced("warehouses", "warehouse_id", "name"), "The name of the warehouse.")
    warehouse: WarehouseObject | None = relation(ToOne("warehouse_id"), "The warehouse.")
    quantity: BigInt = column(description="The units that can still be sold; none are sold while it is disabled.")


def stock_by_warehouse(key: str, where: str = "") -> Any:
    """Declare the stock by warehouse of a product or combination, which the column `key` refers to."""
    description = "The stock by warehouse; empty where it isn't divided among warehouses, or combinations have it."
    return relation(ToMany(key, "t.warehouse_id", where=where), description, guard=_INVENTORY_READERS)


@input_type
class WarehouseStockInput:
    """The units of a product, or of one of its combinations, in a warehouse."""

    warehouse_id: ID = strawberry.field(description="The warehouse.")
    combination_id: ID | None = optional_field("The combination; required for a product with combinations.")
    quantity: BigInt | None = optional_field(
        "The units that can still be sold; null for a warehouse that doesn't store it any more. Required."
    )


@input_type
class WarehouseZipcodesInput:
    """A range of postal codes (CEP), both ends included."""

    zipcode_from: str = strawberry.field(description="The first CEP, 8 digits with or without hyphen.")
    zipcode_to: str = strawberry.field(description="The last CEP.")


@input_type
@optional_copies(WarehouseAreaObject, "area_id area_name states cities zipcodes delivery_time status")
class WarehouseAreaInput:
    """A delivery area, matched by postal code ranges, else cities, else states. `area_name` is required on creation."""

    area_id: ID | None = optional_field("The existing area when nested in a warehouse; omitted for a new area.")
    zipcodes: list[WarehouseZipcodesInput] | None = optional_field("All postal code ranges, non-overlapping.")


@input_type
@optional_copies(WarehouseUsergroupObject, "usergroup_id priority allocation_type status")
class WarehouseUsergroupInput:
    """How a warehouse serves a usergroup. `usergroup_id` is required on creation."""


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
