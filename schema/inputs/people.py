"""Define the inputs of users, usergroups, vendors and reviews."""

from __future__ import annotations

from schema.enums import (
    CommissionType,
    DiscussionObjectType,
    ReviewStatus,
    Role,
    UsergroupStatus,
    UsergroupType,
    UserStatus,
    UserType,
    VendorStatus,
)
from schema.inputs.optional_fields import input_type, optional_field
from schema.scalars import ID, JSON


@input_type
class UserInput:
    """A user account. `email` and `password` are required on creation."""

    email: str | None = optional_field("The e-mail address, unique in the store.")
    password: str | None = optional_field("The password, 8 to 128 characters.")
    name: str | None = optional_field("The full name, instead of `firstname` and `lastname`.")
    firstname: str | None = optional_field("The first name.")
    lastname: str | None = optional_field("The last name.")
    role: Role | None = optional_field("`admin`, `vendor` or `customer`.")
    user_type: UserType | None = optional_field("The role as a one-letter code.", internal=True)
    status: UserStatus | None = optional_field("The status code.")
    phone: str | None = optional_field("The phone number.")
    cpf: str | None = optional_field("The CPF.")
    cnpj: str | None = optional_field("The CNPJ.")
    vendor_id: ID | None = optional_field("The vendor a vendor user belongs to.")
    company_name: str | None = optional_field("The company the customer buys for.")
    points: int | None = optional_field("The reward points; the difference becomes an entry of the ledger.")


@input_type
class RegistrationInput:
    """A customer registration. `email`, `password` and `name` are required."""

    email: str | None = optional_field("The e-mail address.")
    password: str | None = optional_field("The password, 8 to 128 characters.")
    name: str | None = optional_field("The full name.")
    cpf: str | None = optional_field("The CPF.")
    cnpj: str | None = optional_field("The CNPJ.")
    phone: str | None = optional_field("The phone number.")


@input_type
class UsergroupInput:
    """A usergroup. `name` is required on creation."""

    name: str | None = optional_field("The name.")
    type: UsergroupType | None = optional_field("`A` for administrators, `C` for customers.")
    status: UsergroupStatus | None = optional_field("The status code.")
    privileges: list[str] | None = optional_field(
        "The privileges granted to members; limited to the caller's own privileges."
    )


@input_type
class VendorInput:
    """A vendor. `name` and `email` are required on creation."""

    name: str | None = optional_field("The trade name.")
    slug: str | None = optional_field("The URL slug; derived from the name if empty, a taken one gets a suffix.")
    email: str | None = optional_field("The e-mail address.")
    status: VendorStatus | None = optional_field("The status code.")
    phone: str | None = optional_field("The phone number.")
    address: str | None = optional_field("Street and number.")
    city: str | None = optional_field("The city.")
    state: str | None = optional_field("The state code, two letters.")
    country: str | None = optional_field("The country code, ISO 3166 alpha-2.")
    zipcode: str | None = optional_field("The CEP.")
    cnpj: str | None = optional_field("The CNPJ.")
    url: str | None = optional_field("The URL of the vendor's website.")
    commission: str | None = optional_field("The marketplace commission, a decimal string.")
    commission_type: CommissionType | None = optional_field(
        "Whether the commission is a fixed amount or a percentage.", text_internally=True
    )
    shippings: JSON | None = optional_field("The vendor's shipping method settings, a JSON object.")


@input_type
class ReviewInput:
    """A review. `product_id`, or `object_type` and `object_id`, are required on creation (the store itself, `E`, has no ID)."""

    product_id: ID | None = optional_field("The product.")
    object_type: DiscussionObjectType | None = optional_field(
        "The type of the reviewed object; `E` is the store.", text_internally=True
    )
    object_id: ID | None = optional_field("The reviewed object.")
    thread_id: ID | None = optional_field("The discussion thread.", internal=True)
    type: str | None = optional_field("The type of a new thread: `C` comments, `R` ratings, `B` both.", internal=True)
    ip_address: str | None = optional_field("The client IP address.", internal=True)
    name: str | None = optional_field("The author's name as displayed.")
    message: str | None = optional_field("The text.")
    rating: int | None = optional_field("The rating, 1 to 5 stars.")
    status: ReviewStatus | None = optional_field("The status code.")
    customer_id: ID | None = optional_field("The author's account.")
