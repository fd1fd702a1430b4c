"""Define what is given to change the statuses of orders and parcels."""

from __future__ import annotations

import strawberry

from schema.inputs.given import given_field


@strawberry.input(description="What a status does.")
class StatusParamsInput:
    """Parameters of a status."""

    inventory: str | None = given_field(
        "`D` an order with the letter holds its stock, `I` it gives it back; for orders only."
    )
    notify: bool | None = given_field("Whether people are told of the change.")


@strawberry.input(description="A status of orders or parcels. Creation needs `description`.")
class StatusInput:
    """Fields of a status."""

    letter: str | None = given_field("The letter, a capital that is free; the first that is, unless given.")
    type: str | None = given_field("`O` of orders, `S` of parcels.")
    description: str | None = given_field("What it is called.")
    color: str | None = given_field("Its colour, such as `#1f7ae0`.")
    position: int | None = given_field("Its place among the others.")
    params: StatusParamsInput | None = given_field("What it does.")
