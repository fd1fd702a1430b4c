"""What must hold after any mix of operations: stock adds up, uses are counted, limits and totals hold, nothing happened twice."""

from __future__ import annotations

from collections.abc import Collection

from domain.orders import limits
from tests.system.races.arena import STOCK, Arena
from tests.system.races.operations import LIMIT, ON_HAND

_RESERVED = """
SELECT 'product ' || p.id AS subject, p.reserved, coalesce((SELECT sum(l.quantity) FROM order_lines l
    JOIN orders o ON o.tenant_id = l.tenant_id AND o.id = l.order_id AND o.stock_state = 'R'
    WHERE l.tenant_id = p.tenant_id AND l.product_id = p.id AND l.combination_id IS NULL AND l.tracked), 0) AS expected
FROM products p WHERE p.tenant_id = $1
UNION ALL
SELECT 'combination ' || c.id, c.reserved, coalesce((SELECT sum(l.quantity) FROM order_lines l
    JOIN orders o ON o.tenant_id = l.tenant_id AND o.id = l.order_id AND o.stock_state = 'R'
    WHERE l.tenant_id = c.tenant_id AND l.combination_id = c.id AND l.tracked), 0)
FROM combinations c WHERE c.tenant_id = $1
"""
_ON_HAND = """
SELECT p.id, p.on_hand, coalesce((SELECT sum(l.quantity) FROM order_lines l
    JOIN orders o ON o.tenant_id = l.tenant_id AND o.id = l.order_id AND o.stock_state = 'D'
    WHERE l.tenant_id = p.tenant_id AND l.product_id = p.id AND l.combination_id IS NULL), 0) AS deducted
FROM products p WHERE p.tenant_id = $1 AND p.public_id = ANY($2::uuid[])
"""
_USES = """
SELECT p.id, p.used, p.usage_cap, (SELECT count(*) FROM promotion_uses u
    WHERE u.tenant_id = p.tenant_id AND u.promotion_id = p.id AND NOT u.given_back) AS counted,
    (SELECT count(*) FROM promotion_uses u JOIN orders o ON o.tenant_id = u.tenant_id AND o.id = u.order_id
    WHERE u.tenant_id = p.tenant_id AND u.promotion_id = p.id AND u.given_back <> (o.status IN ('D', 'F', 'I'))) AS wrong
FROM promotions p WHERE p.tenant_id = $1
"""
_LIMITS = f"SELECT t.id, t.limit_cents, {limits.USED_SQL} AS used FROM order_limits t WHERE t.tenant_id = $1"
# Each selects the rows that must not exist.
_WRONG = {
    "an order whose sums differ": """
        SELECT o.id FROM orders o WHERE o.tenant_id = $1 AND (
            o.total_cents <> o.subtotal_cents - o.discount_cents + o.shipping_cents + o.surcharge_cents + o.tax_cents
            OR o.subtotal_cents <> (SELECT coalesce(sum(l.quantity * l.price_cents), 0) FROM order_lines l
                WHERE l.tenant_id = o.tenant_id AND l.order_id = o.id)
            OR o.paid_cents <> (SELECT coalesce(sum(coalesce(p.paid_cents, p.amount_cents)), 0) FROM payments p
                WHERE p.tenant_id = o.tenant_id AND p.order_id = o.id
                    AND p.status IN ('PAID', 'PARTIALLY_REFUNDED', 'REFUNDED', 'DISPUTED')))
    """,
    "a payment that differs from its charge at the gateway": """
        SELECT c.charge_id FROM sandbox_charges c LEFT JOIN payments p ON p.tenant_id = c.tenant_id AND p.public_id = c.payment_id
        WHERE c.tenant_id = $1 AND (c.paid_cents, c.refunded_cents) IS DISTINCT FROM (coalesce(p.paid_cents, 0), p.refunded_cents)
    """,
    "a payment that is refunded by more than was paid": """
        SELECT p.id FROM payments p WHERE p.tenant_id = $1 AND p.gateway <> '' AND p.refunded_cents > coalesce(p.paid_cents, 0)
    """,
    "a product or combination whose stock differs from its warehouses": """
        SELECT coalesce('combination ' || c.id, 'product ' || p.id)
        FROM (
            SELECT s.product_id, s.combination_id, sum(s.quantity) FILTER (WHERE s.is_active) AS quantity
            FROM warehouse_stock s WHERE s.tenant_id = $1 GROUP BY s.product_id, s.combination_id HAVING bool_or(s.is_active)
        ) s JOIN products p ON p.tenant_id = $1 AND p.id = s.product_id
        LEFT JOIN combinations c ON c.tenant_id = $1 AND c.id = s.combination_id
        WHERE s.quantity <> coalesce(c.stock, p.stock)
    """,
    "an order whose warehouses gave more or less than it has": """
        SELECT o.id FROM orders o JOIN order_lines l ON l.tenant_id = o.tenant_id AND l.order_id = o.id AND l.tracked
        WHERE o.tenant_id = $1 AND EXISTS (SELECT FROM warehouse_stock s WHERE s.tenant_id = l.tenant_id AND s.product_id = l.product_id
            AND s.combination_id IS NOT DISTINCT FROM l.combination_id)
        GROUP BY o.id, o.stock_state, l.product_id, l.combination_id
        HAVING CASE o.stock_state WHEN 'N' THEN 0 ELSE sum(l.quantity) END <> coalesce((SELECT sum(a.quantity) FROM order_allocations a
            WHERE a.tenant_id = $1 AND a.order_id = o.id AND a.product_id = l.product_id
                AND a.combination_id IS NOT DISTINCT FROM l.combination_id), 0)
    """,
    "a cart that is ordered without an order, or open with one": """
        SELECT c.id FROM carts c WHERE c.tenant_id = $1 AND (c.status = 'ordered') <> (c.order_id IS NOT NULL)
    """,
    "an order of two carts": """
        SELECT c.order_id FROM carts c WHERE c.tenant_id = $1 AND c.order_id IS NOT NULL GROUP BY c.order_id HAVING count(*) > 1
    """,
    # The deletion of a cancelled order emits the event again.
    "an order cancelled twice": """
        SELECT o.id FROM orders o WHERE o.tenant_id = $1 AND (o.deleted_at IS NOT NULL)::int + 1 < (SELECT count(*)
            FROM outbox_events e WHERE e.tenant_id = o.tenant_id AND e.name = 'order.cancelled' AND e.subject_id = o.public_id)
    """,
    "an order created twice or without an event": """
        SELECT o.id FROM orders o WHERE o.tenant_id = $1 AND 1 <> (SELECT count(*) FROM outbox_events e
            WHERE e.tenant_id = o.tenant_id AND e.name = 'order.created' AND e.subject_id = o.public_id)
    """,
    "events with a gap in their sequence": """
        SELECT e.subject_id FROM outbox_events e WHERE e.tenant_id = $1
        GROUP BY e.subject_type, e.subject_id HAVING max(e.sequence) <> count(*) OR min(e.sequence) <> 1
    """,
    "an order whose history does not lead to its status": """
        SELECT o.id FROM orders o WHERE o.tenant_id = $1 AND o.status <> (SELECT h.to_status FROM order_status_changes h
            WHERE h.tenant_id = o.tenant_id AND h.order_id = o.id ORDER BY h.id DESC LIMIT 1)
    """,
    "an order shipped beyond its lines": """
        SELECT l.id FROM order_lines l WHERE l.tenant_id = $1 AND l.quantity < (SELECT coalesce(sum(s.quantity), 0)
            FROM shipment_lines s WHERE s.tenant_id = l.tenant_id AND s.order_line_id = l.id)
    """,
    "an account whose points differ from its ledger": """
        SELECT u.id FROM users u WHERE u.tenant_id = $1 AND (u.points < 0 OR u.points <> (SELECT coalesce(sum(e.points), 0)
            FROM point_entries e WHERE e.tenant_id = u.tenant_id AND e.user_id = u.id))
    """,
    "an order whose points differ from its ledger": """
        SELECT o.id FROM orders o CROSS JOIN LATERAL (
            SELECT coalesce(-sum(e.points) FILTER (WHERE e.kind IN ('spent', 'returned')), 0) AS spent,
                coalesce(sum(e.points) FILTER (WHERE e.kind IN ('earned', 'reversed')), 0) AS earned
            FROM point_entries e WHERE e.tenant_id = o.tenant_id AND e.order_id = o.id) AS e
        WHERE o.tenant_id = $1 AND (o.points_cents <> o.points_spent OR o.points_cents > o.discount_cents
            OR e.spent > o.points_spent OR e.earned > o.points_earned
            OR (o.stock_state = 'N' AND e.spent <> 0)
            OR (o.stock_state = 'D' AND e.earned <> o.points_earned AND o.refunded_cents = 0 AND o.payment_status <> 'chargeback'))
    """,
    "an order whose entries in the ledger differ from its payments": """
        SELECT o.id FROM orders o WHERE o.tenant_id = $1
            AND CASE WHEN o.payment_status = 'chargeback' THEN 0 ELSE o.paid_cents - o.refunded_cents END <> (
                SELECT coalesce(sum(e.amount_cents), 0) FROM ledger_entries e WHERE e.tenant_id = o.tenant_id AND e.order_id = o.id)
    """,
    "an order that came to nothing and still earns a vendor something": """
        SELECT o.id FROM orders o WHERE o.tenant_id = $1 AND (o.status IN ('D', 'F', 'I') OR o.deleted_at IS NOT NULL) AND 0 <> (
            SELECT coalesce(sum(e.amount_cents), 0) FROM ledger_entries e
            WHERE e.tenant_id = o.tenant_id AND e.order_id = o.id AND e.vendor_id IS NOT NULL)
    """,
    "a payout that the ledger doesn't have": """
        SELECT p.id FROM payouts p WHERE p.tenant_id = $1 AND CASE WHEN p.status = 'cancelled' THEN 0 ELSE -p.amount_cents END <> (
            SELECT coalesce(sum(e.amount_cents), 0) FROM ledger_entries e WHERE e.tenant_id = p.tenant_id AND e.payout_id = p.id)
    """,
    "a notification that was not applied": """
        SELECT n.id FROM gateway_notifications n WHERE n.tenant_id = $1 AND NOT n.processed
    """,
}
_LATEST_ENTRY = "SELECT coalesce(max(e.id), 0) AS id FROM ledger_entries e WHERE e.tenant_id = $1"
_LATER_ENTRIES = (
    "SELECT DISTINCT e.order_id FROM ledger_entries e WHERE e.tenant_id = $1 AND e.id > $2 ORDER BY e.order_id"
)


