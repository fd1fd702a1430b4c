"""Define warehouses, their delivery areas and usergroups."""

from __future__ import annotations

from domain.warehouses.read import WAREHOUSE_AREAS, WAREHOUSE_USERGROUPS, WAREHOUSE_ZIPCODES, WAREHOUSES
from models.queries import ToMany, ToOne
from schema.enums import AllocationType, SwitchStatus
from schema.fields import column, entity_type, legacy_number, referenced, relation
from schema.scalars import ID, BigInt, DateTime
from schema.types.marketplace import VendorObject
from schema.types.people import UsergroupObject


@entity_type(WAREHOUSE_ZIPCODES, "WarehouseZipcodes")
class WarehouseZipcodesObject:
    """A range of postal codes (CEP), both ends included."""

    zipcode_from: str = column(description="The first CEP, as entered.")
    zipcode_to: str = column(description="The last CEP, as entered.")


@entity_type(WAREHOUSE_AREAS, "WarehouseArea")
class WarehouseAreaObject:
    """A delivery area of a warehouse."""

    id: ID = column("public_id", "The unique ID (UUID).")
    number: BigInt = column("id", "The legacy numeric ID (`area_id`).", internal=True)
    area_name: str = column("name", "The name.")
    states: list[str] = column(description="Brazilian state codes, two letters each.")
    cities: list[str] = column(description="City names.")
    zipcodes: list[WarehouseZipcodesObject] = relation(
        ToMany("t.area_id", "t.first_cep, t.id"), "Postal code ranges; if set, states and cities are ignored."
    )
    delivery_time: int = column(description="The delivery time, in hours.")
    status: SwitchStatus = column(description="The status code.")
    created_at: DateTime = column(description="When the record was created.")
    updated_at: DateTime = column(description="When the record was last updated.")


@entity_type(WAREHOUSE_USERGROUPS, "WarehouseUsergroup")
class WarehouseUsergroupObject:
    """A usergroup served by a warehouse."""

    id: ID = column("public_id", "The unique ID (UUID).")
    usergroup_id: ID = column(referenced("usergroups", "usergroup_id"), "The group.")
    usergroup: UsergroupObject | None = relation(ToOne("usergroup_id"), "The group.")
    usergroup_number: BigInt = column("usergroup_id", "The legacy numeric ID of the group.", internal=True)
    usergroup_name: str = column(referenced("usergroups", "usergroup_id", "name"), "The name of the group.")
    priority: int = column(description="The priority; higher values come first.")
    allocation_type: AllocationType = column(description="`P` preferred, `E` exclusive.")
    status: SwitchStatus = column(description="The status code.")
    created_at: DateTime = column(description="When the record was created.")
    updated_at: DateTime = column(description="When the record was last updated.")


@entity_type(WAREHOUSES, "Warehouse")
class WarehouseObject:
    """A warehouse."""

    id: ID = column("public_id", "The unique ID (UUID).")
    number: BigInt = column("id", "The legacy numeric ID (`warehouse_id`).", internal=True)
    name: str = column(description="The name.")
    code: str = column(description="The store's short code for the warehouse.")
    description: str = column(description="The description.")
    status: SwitchStatus = column(description="The status code.")
    address: str = column(description="Street and number.")
    city: str = column(description="The city.")
    state: str = column(description="The state code, two letters.")
    country: str = column(description="The country code, ISO 3166 alpha-2.")
    zipcode: str = column(description="The CEP.")
    phone: str = column(description="The phone number.")
    email: str = column(description="The e-mail address.")
    latitude: str = column(description="The latitude, a decimal string; empty if not set.")
    longitude: str = column(description="The longitude, a decimal string; empty if not set.")
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
    created_at: DateTime = column(description="When the record was created.")
    updated_at: DateTime = column(description="When the record was last updated.")
