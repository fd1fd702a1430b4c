"""Lock an order for the rest of the transaction: every change of an order starts here.

Lock order of every change of orders, so that they can't deadlock; within a table by id:

    1. the cart (`domain.carts.locked`), or the gateway notification
    2. the order; rows that belong to one order alone (lines, taxes, charges) are locked with it
    3. the account of its customer, for reward points (`domain.points`)
    4. the limits of its customer (`limits`)
    5. its promotions, then generated coupons (`domain.promotions.rewards`, `domain.promotions.issued_coupons`)
    6. products, then combinations (`domain.catalog.stock`)
    7. events' sequence numbers (`domain.events`)

Lock several shared rows in a statement of its own (or a function, as `domain.catalog.stock` does) before the statement that changes them:
an UPDATE after a wait within the same statement sees a row's old version, locks the new one again and may deadlock.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from domain.ledger.entries import Settlement, settle
from domain.orders.transitions import CHARGEBACK, payment_status
from kernel.errors import Forbidden, NotFound
from kernel.ids import Reference, parse_reference
from kernel.scope import ActorKind, Scope
from models.connection.database import execute_later, fetchrow

_STOREFRONT_ACTORS = (ActorKind.ANONYMOUS, ActorKind.CUSTOMER, ActorKind.STOREFRONT)

COLUMNS = """t.id, t.public_id, t.status, t.stock_state, t.vendor_id, t.user_id, t.imported, t.currency, t.tracking_code,
    t.subtotal_cents, t.discount_cents, t.shipping_cents, t.surcharge_cents, t.tax_cents, t.total_cents,
    t.paid_cents, t.refunded_cents, t.payment_status, t.payment_method_id, t.shipping_method_id, t.hold_until,
    t.coupon_code, t.points_earned, t.points_spent, t.points_cents, t.shipping_quote::text AS shipping_quote,
    t.deleted_at IS NOT NULL AS is_removed,
    EXISTS (SELECT 1 FROM promotion_uses pu WHERE pu.tenant_id = t.tenant_id AND pu.order_id = t.id) AS has_promotions"""
"""The columns of an order `t` that a `LockedOrder` has, but for `has_lines_of_caller`."""

# NO KEY UPDATE doesn't block the KEY SHARE lock taken by foreign key checks of inserted lines, shipments and payments.
_LOCK = f"""
SELECT {COLUMNS},
    EXISTS (SELECT 1 FROM order_lines l
        WHERE l.tenant_id = t.tenant_id AND l.order_id = t.id AND l.vendor_id = $3) AS has_lines_of_caller
FROM orders t
WHERE t.tenant_id = $1 AND t.{{key}} = $2 AND (t.deleted_at IS NULL OR $4)
FOR NO KEY UPDATE OF t
"""
# It returns no row, so that it can be sent together with the statement that follows.
_LOCK_MATCHING = """
WITH locked AS MATERIALIZED (SELECT t.id FROM orders t WHERE t.tenant_id = $1 AND {condition} FOR NO KEY UPDATE OF t)
SELECT 1 FROM locked WHERE id < 0
"""
_READ_BY_ID = _LOCK.replace("{key}", "id").replace("FOR NO KEY UPDATE OF t", "")
_LOCK_BY_ID = _LOCK.replace("{key}", "id")
_LOCK_BY_PUBLIC_ID = _LOCK.replace("{key}", "public_id")


@dataclass(frozen=True, slots=True)
class LockedOrder:
    """The columns of an order that changes depend on, as read under the lock; `shipping_quote` is JSON."""

    id: int
    public_id: UUID
    status: str
    stock_state: str
    vendor_id: int | None
    user_id: int | None
    imported: bool
    currency: str
    tracking_code: str | None
    subtotal_cents: int
    discount_cents: int
    shipping_cents: int
    surcharge_cents: int
    tax_cents: int
    total_cents: int
    paid_cents: int
    refunded_cents: int
    payment_status: str
    payment_method_id: int | None
    shipping_method_id: int | None
    hold_until: datetime | None
    coupon_code: str
    points_earned: int
    points_spent: int
    points_cents: int
    shipping_quote: str | None
    is_removed: bool
    has_promotions: bool
    has_lines_of_caller: bool

    @property
    def has_points(self) -> bool:
        """Return whether the order spends or earns reward points."""
        return bool(self.points_earned or self.points_spent)

    def settlement(self, status: str = "") -> Settlement:
        """Return what the ledger has of the order, or would have of it in another status."""
        return settle(
            status or self.status, self.payment_status, self.total_cents, self.paid_cents, self.refunded_cents
        )

    def changes_ledger(self, status: str) -> bool:
        """Return whether the ledger is to be written for another status: for one that settles the order otherwise.

        Of a chargeback everything is reversed in each status, which the queue doesn't know (migration 0046).
        """
        return status != self.status and (
            self.payment_status == CHARGEBACK or self.settlement(status) != self.settlement()
        )

    def payment_status_of(self, total_cents: int) -> str:
        """Return the payment status that the order has with another total."""
        charged_back = self.payment_status == CHARGEBACK
        return payment_status(total_cents, self.paid_cents, self.refunded_cents, charged_back=charged_back)

    @property
    def has_unrefunded_payment(self) -> bool:
        """Return whether payments exceed refunds."""
        return self.paid_cents > self.refunded_cents


async def lock_order(scope: Scope, order: object, *, may_be_removed: bool = False) -> LockedOrder:
    """Lock an order that the caller may change; one that was removed only where money may arrive for it.

    Raises NotFound for a missing order or a vendor without a line in it, and Forbidden for storefront callers.
    """
    if scope.actor.kind in _STOREFRONT_ACTORS:
        raise Forbidden("insufficient permissions")
    reference = parse_reference(order)
    if reference is None:
        raise NotFound("order")
    sql = _LOCK_BY_ID if isinstance(reference, int) else _LOCK_BY_PUBLIC_ID
    record = await fetchrow(sql, scope.store.id, reference, scope.actor.vendor_id, may_be_removed)
    if record is None:
        raise NotFound("order")
    locked = LockedOrder(**record)
    if scope.actor.kind is ActorKind.VENDOR and not (locked.has_lines_of_caller or _is_own_order(scope, locked)):
        raise NotFound("order")
    return locked


async def lock_first(scope: Scope, order: Reference) -> None:
    """Lock an order, if there is one, before the next statement of the transaction, which reads it as it is under the lock."""
    await lock_matching(scope, "t.id = $2" if isinstance(order, int) else "t.public_id = $2", order)


async def lock_matching(scope: Scope, condition: str, *params: object) -> None:
    """Do what `lock_first` does for the order `t` of a condition, whose parameters begin at $2: none is locked that it leaves out."""
    await execute_later(_LOCK_MATCHING.format(condition=condition), scope.store.id, *params)


async def read_order(scope: Scope, order_id: int) -> LockedOrder | None:
    """Return an order as it is, without a lock: for a calculation that changes nothing."""
    record = await fetchrow(_READ_BY_ID, scope.store.id, order_id, None, False)
    return None if record is None else LockedOrder(**record)


def reject_shared(scope: Scope, order: LockedOrder) -> None:
    """Raise Forbidden for a vendor unless the order is wholly its own (docs/reference/legacy.md#vendor-app)."""
    if scope.actor.kind is ActorKind.VENDOR and not _is_own_order(scope, order):
        raise Forbidden("insufficient permissions")


def _is_own_order(scope: Scope, order: LockedOrder) -> bool:
    # NULL (a multi-vendor order) never equals NULL (an actor without a vendor).
    return order.vendor_id is not None and order.vendor_id == scope.actor.vendor_id
