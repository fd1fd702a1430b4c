"""Define the inputs of orders, shipments, payment methods and shipping methods."""

from __future__ import annotations

import strawberry

from schema.enums import RateCalculation, SwitchStatus
from schema.inputs.optional_fields import input_type, optional_field
from schema.inputs.pricing import ShippingRateInput
from schema.scalars import ID, JSON, BigInt, DateTime, OrderStatus, ShipmentStatus


@input_type
class AddressInput:
    """A billing or shipping address."""

    firstname: str | None = optional_field("The first name.")
    lastname: str | None = optional_field("The last name.")
    street: str | None = optional_field("The street.")
    number: str | None = optional_field("The street number.")
    complement: str | None = optional_field("Apartment, floor, etc.")
    district: str | None = optional_field("The district (bairro).")
    city: str | None = optional_field("The city.")
    state: str | None = optional_field("The state: its code, or the name of a state of Brazil.")
    country: str | None = optional_field("The country code, ISO 3166 alpha-2.")
    zipcode: str | None = optional_field("The CEP.")
    phone: str | None = optional_field("The phone number.")


@input_type
class OrderItemInput:
    """An order line."""

    product_id: ID = strawberry.field(description="The product.")
    quantity: BigInt = strawberry.field(description="The number of units, 1 or more.")
    price_cents: BigInt | None = optional_field("The unit price, in cents; only administrators may set it.")
    options: JSON | None = optional_field(
        "The chosen options: an object of option ID to variant ID, or to a text for free-text options."
    )
    extra: JSON | None = optional_field("Vendor notes on the line.", internal=True)


@input_type
class OrderInput:
    """An order. `items` and either `customer_id` or `email` are required on creation."""

    customer_id: ID | None = optional_field("The customer's account.")
    email: str | None = optional_field("The customer's e-mail address; sufficient for a guest customer.")
    firstname: str | None = optional_field("The customer's first name.")
    lastname: str | None = optional_field("The customer's last name.")
    phone: str | None = optional_field("The customer's phone number.")
    items: list[OrderItemInput] | None = optional_field(
        "The order lines. On update they replace all lines, while the order status is `O` or `B`."
    )
    payment_method_id: ID | None = optional_field("The payment method.")
    shipping_method_id: ID | None = optional_field("The shipping method.")
    billing_address: AddressInput | None = optional_field("The billing address.")
    shipping_address: AddressInput | None = optional_field("The shipping address.")
    status: OrderStatus | None = optional_field("The status code.")
    coupon_code: str | None = optional_field("The coupon code; ignored on update.")
    points_to_use: int | None = optional_field(
        "The customer's reward points to be spent, at most as many as the order needs; ignored on update."
    )
    notes: str | None = optional_field("The customer's notes.")
    details: str | None = optional_field("Internal staff notes.")
    tracking_code: str | None = optional_field("The tracking code.")
    ip_address: str | None = optional_field("The client IP address.", internal=True)
    fields: JSON | None = optional_field("Extra fields such as fiscal data.", internal=True)
    vendor_id: ID | None = optional_field("The vendor that every line of a new order must be of.", internal=True)
    restock: bool | None = optional_field(
        "Whether a cancellation returns the stock of a completed order.", internal=True
    )


@input_type
class FiscalDataInput:
    """The data of an order's invoice (nota fiscal). Null removes a field."""

    link_nota: str | None = optional_field("The URL of the invoice page.")
    codigo_pedido_erp: str | None = optional_field("The order's ID in the ERP.")
    chave_nota: str | None = optional_field("The access key, 44 digits; spaces are removed.")
    xml_nota: str | None = optional_field("The invoice XML, or its URL.")
    pdf_nota: str | None = optional_field("The URL of the invoice PDF.")
    nota_fiscal: str | None = optional_field("The invoice number.")
    base64_xml: str | None = optional_field("The invoice XML in base64.")


@input_type
class ShipmentLineInput:
    """The shipped units of an order line."""

    line_id: ID = strawberry.field(description="The order line.")
    quantity: BigInt = strawberry.field(description="The number of units.")


@input_type
class ShipmentInput:
    """A shipment. `order_id` is required on creation; without `lines` it contains all unshipped units."""

    order_id: ID | None = optional_field("The order.")
    lines: list[ShipmentLineInput] | None = optional_field("The shipment lines.")
    shipping_method_id: ID | None = optional_field("The shipping method.")
    shipping_name: str | None = optional_field("The name of the shipping method.")
    carrier: str | None = optional_field("The carrier.")
    tracking_number: str | None = optional_field("The tracking code.")
    comments: str | None = optional_field("Comments on the shipment.")
    status: ShipmentStatus | None = optional_field("The status code.")
    user_id: ID | None = optional_field("The recipient's account; defaults to the order's customer.")
    group_key: str | None = optional_field("The shipping group of the order.")
    order_status: OrderStatus | None = optional_field("The new status of the order.")
    order_placed_at: DateTime | None = optional_field(
        "When the order was placed, as reported to the carrier.", internal=True
    )


@input_type
class PaymentMethodInput:
    """A payment method. `name` is required on creation."""

    name: str | None = optional_field("The name shown to customers.")
    description: str | None = optional_field("The description shown to customers.")
    instructions: str | None = optional_field("Payment instructions shown to the customer after ordering.")
    processor: str | None = optional_field("The payment processor, an identifier of at most 64 characters.")
    processor_params: JSON | None = optional_field(
        "The processor settings, stored encrypted; `****` leaves a secret unchanged."
    )
    surcharge_cents: BigInt | None = optional_field("The fixed surcharge per order, in cents.")
    surcharge_percent: BigInt | None = optional_field("The percentage surcharge per order, in hundredths of a percent.")
    settles_at_once: bool | None = optional_field("Whether orders are marked as paid when they are placed.")
    hold_minutes: int | None = optional_field(
        "How many minutes stock stays reserved while the payment is pending; 0 for no limit."
    )
    tax_ids: list[ID] | None = optional_field("The taxes applied to the surcharge.")
    vendor_id: ID | None = optional_field("The vendor that owns the record.")
    status: SwitchStatus | None = optional_field("The status code.")
    position: int | None = optional_field("The sort position.")


@input_type
class ShippingMethodInput:
    """A shipping method. `name` is required on creation."""

    name: str | None = optional_field("The name shown to customers.")
    description: str | None = optional_field("The description.")
    delivery_time: str | None = optional_field("The estimated delivery time, as text.")
    rate_calculation: RateCalculation | None = optional_field("How its price is calculated.", text_internally=True)
    min_weight_grams: BigInt | None = optional_field("The minimum order weight, in grams.")
    max_weight_grams: BigInt | None = optional_field("The maximum order weight, in grams; 0 for no limit.")
    base_cents: BigInt | None = optional_field("The base price of a shipment, in cents.")
    per_kg_cents: BigInt | None = optional_field("The price per kilogram, in cents.")
    per_item_cents: BigInt | None = optional_field("The price per item, in cents.")
    free_from_cents: BigInt | None = optional_field("The order subtotal from which shipping is free, in cents.")
    rates: list[ShippingRateInput] | None = optional_field(
        "All rates by destination. A method with rates serves only these destinations, at their rates."
    )
    tax_ids: list[ID] | None = optional_field("The taxes applied to the shipping price.")
    service: JSON | None = optional_field("The settings of a realtime rate calculator, a JSON object.")
    vendor_id: ID | None = optional_field("The vendor that owns the record.")
    status: SwitchStatus | None = optional_field("The status code.")
    position: int | None = optional_field("The sort position.")
