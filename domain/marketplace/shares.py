"""A vendor's share of an order, alike for own and for shared orders (docs/reference/shared.md#vendors-shares).

A share is the vendor's lines at their prices, and the shipping when the method is its own. Discounts of the order, points, surcharges and
taxes are the store's. The commission is on the lines. A refund takes back its part of the order's total from share and commission.
"""

from __future__ import annotations

from domain.purchase.commissions import COMMISSION_SQL, RATE_OF_OLD_LINES, RATE_TYPE_OF_OLD_LINES

_OLD_COMMISSION = COMMISSION_SQL.format(cents="l.old_cents", rate=RATE_OF_OLD_LINES, type=RATE_TYPE_OF_OLD_LINES)

# Imported lines have a shipping price of their own. What was paid beyond the total is in no share, also when it is refunded.
VENDOR_SHARES = f"""
SELECT o.status, o.created_at,
    l.lines_cents + CASE WHEN m.vendor_id = v.id THEN o.shipping_cents ELSE l.shipping_cents END AS share_cents,
    l.commission_cents + CASE WHEN l.old_cents > 0 THEN {_OLD_COMMISSION} ELSE 0 END AS commission_cents,
    least(o.total_cents, greatest(0, o.refunded_cents - greatest(0, o.paid_cents - o.total_cents))) AS refunded_cents, o.total_cents
FROM (
    SELECT order_id, sum(quantity * price_cents)::bigint AS lines_cents, sum(shipping_cents)::bigint AS shipping_cents,
        coalesce(sum(commission_cents), 0)::bigint AS commission_cents,
        coalesce(sum(quantity * price_cents) FILTER (WHERE commission_cents IS NULL), 0)::bigint AS old_cents
    FROM order_lines WHERE tenant_id = $1 AND vendor_id = $2 GROUP BY order_id
) l JOIN orders o ON o.tenant_id = $1 AND o.id = l.order_id
JOIN vendors v ON v.tenant_id = $1 AND v.id = $2
LEFT JOIN shipping_methods m ON m.tenant_id = o.tenant_id AND m.id = o.shipping_method_id
WHERE o.deleted_at IS NULL
"""
"""The shares of the vendor $2 of the store $1 in its orders, before refunds, in cents."""


def _kept(column: str) -> str:
    """Return what a refund leaves of an amount; half a cent is taken back as a whole one."""
    refunded = f"div(2 * {column}::numeric * refunded_cents + total_cents, 2 * total_cents)"
    return f"({column} - CASE WHEN refunded_cents > 0 THEN {refunded} ELSE 0 END)"


EARNED_SQL = f"({_kept('share_cents')} - {_kept('commission_cents')})"
"""What a vendor earned with an order of `VENDOR_SHARES`, less commission and refunds."""
