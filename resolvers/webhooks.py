"""Assemble what apps and administrators do with event endpoints and deliveries."""

from __future__ import annotations

import strawberry
from strawberry import Info

from auth import apps
from domain.webhooks import endpoints, redelivery
from domain.webhooks.read import EVENT_DELIVERIES, EVENT_ENDPOINTS
from models.reading import Row
from resolvers import event_queries
from resolvers.changes import DeletedRecord, deleted, shown
from resolvers.reads import reads
from schema.fields import root
from schema.inputs.given import provided
from schema.inputs.webhooks import EventEndpointInput
from schema.scalars import Ident, Time
from schema.types.webhooks import (
    MANAGE_ENDPOINTS,
    ONLY_APPS,
    EventDelivery,
    EventEndpoint,
    EventsReplayed,
    RotatedSecret,
)


@strawberry.type
class DeliveryMutations:
    """What is done with event endpoints and deliveries."""

    @root(
        MANAGE_ENDPOINTS,
        "Subscribe an installed app to events; each needs the app's scope that reads its subject.",
    )
    async def event_endpoint_create(self, info: Info, input: EventEndpointInput) -> EventEndpoint | None:
        """Make an event endpoint."""
        number = await endpoints.create_endpoint(info.context.scope, provided(input), event_queries.check)
        return await shown(info, EVENT_ENDPOINTS, number)

    @root(MANAGE_ENDPOINTS, "Change an event endpoint; disabling it cancels what waits for it.")
    async def event_endpoint_update(
        self, info: Info, id: Ident, input: EventEndpointInput
    ) -> EventEndpoint | None:
        """Change an event endpoint."""
        number = await endpoints.update_endpoint(info.context.scope, id, provided(input), event_queries.check)
        return await shown(info, EVENT_ENDPOINTS, number)

    @root(MANAGE_ENDPOINTS, "Remove an event endpoint; what waits for it is cancelled.")
    async def event_endpoint_delete(self, info: Info, id: Ident) -> DeletedRecord:
        """Remove an event endpoint."""
        await endpoints.delete_endpoint(info.context.scope, id)
        return deleted(id)

    @root(MANAGE_ENDPOINTS, "Send an event endpoint the event `ping`, to try it out.")
    async def event_endpoint_ping(self, info: Info, id: Ident) -> EventDelivery | None:
        """Try an event endpoint out."""
        return await shown(info, EVENT_DELIVERIES, await endpoints.ping(info.context.scope, id))

    @root(
        MANAGE_ENDPOINTS,
        "Send every event of a span of time (again), as far as the endpoint wants it and its app may have it.",
    )
    async def event_endpoint_replay(
        self, info: Info, id: Ident, since: Time, until: Time | None = None, events: list[str] | None = None
    ) -> EventsReplayed:
        """Replay events."""
        replayed = await redelivery.replay(info.context.scope, id, since, until, events)
        return Row(replayed=replayed)  # type: ignore[return-value]

    @root(
        MANAGE_ENDPOINTS,
        "Send a delivery again, at once; `endpoint_id`, where it is given, must be where it goes.",
    )
    async def event_delivery_redeliver(
        self, info: Info, id: Ident, endpoint_id: Ident | None = None
    ) -> EventDelivery | None:
        """Send a delivery again."""
        number = await redelivery.redeliver(info.context.scope, id, endpoint=endpoint_id)
        return await shown(info, EVENT_DELIVERIES, number)

    @root(
        ONLY_APPS,
        "Give the calling app a new client secret, for its present one. For 24 hours both are good, unless `immediate` says otherwise.",
        secret=True,
    )
    async def client_secret_rotate(
        self, info: Info, client_secret: str | None = None, immediate: bool = False
    ) -> RotatedSecret:
        """Rotate an app's secret."""
        return await apps.rotate_secret(  # type: ignore[return-value]
            info.context.scope, client_secret, immediate=immediate
        )


QUERIES = (
    reads(EventEndpoint, EVENT_ENDPOINTS, "event_endpoint", "event_endpoints"),
    reads(EventDelivery, EVENT_DELIVERIES, "event_delivery", "event_deliveries"),
)
MUTATIONS = (DeliveryMutations,)
