"""Find the order that a caller pays, and lock it to change its payments."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import ClassVar

from auth.secrets import is_order_token
from domain import events
from domain.event_feed import FeedEvent
from domain.event_types import PAYMENT_EVENTS
from domain.order_access import order_filter
from domain.orders.lifecycle import apply_transition
from domain.orders.locked import LockedOrder
from domain.orders.transitions import BACKORDERED, DECLINED, FAILED, OPEN
from kernel.errors import Conflict, NotFound, RuleViolation
from kernel.ids import Reference, parse_reference, parse_uuid, split_reference
from kernel.scope import SHOPPERS, STAFF, Scope, active_scope
from models.connection.database import execute, fetchrow, fetchval
from models.reading.queries import Condition, by_id

_ORDER_OF_PAYMENT = """
SELECT o.public_id, o.user_id FROM payments p JOIN orders o ON o.tenant_id = p.tenant_id AND o.id = p.order_id
WHERE p.tenant_id = $1 AND (p.id = $2 OR p.public_id = $3) AND o.deleted_at IS NULL
"""
_OF_CALLER = "SELECT t.id FROM orders t WHERE t.tenant_id = $1 AND t.deleted_at IS NULL AND {condition}"
# Orders of staff, apps and imports never expire.
_HOLD = "UPDATE orders SET hold_until = $3 WHERE tenant_id = $1 AND id = $2 AND origin = 'storefront'"
_REOPENED = "payment retried"
PAYABLE = (OPEN, BACKORDERED, DECLINED, FAILED)
"""The statuses of orders that can be paid; a payment of one that was declined or failed opens it again."""


async def find_order(scope: Scope, order: object, token: str | None) -> int:
    """Return the number of an order that the caller may pay: administrators any, shoppers as `domain.order_access` says.

    Raises NotFound for any other.
    """
    condition = payable_by(scope, order, token)
    with active_scope(scope):
        number = await fetchval(
            _OF_CALLER.format(condition=condition.sql.format("$2", "$3")), scope.store.id, *condition.params
        )
    if number is None:
        raise NotFound("order")
    return int(number)


def payable_by(scope: Scope, order: object, token: str | None) -> Condition:
    """Return the condition of an order `t` that the caller may pay. Raises NotFound for none."""
    if scope.actor.kind in STAFF:
        reference = parse_reference(order)
        condition = None if reference is None else by_id(reference)
    else:
        condition = order_filter(scope, order, token)
    if condition is None:
        raise NotFound("order")
    return condition


@dataclass(frozen=True, slots=True)
class PaymentsOfOrder:
    """The payments of an order whose events are read by a caller who may pay it."""

    events: ClassVar[tuple[str, ...]] = PAYMENT_EVENTS
    order: object
    token: str | None

    async def check(self, scope: Scope) -> None:
        """Raise NotFound for an order that the caller may not pay."""
        await find_order(scope, self.order, self.token)

    def shows(self, scope: Scope, event: FeedEvent) -> bool:
        """Return whether an event is about one of these payments."""
        return bool(event.data.get("order_id") == str(parse_uuid(self.order)))


async def may_open(scope: Scope, payment: Reference, token: str | None) -> bool:
    """Return whether a shopper may see a payment: by its order's token, or as the order's customer; `PAYMENTS` decides for the others."""
    if scope.actor.kind not in SHOPPERS:
        return True
    with active_scope(scope):
        order = await fetchrow(_ORDER_OF_PAYMENT, scope.store.id, *split_reference(payment))
    if order is None:
        return False
    is_own = scope.actor.user_id is not None and order["user_id"] == scope.actor.user_id
    return is_own or (token is not None and is_order_token(scope, order["public_id"], token))


def reject_unpayable(locked: LockedOrder) -> None:
    """Raise Conflict `order_paid` for an order that needs no payment, and RuleViolation `order_not_payable` for its status."""
    if locked.paid_cents - locked.refunded_cents >= locked.total_cents:
        raise Conflict("the order is paid", reason="order_paid")
    if locked.status not in PAYABLE:
        raise RuleViolation(
            f"an order in status {locked.status} can't be paid; expected {', '.join(PAYABLE)}",
            reason="order_not_payable",
        )


async def reopen(scope: Scope, locked: LockedOrder, hold_minutes: int) -> None:
    """Open a locked order again that was declined or failed: a checkout reserves its stock until its time to pay is over again."""
    await apply_transition(scope, locked, OPEN, reason=_REOPENED, notify=False)
    until = scope.now + timedelta(minutes=hold_minutes) if hold_minutes else None
    await execute(_HOLD, scope.store.id, locked.id, until)
    await events.emit_order_updated(scope, locked.id, previous_status=locked.status)
