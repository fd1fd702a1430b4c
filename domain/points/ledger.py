"""Change the balance of reward points: every change is an entry of the ledger, written with the account locked.

The balance is a column of the user, which is never negative. The account is locked before limits, promotions and stock
(`domain.orders.locked`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from auth.privileges import check_may_change_owner
from kernel.errors import RuleViolation, ValidationFailed
from kernel.fields import MAX_INTEGER, InputField, integer, read_fields, short_text
from kernel.ids import Reference
from kernel.scope import Scope
from models import audit
from models.connection.database import execute, fetch, fetchval, transaction
from models.references import USER, find
from models.rows import insert_rows, update_row

EARNED, REVERSED, SPENT, RETURNED, ADJUSTED = "earned", "reversed", "spent", "returned", "adjusted"
POINTS_UNAVAILABLE = "points_unavailable"

_LOCK = "SELECT points FROM users WHERE tenant_id = $1 AND id = $2 FOR NO KEY UPDATE"
_LOCK_ACCOUNTS = "SELECT id FROM users WHERE tenant_id = $1 AND id = ANY($2::bigint[]) ORDER BY id FOR NO KEY UPDATE"
_SUMS = """
SELECT user_id, sum(points)::bigint AS points FROM point_entries WHERE tenant_id = $1 AND user_id = ANY($2::bigint[]) GROUP BY user_id
"""
_ADJUSTMENT = {
    "points": InputField("points", integer(-MAX_INTEGER, MAX_INTEGER), code="points_invalid", required="required"),
    "reason": InputField("reason", short_text),
}


@dataclass(frozen=True, slots=True)
class Movement:
    """Points added to an account (negative: taken from it), and why."""

    kind: str
    points: int


async def adjust_points(scope: Scope, user: Reference | str, points: int, reason: str = "") -> int:
    """Add points to a user's account, or take them when negative, and return the user's id.

    Raises NotFound, InsufficientPrivileges for the owner's, ValidationFailed for 0 points or an amount out of range, RuleViolation
    `points_unavailable` for more than the balance.
    """
    values = read_fields(_ADJUSTMENT, {"points": points, "reason": reason}, creating=True)
    if not values["points"]:
        raise ValidationFailed("points is 0; expected another number", field="points", code="points_invalid")
    async with transaction(scope):
        user_id = await find(scope, USER, user)
        check_may_change_owner(scope, user_id)
        balance = await lock_account(scope, user_id)
        if not 0 <= balance + points <= MAX_INTEGER:
            raise unavailable_error(balance)
        await write_entries(scope, user_id, balance, [Movement(ADJUSTED, points)], reason=values["reason"])
        await audit.record(scope, "points.adjusted", "user", user_id, {"points": points})
    return user_id


async def lock_account(scope: Scope, user_id: int) -> int:
    """Return the balance of an account, locked until the transaction ends."""
    balance: int = await fetchval(_LOCK, scope.store.id, user_id)
    return balance


async def write_entries(
    scope: Scope,
    user_id: int,
    balance: int,
    movements: Sequence[Movement],
    *,
    order_id: int | None = None,
    reason: str = "",
) -> None:
    """Apply movements to a locked account with this balance."""
    rows = []
    for movement in movements:
        balance += movement.points
        rows.append(_entry(scope, user_id, movement, balance, reason) | {"order_id": order_id})
    if rows:
        await update_row(scope, "users", user_id, points=balance)
        await insert_rows(scope, "point_entries", rows)


async def write_opening_balances(scope: Scope, balances: Mapping[int, int]) -> None:
    """Write the first entries of accounts that were imported with these points, by the user's id."""
    rows = [
        _entry(scope, user_id, Movement(ADJUSTED, points), points, "imported") for user_id, points in balances.items()
    ]
    await insert_rows(scope, "point_entries", rows)


async def add_movements(scope: Scope, accounts: Sequence[dict[str, Any]]) -> None:
    """Add to `points` of these accounts, a balance elsewhere, what was earned and spent here, and lock those that exist."""
    ids = [account["id"] for account in accounts]
    await execute(_LOCK_ACCOUNTS, scope.store.id, ids)
    # A separate statement after the lock sees what previous lock holders committed.
    sums = {row["user_id"]: row["points"] for row in await fetch(_SUMS, scope.store.id, ids)}
    for account in accounts:
        account["points"] = max(0, min(account["points"] + sums.get(account["id"], 0), MAX_INTEGER))


def _entry(scope: Scope, user_id: int, movement: Movement, balance: int, reason: str) -> dict[str, Any]:
    return {
        "user_id": user_id,
        "kind": movement.kind,
        "points": movement.points,
        "balance": balance,
        "reason": reason,
        "created_at": scope.now,
    }


def unavailable_error(balance: int) -> RuleViolation:
    """Return the error for more points than the account has."""
    return RuleViolation(f"the account has {balance} points", reason=POINTS_UNAVAILABLE, details={"points": balance})
