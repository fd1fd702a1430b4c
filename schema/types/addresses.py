"""Define saved addresses."""

from __future__ import annotations

from domain.people.addresses import ADDRESSES
from schema.fields import column, entity_type
from schema.inputs import input_type, optional_copies, optional_field
from schema.scalars import ID, DateTime


@entity_type(ADDRESSES, "SavedAddress")
class SavedAddressObject:
    """An address that a user saved."""

    id: ID = column("public_id", "The unique ID (UUID).")
    name: str = column(description="The recipient's name.")
    street: str = column(description="The street.")
    number: str = column(description="The street number.")
    complement: str = column(description="Apartment, floor, etc.")
    district: str = column(description="The district (bairro).")
    city: str = column(description="The city.")
    state: str = column(description="The state as it was sent: its code, or the name of a state of Brazil.")
    zipcode: str = column(description="The CEP, eight digits; outside Brazil the postal code.")
    country: str = column(description="The country code, ISO 3166 alpha-2.")
    phone: str = column(description="The phone number.")
    is_default_shipping: bool = column(description="Whether it is the user's default for shipping.")
    is_default_billing: bool = column(description="Whether it is the user's default for billing.")
    created_at: DateTime = column(description="When the address was saved.")
    updated_at: DateTime = column(description="When the record was last updated.")


@input_type
@optional_copies(SavedAddressObject, "name street number complement district city state zipcode country phone")
class SavedAddressInput:
    """A saved address. `zipcode` is required on creation."""

    state: str | None = optional_field("The state: its code, or the name of a state of Brazil.")
    zipcode: str | None = optional_field("The CEP.")
    country: str | None = optional_field("The country code, ISO 3166 alpha-2; defaults to `BR`.")
