"""Resolve payment gateway notifications."""

from __future__ import annotations

import strawberry
from strawberry import Info

from domain.gateway import notifications
from domain.gateway.read import GATEWAY_NOTIFICATIONS
from models.queries import Row
from resolvers.entity_queries import build_entity_queries
from resolvers.mutation_helpers import load_record
from schema.fields import root_field
from schema.scalars import ID, Bytes
from schema.types.gateway import GATEWAY, GatewayNotificationObject, GatewayReceiptObject

_STAFF = GATEWAY_NOTIFICATIONS.visible.access  # type: ignore[attr-defined]


@strawberry.type
class GatewayMutations:
    """Mutations of gateway notifications."""

    @root_field(GATEWAY, internal=True)
    async def gateway_notification_receive(
        self, info: Info, body: Bytes, signatures: list[str | None]
    ) -> GatewayReceiptObject:
        """Receive a raw gateway notification: stored in one transaction, processed in another."""
        message = await notifications.receive(info.context.scope, body, signatures)
        return Row(message=message)  # type: ignore[return-value]

    @root_field(_STAFF)
    async def gateway_notification_reprocess(self, info: Info, id: ID) -> GatewayNotificationObject | None:
        """Reprocess a notification: records its charge and sets the order status mapped to the event, even if the transition is not allowed
        otherwise. Nothing is changed on failure.
        """
        # The public id is a number: `str` makes it one again for `parse_reference`.
        number = await notifications.reprocess(info.context.scope, str(id))
        return await load_record(info, number)


QUERIES = (
    build_entity_queries(
        GatewayNotificationObject, GATEWAY_NOTIFICATIONS, "gateway_notification", "gateway_notifications"
    ),
)
MUTATIONS = (GatewayMutations,)
