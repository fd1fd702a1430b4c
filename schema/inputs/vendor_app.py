"""Define the input of a vendor registration."""

from __future__ import annotations

from schema.inputs.optional_fields import input_type, optional_field


@input_type
class VendorSignupInput:
    """A vendor registration. `company`, `email` and `password` are required."""

    company: str | None = optional_field("The trade name.")
    email: str | None = optional_field("The e-mail address of the vendor and of its first user.")
    password: str | None = optional_field("The password, 8 to 128 characters.")
    phone: str | None = optional_field("The phone number.")
    cnpj: str | None = optional_field("The CNPJ.")
    firstname: str | None = optional_field("The applicant's first name.")
    lastname: str | None = optional_field("The applicant's last name.")
