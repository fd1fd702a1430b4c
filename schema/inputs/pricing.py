"""Define what is given to change destinations, rates, taxes and promotions."""

from __future__ import annotations

import strawberry

from schema.inputs.given import given_field
from schema.scalars import BigInt, Ident, Json, SwitchStatus, Time


@strawberry.input(description="A range of CEPs.")
class ZipcodeRangeInput:
    """One range."""

    zipcode_from: str = strawberry.field(description="The first CEP, with or without hyphen.")
    zipcode_to: str | None = given_field("The last CEP; the first again when left out.")


@strawberry.input(
    description="A part of the world. Creation needs `name`; what is left empty is not asked of an address."
)
class DestinationInput:
    """Fields of a destination."""

    name: str | None = given_field("The name.")
    status: SwitchStatus | None = given_field("The status letter.")
    countries: list[str] | None = given_field("Countries, ISO 3166 codes of two letters.")
    states: list[str] | None = given_field("States, two letters.")
    cities: list[str] | None = given_field("Cities.")
    zipcodes: list[ZipcodeRangeInput] | None = given_field("Ranges of CEPs that don't overlap.")


@strawberry.input(description="What a way to deliver charges at a destination.")
class ShippingRateInput:
    """One rate."""

    destination_id: Ident | None = given_field(
        "The destination; without one, the method's own prices, charged where it has no rates."
    )
    base_cents: BigInt | None = given_field("The price of a shipment in cents, before weight and items.")
    per_kg_cents: BigInt | None = given_field("What each kilogram adds, in cents.")
    per_item_cents: BigInt | None = given_field("What each item adds, in cents.")
    max_weight_grams: BigInt | None = given_field("The heaviest order it takes there, in grams, 0 for any.")


@strawberry.input(description="What a tax takes at a destination.")
class TaxRateInput:
    """One rate."""

    destination_id: Ident = strawberry.field(description="The destination.")
    rate_type: str | None = given_field("`P` or `F`; the tax's own when left out.")
    rate_value: BigInt | None = given_field("In thousandths of a percent, or of the currency's unit.")


@strawberry.input(description="A tax. Creation needs `name`.")
class TaxInput:
    """Fields of a tax."""

    name: str | None = given_field("The name.")
    regnumber: str | None = given_field("The number under which the store is registered for it.")
    address_type: str | None = given_field("Which address decides: `S` shipping, `B` billing.")
    rate_type: str | None = given_field("`P` a percentage, `F` a fixed amount a unit.")
    rate_value: BigInt | None = given_field("In thousandths of a percent, or of the currency's unit.")
    price_includes_tax: bool | None = given_field("Whether prices hold it already.")
    priority: int | None = given_field("The lowest come first.")
    status: SwitchStatus | None = given_field("The status letter.")
    rates: list[TaxRateInput] | None = given_field("All its rates at destinations.")


@strawberry.input(description="A promotion. Creation needs `name`.")
class PromotionInput:
    """Fields of a promotion."""

    name: str | None = given_field("The name.")
    description: str | None = given_field("The description.")
    zone: str | None = given_field("`cart` or `catalog`.")
    conditions: Json | None = given_field("What it asks (see docs/promotions.md).")
    bonuses: Json | None = given_field("What it gives (see docs/promotions.md).")
    coupon_code: str | None = given_field("The code it asks for.")
    usage_limit: BigInt | None = given_field("How many orders may use it, 0 for any number.")
    from_at: Time | None = given_field("When it begins.")
    to_at: Time | None = given_field("When it ends.")
    priority: int | None = given_field("The lowest come first.")
    stop: bool | None = given_field("Whether it keeps later ones of its zone out.")
    status: SwitchStatus | None = given_field("The status letter.")
