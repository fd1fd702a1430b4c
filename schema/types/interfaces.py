"""Define the interfaces of types that have the same fields from other sources; `OrderRecord` is in `schema.types.order_records`."""

from __future__ import annotations

from typing import Any

from schema.fields import interface_type, output_field
from schema.scalars import ID

RECORD_TYPE = "=type"
"""The key of a row that `node` returns: the name of its type."""


@interface_type("Node")
class NodeObject:
    """A record that `node(id)` returns: each type with a root field for one record by its ID."""

    id: ID = output_field("The unique ID (UUID).")

    @classmethod
    def resolve_type(cls, row: Any, *_: Any) -> str:
        """Return the type of a row that `node` returns."""
        name: str = row[RECORD_TYPE]
        return name


@interface_type("Address")
class AddressObject:
    """A postal address: of a cart, an order or an account."""

    name: str = output_field("The recipient's name.")
    street: str = output_field("The street.")
    number: str = output_field("The street number.")
    complement: str = output_field("Apartment, floor, etc.")
    district: str = output_field("The district (bairro).")
    city: str = output_field("The city.")
    state: str = output_field("The state as it was sent: its code, or the name of a state of Brazil.")
    zipcode: str = output_field("The CEP.")
    country: str = output_field("The country code, ISO 3166 alpha-2.")
    phone: str = output_field("The phone number.")
