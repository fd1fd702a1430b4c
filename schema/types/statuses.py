"""Define the statuses of orders and parcels."""

from __future__ import annotations

from domain.orders.read import STATUSES
from schema.fields import column, embedded, entity, part
from schema.scalars import BigInt, Ident, Time


@part("StatusParams", "What a status does.")
class StatusParamsObject:
    """Columns of the status."""

    inventory: str | None = column(
        "inventory", "`D` an order with the letter holds its stock, `I` it gives it back; null for parcels."
    )
    notify: bool = column("notify", "Whether people are told of the change.")


@entity(STATUSES, "Status", "A status of orders or parcels, as people know it.")
class StatusObject:
    """A row of `statuses`."""

    id: Ident = column("public_id", "The UUID.")
    number: BigInt = column("id", "The legacy number (`status_id`).", internal=True)
    letter: str = column(description="The letter.")
    type: str = column(description="`O` of orders, `S` of parcels.")
    description: str = column(description="What it is called.")
    is_built_in: bool = column("built_in", "Whether every store has it; it can't be deleted.")
    color: str = column(description="Its colour, such as `#1f7ae0`.")
    position: int = column(description="Its place among the others.")
    params: StatusParamsObject = embedded("What it does.")
    created_at: Time = column(description="When it was made.")
    updated_at: Time = column(description="When it was last changed.")
