"""Define what carriers quote for orders, and what they report of shipments."""

from __future__ import annotations

import strawberry

from domain.order_access import own_part
from domain.shipping.read import TRACKING_EVENTS
from schema.enums import RateSource
from schema.fields import column, entity_type, object_type
from schema.inputs import input_type, optional_copies
from schema.scalars import BigInt, DateTime
from schema.unset import Unset


def _quoted(member: str, type_: str = "text") -> str:
    return f"(t.shipping_quote ->> '{member}')::{type_}"


@object_type("CarrierQuote")
class CarrierQuoteObject:
    """The price of shipping that a carrier quoted for an order, before promotions and freight of the products."""

    source: RateSource | None = column(_quoted("source"), "The source of the rate; null for the method's own table.")
    service: str | None = column(_quoted("service"), "The code of the service at the source.")
    name: str | None = column(_quoted("name"), "The name of the carrier and its service.")
    # Of the whole order, as its shipping.
    price_cents: BigInt | None = column(
        own_part(_quoted("price_cents", "bigint"), "NULL"), "The quoted price, in cents."
    )
    days_min: int | None = column(_quoted("days_min", "int"), "The fewest days of delivery.")
    days_max: int | None = column(_quoted("days_max", "int"), "The most days of delivery.")


@entity_type(TRACKING_EVENTS, "TrackingEvent")
class TrackingEventObject:
    """What a carrier reported of a shipment."""

    occurred_at: DateTime = column(description="When it happened.")
    description: str = column(description="What happened, as the carrier says.")
    code: str = column(description="The carrier's code; empty if it has none.", unset=Unset.NULL)
    location: str = column(description="Where it happened; empty if unknown.", unset=Unset.NULL)


@input_type
@optional_copies(TrackingEventObject, "code location")
class TrackingEventInput:
    """What a carrier reported of a shipment. One with the time, code and description of another is the same."""

    occurred_at: DateTime = strawberry.field(description="When it happened.")
    description: str = strawberry.field(description="What happened, at most 255 characters.")
