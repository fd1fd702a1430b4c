"""Define what is given to put carts together and to order them."""

from __future__ import annotations

import strawberry

from schema.inputs.given import given_field
from schema.scalars import BigInt, Ident, Json


@strawberry.input(description="Some units of a product for a cart.")
class CartItemInput:
    """An item."""

    product_id: Ident | None = given_field("The product's UUID.")
    quantity: BigInt | None = given_field("How many units, 1 or more.")
    options: Json | None = given_field(
        "What is chosen of the product: an object of option id to variant id, or to a text."
    )


@strawberry.input(description="A cart. Everything may be left out.")
class CartInput:
    """Fields of a new cart."""

    items: list[CartItemInput] | None = given_field("What is in it.")
    customer_email: str | None = given_field("Whose it is.")


@strawberry.input(description="Where a cart goes; the whole address, of which `zipcode` must be there.")
class CartAddressInput:
    """Fields of an address."""

    name: str | None = given_field("Who receives it.")
    street: str | None = given_field("The street.")
    number: str | None = given_field("The number in the street.")
    complement: str | None = given_field("Flat, floor, ….")
    district: str | None = given_field("The district (bairro).")
    city: str | None = given_field("The city.")
    state: str | None = given_field("The state, two letters.")
    zipcode: str | None = given_field("The CEP.")
    country: str | None = given_field("The country, ISO 3166 code of two letters; `BR` unless said.")
    phone: str | None = given_field("The phone number.")


@strawberry.input(description="Who orders a cart, and how it is paid.")
class CartCheckoutInput:
    """Fields of a checkout."""

    customer_id: Ident | None = given_field(
        "The account that buys; its own token must come along, unless the key is kept on a server."
    )
    customer_email: str | None = given_field("The buyer's e-mail; enough for a guest.")
    customer_name: str | None = given_field("The buyer's name.")
    payment_id: Ident | None = given_field("The way to pay; needed unless nothing is to be paid.")
    notes: str | None = given_field("What the buyer writes.")
