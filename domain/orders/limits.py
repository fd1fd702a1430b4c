"""Set how much a buyer may have open and paid with a vendor at a time, and refuse orders beyond it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from domain import audit
from domain.fields import Given, InputField, cents, read_fields
from domain.orders.transitions import CANCELLED, COMPLETE, DECLINED, FAILED
from domain.references import ORDER_LIMIT, USER, VENDOR, find, resolve
from kernel.errors import RuleViolation, ValidationFailed
from kernel.ids import uuid7
from kernel.money import decimal_text
from kernel.scope import Scope
from models.database import execute, rows, transaction, value

# An order in any other letter is open or paid and not yet done with, those a store added too.
DONE_WITH = (COMPLETE, DECLINED, FAILED, CANCELLED)
_DONE_WITH = ", ".join(f"'{letter}'" for letter in DONE_WITH)

USED = f"""
(SELECT coalesce(sum(CASE WHEN o.vendor_id = t.vendor_id THEN o.total_cents ELSE
    (SELECT coalesce(sum(l.quantity * l.price_cents), 0) FROM order_lines l
    WHERE l.tenant_id = o.tenant_id AND l.order_id = o.id AND l.vendor_id = t.vendor_id) END), 0)::bigint
FROM orders o WHERE o.tenant_id = t.tenant_id AND o.user_id = t.user_id AND o.deleted_at IS NULL
    AND o.status NOT IN ({_DONE_WITH}) AND (o.vendor_id = t.vendor_id OR o.vendor_id IS NULL))
"""
"""What a limit `t` has been used for: the buyer's open and paid orders with the vendor, of shared ones the vendor's own lines."""

_VENDORS = "SELECT DISTINCT vendor_id FROM order_lines WHERE tenant_id = $1 AND order_id = $2 AND vendor_id IS NOT NULL"
_LIMIT: Mapping[str, InputField] = {"limit_cents": InputField("limit_cents", cents(), code="price_invalid")}
_SET = """
INSERT INTO order_limits (tenant_id, public_id, user_id, vendor_id, limit_cents, created_at, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $6)
ON CONFLICT (tenant_id, user_id, vendor_id) DO UPDATE SET limit_cents = excluded.limit_cents, updated_at = excluded.updated_at
RETURNING id
"""
_THERE = "SELECT id FROM order_limits WHERE tenant_id = $1 AND user_id = $2 AND vendor_id = $3"
# Locked in the order of the ids, so that two orders of one buyer with two vendors don't wait for each other in a circle.
_LOCK = """
SELECT id FROM order_limits WHERE tenant_id = $1 AND user_id = $2 AND vendor_id = ANY($3::bigint[])
ORDER BY id FOR NO KEY UPDATE
"""
# A statement of its own after the lock: it sees what those who held the lock before have committed.
_STANDING = f"""
SELECT t.vendor_id, v.name, t.limit_cents, {USED} AS used_cents
FROM order_limits t JOIN vendors v ON v.tenant_id = t.tenant_id AND v.id = t.vendor_id
WHERE t.tenant_id = $1 AND t.id = ANY($2::bigint[])
"""


async def set_limit(scope: Scope, given: Given) -> int:
    """Set the limit of a `user`* with a `vendor`* to `limit_cents` and give its internal id.

    Without an amount the one there is stays. Raises ValidationFailed.
    """
    columns = read_fields(_LIMIT, given)
    for name in ("user", "vendor"):
        if given.get(name) is None:
            raise ValidationFailed(f"{name} is required", field=name, code="required")
    async with transaction(scope):
        user = await resolve(scope, USER, given["user"], field="user")
        vendor = await resolve(scope, VENDOR, given["vendor"], field="vendor")
        if "limit_cents" not in columns:
            limit_id = await value(_THERE, scope.store.id, user, vendor)
            if limit_id is None:
                raise ValidationFailed("limit_cents is required", field="limit_cents", code="required")
            return int(limit_id)
        limit = columns["limit_cents"]
        limit_id = await value(_SET, scope.store.id, uuid7(), user, vendor, limit, scope.now)
        details = {"user": user, "vendor": vendor, "limit_cents": limit}
        await audit.record(scope, "order_limit.set", "order_limit", limit_id, details)
    return int(limit_id)


async def delete_limit(scope: Scope, limit: object) -> None:
    """Take a limit away: the buyer may order as others do."""
    async with transaction(scope):
        number = await find(scope, ORDER_LIMIT, limit)
        await execute("DELETE FROM order_limits WHERE tenant_id = $1 AND id = $2", scope.store.id, number)
        await audit.record(scope, "order_limit.deleted", "order_limit", number)


async def refuse_beyond(scope: Scope, user: int, vendors: Mapping[int, int]) -> None:
    """Refuse what takes a buyer beyond a limit with a vendor; `vendors` are what an order adds, in cents, by vendor.

    Part of the transaction that writes the order: the limits stay locked until it ends, so of two orders at once the second sees the
    first. Raises RuleViolation (`order_limit_exceeded`).
    """
    locked = await rows(_LOCK, scope.store.id, user, list(vendors))
    if not locked:
        return
    for limit in await rows(_STANDING, scope.store.id, [row["id"] for row in locked]):
        available = limit["limit_cents"] - limit["used_cents"]
        if vendors[limit["vendor_id"]] > available:
            shown = decimal_text(max(available, 0))
            raise RuleViolation(
                f"the order is above the buyer's limit with {limit['name']}: {shown} of"
                f" {decimal_text(limit['limit_cents'])} are available",
                reason="order_limit_exceeded",
                details={"limit_amount": decimal_text(limit["limit_cents"]), "available_amount": shown},
            )


async def refuse_grown(scope: Scope, user: int, order: int) -> None:
    """Refuse an order that has just grown beyond a limit of its buyer; part of the transaction that changed it."""
    vendors = await rows(_VENDORS, scope.store.id, order)
    await refuse_beyond(scope, user, {row["vendor_id"]: 0 for row in vendors})


def by_vendor(
    sole_vendor: int | None, total_cents: int, shares: Iterable[tuple[int | None, int]]
) -> dict[int, int]:
    """Give what an order adds with each vendor: its total with the only one, else the `shares` of its lines."""
    if sole_vendor is not None:
        return {sole_vendor: total_cents}
    added: Counter[int] = Counter()
    for vendor, cents_ in shares:
        if vendor is not None:
            added[vendor] += cents_
    return dict(added)
