"""Define order and shipment statuses."""

from __future__ import annotations

from domain.orders.read import STATUSES
from schema.enums import InventoryEffect, StatusType
from schema.fields import column, embedded, entity_type, object_type
from schema.inputs import input_type, optional_field


@object_type("StatusParams")
class StatusParamsObject:
    """What a status does."""

    inventory: InventoryEffect | None = column(
        "inventory", "The stock rule: `D` orders in this status reserve stock, `I` they release it; null for shipments."
    )
    notify: bool = column("notify", "Whether a status change notifies the customer.")


@entity_type(STATUSES, "Status", key="status_id", times="created_at updated_at")
class StatusObject:
    """An order or shipment status."""

    letter: str = column(description="The one-letter status code.")
    type: StatusType = column(description="What it belongs to.")
    description: str = column(description="The display name.")
    is_built_in: bool = column("built_in", "Whether the status is built in and can't be deleted.")
    color: str = column(description="The display colour, such as `#1f7ae0`.")
    position: int = column(description="The sort position.")
    params: StatusParamsObject = embedded("What the status does.")


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
