"""Resolve webhook endpoints, webhook deliveries and client secret rotation."""

from __future__ import annotations

from strawberry import Info

from domain.apps import registration
from domain.webhooks import endpoints, redelivery
from models.reading.queries import Row
from resolvers import webhook_queries
from resolvers.engine.complete import load_record
from resolvers.entity_queries import build_entity_queries
from resolvers.mutation_helpers import delete_field
from schema.declaration import declare
from schema.fields import root_field
from schema.inputs import provided_fields
from schema.scalars import ID, DateTime
from schema.types.webhooks import (
    APPS_ONLY,
    MANAGE_ENDPOINTS,
    EventDeliveryObject,
    EventEndpointInput,
    EventEndpointObject,
    EventsReplayedObject,
    RotatedSecretObject,
)


@declare
class DeliveryMutations:
    """Mutations of webhook endpoints and deliveries."""

    @root_field(MANAGE_ENDPOINTS)
    async def event_endpoint_create(self, info: Info, input: EventEndpointInput) -> EventEndpointObject | None:
        """Create a webhook endpoint for an installed app; each event requires the app's scope that reads its subject."""
        number = await endpoints.create_endpoint(
            info.context.scope, provided_fields(input), webhook_queries.check_query
        )
        return await load_record(info, number)

    @root_field(MANAGE_ENDPOINTS)
    async def event_endpoint_update(self, info: Info, id: ID, input: EventEndpointInput) -> EventEndpointObject | None:
        """Update a webhook endpoint; omitted fields stay unchanged. Disabling it cancels pending deliveries."""
        number = await endpoints.update_endpoint(
            info.context.scope, id, provided_fields(input), webhook_queries.check_query
        )
        return await load_record(info, number)

    event_endpoint_delete = delete_field(
        MANAGE_ENDPOINTS, "Delete a webhook endpoint; pending deliveries are cancelled.", endpoints.delete_endpoint
    )

    @root_field(MANAGE_ENDPOINTS)
    async def event_endpoint_ping(self, info: Info, id: ID) -> EventDeliveryObject | None:
        """Send the test event `ping` to a webhook endpoint."""
        return await load_record(info, await endpoints.ping(info.context.scope, id))

    @root_field(MANAGE_ENDPOINTS)
    async def event_endpoint_replay(
        self, info: Info, id: ID, since: DateTime, until: DateTime | None = None, events: list[str] | None = None
    ) -> EventsReplayedObject:
        """Replay all events of a period to which the endpoint is subscribed and its app has access."""
        replayed = await redelivery.replay(info.context.scope, id, since, until, events)
        return Row(replayed=replayed)  # type: ignore[return-value]

    @root_field(MANAGE_ENDPOINTS)
    async def event_delivery_redeliver(
        self, info: Info, id: ID, endpoint_id: ID | None = None
    ) -> EventDeliveryObject | None:
        """Redeliver a webhook delivery immediately; `endpoint_id`, if set, must match its endpoint."""
        number = await redelivery.redeliver(info.context.scope, id, endpoint=endpoint_id)
        return await load_record(info, number)

    @root_field(APPS_ONLY, secret=True)
    async def client_secret_rotate(
        self, info: Info, client_secret: str | None = None, immediate: bool = False
    ) -> RotatedSecretObject:
        """Rotate the calling app's client secret. The current secret stays valid for 24 hours unless `immediate` is set."""
        return await registration.rotate_secret(  # type: ignore[return-value]
            info.context.scope, client_secret, immediate=immediate
        )


QUERIES = (
    build_entity_queries(EventEndpointObject),
    build_entity_queries(EventDeliveryObject),
)
MUTATIONS = (DeliveryMutations,)
