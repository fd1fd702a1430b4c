"""Define what is given by those who apply for a place in the marketplace."""

from __future__ import annotations

import strawberry

from schema.inputs.given import given_field


@strawberry.input(description="An application. `company`, `email` and `password` are needed.")
class VendorSignupInput:
    """Fields of a vendor and of its first user."""

    company: str | None = given_field("The trade name.")
    email: str | None = given_field("The e-mail address, of the company and to sign in with.")
    password: str | None = given_field("8 to 128 characters.")
    phone: str | None = given_field("The phone number.")
    cnpj: str | None = given_field("The CNPJ.")
    firstname: str | None = given_field("The first name of who applies.")
    lastname: str | None = given_field("The last name of who applies.")
