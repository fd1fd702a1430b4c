"""Keep where goods lie before they travel."""

from __future__ import annotations

from tortoise import fields
from tortoise.contrib.postgres.fields import ArrayField

from models.base import Erasable, StoreManager, StoreModel, Timestamped


class Warehouse(Erasable):
    """A place that goods are sent from, of a vendor or (without one) of the store itself.

    `priority`: the higher goes before. `shipping_delay` is in days. Numbers of items in a box: 0 means that nobody said.
    `name_folded` is generated from the name.
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

    class Meta:
        table = "warehouses"
        manager = StoreManager()


class WarehouseArea(Timestamped):
    """Where a warehouse delivers. `delivery_time` is in hours.

    The most precise of what is given decides: ranges of postal codes, else cities, else states; without any of them it is everywhere.
    """

    warehouse = fields.ForeignKeyField("models.Warehouse", related_name="areas")
    name = fields.TextField(default="")
    states = ArrayField(element_type="text", default=list)
    cities = ArrayField(element_type="text", default=list)
    delivery_time = fields.IntField(default=0)
    status = fields.TextField(default="A")

    class Meta:
        table = "warehouse_areas"
        manager = StoreManager()


class WarehouseZipcodes(StoreModel):
    """A range of postal codes of an area, both ends in it: as they were written, and as numbers to compare."""

    area = fields.ForeignKeyField("models.WarehouseArea", related_name="zipcodes")
    zipcode_from = fields.TextField()
    zipcode_to = fields.TextField()
    first_cep = fields.IntField()
    last_cep = fields.IntField()

    class Meta:
        table = "warehouse_zipcodes"
        manager = StoreManager()


class WarehouseUsergroup(Timestamped):
    """A group of customers that a warehouse serves. `allocation_type` is `P` before others, `E` nobody else."""

    warehouse = fields.ForeignKeyField("models.Warehouse", related_name="usergroups")
    usergroup = fields.ForeignKeyField("models.Usergroup", related_name="warehouses")
    priority = fields.IntField(default=0)
    allocation_type = fields.TextField(default="P")
    status = fields.TextField(default="A")

    class Meta:
        table = "warehouse_usergroups"
        manager = StoreManager()
