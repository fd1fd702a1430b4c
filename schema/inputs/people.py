"""Define what is given to change people, groups and vendors."""

from __future__ import annotations

import strawberry

from schema.inputs.given import given_field
from schema.scalars import (
    Ident,
    Json,
    MembershipStatus,
    ReviewStatus,
    Role,
    UsergroupStatus,
    UsergroupType,
    UserStatus,
    UserType,
    VendorStatus,
)


@strawberry.input(description="An account. Creation needs `email` and `password`.")
class UserInput:
    """Fields of a user."""

    email: str | None = given_field("The e-mail address, unique in the store.")
    password: str | None = given_field("8 to 128 characters.")
    name: str | None = given_field("First and last name, instead of the two.")
    firstname: str | None = given_field("The first name.")
    lastname: str | None = given_field("The last name.")
    role: Role | None = given_field("`admin`, `vendor` or `customer`.")
    user_type: UserType | None = given_field("The role as a letter.", internal=True)
    status: UserStatus | None = given_field("The status letter.")
    phone: str | None = given_field("The phone number.")
    cpf: str | None = given_field("The CPF.")
    cnpj: str | None = given_field("The CNPJ.")
    vendor_id: Ident | None = given_field("The vendor a vendor user works for.")
    company_name: str | None = given_field("The company the person buys for.")


@strawberry.input(description="A new shopper. `email`, `password` and `name` are needed.")
class RegistrationInput:
    """Fields of a registration."""

    email: str | None = given_field("The e-mail address.")
    password: str | None = given_field("8 to 128 characters.")
    name: str | None = given_field("First and last name.")
    cpf: str | None = given_field("The CPF.")
    cnpj: str | None = given_field("The CNPJ.")
    phone: str | None = given_field("The phone number.")


@strawberry.input(description="A group of users. Creation needs `name`.")
class UsergroupInput:
    """Fields of a usergroup."""

    name: str | None = given_field("The name.")
    type: UsergroupType | None = given_field("`A` for administrators, `C` for customers.")
    status: UsergroupStatus | None = given_field("The status letter.")
    privileges: list[str] | None = given_field("What its members may do; only what the caller may do.")


@strawberry.input(description="A user's place in a group.")
class MembershipInput:
    """Fields of a membership."""

    status: MembershipStatus = strawberry.field(description="The status letter.")


@strawberry.input(description="A seller. Creation needs `name` and `email`.")
class VendorInput:
    """Fields of a vendor."""

    name: str | None = given_field("The trade name.")
    email: str | None = given_field("The e-mail address.")
    status: VendorStatus | None = given_field("The status letter.")
    phone: str | None = given_field("The phone number.")
    address: str | None = given_field("Street and number.")
    city: str | None = given_field("The city.")
    state: str | None = given_field("The state, two letters.")
    country: str | None = given_field("The country, ISO 3166 code of two letters.")
    zipcode: str | None = given_field("The CEP.")
    cnpj: str | None = given_field("The CNPJ.")
    url: str | None = given_field("The vendor's own site.")
    commission: str | None = given_field("What the marketplace keeps, a decimal string.")
    commission_type: str | None = given_field("`A` an amount, `P` a percentage.")
    shippings: Json | None = given_field("Which shipping methods it uses and how, an object.")


@strawberry.input(
    description="A review. Creation needs `product_id`, or `object_type` and `object_id` (the store itself, `E`, has no id)."
)
class ReviewInput:
    """Fields of a review."""

    product_id: Ident | None = given_field("The product.")
    object_type: str | None = given_field(
        "What else it is about: `P` a product, `C` a category, `A` a page, `O` an order, `E` the store."
    )
    object_id: Ident | None = given_field("The record of that type.")
    thread_id: Ident | None = given_field("The thread it goes into.", internal=True)
    type: str | None = given_field(
        "What a new thread holds: `C` comments, `R` ratings, `B` both.", internal=True
    )
    ip_address: str | None = given_field("The address it was sent from.", internal=True)
    name: str | None = given_field("Who writes, as shown.")
    message: str | None = given_field("The text.")
    rating: int | None = given_field("1 to 5 stars.")
    status: ReviewStatus | None = given_field("The status letter.")
    customer_id: Ident | None = given_field("The account it is written with.")
