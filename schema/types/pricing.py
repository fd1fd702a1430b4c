"""Define destinations, shipping rates, taxes and promotions."""

from __future__ import annotations

from domain.destinations.read import DESTINATION_ZIPCODES, DESTINATIONS
from domain.orders.read import ORDER_TAXES
from domain.promotions.read import PROMOTIONS
from domain.shipping.read import SHIPPING_RATES
from domain.taxes.read import TAX_RATE_TYPES, TAXES
from models.queries import ToMany, ToOne
from schema.enums import PromotionZone, SwitchStatus, TaxAddressType, TaxRateType
from schema.fields import column, computed, entity_type, referenced, relation
from schema.scalars import ID, JSON, BigInt, DateTime

_RATE_VALUE = "The rate in thousandths: of a percent (`P`), or of the currency unit (`F`)."


@entity_type(DESTINATION_ZIPCODES, "ZipcodeRange")
class ZipcodeRangeObject:
    """A range of CEPs, both ends included."""

    zipcode_from: str = column(description="The first CEP, eight digits.")
    zipcode_to: str = column(description="The last CEP, eight digits.")


@entity_type(
    DESTINATIONS,
    "Destination",
    "A geographic zone for shipping rates and taxes. An address must match every non-empty list; it belongs to the most"
    " specific matching destination.",
)
class DestinationObject:
    """A row of `destinations`."""

    id: ID = column("public_id", "The unique ID (UUID).")
    number: BigInt = column("id", "The legacy numeric ID (`destination_id`).", internal=True)
    name: str = column(description="The name.")
    status: SwitchStatus = column(description="The status code.")
    countries: list[str] = column(description="Country codes, ISO 3166 alpha-2.")
    states: list[str] = column(description="State codes, two letters.")
    cities: list[str] = column(description="City names, compared without case and accents.")
    zipcodes: list[ZipcodeRangeObject] = relation(ToMany("t.destination_id", "t.zipcode_from, t.id"), "CEP ranges.")
    created_at: DateTime = column(description="When the record was created.")
    updated_at: DateTime = column(description="When the record was last updated.")


@entity_type(SHIPPING_RATES, "ShippingRate")
class ShippingRateObject:
    """The price of a shipping method at a destination."""

    destination_number: BigInt = column("destination_id", "The legacy numeric ID of the destination.", internal=True)
    base_cents: BigInt = column(description="The base price of a shipment, in cents.")
    per_kg_cents: BigInt = column(description="The price per kilogram, in cents.")
    per_item_cents: BigInt = column(description="The price per item, in cents.")
    max_weight_grams: BigInt = column(
        description="The maximum order weight at the destination, in grams; 0 for no limit."
    )
    destination: DestinationObject | None = relation(ToOne("destination_id"), "The destination.")


@entity_type(TAX_RATE_TYPES, "TaxRate")
class TaxRateObject:
    """The rate of a tax at a destination."""

    destination_number: BigInt = column("destination_id", "The legacy numeric ID of the destination.", internal=True)
    rate_type: TaxRateType = column(description="The type of the rate.")
    rate_value: BigInt = column(description=_RATE_VALUE)
    destination: DestinationObject | None = relation(ToOne("destination_id"), "The destination.")


@entity_type(TAXES, "Tax")
class TaxObject:
    """A tax applied to products, shipping methods or payment surcharges."""

    id: ID = column("public_id", "The unique ID (UUID).")
    number: BigInt = column("id", "The legacy numeric ID (`tax_id`).", internal=True)
    name: str = column(description="The name.")
    regnumber: str = column(description="The store's tax registration number.")
    address_type: TaxAddressType = column(description="The address that determines the rate.")
    rate_type: TaxRateType = column(description="The type of the rate.")
    rate_value: BigInt = column(description=f"{_RATE_VALUE} Applies to destinations without a rate of their own.")
    price_includes_tax: bool = column(description="Whether prices already include the tax; otherwise it is added.")
    priority: int = column(
        description="The priority; lower values are applied first, and their amounts are taxed by later ones."
    )
    status: SwitchStatus = column(description="The status code.")
    rates: list[TaxRateObject] = relation(ToMany("t.tax_id", "t.destination_id, t.id"), "The rates by destination.")
    created_at: DateTime = column(description="When the record was created.")
    updated_at: DateTime = column(description="When the record was last updated.")


@entity_type(ORDER_TAXES, "OrderTax")
class OrderTaxObject:
    """A tax of an order at the time it was placed."""

    name: str = column(description="The name of the tax.")
    rate_type: TaxRateType = column(description="The type of the rate.")
    rate_value: BigInt = column(description=_RATE_VALUE)
    included: bool = column(
        description="Whether the prices already included the tax; otherwise it is part of `tax_cents`."
    )
    amount_cents: BigInt = column(description="The amount, in cents.")
    tax_id: ID | None = column(referenced("taxes", "tax_id"), "The tax.")
    tax: TaxObject | None = relation(ToOne("tax_id"), "The tax in its current state.")
    tax_number: BigInt = column("coalesce(t.tax_id, 0)", "The legacy numeric ID of the tax, or 0.", internal=True)


@entity_type(PROMOTIONS, "Promotion")
class PromotionObject:
    """A promotion: discounts or gifts under conditions."""

    id: ID = column("public_id", "The unique ID (UUID).")
    number: BigInt = column("id", "The legacy numeric ID (`promotion_id`).", internal=True)
    name: str = column(description="The name.")
    description: str = column(description="The description.")
    zone: PromotionZone = column(description="What the promotion applies to.")
    conditions: JSON = column(description="The conditions (see docs/promotions.md).")
    bonuses: JSON = column(description="The bonuses (see docs/promotions.md).")
    coupon_code: str = column(description="The required coupon code, case-insensitive; empty if none.")
    usage_limit: BigInt = column(description="The maximum number of orders that may use the promotion; 0 for no limit.")
    used: BigInt = column(description="The number of orders that use the promotion.")
    from_at: DateTime | None = column(description="When the promotion starts.")
    to_at: DateTime | None = column(description="When the promotion ends.")
    priority: int = column(description="The priority; lower values are applied first.")
    stop: bool = column(description="Whether later promotions of the same zone are skipped once this one applies.")
    status: SwitchStatus = column(description="The status code.")
    created_at: DateTime = column(description="When the record was created.")
    updated_at: DateTime = column(description="When the record was last updated.")
    from_unix: BigInt = computed(
        "coalesce(floor(extract(epoch from t.from_at))::bigint, 0)",
        "When the promotion starts, in Unix seconds; 0 if not set.",
        internal=True,
    )
    to_unix: BigInt = computed(
        "coalesce(floor(extract(epoch from t.to_at))::bigint, 0)",
        "When the promotion ends, in Unix seconds; 0 if not set.",
        internal=True,
    )
