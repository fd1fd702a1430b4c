"""Settle the reward points of an order with its customer's account.

An order spends its points when it is placed and earns them when it is paid, that is in every status that deducts stock. Both are undone
when it releases its stock (declined, failed, cancelled), and in proportion when it is refunded. `settle_points` compares what the ledger
says of the order with what its state asks for and writes the difference, so that calling it again, or after a change that it missed, is
right.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from domain.catalog.stock import DEDUCTED, UNRESERVED
from domain.points.ledger import EARNED, RETURNED, REVERSED, SPENT, Movement, unavailable_error, write_entries
from kernel.fields import MAX_INTEGER
from kernel.scope import ActorKind, Scope
from models.connection.database import fetchrow

# The account is the one that the order's first entry is of: staff may give the order to another customer later.
_LOCK_ACCOUNT = """
SELECT u.id, u.points FROM users u WHERE u.tenant_id = $1 AND u.id = coalesce(
    (SELECT e.user_id FROM point_entries e WHERE e.tenant_id = $1 AND e.order_id = $2 ORDER BY e.id LIMIT 1),
    (SELECT o.user_id FROM orders o WHERE o.tenant_id = $1 AND o.id = $2))
FOR NO KEY UPDATE OF u
"""
# A separate statement after the lock sees what previous lock holders committed.
_STATE = """
SELECT o.stock_state, o.payment_status, o.paid_cents, o.refunded_cents, o.points_earned, o.points_spent, e.earned, e.spent
FROM orders o CROSS JOIN LATERAL (
    SELECT coalesce(sum(x.points) FILTER (WHERE x.kind IN ('earned', 'reversed')), 0)::bigint AS earned,
        coalesce(-sum(x.points) FILTER (WHERE x.kind IN ('spent', 'returned')), 0)::bigint AS spent
    FROM point_entries x WHERE x.tenant_id = o.tenant_id AND x.order_id = o.id
) AS e
WHERE o.tenant_id = $1 AND o.id = $2
"""
_CHARGEBACK = "chargeback"


async def settle_points(scope: Scope, order_id: int, *, is_new: bool = False) -> None:
    """Bring the customer's points in line with a new or changed order, whose row is locked and which has or had points.

    Raises RuleViolation `points_unavailable` when the account lacks what the order spends. Of an order that isn't new, the system (late
    payments) takes what there is.
    """
    account = await fetchrow(_LOCK_ACCOUNT, scope.store.id, order_id)
    if account is None:
        return
    state = await fetchrow(_STATE, scope.store.id, order_id)
    assert state is not None  # the caller locked the order
    takes_less = scope.actor.kind is ActorKind.SYSTEM and not is_new
    balance: int = account["points"]
    movements = []
    for movement in (_spending(state), _earning(state)):
        available = max(0, balance)
        if movement.kind == SPENT and -movement.points > available and not takes_less:
            raise unavailable_error(available)
        # What was earned may have been spent since: a reversal takes at most the balance.
        points = min(max(movement.points, -available), MAX_INTEGER - balance)
        if points:
            movements.append(Movement(movement.kind, points))
            balance += points
    await write_entries(scope, account["id"], account["points"], movements, order_id=order_id)


def _spending(state: Mapping[str, Any]) -> Movement:
    wanted = 0 if state["stock_state"] == UNRESERVED else state["points_spent"] - _refunded_part(state, "points_spent")
    points = state["spent"] - wanted
    return Movement(RETURNED if points > 0 else SPENT, points)


def _earning(state: Mapping[str, Any]) -> Movement:
    is_paid = state["stock_state"] == DEDUCTED or (state["earned"] > 0 and state["stock_state"] != UNRESERVED)
    wanted = state["points_earned"] - _refunded_part(state, "points_earned") if is_paid else 0
    if state["payment_status"] == _CHARGEBACK:
        wanted = 0
    points = wanted - state["earned"]
    return Movement(EARNED if points > 0 else REVERSED, points)


def _refunded_part(state: Mapping[str, Any], name: str) -> int:
    """Return the part of the points that was refunded: in whole points, rounded down until everything is refunded."""
    paid, refunded = state["paid_cents"], min(state["refunded_cents"], state["paid_cents"])
    return int(state[name] * refunded // paid) if paid else 0
