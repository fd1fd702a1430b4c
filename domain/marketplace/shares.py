"""A vendor's share of an order, alike for own and for shared orders (docs/reference/shared.md#vendors-shares).

A share is the vendor's lines at their prices, and the shipping when the method was its own as the order got it. Discounts of the order,
points, surcharges and taxes are the store's. What the vendor earns of it, less commission and refunds, is in the ledger (`domain.ledger`).
"""

from __future__ import annotations

# Imported lines have a shipping price of their own.
VENDOR_SHARES = """
SELECT o.status, o.created_at, l.lines_cents
    + CASE WHEN coalesce(o.shipping_account, m.vendor_id) = $2 THEN o.shipping_cents ELSE l.shipping_cents END AS share_cents
FROM (
    SELECT order_id, sum(quantity * price_cents)::bigint AS lines_cents, sum(shipping_cents)::bigint AS shipping_cents
    FROM order_lines WHERE tenant_id = $1 AND vendor_id = $2 GROUP BY order_id
) l JOIN orders o ON o.tenant_id = $1 AND o.id = l.order_id
LEFT JOIN shipping_methods m ON m.tenant_id = o.tenant_id AND m.id = o.shipping_method_id
WHERE o.deleted_at IS NULL
"""
"""The shares of the vendor $2 of the store $1 in its orders, before refunds, in cents."""
