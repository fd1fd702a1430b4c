"""Warehouses, their delivery areas, usergroups and stock."""

from __future__ import annotations

from tortoise import fields
from tortoise.contrib.postgres.fields import ArrayField

from models.tables.base import SoftDeletable, StoreModel, Timestamped


class Warehouse(SoftDeletable, table="warehouses"):
    """A warehouse of a vendor or (without one) of the store; the highest `priority` is preferred.

    `shipping_delay` is in days. Items in a box: 0 means unspecified. `name_folded` is generated from the name. `is_switching`: its status
    changed, and a job has yet to count its stock, or not any more.
    """

    vendor = fields.ForeignKeyField("models.Vendor", null=True, related_name="warehouses")
    name = fields.TextField()
    name_folded = fields.TextField(generated=True)
    code = fields.TextField(default="")
    description = fields.TextField(default="")
    status = fields.TextField(default="A")
    address = fields.TextField(default="")
    city = fields.TextField(default="")
    state = fields.TextField(default="")
    country = fields.TextField(default="BR")
    zipcode = fields.TextField(default="")
    phone = fields.TextField(default="")
    email = fields.TextField(default="")
    latitude = fields.TextField(default="")
    longitude = fields.TextField(default="")
    priority = fields.IntField(default=0)
    is_default = fields.BooleanField(default=False)
    shipping_delay = fields.IntField(default=0)
    min_items_in_box = fields.IntField(default=0)
    max_items_in_box = fields.IntField(default=0)
    is_switching = fields.BooleanField(default=False)


class WarehouseArea(Timestamped, table="warehouse_areas"):
    """A delivery area of a warehouse. `delivery_time` is in hours.

    The most specific criterion applies: postal code ranges, else cities, else states; without any it covers all addresses.
    """

    warehouse = fields.ForeignKeyField("models.Warehouse", related_name="areas")
    name = fields.TextField(default="")
    states = ArrayField(element_type="text", default=list)
    cities = ArrayField(element_type="text", default=list)
    delivery_time = fields.IntField(default=0)
    status = fields.TextField(default="A")


class WarehouseZipcodes(StoreModel, table="warehouse_zipcodes"):
    """An inclusive range of postal codes of an area: as entered, and as numbers for comparison."""

    area = fields.ForeignKeyField("models.WarehouseArea", related_name="zipcodes")
    zipcode_from = fields.TextField()
    zipcode_to = fields.TextField()
    first_cep = fields.IntField()
    last_cep = fields.IntField()


class WarehouseUsergroup(Timestamped, table="warehouse_usergroups"):
    """A customer usergroup that a warehouse serves. `allocation_type` is `P` preferred or `E` exclusive."""

    warehouse = fields.ForeignKeyField("models.Warehouse", related_name="usergroups")
    usergroup = fields.ForeignKeyField("models.Usergroup", related_name="warehouses")
    priority = fields.IntField(default=0)
    allocation_type = fields.TextField(default="P")
    status = fields.TextField(default="A")


class WarehouseStock(StoreModel, table="warehouse_stock"):
    """The units of a product or combination that a warehouse can still sell.

    Where there are rows, triggers keep `stock` of the product or combination the sum of those that are active: as their warehouse is, or
    was until a job gets to them.
    """

    warehouse = fields.ForeignKeyField("models.Warehouse", related_name="stock")
    product = fields.ForeignKeyField("models.Product", related_name="warehouse_stock")
    combination = fields.ForeignKeyField("models.Combination", null=True, related_name="warehouse_stock")
    quantity = fields.BigIntField()
    is_active = fields.BooleanField(default=True)
