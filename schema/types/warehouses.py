"""Define warehouses, where they deliver and whom they serve."""

from __future__ import annotations

from domain.warehouses.read import WAREHOUSE_AREAS, WAREHOUSE_USERGROUPS, WAREHOUSE_ZIPCODES, WAREHOUSES
from models.reading import ToMany, ToOne
from schema.fields import column, entity, relation
from schema.scalars import AllocationType, BigInt, Ident, SwitchStatus, Time
from schema.types.marketplace import VendorObject


@entity(WAREHOUSE_ZIPCODES, "WarehouseZipcodes", "A range of postal codes, both ends in it.")
class WarehouseZipcodesObject:
    """A row of `warehouse_zipcodes`."""

    zipcode_from: str = column(description="The first CEP, as it was written.")
    zipcode_to: str = column(description="The last CEP, as it was written.")


@entity(WAREHOUSE_AREAS, "WarehouseArea", "Where a warehouse delivers, and how long that takes.")
class WarehouseAreaObject:
    """A row of `warehouse_areas`."""

    id: Ident = column("public_id", "The UUID.")
    number: BigInt = column("id", "The legacy number (`area_id`).", internal=True)
    area_name: str = column("name", "The name.")
    states: list[str] = column(description="States of Brazil, two letters each.")
    cities: list[str] = column(description="Cities.")
    zipcodes: list[WarehouseZipcodesObject] = relation(
        ToMany("t.area_id", "t.first_cep, t.id"),
        "Ranges of postal codes; where there are any, they alone decide.",
    )
    delivery_time: int = column(description="How long it takes, in hours.")
    status: SwitchStatus = column(description="The status letter.")
    created_at: Time = column(description="When it was made.")
    updated_at: Time = column(description="When it was last changed.")


@entity(WAREHOUSE_USERGROUPS, "WarehouseUsergroup", "A group of customers that a warehouse serves.")
class WarehouseUsergroupObject:
    """A row of `warehouse_usergroups`."""

    id: Ident = column("public_id", "The UUID.")
    usergroup_id: Ident = column(
        "(SELECT g.public_id FROM usergroups g WHERE g.tenant_id = t.tenant_id AND g.id = t.usergroup_id)",
        "The group.",
    )
    usergroup_number: BigInt = column("usergroup_id", "The legacy number of the group.", internal=True)
    usergroup_name: str = column(
        "(SELECT g.name FROM usergroups g WHERE g.tenant_id = t.tenant_id AND g.id = t.usergroup_id)",
        "The name of the group.",
    )
    priority: int = column(description="The higher goes before.")
    allocation_type: AllocationType = column(description="`P` before others, `E` nobody else.")
    status: SwitchStatus = column(description="The status letter.")
    created_at: Time = column(description="When it was made.")
    updated_at: Time = column(description="When it was last changed.")


@entity(WAREHOUSES, "Warehouse", "A place that goods are sent from.")
class WarehouseObject:
    """A row of `warehouses`."""

    id: Ident = column("public_id", "The UUID.")
    number: BigInt = column("id", "The legacy number (`warehouse_id`).", internal=True)
    name: str = column(description="The name.")
    code: str = column(description="What the store calls it for short.")
    description: str = column(description="The description.")
    status: SwitchStatus = column(description="The status letter.")
    address: str = column(description="Street and number.")
    city: str = column(description="The city.")
    state: str = column(description="The state, two letters.")
    country: str = column(description="The country, ISO 3166 code of two letters.")
    zipcode: str = column(description="The CEP.")
    phone: str = column(description="The phone number.")
    email: str = column(description="The e-mail address.")
    latitude: str = column(description="Degrees north, a decimal text; blank for none.")
    longitude: str = column(description="Degrees east, a decimal text; blank for none.")
    priority: int = column(description="The higher goes before.")
    is_default: bool = column(
        description="Whether its vendor's goods lie here unless something else is said."
    )
    shipping_delay: int = column(description="Days that it adds to the time of delivery.")
    min_items_in_box: int = column(description="How many items a box holds at least; 0 when nobody said.")
    max_items_in_box: int = column(description="How many items a box holds at most; 0 when nobody said.")
    vendor_id: Ident | None = column(
        "(SELECT v.public_id FROM vendors v WHERE v.tenant_id = t.tenant_id AND v.id = t.vendor_id)",
        "Whose it is; null for the store's own.",
    )
    vendor_number: BigInt = column(
        "coalesce(t.vendor_id, 0)", "The legacy number of whose it is, or 0.", internal=True
    )
    vendor: VendorObject | None = relation(ToOne("vendor_id"), "Whose it is; null for the store's own.")
    areas: list[WarehouseAreaObject] = relation(ToMany("t.warehouse_id", "t.id"), "Where it delivers.")
    usergroups: list[WarehouseUsergroupObject] = relation(ToMany("t.warehouse_id", "t.id"), "Whom it serves.")
    created_at: Time = column(description="When it was made.")
    updated_at: Time = column(description="When it was last changed.")
