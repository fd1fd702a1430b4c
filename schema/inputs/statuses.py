"""Define the inputs of order and shipment statuses."""

from __future__ import annotations

from schema.enums import InventoryEffect, StatusType
from schema.inputs.optional_fields import input_type, optional_field


@input_type
class StatusParamsInput:
    """The parameters of a status."""

    inventory: InventoryEffect | None = optional_field(
        "The stock rule, for orders only: `D` orders in this status reserve stock, `I` they release it.",
        text_internally=True,
    )
    notify: bool | None = optional_field("Whether a status change notifies the customer.")


@input_type
class StatusInput:
    """An order or shipment status. `description` is required on creation."""

    letter: str | None = optional_field("The status code, an unused capital letter; defaults to the first unused one.")
    type: StatusType | None = optional_field("What it belongs to.", text_internally=True)
    description: str | None = optional_field("The display name.")
    color: str | None = optional_field("The display colour, such as `#1f7ae0`.")
    position: int | None = optional_field("The sort position.")
    params: StatusParamsInput | None = optional_field("The parameters of the status.")
