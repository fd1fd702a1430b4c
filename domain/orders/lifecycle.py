"""Move orders along their life: check, change, settle the stock, write the history, tell the apps. One function does it: `move`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from uuid import UUID

from domain import audit, events
from domain.catalog import stock
from domain.fields import InputField, read_fields, short_text, text
from domain.orders import limits
from domain.orders.locked import LockedOrder, lock_order, refuse_shared
from domain.orders.parcels import Parcel, keep_tracking_code, send
from domain.orders.transitions import CANCELLED, COMPLETE, Transition, decide
from domain.promotions.applying import give_back, take_again
from kernel.errors import Conflict, ValidationFailed
from kernel.ids import uuid7
from kernel.scope import ActorKind, Scope
from models.database import execute, row, transaction

_TRACKING = {
    "tracking_code": InputField("tracking_code", short_text),
    "carrier": InputField("carrier", short_text),
}
_REASON = {"reason": InputField("reason", text(2_000))}

# The letter is asked for again although the row is locked: whoever calls this without the lock changes nothing by mistake.
_CHANGE = """
UPDATE orders SET status = $4, stock_state = $5, hold_until = NULL, updated_at = $6
WHERE tenant_id = $1 AND id = $2 AND status = $3
"""

_HISTORY = """
INSERT INTO order_status_changes
    (tenant_id, public_id, order_id, at, from_status, to_status, forced, reason, actor_kind, user_id, app_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
"""


_HOLD_LETTER = """
SELECT id FROM statuses WHERE tenant_id = $1 AND type = 'O' AND letter = $2 AND deleted_at IS NULL FOR KEY SHARE
"""


@dataclass(frozen=True, slots=True)
class Moved:
    """Tell what became of an order; `changed` is False when it had the letter already and nothing else was new."""

    id: int
    public_id: UUID
    from_status: str
    status: str
    changed: bool
    forced: bool = False


async def move(
    scope: Scope,
    order: object,
    to: str,
    *,
    force: bool = False,
    reason: str = "",
    restock: bool = False,
    tracking_code: str | None = None,
    carrier: str | None = None,
    told: bool = True,
) -> Moved:
    """Take an order to another status letter, in a transaction of its own or within the caller's.

    `force` asks to go where the table doesn't lead; it is granted to administrators on legacy routes and to the system
    (`reprocess`), and to nobody else. `restock` brings the goods of a completed order back. `tracking_code` is kept; together with
    `C` (shipped) it also records a parcel of all that has not gone out. `told=False` sends no events (an import).

    Raises NotFound, Forbidden (a vendor, for an order shared with others), ValidationFailed for no letter, RuleViolation with
    `allowed` for a forbidden change, with `products` when stock that was given back is gone, and `order_limit_exceeded` when an order
    that had come to nothing is taken up again beyond what its buyer may owe.
    """
    reason = read_fields(_REASON, {"reason": reason})["reason"]
    async with transaction(scope):
        held = await lock_order(scope, order)
        refuse_shared(scope, held)
        step = await take_step(scope, held, to, force=force, reason=reason, restock=restock)
        tracked = await track(scope, replace(held, status=to), tracking_code, carrier)
        if step is not None:
            await events.order_changed(
                scope, held.id, previous_status=held.status, cancelled=to == CANCELLED, told=told
            )
        elif tracked:
            await events.order_changed(scope, held.id, told=told)
    return Moved(
        held.id,
        held.public_id,
        held.status,
        to,
        step is not None or tracked,
        step is not None and step.forced,
    )


async def take_step(
    scope: Scope, held: LockedOrder, to: str, *, force: bool = False, reason: str = "", restock: bool = False
) -> Transition | None:
    """Change the status of a locked order, with stock and history but without telling anybody; None when it is there already."""
    step = decide(
        held.status,
        to,
        added=scope.store.order_statuses,
        force=force and may_force(scope),
        by_vendor=scope.actor.kind is ActorKind.VENDOR,
        restock=restock,
    )
    if step is None:
        return None
    await hold_letter(scope, to)
    # What was imported bypasses today's stock, from its first letter to its last.
    holds = held.stock_state if held.imported else step.stock_state
    changed = await execute(_CHANGE, scope.store.id, held.id, held.status, to, holds, scope.now)
    if not changed:
        raise Conflict(f"order {held.id} is no longer in status {held.status}")
    # Limits, promotions, stock: the order in which a new order locks them.
    await _hold_to_limits(scope, held, to)
    await _count_uses(scope, held, step.stock_state)
    if step.moves_goods:
        await stock.shift(scope, held.id, held.stock_state, holds)
    await write_history(scope, held.id, held.status, to, forced=step.forced, reason=reason)
    await audit.record(
        scope, "order.status_changed", "order", held.public_id, {"from": held.status, "to": to}
    )
    return step


async def hold_letter(scope: Scope, letter: str) -> None:
    """Keep a letter that the store added from being deleted while an order gets it; built-in ones need no statement."""
    if letter in scope.store.order_statuses and await row(_HOLD_LETTER, scope.store.id, letter) is None:
        raise ValidationFailed(
            f"status is {letter!r}; the letter was deleted", field="status", code="status_invalid"
        )


async def _count_uses(scope: Scope, held: LockedOrder, holds: str) -> None:
    """Give the uses of promotions back when the order comes to nothing, and take them again when it is taken up again."""
    came_to_nothing = holds == stock.NOTHING
    if not held.has_promotions or came_to_nothing is (held.stock_state == stock.NOTHING):
        return
    await (give_back if came_to_nothing else take_again)(scope, held.id)


async def _hold_to_limits(scope: Scope, held: LockedOrder, to: str) -> None:
    """Refuse to take up again what its buyer may not owe; money that came in late (the system's doing) is never refused."""
    was_done, is_done = held.status in limits.DONE_WITH, to in limits.DONE_WITH
    if held.user_id is None or not was_done or is_done or scope.actor.kind is ActorKind.SYSTEM:
        return
    await limits.refuse_grown(scope, held.user_id, held.id)


def may_force(scope: Scope) -> bool:
    """Say whether the caller may go against the table: administrators on legacy routes, and the system (decisions section 1)."""
    kind = scope.actor.kind
    return kind is ActorKind.SYSTEM or (kind is ActorKind.ADMIN and scope.family == "legacy")


async def track(scope: Scope, held: LockedOrder, tracking_code: str | None, carrier: str | None) -> bool:
    """Keep a tracking code; of an order in `C` record the parcel, unless all of it went out before. Say whether that was news.

    A request that is sent again finds everything shipped and so records no second parcel.
    """
    if not tracking_code:
        return False
    given = read_fields(_TRACKING, {"tracking_code": tracking_code, "carrier": carrier})
    code = given["tracking_code"]
    changed = await keep_tracking_code(scope, held, code)
    if held.status != COMPLETE:
        return changed
    parcel = Parcel(
        shipping_method_id=held.shipping_method_id,
        user_id=held.user_id,
        carrier=given["carrier"],
        tracking_number=code,
    )
    return await send(scope, held, parcel) is not None or changed


async def write_history(
    scope: Scope, order_id: int, from_status: str, to_status: str, *, forced: bool = False, reason: str = ""
) -> None:
    """Write who changed an order's status from what to what, and why."""
    actor = scope.actor
    await execute(
        _HISTORY,
        scope.store.id,
        uuid7(),
        order_id,
        scope.now,
        from_status,
        to_status,
        forced,
        reason,
        actor.kind.value,
        actor.user_id,
        actor.app_id,
    )
