"""Shipping methods, rates, destinations and shipments."""

from __future__ import annotations

from tortoise import fields
from tortoise.contrib.postgres.fields import ArrayField

from kernel.clock import now
from models.tables.base import SoftDeletable, StoreModel, Timestamped


class ShippingMethod(SoftDeletable, table="shipping_methods"):
    """A shipping method. Weights in grams, amounts in cents; `rate_calculation` is `M` manual or `R` realtime.

    The price is `base_cents` + `per_kg_cents` × weight + `per_item_cents` × items, free from `free_from_cents` on (null: never). If there
    are `rates`, the rate of the address's destination replaces the first three. `service` are the parameters of a realtime calculator.
    A `rate_source` other than `table` is asked for the price, with `rate_params` (encrypted).
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
    rate_source = fields.TextField(default="table")
    rate_params = fields.BinaryField(null=True)
    failure_notified_at = fields.DatetimeField(null=True)


class CarrierQuote(StoreModel, table="carrier_quotes"):
    """What a source of rates said of a method for the content of a cart and a CEP; without a price it doesn't deliver, or failed."""

    shipping_method = fields.ForeignKeyField("models.ShippingMethod", related_name="carrier_quotes")
    content_key = fields.BinaryField()
    service = fields.TextField(default="")
    name = fields.TextField(default="")
    price_cents = fields.BigIntField(null=True)
    days_min = fields.IntField(default=0)
    days_max = fields.IntField(default=0)
    failure = fields.TextField(default="")
    quoted_at = fields.DatetimeField()
    expires_at = fields.DatetimeField()


class Destination(SoftDeletable, table="destinations"):
    """A destination. An address must match each non-empty one of `countries`, `states`, `cities` and `zipcodes`."""

    name = fields.TextField()
    status = fields.TextField(default="A")
    countries = ArrayField(element_type="text", default=list)
    states = ArrayField(element_type="text", default=list)
    cities = ArrayField(element_type="text", default=list)


class DestinationZipcode(StoreModel, table="destination_zipcodes"):
    """An inclusive range of CEPs of eight digits."""

    destination = fields.ForeignKeyField("models.Destination", related_name="zipcodes")
    zipcode_from = fields.TextField()
    zipcode_to = fields.TextField()


class ShippingRate(StoreModel, table="shipping_rates"):
    """A shipping rate of a method for a destination, in cents; `max_weight_grams` 0 means unlimited."""

    shipping_method = fields.ForeignKeyField("models.ShippingMethod", related_name="rates")
    destination = fields.ForeignKeyField("models.Destination", related_name="shipping_rates")
    base_cents = fields.BigIntField(default=0)
    per_kg_cents = fields.BigIntField(default=0)
    per_item_cents = fields.BigIntField(default=0)
    max_weight_grams = fields.BigIntField(default=0)


class Shipment(Timestamped, table="shipments"):
    """A shipment of an order. `status` is `P` picked up, `A` packed, `S` shipped.

    `order_placed_at` overrides the order's creation time in the API when a client sets it.
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
    label_url = fields.TextField(default="")


class TrackingEvent(StoreModel, table="tracking_events"):
    """What a carrier reported of a shipment; `code` is the carrier's, empty if it has none."""

    shipment = fields.ForeignKeyField("models.Shipment", related_name="tracking_events")
    occurred_at = fields.DatetimeField()
    code = fields.TextField(default="")
    description = fields.TextField()
    location = fields.TextField(default="")
    created_at = fields.DatetimeField(default=now)


class ShipmentLine(StoreModel, table="shipment_lines"):
    """The quantity of an order line in a shipment."""

    shipment = fields.ForeignKeyField("models.Shipment", related_name="lines")
    order_line = fields.ForeignKeyField("models.OrderLine", related_name="shipment_lines")
    quantity = fields.BigIntField()
