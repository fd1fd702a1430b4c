"""Assemble what the payment gateway tells, and what its notifications' administration asks and does."""

from __future__ import annotations

import strawberry
from strawberry import Info

from domain.gateway import notifications
from domain.gateway.read import GATEWAY_NOTIFICATIONS
from models.reading import Row
from resolvers.changes import shown
from resolvers.reads import reads
from schema.fields import root
from schema.scalars import Bytes, Ident
from schema.types.gateway import GATEWAY, GatewayNotificationObject, GatewayReceiptObject

_STAFF = GATEWAY_NOTIFICATIONS.visible.access  # type: ignore[attr-defined]


@strawberry.type
class GatewayMutations:
    """What can be done with notifications of the gateway."""

    @root(
        GATEWAY,
        "Take a notification as it was sent: stored in one transaction, applied in another.",
        internal=True,
    )
    async def gateway_notification_receive(
        self, info: Info, body: Bytes, signatures: list[str | None]
    ) -> GatewayReceiptObject:
        """Receive a notification."""
        message = await notifications.receive(info.context.scope, body, signatures)
        return Row(message=message)  # type: ignore[return-value]

    @root(
        _STAFF,
        "Process a notification again: its charges are recorded and the order gets the letter the event is mapped to, even from a"
        " letter that doesn't lead there. Nothing is changed when that fails.",
    )
    async def gateway_notification_reprocess(self, info: Info, id: Ident) -> GatewayNotificationObject | None:
        """Process a notification again."""
        number = await notifications.reprocess(info.context.scope, id)
        return await shown(info, GATEWAY_NOTIFICATIONS, number)


QUERIES = (
    reads(GatewayNotificationObject, GATEWAY_NOTIFICATIONS, "gateway_notification", "gateway_notifications"),
)
MUTATIONS = (GatewayMutations,)
