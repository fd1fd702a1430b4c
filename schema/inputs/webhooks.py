"""Define what is given to subscribe to events."""

from __future__ import annotations

import strawberry

from schema.inputs.given import given_field
from schema.scalars import Ident, SwitchStatus


@strawberry.input(description="Where an app is told events. Making one needs `url` and `events`.")
class EventEndpointInput:
    """Fields of an event endpoint."""

    installed_app_id: Ident | None = given_field(
        "The installed app: administrators name it when they make one, apps need not."
    )
    url: str | None = given_field("An https address of the public internet.")
    events: list[str] | None = given_field(
        "Any of `order.created`, `order.updated`, `order.cancelled`, `product.created`, `product.updated`, `product.deleted`,"
        " `user.registered`, `checkout.completed`, `cart.updated`; each needs the scope that reads its subject."
    )
    query: str | None = given_field(
        "A GraphQL selection on the subject of the events (`{ id total_cents }`), run as the app; its result becomes `data`."
    )
    status: SwitchStatus | None = given_field("On or off.")
