"""Define shipping quotes and vendor availability for a product."""

from __future__ import annotations

from models.reading.queries import ToOne
from schema.fields import object_type, output_field, relation
from schema.scalars import ID, BigInt
from schema.types.catalog import ProductObject
from schema.types.marketplace import VendorObject
from schema.types.pricing import ShippingMethodObject


@object_type("ShippingQuote")
class ShippingQuoteObject:
    """A shipping quote for a product."""

    shipping_method_id: ID = output_field("The shipping method.")
    shipping_method: ShippingMethodObject | None = relation(ToOne("shipping_method_id"), "The shipping method.")
    shipping_number: BigInt = output_field("The legacy numeric ID of the shipping method.", internal=True)
    name: str = output_field("The name of the shipping method.")
    price_cents: BigInt = output_field("The shipping price, in cents.")
    delivery_time: str = output_field("The estimated delivery time as text, including the warehouse's.")
    vendor_id: ID | None = output_field("The vendor of the product; null for the store itself.")
    vendor: VendorObject | None = relation(ToOne("vendor_id"), "The vendor of the product; null for the store itself.")
    vendor_number: BigInt = output_field("The legacy numeric ID of the vendor, or 0.", internal=True)
    warehouse_number: BigInt = output_field("The legacy numeric ID of the warehouse, or 0.", internal=True)


@object_type("SellerAvailability")
class SellerAvailabilityObject:
    """A vendor of a product and whether it delivers to a CEP."""

    product_id: ID = output_field("The vendor's product.")
    product: ProductObject | None = relation(ToOne("product_id"), "The vendor's product.")
    product_number: BigInt = output_field("The legacy numeric ID of the product.", internal=True)
    vendor_id: ID | None = output_field("The vendor; null for the store itself.")
    vendor: VendorObject | None = relation(ToOne("vendor_id"), "The vendor; null for the store itself.")
    vendor_number: BigInt = output_field("The legacy numeric ID of the vendor, or 0.", internal=True)
    name: str = output_field("The vendor's name.")
    price_cents: BigInt = output_field("The unit price, in cents.")
    stock: BigInt = output_field("The available stock.")
    delivers: bool = output_field("Whether the product can be delivered.")
    delivery_time: str = output_field("The estimated delivery time of the cheapest shipping method, as text.")


@object_type("PostalAddress")
class PostalAddressObject:
    """The address of a CEP, as far as it is known."""

    zipcode: str = output_field("The CEP, eight digits.")
    state: str = output_field("The code of the state.")
    city: str | None = output_field("The city; null when unknown.")
    district: str | None = output_field("The district; null when unknown, and for a CEP of a whole town.")
    street: str | None = output_field("The street; null when unknown, and for a CEP of a whole town.")
