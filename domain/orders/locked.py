"""Take hold of one order for the rest of a transaction: everything that changes an order begins here.

The order's own row is the first that is locked, before any product's, so that two changes of one order follow each other and no
two changes of several orders wait in a circle.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from kernel.errors import Forbidden, NotFound
from kernel.ids import parse_reference
from kernel.scope import ActorKind, Scope
from models.database import row

_OUTSIDERS = (ActorKind.ANONYMOUS, ActorKind.CUSTOMER, ActorKind.STOREFRONT)

# NO KEY UPDATE: whoever adds a line, a parcel or a payment checks its foreign key with a KEY SHARE lock, which goes on.
_LOCK = """
SELECT o.id, o.public_id, o.status, o.stock_state, o.vendor_id, o.user_id, o.imported, o.currency, o.tracking_code,
    o.subtotal_cents, o.discount_cents, o.shipping_cents, o.surcharge_cents, o.tax_cents, o.total_cents,
    o.paid_cents, o.refunded_cents, o.payment_status, o.payment_method_id, o.shipping_method_id, o.hold_until,
    o.coupon_code, EXISTS (SELECT 1 FROM promotion_uses u WHERE u.tenant_id = o.tenant_id AND u.order_id = o.id) AS has_promotions,
    EXISTS (SELECT 1 FROM order_lines l
        WHERE l.tenant_id = o.tenant_id AND l.order_id = o.id AND l.vendor_id = $3) AS has_lines_of_caller
FROM orders o
WHERE o.tenant_id = $1 AND o.{key} = $2 AND o.deleted_at IS NULL
FOR NO KEY UPDATE OF o
"""
_BY_NUMBER = _LOCK.replace("{key}", "id")
_BY_PUBLIC_ID = _LOCK.replace("{key}", "public_id")


@dataclass(frozen=True, slots=True)
class LockedOrder:
    """Hold what changes of an order decide upon, as it is under the lock."""

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
    has_promotions: bool
    has_lines_of_caller: bool

    @property
    def holds_money(self) -> bool:
        """Say whether something was paid for it that was not paid back."""
        return self.paid_cents > self.refunded_cents


async def lock_order(scope: Scope, order: object) -> LockedOrder:
    """Lock an order that the caller may work on.

    Raises NotFound where there is none, also for a vendor without a line in it, and Forbidden for shoppers.
    """
    if scope.actor.kind in _OUTSIDERS:
        raise Forbidden("insufficient permissions")
    reference = parse_reference(order)
    if reference is None:
        raise NotFound("order")
    sql = _BY_NUMBER if isinstance(reference, int) else _BY_PUBLIC_ID
    found = await row(sql, scope.store.id, reference, scope.actor.company_id)
    if found is None:
        raise NotFound("order")
    locked = LockedOrder(**found)
    if scope.actor.kind is ActorKind.VENDOR and not (locked.has_lines_of_caller or _is_own(scope, locked)):
        raise NotFound("order")
    return locked


def refuse_shared(scope: Scope, order: LockedOrder) -> None:
    """Refuse a vendor what it may do only to an order wholly its own (decisions-legacy section 4)."""
    if scope.actor.kind is ActorKind.VENDOR and not _is_own(scope, order):
        raise Forbidden("insufficient permissions")


def _is_own(scope: Scope, order: LockedOrder) -> bool:
    # Two nulls (an order of several vendors, a user of none) are not the same vendor.
    return order.vendor_id is not None and order.vendor_id == scope.actor.company_id
