"""Define the inputs of carts and the checkout."""

from __future__ import annotations

import strawberry

from schema.inputs.optional_fields import optional_field
from schema.scalars import ID, JSON, BigInt


@strawberry.input(description="A cart line.")
class CartItemInput:
    """Fields of a cart line."""

    product_id: ID | None = optional_field("The product ID (UUID).")
    quantity: BigInt | None = optional_field("The number of units, 1 or more.")
    options: JSON | None = optional_field("The chosen options: an object of option ID to variant ID or text.")


@strawberry.input(description="A new cart. All fields are optional.")
class CartInput:
    """Fields of a new cart."""

    items: list[CartItemInput] | None = optional_field("The cart lines.")
    customer_email: str | None = optional_field("The customer's e-mail address.")


@strawberry.input(description="A saved address. `zipcode` is required on creation.")
class SavedAddressInput:
    """Fields of an address."""

    name: str | None = optional_field("The recipient's name.")
    street: str | None = optional_field("The street.")
    number: str | None = optional_field("The street number.")
    complement: str | None = optional_field("Apartment, floor, etc.")
    district: str | None = optional_field("The district (bairro).")
    city: str | None = optional_field("The city.")
    state: str | None = optional_field("The state: its code, or the name of a state of Brazil.")
    zipcode: str | None = optional_field("The CEP.")
    country: str | None = optional_field("The country code, ISO 3166 alpha-2; defaults to `BR`.")
    phone: str | None = optional_field("The phone number.")


@strawberry.input(description="The complete shipping address of a cart. `zipcode` is required.")
class CartAddressInput(SavedAddressInput):
    """Fields of an address."""


@strawberry.input(description="The customer and payment method of a checkout.")
class CartCheckoutInput:
    """Fields of a checkout."""

    customer_id: ID | None = optional_field(
        "The customer's account; requires the customer's own token unless the key is a server-side key."
    )
    customer_email: str | None = optional_field("The customer's e-mail address; sufficient for a guest customer.")
    customer_name: str | None = optional_field("The customer's name.")
    payment_id: ID | None = optional_field("The payment method; required unless the total is 0.")
    notes: str | None = optional_field("The customer's notes.")
