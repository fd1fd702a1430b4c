"""Keep how orders travel."""

from __future__ import annotations

from tortoise import fields
from tortoise.contrib.postgres.fields import ArrayField

from models.base import Erasable, StoreManager, StoreModel, Timestamped


class ShippingMethod(Erasable):
    """A way to deliver. Weights in grams, money in cents; `rate_calculation` is `M` manual or `R` realtime.

    The price of a shipment is `base_cents` + `per_kg_cents` × weight + `per_item_cents` × items, nothing from `free_from_cents` on
    (null: never free). Where there are `rates`, that of the address's destination takes the place of the first three. `service` is what
    a realtime calculator needs.
    """

    vendor = fields.ForeignKeyField("models.Vendor", null=True, related_name="shipping_methods")
    name = fields.TextField()
    description = fields.TextField(default="")
    delivery_time = fields.TextField(default="")
    rate_calculation = fields.TextField(default="M")
    min_weight_grams = fields.BigIntField(default=0)
    max_weight_grams = fields.BigIntField(default=0)
    base_cents = fields.BigIntField(default=0)
    per_kg_cents = fields.BigIntField(default=0)
    per_item_cents = fields.BigIntField(default=0)
    free_from_cents = fields.BigIntField(null=True)
    position = fields.IntField(default=0)
    status = fields.TextField(default="A")
    service = fields.JSONField[dict[str, object]](default=dict)

    class Meta:
        table = "shipping_methods"
        manager = StoreManager()


class Destination(Erasable):
    """A part of the world. Of `countries`, `states`, `cities` and `zipcodes` those that are filled must all hold an address."""

    name = fields.TextField()
    status = fields.TextField(default="A")
    countries = ArrayField(element_type="text", default=list)
    states = ArrayField(element_type="text", default=list)
    cities = ArrayField(element_type="text", default=list)

    class Meta:
        table = "destinations"
        manager = StoreManager()


class DestinationZipcode(StoreModel):
    """A range of CEPs, eight digits each, both ends included."""

    destination = fields.ForeignKeyField("models.Destination", related_name="zipcodes")
    zipcode_from = fields.TextField()
    zipcode_to = fields.TextField()

    class Meta:
        table = "destination_zipcodes"
        manager = StoreManager()


class ShippingRate(StoreModel):
    """What a way to deliver charges at one destination, in cents; `max_weight_grams` 0 carries any weight."""

    shipping_method = fields.ForeignKeyField("models.ShippingMethod", related_name="rates")
    destination = fields.ForeignKeyField("models.Destination", related_name="shipping_rates")
    base_cents = fields.BigIntField(default=0)
    per_kg_cents = fields.BigIntField(default=0)
    per_item_cents = fields.BigIntField(default=0)
    max_weight_grams = fields.BigIntField(default=0)

    class Meta:
        table = "shipping_rates"
        manager = StoreManager()


class Shipment(Timestamped):
    """A parcel of an order. `status` is `P` picked up, `A` packed, `S` shipped.

    `order_placed_at` is what a client says of when the order was placed; null leaves that to the order.
    """

    order = fields.ForeignKeyField("models.Order", related_name="shipments")
    shipping_method = fields.ForeignKeyField("models.ShippingMethod", null=True, related_name="shipments")
    user = fields.ForeignKeyField("models.User", null=True, related_name="shipments")
    shipping_name = fields.TextField(default="")
    carrier = fields.TextField(default="")
    tracking_number = fields.TextField(default="")
    comments = fields.TextField(default="")
    group_key = fields.TextField(default="")
    status = fields.TextField(default="S")
    order_placed_at = fields.DatetimeField(null=True)

    class Meta:
        table = "shipments"
        manager = StoreManager()


class ShipmentLine(StoreModel):
    """How many units of an order line a parcel holds."""

    shipment = fields.ForeignKeyField("models.Shipment", related_name="lines")
    order_line = fields.ForeignKeyField("models.OrderLine", related_name="shipment_lines")
    quantity = fields.BigIntField()

    class Meta:
        table = "shipment_lines"
        manager = StoreManager()
