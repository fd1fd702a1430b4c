"""Define destinations, taxes, and the methods of payment and shipping."""

from __future__ import annotations

import strawberry

from auth.access import Access
from domain.destinations.read import DESTINATION_ZIPCODES, DESTINATIONS
from domain.orders.read import (
    ORDER_TAXES,
)
from domain.payments.read import PAYMENT_METHODS
from domain.shipping.read import SHIPPING_METHODS, SHIPPING_RATES
from domain.taxes.read import TAX_RATE_TYPES, TAXES
from models.reading.queries import ToMany, ToOne, many_to_many
from schema.enums import (
    PaymentKind,
    RateCalculation,
    RateSource,
    SwitchStatus,
    TaxAddressType,
    TaxRateType,
)
from schema.fields import column, computed, entity_type, legacy_number, legacy_numbers, referenced, relation
from schema.inputs import input_type, optional_copies, optional_field
from schema.scalars import ID, JSON, BigInt, DateTime, ProcessorParams, RateParams
from schema.types.marketplace import VendorObject
from schema.unset import Unset

_PAYMENT_STAFF = Access(privileges=("view_payments",))
_SHIPPING_STAFF = Access(privileges=("view_shipping",), app_scope="read_shipping")
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


@entity_type(TAXES, "Tax", key="tax_id", times="created_at updated_at")
class TaxObject:
    """A tax applied to products, shipping methods or payment surcharges."""

    name: str = column(description="The name.")
    regnumber: str = column(description="The store's tax registration number.", unset=Unset.LATER)
    address_type: TaxAddressType = column(description="The address that determines the rate.")
    rate_type: TaxRateType = column(description="The type of the rate.")
    rate_value: BigInt = column(description=f"{_RATE_VALUE} Applies to destinations without a rate of their own.")
    price_includes_tax: bool = column(description="Whether prices already include the tax; otherwise it is added.")
    priority: int = column(
        description="The priority; lower values are applied first, and their amounts are taxed by later ones."
    )
    status: SwitchStatus = column(description="The status code.")
    rates: list[TaxRateObject] = relation(ToMany("t.tax_id", "t.destination_id, t.id"), "The rates by destination.")


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


@entity_type(PAYMENT_METHODS, "PaymentMethod", key="payment_id", times="created_at updated_at")
class PaymentMethodObject:
    """A payment method."""

    name: str = column(description="The name shown to customers.")
    description: str = column(description="The description shown to customers.")
    instructions: str = column(description="Payment instructions shown to the customer after ordering.")
    status: SwitchStatus = column(description="The status code.")
    position: int = column(description="The sort position.")
    surcharge_cents: BigInt = column(description="The fixed surcharge per order, in cents.")
    surcharge_percent: BigInt = column(description="The percentage surcharge per order, in hundredths of a percent.")
    processor: str | None = column(
        description="The payment processor: `pix`, `offline` or a gateway.", guard=_PAYMENT_STAFF
    )
    kind: PaymentKind | None = column(
        "nullif(t.kind, '')",
        "The kind of payment that the gateway of the processor takes; null for a method without a gateway.",
    )
    processor_params: ProcessorParams | None = column(
        description="The processor settings with secrets masked as `****`; null if not set.", guard=_PAYMENT_STAFF
    )
    vendor_id: ID | None = column(
        referenced("vendors", "vendor_id"), "The vendor that owns the payment method; null for the store's own."
    )
    vendor: VendorObject | None = relation(
        ToOne("vendor_id"), "The vendor that owns the payment method; null for the store's own."
    )
    vendor_number: BigInt = legacy_number("vendor_id", "the owning vendor")
    tax_numbers: list[BigInt] = legacy_numbers(
        "payment_method_taxes", "payment_method_id", "tax_id", "the applied taxes"
    )
    taxes: list[TaxObject] = relation(
        many_to_many("payment_method_taxes", "payment_method_id", "taxes", "tax_id", "t.priority, t.id"),
        "The taxes applied to the surcharge.",
    )
    settles_at_once: bool | None = column(
        description="Whether orders are marked as paid when they are placed.", guard=_PAYMENT_STAFF
    )
    hold_minutes: int | None = column(
        description="How many minutes stock stays reserved while the payment is pending; 0 for no limit.",
        guard=_PAYMENT_STAFF,
    )


