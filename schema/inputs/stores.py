"""Define the input of the store."""

from __future__ import annotations

from schema.inputs.optional_fields import input_type, optional_field


@input_type
class StoreInput:
    """Changes to the store."""

    name: str | None = optional_field("The name.")
    currency: str | None = optional_field("The currency of future sales, ISO 4217.")
    maintenance_message: str | None = optional_field(
        "The message shown to customers while the store is in maintenance."
    )
