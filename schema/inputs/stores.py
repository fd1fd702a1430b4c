"""Define the input of the store."""

from __future__ import annotations

import strawberry

from schema.inputs.optional_fields import optional_field


@strawberry.input(description="Changes to the store.")
class StoreInput:
    """Fields of the store."""

    name: str | None = optional_field("The name.")
    currency: str | None = optional_field("The currency of future sales, ISO 4217.")
    maintenance_message: str | None = optional_field(
        "The message shown to customers while the store is in maintenance."
    )
