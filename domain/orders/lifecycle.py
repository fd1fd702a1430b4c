"""Change an order's status: validate the transition, update the stock state, record the history, emit events.

`change_status` is the only public entry point; functions that already locked the order call `apply_transition`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple
from uuid import UUID

from domain import event_types, events, record_events
from domain.catalog import stock
from domain.ledger.entries import write_order_entries
from domain.mails import order_mails
from domain.mails.order_mails import STATUS_MAILS
from domain.mails.texts import MailType
from domain.orders import limits
from domain.orders.locked import LockedOrder, lock_order, reject_shared
from domain.orders.shipment_rows import (
    NewShipment,
    correct_only_shipment,
    insert_shipment,
    resolve_units,
    set_tracking_code,
)
from domain.orders.transitions import COMPLETE, PAID, Transition, decide_transition
from domain.points.orders import settle_points
from domain.promotions.issued_coupons import settle_coupons
from domain.promotions.rewards import release_uses, restore_uses
from domain.store_settings import sends_order_mail
from kernel.errors import Conflict, ValidationFailed
from kernel.fields import InputField, read_fields, short_text, text
from kernel.ids import uuid7
from kernel.scope import ActorKind, Scope
from models import audit
from models.connection.database import Plans, fetchrow, fetchval, transaction

_TRACKING = {"tracking_code": InputField("code", short_text), "carrier": InputField("carrier", short_text)}
_REASON = {"reason": InputField("reason", text(2_000))}

# Conditional on the current status: a caller that doesn't hold the row lock changes nothing by mistake.
_CHANGE_STATUS = """
WITH changed AS (
    UPDATE orders SET status = $4, stock_state = $5, hold_until = NULL, updated_at = $6, tracking_code = coalesce($15, tracking_code)
    WHERE tenant_id = $1 AND id = $2 AND status = $3
    RETURNING id, public_id, email, total_cents, paid_cents, refunded_cents
), history AS (
    INSERT INTO order_status_changes
        (tenant_id, public_id, order_id, at, from_status, to_status, forced, reason, actor_kind, user_id, app_id)
    SELECT $1, $7, id, $6, $3, $4, $8, $9, $10, $11, $12 FROM changed
), audited AS (
    INSERT INTO audit_entries (tenant_id, public_id, at, actor_kind, user_id, app_id, action, subject_type, subject_id, details,
        ip_address, request_id)
    SELECT $1, $7, $6, $10, $11, $12, 'order.status_changed', 'order', public_id::text,
        jsonb_build_object('from', $3::text, 'to', $4::text), $13, $14
    FROM changed
), superseded AS (
    UPDATE payments SET cancel_requested_at = $6, due_at = $6
    WHERE tenant_id = $1 AND order_id = $2 AND status IN ('PENDING', 'AUTHORIZED') AND cancel_requested_at IS NULL AND $4 = 'I'
), mailed AS (
    INSERT INTO order_mails (tenant_id, order_id, kind, details, created_at)
    SELECT $1, c.id, $16, jsonb_build_object('status', s.description, 'total_cents', c.total_cents,
        'paid_cents', c.paid_cents - c.refunded_cents), $6
    FROM changed c JOIN statuses s ON s.tenant_id = $1 AND s.type = 'O' AND s.letter = $4 AND s.notify AND s.deleted_at IS NULL
    WHERE $16::text IS NOT NULL AND c.email <> ''
)
SELECT id FROM changed
"""

_LOCK_STATUS = """
SELECT id FROM statuses WHERE tenant_id = $1 AND type = $2 AND letter = $3 AND deleted_at IS NULL FOR KEY SHARE
"""


class Tracking(NamedTuple):
    """The tracking code of an order, and the carrier of the shipment that it makes."""

    code: str
    carrier: str


@dataclass(frozen=True, slots=True)
class OrderUpdateResult:
    """The result of changing an order; `changed` is False when the status was already set and nothing else changed."""

    id: int
    public_id: UUID
    from_status: str
    status: str
    changed: bool
    forced: bool = False


async def change_status(
    scope: Scope,
    order: object,
    status: str,
    *,
    force: bool = False,
    reason: str = "",
    restock: bool = False,
    tracking_code: str | None = None,
    carrier: str | None = None,
) -> OrderUpdateResult:
    """Change the status of an order, in its own transaction or in the caller's.

    `force` allows transitions outside the table; only administrators on legacy routes and the system (`reprocess`) may use it. `restock`
    restores the stock of a completed order. `tracking_code` is stored; together with `C` (complete) it also records a shipment of all
    unshipped units.

    Raises NotFound, Forbidden (a vendor, for a multi-vendor order), ValidationFailed for an unknown status, and RuleViolation: with
    `allowed` for a forbidden transition, with `products` when released stock has been sold meanwhile (no oversell), and
    `order_limit_exceeded` when reopening a closed order exceeds its customer's limit, `points_unavailable` when it spent points that the
    customer no longer has.
    """
    reason = read_fields(_REASON, {"reason": reason})["reason"]
    async with transaction(scope, Plans.REUSED):
        locked = await lock_order(scope, order)
        reject_shared(scope, locked)
        tracking = read_tracking(tracking_code, carrier)
        transition = await apply_transition(
            scope,
            locked,
            status,
            force=force,
            reason=reason,
            restock=restock,
            tracking=tracking,
        )
        tracking_changed = await update_tracking(scope, after_transition(locked, transition, tracking), tracking)
        if transition is not None or tracking_changed:
            await events.emit_order_updated(
                scope,
                locked.id,
                previous_status=locked.status if transition is not None else None,
            )
    changed, forced = transition is not None or tracking_changed, transition is not None and transition.forced
    return OrderUpdateResult(locked.id, locked.public_id, locked.status, status, changed, forced)


async def apply_transition(
    scope: Scope,
    locked: LockedOrder,
    to_status: str,
    *,
    force: bool = False,
    reason: str = "",
    restock: bool = False,
    notify: bool = True,
    tracking: Tracking | None = None,
    writes_ledger: bool = True,
) -> Transition | None:
    """Change the status, stock state and history of a locked order without emitting events; None when the status is already set.

    `writes_ledger=False` leaves the ledger to a caller that changes the order's payments too.
    With `notify` the customer gets a mail if the new status says so (docs/reference/shared.md#order-mails). A tracking code is stored in
    the same update, because each one writes an entry into every index of the table (docs/performance.md#a-year-of-a-busy-shop).
    """
    transition = decide_transition(
        locked.status,
        to_status,
        custom=scope.store.order_statuses,
        force=force and may_force(scope),
        by_vendor=scope.actor.kind is ActorKind.VENDOR,
        restock=restock,
    )
    if transition is None:
        return None
    if to_status in scope.store.order_statuses:
        await lock_custom_status(scope, to_status)
    # Imported orders never affect stock.
    stock_state = locked.stock_state if locked.imported else transition.stock_state
    notify = notify and not await _ships(scope, locked, to_status, tracking)
    await _change(
        scope, locked, to_status, stock_state, tracking, forced=transition.forced, reason=reason, notify=notify
    )
    if writes_ledger and locked.changes_ledger(to_status):
        await write_order_entries(scope, locked.id)
    # Lock order (`domain.orders.locked`): points, limits, promotions, stock.
    if locked.has_points:
        await settle_points(scope, locked.id)
    await _check_limits(scope, locked, to_status)
    await _update_promotion_uses(scope, locked, transition.stock_state)
    if locked.has_promotions:
        await settle_coupons(scope, locked.id)
    if transition.moves_stock:
        await stock.change_stock_state(scope, locked.id, locked.stock_state, stock_state)
    else:
        await stock.keep_taken(scope, locked.id)
    return transition


def after_transition(locked: LockedOrder, transition: Transition | None, tracking: Tracking | None) -> LockedOrder:
    """Return the order as `apply_transition` left it."""
    if transition is None:
        return locked
    code = locked.tracking_code if tracking is None else tracking.code
    return replace(locked, status=transition.to_status, tracking_code=code)


async def lock_custom_status(scope: Scope, status: str, type_: str = "O") -> None:
    """Lock a custom status against deletion while it is assigned, of orders or of another `type_`."""
    if await fetchrow(_LOCK_STATUS, scope.store.id, type_, status) is None:
        raise ValidationFailed(f"status is {status!r}; the letter was deleted", field="status", code="status_invalid")


async def _update_promotion_uses(scope: Scope, locked: LockedOrder, stock_state: str) -> None:
    """Release an order's promotion uses when it releases its stock, and restore them when it takes the stock again."""
    releases_stock = stock_state == stock.UNRESERVED
    if not locked.has_promotions or releases_stock is (locked.stock_state == stock.UNRESERVED):
        return
    await (release_uses if releases_stock else restore_uses)(scope, locked.id)


async def _check_limits(scope: Scope, locked: LockedOrder, to_status: str) -> None:
    """Reject to reopen an order beyond its customer's limit; late payments (applied by the system) are never rejected."""
    was_closed, is_closed = locked.status in limits.CLOSED_STATUSES, to_status in limits.CLOSED_STATUSES
    if locked.user_id is None or not was_closed or is_closed or scope.actor.kind is ActorKind.SYSTEM:
        return
    await limits.reject_growth_over_limit(scope, locked.user_id, locked.id)


def may_force(scope: Scope) -> bool:
    """Return whether the caller may force a transition: administrators on legacy routes, and the system."""
    kind = scope.actor.kind
    return kind is ActorKind.SYSTEM or (kind is ActorKind.ADMIN and scope.family == "legacy")


def read_tracking(code: str | None, carrier: str | None) -> Tracking | None:
    """Read the input of a tracking code, None without one; raises ValidationFailed."""
    if not code:
        return None
    return Tracking(**read_fields(_TRACKING, {"tracking_code": code, "carrier": carrier}))


async def update_tracking(scope: Scope, locked: LockedOrder, tracking: Tracking | None) -> bool:
    """Store a tracking code and, for an order in `C`, record a shipment; return whether anything changed.

    Where every unit was shipped before, no second shipment is recorded, and the code becomes that of the only one.
    """
    if tracking is None:
        return False
    changed = await set_tracking_code(scope, locked, tracking.code)
    if locked.status != COMPLETE:
        return changed
    if await ship_rest(scope, locked, tracking):
        return True
    shipment_id = await correct_only_shipment(scope, locked, tracking.code, tracking.carrier)
    if shipment_id is None:
        return changed
    await audit.record_update(scope, "shipment", shipment_id, ["tracking_number"])
    await record_events.emit_records(scope, event_types.SHIPMENT_UPDATED, [shipment_id])
    if changed:  # by no other status, which has a mail of its own
        await mail_shipment(scope, locked, shipment_id)
    return True


async def ship_rest(scope: Scope, locked: LockedOrder, tracking: Tracking) -> bool:
    """Record a shipment of all units that are to be shipped, of a vendor's lines for a vendor; return whether there were any."""
    shipment = NewShipment(
        shipping_method_id=locked.shipping_method_id,
        user_id=locked.user_id,
        carrier=tracking.carrier,
        tracking_number=tracking.code,
    )
    shipment_id = await insert_shipment(scope, locked, shipment)
    if shipment_id is not None:
        await record_events.emit_records(scope, event_types.SHIPMENT_CREATED, [shipment_id])
        await mail_shipment(scope, locked, shipment_id)
    return shipment_id is not None


async def mail_shipment(scope: Scope, locked: LockedOrder, shipment_id: int) -> bool:
    """Queue the customer's mail about a shipment that left the vendor; return whether one was queued."""
    return not locked.imported and await order_mails.queue_shipment_mail(scope, shipment_id)


async def _ships(scope: Scope, locked: LockedOrder, status: str, tracking: Tracking | None) -> bool:
    """Return whether the change records a shipment, whose mail takes the place of the status's."""
    if tracking is None or status != COMPLETE or not sends_order_mail(scope, MailType.ORDER_SHIPPED.value):
        return False
    return bool(await resolve_units(scope, locked, None))


async def _change(
    scope: Scope,
    locked: LockedOrder,
    to_status: str,
    stock_state: str,
    tracking: Tracking | None,
    *,
    forced: bool,
    reason: str,
    notify: bool,
) -> None:
    """Update the order, insert the entries of its history and of the audit log, and queue the customer's mail."""
    actor = scope.actor
    mail_type = _mail_type(scope, locked, to_status) if notify else None
    changed = await fetchval(
        _CHANGE_STATUS,
        scope.store.id,
        locked.id,
        locked.status,
        to_status,
        stock_state,
        scope.now,
        uuid7(),
        forced,
        reason,
        actor.kind.value,
        actor.user_id,
        actor.app_id,
        scope.client_ip,
        scope.request_id,
        None if tracking is None else tracking.code,
        mail_type,
    )
    if changed is None:
        raise Conflict(f"order {locked.id} is no longer in status {locked.status}")


def _mail_type(scope: Scope, locked: LockedOrder, to_status: str) -> str | None:
    """Return the mail about a new status, None for none: the store sends none, or it was sent when the payment was recorded."""
    mail_type = STATUS_MAILS.get(to_status, MailType.ORDER_STATUS)
    was_mailed = mail_type is MailType.ORDER_PAID and locked.payment_status == PAID
    return None if locked.imported or was_mailed or not sends_order_mail(scope, mail_type.value) else mail_type.value