async def violations(arena: Arena, voids: Collection[str]) -> list[str]:
    """Return what is wrong in the arena's store, apart from the invariants that the operations void."""
    rows = arena.client.rows
    wrong = [
        f"{row['subject']} has {row['reserved']} reserved; its orders {row['expected']}"
        for row in await rows(_RESERVED)
        if row["reserved"] != row["expected"]
    ]
    if ON_HAND not in voids:
        wrong += [
            f"product {row['id']} has {row['on_hand']} on hand after {row['deducted']} were deducted from {STOCK}"
            for row in await rows(_ON_HAND, arena.products)
            if row["on_hand"] != STOCK - row["deducted"]
        ]
    wrong += [
        f"promotion {row['id']}: {dict(row)}"
        for row in await rows(_USES)
        if row["used"] != row["counted"] or row["wrong"] or 0 < row["usage_cap"] < row["used"]
    ]
    if LIMIT not in voids:
        wrong += [f"limit {row['id']}: {dict(row)}" for row in await rows(_LIMITS) if row["used"] > row["limit_cents"]]
    for sentence, sql in _WRONG.items():
        wrong += [f"{sentence}: {row[0]}" for row in await rows(sql)]
    return wrong + await _lacking_entries(arena)


async def _lacking_entries(arena: Arena) -> list[str]:
    """Let the job write the ledgers that are left to it, of orders that lack nothing (docs/ledger.md#when-entries-are-written)."""
    client = arena.client
    [latest] = await client.rows(_LATEST_ENTRY)
    await client.write_ledgers()
    later = await client.rows(_LATER_ENTRIES, latest["id"])
    return [f"an order whose ledger lacked entries: {row['order_id']}" for row in later]