@entity_type(SHIPPING_METHODS, "ShippingMethod", key="shipping_id", times="created_at updated_at")
class ShippingMethodObject:
    """A shipping method."""

    name: str = column(description="The name shown to customers.")
    description: str = column(description="The description.")
    delivery_time: str = column(description="The estimated delivery time, as text.")
    rate_calculation: RateCalculation = column(description="How the price is calculated.")
    min_weight_grams: BigInt = column(description="The minimum order weight, in grams.")
    max_weight_grams: BigInt = column(description="The maximum order weight, in grams; 0 for no limit.")
    base_cents: BigInt = column(description="The base price of a shipment, in cents.")
    per_kg_cents: BigInt = column(description="The price per kilogram, in cents.")
    per_item_cents: BigInt = column(description="The price per item, in cents.")
    free_from_cents: BigInt | None = column(description="The order subtotal from which shipping is free, in cents.")
    rates: list[ShippingRateObject] = relation(
        ToMany("t.shipping_method_id", "t.destination_id, t.id"),
        "The rates by destination; a method with rates serves only these destinations.",
    )
    price_list: JSON = computed(
        "(SELECT coalesce(jsonb_agg(to_jsonb(x) ORDER BY x.destination_id), '[]') FROM ("
        "SELECT 0::bigint AS destination_id, t.base_cents AS base, t.per_kg_cents AS per_kg, t.per_item_cents AS per_item,"
        " 0::bigint AS max_weight WHERE t.base_cents + t.per_kg_cents + t.per_item_cents > 0"
        " UNION ALL SELECT r.destination_id, r.base_cents, r.per_kg_cents, r.per_item_cents, r.max_weight_grams"
        " FROM shipping_rates r WHERE r.tenant_id = t.tenant_id AND r.shipping_method_id = t.id) AS x)",
        "The method's own prices (destination 0), if any, and its rates by the legacy numeric IDs of the destinations.",
        internal=True,
    )
    service: JSON | None = column(
        description="The settings of a realtime rate calculator.",
        guard=_SHIPPING_STAFF,
    )
    rate_source: RateSource | None = column(description="Who names the price.", guard=_SHIPPING_STAFF)
    rate_params: RateParams | None = column(
        description="The parameters of the source of rates, its token masked as `****`; null for the method's own table.",
        guard=_SHIPPING_STAFF,
    )
    vendor_id: ID | None = column(
        referenced("vendors", "vendor_id"), "The vendor that owns the shipping method; null for the store's own."
    )
    vendor: VendorObject | None = relation(
        ToOne("vendor_id"), "The vendor that owns the shipping method; null for the store's own."
    )
    vendor_number: BigInt = legacy_number("vendor_id", "the owning vendor")
    tax_numbers: list[BigInt] = legacy_numbers(
        "shipping_method_taxes", "shipping_method_id", "tax_id", "the applied taxes"
    )
    taxes: list[TaxObject] = relation(
        many_to_many("shipping_method_taxes", "shipping_method_id", "taxes", "tax_id", "t.priority, t.id"),
        "The taxes applied to the shipping price.",
    )
    status: SwitchStatus = column(description="The status code.")
    position: int = column(description="The sort position.")


@input_type
@optional_copies(
    PaymentMethodObject,
    "name description instructions processor kind processor_params surcharge_cents surcharge_percent settles_at_once hold_minutes tax_ids"
    " vendor_id status position",
)
class PaymentMethodInput:
    """A payment method. `name` is required on creation."""

    processor: str | None = optional_field("The payment processor, an identifier of at most 64 characters.")
    processor_params: JSON | None = optional_field(
        "The processor settings, stored encrypted; `****` leaves a secret unchanged."
    )
    settles_at_once: bool | None = optional_field("Whether orders are marked as paid when they are placed.")
    hold_minutes: int | None = optional_field(
        "How many minutes stock stays reserved while the payment is pending; 0 for no limit."
    )
    tax_ids: list[ID] | None = optional_field("The taxes applied to the surcharge.")
    vendor_id: ID | None = optional_field("The vendor that owns the record.")


@input_type
@optional_copies(
    ShippingMethodObject,
    "name description delivery_time rate_calculation min_weight_grams max_weight_grams base_cents per_kg_cents per_item_cents"
    " free_from_cents rates tax_ids service rate_source rate_params vendor_id status position",
)
class ShippingMethodInput:
    """A shipping method. `name` is required on creation."""

    rate_calculation: RateCalculation | None = optional_field("How its price is calculated.", text_internally=True)
    rates: list[ShippingRateInput] | None = optional_field(
        "All rates by destination. A method with rates serves only these destinations, at their rates."
    )
    tax_ids: list[ID] | None = optional_field("The taxes applied to the shipping price.")
    service: JSON | None = optional_field("The settings of a realtime rate calculator, a JSON object.")
    rate_source: RateSource | None = optional_field("Who names the price; `table` by default.", text_internally=True)
    rate_params: JSON | None = optional_field(
        "The parameters of the source of rates, an object: `origin_zipcode` (the sender's CEP), `services` (codes; the cheapest counts, of"
        " all without any), for `app` its client ID `app`, for the others `token` and `address` (of another environment), for"
        " `melhor_envio` `contact_email`. A token `****` keeps the stored one."
    )
    vendor_id: ID | None = optional_field("The vendor that owns the record.")


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
@optional_copies(ShippingRateObject, "destination_id base_cents per_kg_cents per_item_cents max_weight_grams")
class ShippingRateInput:
    """The price of a shipping method at a destination."""

    destination_id: ID | None = optional_field(
        "The destination; omitted for the method's own prices, which apply when it has no rates."
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
