"""Define destinations, rates, taxes and promotions: what makes an order cheaper or dearer than its goods."""

from __future__ import annotations

from domain.destinations.read import DESTINATION_ZIPCODES, DESTINATIONS
from domain.orders.read import ORDER_TAXES
from domain.promotions.read import PROMOTIONS
from domain.shipping.read import SHIPPING_RATES
from domain.taxes.read import TAX_RATE_TYPES, TAXES
from models.reading import ToMany, ToOne
from schema.fields import column, entity, relation
from schema.scalars import BigInt, Ident, Json, SwitchStatus, Time

_RATE_TYPE = "`P` a percentage, `F` a fixed amount a unit."
_RATE_VALUE = "The rate in thousandths: of a percent (`P`), or of the currency's unit (`F`)."


@entity(DESTINATION_ZIPCODES, "ZipcodeRange", "A range of CEPs, both ends included.")
class ZipcodeRangeObject:
    """A row of `destination_zipcodes`."""

    zipcode_from: str = column(description="The first CEP, eight digits.")
    zipcode_to: str = column(description="The last CEP, eight digits.")


@entity(
    DESTINATIONS,
    "Destination",
    "A part of the world. What it leaves empty it does not ask; what it fills must all hold an address. An address belongs to the most"
    " specific destination that holds it.",
)
class DestinationObject:
    """A row of `destinations`."""

    id: Ident = column("public_id", "The UUID.")
    number: BigInt = column("id", "The legacy number (`destination_id`).", internal=True)
    name: str = column(description="The name.")
    status: SwitchStatus = column(description="The status letter.")
    countries: list[str] = column(description="Countries, ISO 3166 codes of two letters.")
    states: list[str] = column(description="States, two letters.")
    cities: list[str] = column(description="Cities, compared without case and accents.")
    zipcodes: list[ZipcodeRangeObject] = relation(
        ToMany("t.destination_id", "t.zipcode_from, t.id"), "Ranges of CEPs."
    )
    created_at: Time = column(description="When it was made.")
    updated_at: Time = column(description="When it was last changed.")


@entity(SHIPPING_RATES, "ShippingRate", "What a way to deliver charges at a destination.")
class ShippingRateObject:
    """A row of `shipping_rates`."""

    destination_number: BigInt = column(
        "destination_id", "The legacy number of the destination.", internal=True
    )
    base_cents: BigInt = column(description="The price of a shipment in cents, before weight and items.")
    per_kg_cents: BigInt = column(description="What each kilogram adds, in cents.")
    per_item_cents: BigInt = column(description="What each item adds, in cents.")
    max_weight_grams: BigInt = column(description="The heaviest order it takes there, in grams, 0 for any.")
    destination: DestinationObject | None = relation(ToOne("destination_id"), "Where it is charged.")


@entity(TAX_RATE_TYPES, "TaxRate", "What a tax takes at a destination.")
class TaxRateObject:
    """A row of `tax_rates`."""

    destination_number: BigInt = column(
        "destination_id", "The legacy number of the destination.", internal=True
    )
    rate_type: str = column(description=_RATE_TYPE)
    rate_value: BigInt = column(description=_RATE_VALUE)
    destination: DestinationObject | None = relation(ToOne("destination_id"), "Where it is taken.")


@entity(TAXES, "Tax", "A tax on goods, on shipping or on the surcharge of a payment, whatever it is laid on.")
class TaxObject:
    """A row of `taxes`."""

    id: Ident = column("public_id", "The UUID.")
    number: BigInt = column("id", "The legacy number (`tax_id`).", internal=True)
    name: str = column(description="The name.")
    regnumber: str = column(description="The number under which the store is registered for it.")
    address_type: str = column(description="Which address decides: `S` shipping, `B` billing.")
    rate_type: str = column(description=_RATE_TYPE)
    rate_value: BigInt = column(description=f"{_RATE_VALUE} It counts where no rate is for the destination.")
    price_includes_tax: bool = column(description="Whether prices hold it already; else it is added.")
    priority: int = column(
        description="The lowest come first; what they add is taxed by those of a higher one."
    )
    status: SwitchStatus = column(description="The status letter.")
    rates: list[TaxRateObject] = relation(
        ToMany("t.tax_id", "t.destination_id, t.id"), "What it takes at single destinations."
    )
    created_at: Time = column(description="When it was made.")
    updated_at: Time = column(description="When it was last changed.")


@entity(ORDER_TAXES, "OrderTax", "What a tax took of an order, as the tax stood then.")
class OrderTaxObject:
    """A row of `order_taxes`."""

    name: str = column(description="The tax's name.")
    rate_type: str = column(description=_RATE_TYPE)
    rate_value: BigInt = column(description=_RATE_VALUE)
    included: bool = column(description="Whether the prices held it already; else it is part of `tax_cents`.")
    amount_cents: BigInt = column(description="The amount in cents.")
    tax_id: Ident | None = column(
        "(SELECT x.public_id FROM taxes x WHERE x.tenant_id = t.tenant_id AND x.id = t.tax_id)", "The tax."
    )


@entity(PROMOTIONS, "Promotion", "Something given under conditions.")
class PromotionObject:
    """A row of `promotions`."""

    id: Ident = column("public_id", "The UUID.")
    number: BigInt = column("id", "The legacy number (`promotion_id`).", internal=True)
    name: str = column(description="The name.")
    description: str = column(description="The description.")
    zone: str = column(
        description="`cart` looks at a whole order, `catalog` at the price of each product in it."
    )
    conditions: Json = column(description="What it asks, as it was written (see docs/promotions.md).")
    bonuses: Json = column(description="What it gives, as it was written (see docs/promotions.md).")
    coupon_code: str = column(description="The code it asks for, compared without case; empty for none.")
    usage_limit: BigInt = column(description="How many orders may use it, 0 for any number.")
    used: BigInt = column(description="How many orders use it.")
    from_at: Time | None = column(description="When it begins.")
    to_at: Time | None = column(description="When it ends.")
    priority: int = column(description="The lowest come first.")
    stop: bool = column(description="Whether it keeps later ones of its zone out.")
    status: SwitchStatus = column(description="The status letter.")
    created_at: Time = column(description="When it was made.")
    updated_at: Time = column(description="When it was last changed.")
    from_unix: BigInt = column(
        "coalesce(floor(extract(epoch from t.from_at))::bigint, 0)",
        "Unix seconds of its beginning, 0 for none.",
        internal=True,
    )
    to_unix: BigInt = column(
        "coalesce(floor(extract(epoch from t.to_at))::bigint, 0)",
        "Unix seconds of its end, 0 for none.",
        internal=True,
    )
