"""The changes of a customer's own orders, which the customer may follow (docs/reference/graphql.md#subscriptions)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from domain.event_feed import FeedEvent
from domain.event_types import ORDER_UPDATED
from kernel.errors import Forbidden
from kernel.scope import ActorKind, Scope


@dataclass(frozen=True, slots=True)
class OwnOrders:
    """The events of the orders of the customer who reads them."""

    events: ClassVar[tuple[str, ...]] = (ORDER_UPDATED,)

    async def check(self, scope: Scope) -> None:
        """Raise `Forbidden` for callers that aren't customers."""
        if scope.actor.kind is not ActorKind.CUSTOMER:
            raise Forbidden("insufficient permissions")

    def shows(self, scope: Scope, event: FeedEvent) -> bool:
        """Return whether an event is about an order of the caller."""
        customer = event.data.get("customer") or {}
        return scope.actor.user_public_id is not None and customer.get("id") == str(scope.actor.user_public_id)
