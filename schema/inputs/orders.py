"""Define what is given to place and change orders."""

from __future__ import annotations

import strawberry

from schema.inputs.given import given_field
from schema.inputs.pricing import ShippingRateInput
from schema.scalars import BigInt, Ident, Json, OrderStatus, ShipmentStatus, SwitchStatus, Time


@strawberry.input(description="Where an order is billed or shipped.")
class AddressInput:
    """Fields of an address."""

    firstname: str | None = given_field("The first name.")
    lastname: str | None = given_field("The last name.")
    street: str | None = given_field("The street.")
    number: str | None = given_field("The number in the street.")
    complement: str | None = given_field("Flat, floor, ….")
    district: str | None = given_field("The district (bairro).")
    city: str | None = given_field("The city.")
    state: str | None = given_field("The state, two letters.")
    country: str | None = given_field("The country, ISO 3166 code of two letters.")
    zipcode: str | None = given_field("The CEP.")
    phone: str | None = given_field("The phone number.")


@strawberry.input(description="Some units of a product.")
class OrderItemInput:
    """One line."""

    product_id: Ident = strawberry.field(description="The product.")
    quantity: BigInt = strawberry.field(description="How many units, 1 or more.")
    price_cents: BigInt | None = given_field("The price of a unit in cents; only administrators may set it.")
    options: Json | None = given_field(
        "What is chosen of the product: an object of option id to variant id, or to a text where the option takes one."
    )
    extra: Json | None = given_field("What the seller notes on the line.", internal=True)


@strawberry.input(description="An order. Creation needs `items` and either `customer_id` or `email`.")
class OrderInput:
    """Fields of an order."""

    customer_id: Ident | None = given_field("The account that buys.")
    email: str | None = given_field("The buyer's e-mail; enough for a guest.")
    firstname: str | None = given_field("The buyer's first name.")
    lastname: str | None = given_field("The buyer's last name.")
    phone: str | None = given_field("The buyer's phone.")
    items: list[OrderItemInput] | None = given_field(
        "What is bought. On an update: all lines, while the order is `O` or `B`."
    )
    payment_method_id: Ident | None = given_field("How it is paid.")
    shipping_method_id: Ident | None = given_field("How it travels.")
    billing_address: AddressInput | None = given_field("Where it is billed.")
    shipping_address: AddressInput | None = given_field("Where it is shipped.")
    status: OrderStatus | None = given_field("The status letter.")
    coupon_code: str | None = given_field("The coupon it is placed with; on an update it is ignored.")
    notes: str | None = given_field("What the buyer writes.")
    details: str | None = given_field("What the staff writes.")
    tracking_code: str | None = given_field("The carrier's code.")
    ip_address: str | None = given_field("The address it was placed from.", internal=True)
    fields: Json | None = given_field("Fiscal data and the like.", internal=True)


@strawberry.input(description="The data of an order's fiscal note (nota fiscal). Null takes a field away.")
class FiscalDataInput:
    """Fields of a fiscal note."""

    link_nota: str | None = given_field("The address of the note's page.")
    codigo_pedido_erp: str | None = given_field("What the ERP calls the order.")
    chave_nota: str | None = given_field("The access key, 44 digits; spaces are dropped.")
    xml_nota: str | None = given_field("The note's XML, or its address.")
    pdf_nota: str | None = given_field("The address of the note's PDF.")
    nota_fiscal: str | None = given_field("The note's number.")
    base64_xml: str | None = given_field("The note's XML in base64.")


@strawberry.input(description="Units of an order line that a parcel holds.")
class ShipmentLineInput:
    """One line of a parcel."""

    line_id: Ident = strawberry.field(description="The order line.")
    quantity: BigInt = strawberry.field(description="How many units.")


@strawberry.input(
    description="A parcel. Creation needs `order_id`; without `lines` it holds everything not yet shipped."
)
class ShipmentInput:
    """Fields of a shipment."""

    order_id: Ident | None = given_field("The order.")
    lines: list[ShipmentLineInput] | None = given_field("What it holds.")
    shipping_method_id: Ident | None = given_field("The shipping method.")
    shipping_name: str | None = given_field("The name of the shipping method.")
    carrier: str | None = given_field("Who carries it.")
    tracking_number: str | None = given_field("The carrier's code.")
    comments: str | None = given_field("Remarks.")
    status: ShipmentStatus | None = given_field("The status letter.")
    user_id: Ident | None = given_field("Who it goes to; the order's buyer unless given.")
    group_key: str | None = given_field("The part of the order it is of.")
    order_status: OrderStatus | None = given_field("The status the order is taken to.")
    order_placed_at: Time | None = given_field(
        "When the order was placed, as the carrier was told.", internal=True
    )


@strawberry.input(description="A way to pay. Creation needs `name`.")
class PaymentMethodInput:
    """Fields of a payment method."""

    name: str | None = given_field("The name shown to buyers.")
    description: str | None = given_field("The description shown to buyers.")
    instructions: str | None = given_field("What the buyer is told after ordering.")
    processor: str | None = given_field("Who takes the money: a word of at most 64 characters.")
    processor_params: Json | None = given_field(
        "The processor's settings, stored encrypted; `****` leaves a secret as it is."
    )
    surcharge_cents: BigInt | None = given_field("What is added to an order, in cents.")
    surcharge_percent: BigInt | None = given_field("What is added to an order, in hundredths of a percent.")
    settles_at_once: bool | None = given_field("Whether an order is paid as it is placed.")
    hold_minutes: int | None = given_field("How long a checkout waits for the payment, 0 for ever.")
    tax_ids: list[Ident] | None = given_field("The taxes that lie on its surcharge.")
    vendor_id: Ident | None = given_field("The vendor it belongs to.")
    status: SwitchStatus | None = given_field("The status letter.")
    position: int | None = given_field("The place in the list.")


@strawberry.input(description="A way to deliver. Creation needs `name`.")
class ShippingMethodInput:
    """Fields of a shipping method."""

    name: str | None = given_field("The name shown to buyers.")
    description: str | None = given_field("The description.")
    delivery_time: str | None = given_field("How long it takes, as text.")
    rate_calculation: str | None = given_field("`M` manual, `R` realtime.")
    min_weight_grams: BigInt | None = given_field("The lightest order it takes, in grams.")
    max_weight_grams: BigInt | None = given_field("The heaviest order it takes, in grams, 0 for any.")
    base_cents: BigInt | None = given_field("The price of a shipment in cents, before weight and items.")
    per_kg_cents: BigInt | None = given_field("What each kilogram adds, in cents.")
    per_item_cents: BigInt | None = given_field("What each item adds, in cents.")
    free_from_cents: BigInt | None = given_field("The order subtotal from which it is free, in cents.")
    rates: list[ShippingRateInput] | None = given_field(
        "All its rates at destinations. With any it serves these destinations only, and charges theirs."
    )
    tax_ids: list[Ident] | None = given_field("The taxes that lie on its price.")
    service: Json | None = given_field("What a realtime calculator needs to know: any object.")
    vendor_id: Ident | None = given_field("The vendor it belongs to.")
    status: SwitchStatus | None = given_field("The status letter.")
    position: int | None = given_field("The place in the list.")
