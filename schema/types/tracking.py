"""Define what carriers quote for orders."""

from __future__ import annotations

from schema.enums import RateSource
from schema.fields import column, object_type
from schema.scalars import BigInt


def _quoted(member: str, type_: str = "text") -> str:
    return f"(t.shipping_quote ->> '{member}')::{type_}"


@object_type("CarrierQuote")
class CarrierQuoteObject:
    """The price of shipping that a carrier quoted for an order, before promotions and freight of the products."""

    source: RateSource | None = column(_quoted("source"), "The source of the rate; null for the method's own table.")
    service: str | None = column(_quoted("service"), "The code of the service at the source.")
    name: str | None = column(_quoted("name"), "The name of the carrier and its service.")
    price_cents: BigInt | None = column(_quoted("price_cents", "bigint"), "The quoted price, in cents.")
    days_min: int | None = column(_quoted("days_min", "int"), "The fewest days of delivery.")
    days_max: int | None = column(_quoted("days_max", "int"), "The most days of delivery.")
