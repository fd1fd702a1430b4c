"""Credit limits: the amount a customer may have in open and paid orders with a vendor (docs/reference/legacy.md#order-limit)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from domain.orders.transitions import COMPLETE, UNSUCCESSFUL
from kernel.errors import RuleViolation, ValidationFailed
from kernel.fields import InputField, InputValues, cents, read_fields
from kernel.ids import uuid7
from kernel.money import format_cents
from kernel.scope import Scope
from models import audit
from models.connection.database import fetch, fetchval, transaction
from models.references import ORDER_LIMIT, USER, VENDOR, find, resolve
from models.rows import delete_rows

# Orders in any other status, custom ones included, count against the limit.
CLOSED_STATUSES = (COMPLETE, *UNSUCCESSFUL)
_CLOSED_SQL = ", ".join(f"'{status}'" for status in CLOSED_STATUSES)

USED_SQL = f"""
(SELECT coalesce(sum(CASE WHEN o.vendor_id = t.vendor_id THEN o.total_cents ELSE
    (SELECT coalesce(sum(l.quantity * l.price_cents), 0) FROM order_lines l
    WHERE l.tenant_id = o.tenant_id AND l.order_id = o.id AND l.vendor_id = t.vendor_id) END), 0)::bigint
FROM orders o WHERE o.tenant_id = t.tenant_id AND o.user_id = t.user_id AND o.deleted_at IS NULL
    AND o.status NOT IN ({_CLOSED_SQL}) AND (o.vendor_id = t.vendor_id OR o.vendor_id IS NULL))
"""
"""Amount used of limit `t`: the customer's open and paid orders with the vendor; of multi-vendor orders, the vendor's own lines."""

_VENDORS = "SELECT DISTINCT vendor_id FROM order_lines WHERE tenant_id = $1 AND order_id = $2 AND vendor_id IS NOT NULL"
_LIMIT: Mapping[str, InputField] = {"limit_cents": InputField("limit_cents", cents(), code="price_invalid")}
_SET = """
INSERT INTO order_limits (tenant_id, public_id, user_id, vendor_id, limit_cents, created_at, updated_at)
SELECT $1, $2, $3, $4, $5, $6, $6 WHERE NOT EXISTS (
    SELECT FROM order_limits WHERE tenant_id = $1 AND user_id = $3 AND vendor_id = $4 AND limit_cents = $5
)
ON CONFLICT (tenant_id, user_id, vendor_id) DO UPDATE SET limit_cents = excluded.limit_cents, updated_at = excluded.updated_at
RETURNING id
"""
_FIND = "SELECT id FROM order_limits WHERE tenant_id = $1 AND user_id = $2 AND vendor_id = $3"
# By id, so that two concurrent orders of one customer with two vendors can't deadlock.
_LOCK = """
SELECT id FROM order_limits WHERE tenant_id = $1 AND user_id = $2 AND vendor_id = ANY($3::bigint[])
ORDER BY id FOR NO KEY UPDATE
"""
# A separate statement after the lock sees what previous lock holders committed.
_USAGE = f"""
SELECT t.vendor_id, v.name, t.limit_cents, {USED_SQL} AS used_cents
FROM order_limits t JOIN vendors v ON v.tenant_id = t.tenant_id AND v.id = t.vendor_id
WHERE t.tenant_id = $1 AND t.id = ANY($2::bigint[])
"""


async def set_limit(scope: Scope, values: InputValues) -> int:
    """Set the limit of a `user`* with a `vendor`* to `limit_cents` and return its internal id.

    Without an amount an existing limit stays unchanged. Raises ValidationFailed.
    """
    columns = read_fields(_LIMIT, values)
    for name in ("user", "vendor"):
        if values.get(name) is None:
            raise ValidationFailed(f"{name} is required", field=name, code="required")
    async with transaction(scope):
        user = await resolve(scope, USER, values["user"], field="user")
        vendor = await resolve(scope, VENDOR, values["vendor"], field="vendor")
        limit, limit_id = columns.get("limit_cents"), None
        if limit is not None:
            limit_id = await fetchval(_SET, scope.store.id, uuid7(), user, vendor, limit, scope.now)
        if limit_id is not None:
            details = {"user": user, "vendor": vendor, "limit_cents": limit}
            await audit.record(scope, "order_limit.set", "order_limit", limit_id, details)
        else:
            limit_id = await fetchval(_FIND, scope.store.id, user, vendor)
        if limit_id is None:
            raise ValidationFailed("limit_cents is required", field="limit_cents", code="required")
    return int(limit_id)


async def delete_limit(scope: Scope, limit: object) -> None:
    """Delete an order limit."""
    async with transaction(scope):
        limit_id = await find(scope, ORDER_LIMIT, limit)
        await delete_rows(scope, "order_limits", id=limit_id)
        await audit.record(scope, "order_limit.deleted", "order_limit", limit_id)


async def reject_over_limit(scope: Scope, user: int, vendors: Mapping[int, int]) -> None:
    """Raise RuleViolation (`order_limit_exceeded`) when an order exceeds a customer's limit; `vendors` maps vendor ids to added cents.

    Runs in the transaction that writes the order: the limits stay locked until it ends, so a concurrent order sees this one.
    """
    locked = await fetch(_LOCK, scope.store.id, user, list(vendors))
    if not locked:
        return
    for limit in await fetch(_USAGE, scope.store.id, [limit["id"] for limit in locked]):
        available = limit["limit_cents"] - limit["used_cents"]
        if vendors[limit["vendor_id"]] > available:
            available_amount = format_cents(max(available, 0))
            raise RuleViolation(
                f"the order is above the buyer's limit with {limit['name']}: {available_amount} of"
                f" {format_cents(limit['limit_cents'])} are available",
                reason="order_limit_exceeded",
                details={"limit_amount": format_cents(limit["limit_cents"]), "available_amount": available_amount},
            )


async def reject_growth_over_limit(scope: Scope, user: int, order: int) -> None:
    """Reject an order whose total grew beyond a limit of its customer; runs in the transaction that changed it."""
    vendors = await fetch(_VENDORS, scope.store.id, order)
    await reject_over_limit(scope, user, {vendor["vendor_id"]: 0 for vendor in vendors})


def amounts_by_vendor(
    sole_vendor: int | None, total_cents: int, shares: Iterable[tuple[int | None, int]]
) -> dict[int, int]:
    """Return the cents an order adds per vendor: its total for a sole vendor, else the `shares` of its lines."""
    if sole_vendor is not None:
        return {sole_vendor: total_cents}
    amounts: Counter[int] = Counter()
    for vendor, amount_cents in shares:
        if vendor is not None:
            amounts[vendor] += amount_cents
    return dict(amounts)
