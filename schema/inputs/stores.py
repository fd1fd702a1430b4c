"""Define what is given to change the store."""

from __future__ import annotations

import strawberry

from schema.inputs.given import given_field


@strawberry.input(description="The store.")
class StoreInput:
    """Fields of the store."""

    name: str | None = given_field("The name.")
    currency: str | None = given_field("The currency of what is sold from now on, ISO 4217.")
    maintenance_message: str | None = given_field("What shoppers read while the store is in maintenance.")
