"""Define the inputs of carts and the checkout."""

from __future__ import annotations

from schema.inputs.optional_fields import input_type, optional_field
from schema.scalars import ID, JSON, BigInt


@input_type
class CartItemInput:
    """A cart line."""

    product_id: ID | None = optional_field("The product ID (UUID).")
    quantity: BigInt | None = optional_field("The number of units, 1 or more.")
    options: JSON | None = optional_field("The chosen options: an object of option ID to variant ID or text.")


@input_type
class CartInput:
    """A new cart. All fields are optional."""

    items: list[CartItemInput] | None = optional_field("The cart lines.")
    customer_email: str | None = optional_field("The customer's e-mail address.")


@input_type
class SavedAddressInput:
    """A saved address. `zipcode` is required on creation."""

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


@input_type
class CartAddressInput(SavedAddressInput):
    """The complete shipping address of a cart. `zipcode` is required."""


@input_type
class CartCheckoutInput:
    """The customer and payment method of a checkout."""

    customer_id: ID | None = optional_field(
        "The customer's account; requires the customer's own token unless the key is a server-side key."
    )
    customer_email: str | None = optional_field("The customer's e-mail address; sufficient for a guest customer.")
    customer_name: str | None = optional_field("The customer's name.")
    payment_id: ID | None = optional_field("The payment method; required unless the total is 0.")
    notes: str | None = optional_field("The customer's notes.")
