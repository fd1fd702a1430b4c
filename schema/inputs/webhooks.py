"""Define the input of webhook endpoints."""

from __future__ import annotations

from schema.enums import SwitchStatus
from schema.inputs.optional_fields import input_type, optional_field
from schema.scalars import ID


@input_type
class EventEndpointInput:
    """A webhook endpoint. `url` and `events` are required on creation."""

    installed_app_id: ID | None = optional_field(
        "The installed app; required on creation by an administrator, optional for the app itself."
    )
    url: str | None = optional_field("The https URL events are posted to; must be publicly reachable.")
    events: list[str] | None = optional_field(
        "Any of `order.created`, `order.updated`, `order.cancelled`, `product.created`, `product.updated`, `product.deleted`,"
        " `user.registered`, `checkout.completed`, `cart.updated`; each requires the scope that reads its subject."
    )
    query: str | None = optional_field(
        "A GraphQL selection on the events' subject (`{ id total_cents }`), executed as the app; its result becomes `data`."
    )
    status: SwitchStatus | None = optional_field("Whether deliveries are enabled.")
