"""Define the inputs of destinations, shipping rates, taxes and promotions."""

from __future__ import annotations

import strawberry

from domain.promotions.promotions import PROMOTION_FIELDS
from schema.enums import PromotionZone, SwitchStatus, TaxAddressType, TaxRateType
from schema.inputs.optional_fields import input_type, optional_copies, optional_field
from schema.scalars import ID, BigInt
from schema.types.pricing import PromotionObject


@input_type
class ZipcodeRangeInput:
    """A CEP range."""

    zipcode_from: str = strawberry.field(description="The first CEP, with or without hyphen.")
    zipcode_to: str | None = optional_field("The last CEP; defaults to the first.")


@input_type
class DestinationInput:
    """A geographic zone for shipping rates and taxes. `name` is required on creation; an empty list matches every address."""

    name: str | None = optional_field("The name.")
    status: SwitchStatus | None = optional_field("The status code.")
    countries: list[str] | None = optional_field("Country codes, ISO 3166 alpha-2.")
    states: list[str] | None = optional_field(
        "State codes, two letters; the names of states of Brazil stand for theirs."
    )
    cities: list[str] | None = optional_field("City names.")
    zipcodes: list[ZipcodeRangeInput] | None = optional_field("Non-overlapping CEP ranges.")


@input_type
class ShippingRateInput:
    """The price of a shipping method at a destination."""

    destination_id: ID | None = optional_field(
        "The destination; omitted for the method's own prices, which apply when it has no rates."
    )
    base_cents: BigInt | None = optional_field("The base price of a shipment, in cents.")
    per_kg_cents: BigInt | None = optional_field("The price per kilogram, in cents.")
    per_item_cents: BigInt | None = optional_field("The price per item, in cents.")
    max_weight_grams: BigInt | None = optional_field(
        "The maximum order weight at the destination, in grams; 0 for no limit."
    )


@input_type
class TaxRateInput:
    """The rate of a tax at a destination."""

    destination_id: ID = strawberry.field(description="The destination.")
    rate_type: TaxRateType | None = optional_field("The type; defaults to the tax's own.", text_internally=True)
    rate_value: BigInt | None = optional_field("The rate in thousandths of a percent, or of the currency unit.")


@input_type
class TaxInput:
    """A tax. `name` is required on creation."""

    name: str | None = optional_field("The name.")
    regnumber: str | None = optional_field("The store's tax registration number.")
    address_type: TaxAddressType | None = optional_field("The address that determines the rate.", text_internally=True)
    rate_type: TaxRateType | None = optional_field(
        "Whether it is a percentage or a fixed amount per unit.", text_internally=True
    )
    rate_value: BigInt | None = optional_field("The rate in thousandths of a percent, or of the currency unit.")
    price_includes_tax: bool | None = optional_field("Whether prices already include the tax.")
    priority: int | None = optional_field("The priority; lower values are applied first.")
    status: SwitchStatus | None = optional_field("The status code.")
    rates: list[TaxRateInput] | None = optional_field("All rates by destination.")


@input_type
@optional_copies(PromotionObject, PROMOTION_FIELDS)
class PromotionInput:
    """A promotion. `name` is required on creation."""

    zone: PromotionZone | None = optional_field("What it applies to.", text_internally=True)
    coupon_code: str | None = optional_field("The coupon code required.")
