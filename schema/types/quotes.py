"""Define what it costs to send a product somewhere, and who delivers it there."""

from __future__ import annotations

import strawberry

from schema.fields import INTERNAL, part
from schema.scalars import BigInt, Ident


@part("ShippingQuote", "A way to send some units of a product to a place.")
class ShippingQuoteObject:
    """A result; no row is behind it."""

    shipping_method_id: Ident = strawberry.field(description="The shipping method.")
    shipping_number: BigInt = strawberry.field(
        description="The legacy number of the shipping method.", metadata={INTERNAL: True}
    )
    name: str = strawberry.field(description="The name of the shipping method.")
    price_cents: BigInt = strawberry.field(description="The price in cents.")
    delivery_time: str = strawberry.field(
        description="How long it takes, as text: the method's time with the warehouse's."
    )
    vendor_id: Ident | None = strawberry.field(
        description="Who sells the product; null for the store itself."
    )
    vendor_number: BigInt = strawberry.field(
        description="The legacy number of who sells it, or 0.", metadata={INTERNAL: True}
    )
    warehouse_number: BigInt = strawberry.field(
        description="The legacy number of the warehouse it leaves from, or 0.",
        metadata={INTERNAL: True},
    )


@part("SellerAvailability", "A seller of a product, and whether it delivers to a place.")
class SellerAvailabilityObject:
    """A result; no row is behind it."""

    product_id: Ident = strawberry.field(description="The seller's product.")
    product_number: BigInt = strawberry.field(
        description="The legacy number of the product.", metadata={INTERNAL: True}
    )
    vendor_id: Ident | None = strawberry.field(description="The seller; null for the store itself.")
    vendor_number: BigInt = strawberry.field(
        description="The legacy number of the seller, or 0.", metadata={INTERNAL: True}
    )
    name: str = strawberry.field(description="The seller's name.")
    price_cents: BigInt = strawberry.field(description="The price of a unit in cents.")
    stock: BigInt = strawberry.field(description="How many units can be sold.")
    delivers: bool = strawberry.field(description="Whether the product gets there.")
    delivery_time: str = strawberry.field(description="How long it takes by the cheapest way, as text.")
