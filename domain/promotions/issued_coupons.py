"""Coupons that the bonus give_coupon generates: one for each order and promotion, mailed when the order is paid, and used once.

They belong to a promotion with the condition auto_coupons. Its row is locked before those of its coupons (`domain.orders.locked`).
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from domain.mails import outbox
from domain.mails.texts import MailType
from kernel.scope import Scope
from kernel.text import fold
from models.connection.database import execute, execute_later, fetch
from models.rows import insert_rows

# Without letters and digits that look alike.
_ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
_LENGTH = 12

# The order that gave a coupon and the one that used it may be cancelled at the same time: the later one sees what the earlier committed.
_LOCK = """
WITH locked AS MATERIALIZED (SELECT id FROM issued_coupons WHERE tenant_id = $1 AND {of} = $2 ORDER BY id FOR NO KEY UPDATE)
SELECT 1 FROM locked WHERE id < 0
"""
# A coupon is usable while the order that gave it is paid; one that was used stays as it is.
_SETTLE = """
WITH ordered AS (SELECT id, stock_state, user_id, email, firstname FROM orders WHERE tenant_id = $1 AND id = $2), settled AS (
    UPDATE issued_coupons i SET active_at = CASE WHEN o.stock_state = 'D' THEN $3::timestamptz END,
        mailed_at = CASE WHEN o.stock_state = 'D' THEN $3 ELSE i.mailed_at END
    FROM ordered o
    WHERE i.tenant_id = $1 AND i.order_id = o.id AND NOT i.is_used
        AND CASE o.stock_state WHEN 'D' THEN i.active_at IS NULL WHEN 'N' THEN i.active_at IS NOT NULL ELSE false END
    RETURNING i.code, o.stock_state = 'D' AS is_active
)
SELECT s.code, o.id, o.user_id, o.email, o.firstname FROM settled s CROSS JOIN ordered o WHERE s.is_active AND o.email <> '' ORDER BY s.code
"""
_USE = """
UPDATE issued_coupons SET is_used = true, used_order_id = $3
WHERE tenant_id = $1 AND code_key = $2 AND active_at IS NOT NULL AND NOT is_used AND promotion_id = ANY($4::bigint[])
"""
# One that is given back is usable only as long as the order that gave it, which may have been cancelled after the use.
_SET_USED = """
UPDATE issued_coupons i SET is_used = $3, active_at = CASE WHEN $3 OR o.stock_state <> 'N' THEN i.active_at END
FROM orders o
WHERE i.tenant_id = $1 AND i.used_order_id = $2 AND i.is_used <> $3 AND o.tenant_id = i.tenant_id AND o.id = i.order_id
"""
_WITHDRAW = "DELETE FROM issued_coupons WHERE tenant_id = $1 AND order_id = $2 AND used_order_id IS NULL"


def is_issued_sql(coupon: str) -> str:
    """Return the SQL that says whether a coupon (`$n`, folded) was generated for promotion `p` and can be used."""
    return f"""
    ({coupon} <> '' AND EXISTS (SELECT 1 FROM issued_coupons i WHERE i.tenant_id = p.tenant_id AND i.promotion_id = p.id
        AND i.code_key = {coupon} AND i.active_at IS NOT NULL AND NOT i.is_used))"""


async def issue_coupons(scope: Scope, order_id: int, promotions: Sequence[int]) -> None:
    """Generate the coupons that a new order gives; they are usable once it is paid (`settle_coupons`)."""
    rows = []
    for promotion in promotions:
        code = "".join(secrets.choice(_ALPHABET) for _ in range(_LENGTH))
        of_order = {"promotion_id": promotion, "order_id": order_id, "created_at": scope.now}
        rows.append({**of_order, "code": code, "code_key": fold(code)})
    await insert_rows(scope, "issued_coupons", rows)


async def settle_coupons(scope: Scope, order_id: int) -> None:
    """Activate and mail the coupons of an order that is paid, deactivate unused ones of an order that is no longer."""
    await execute_later(_LOCK.format(of="order_id"), scope.store.id, order_id)
    for row in await fetch(_SETTLE, scope.store.id, order_id, scope.now):
        recipient = outbox.recipient_of({**row, "id": row["user_id"]})
        details = {"number": str(row["id"]), "code": row["code"]}
        await outbox.queue_mail(scope, MailType.COUPON, recipient, details=details)


async def use_coupon(scope: Scope, coupon: str, order_id: int, promotions: Sequence[int]) -> bool:
    """Mark a generated coupon (folded) as used by an order; return False when another order was first."""
    return bool(await execute(_USE, scope.store.id, coupon, order_id, list(promotions)))


async def set_used(scope: Scope, order_id: int, is_used: bool) -> None:
    """Give back the generated coupon that an order used, or count it as used again."""
    await execute_later(_LOCK.format(of="used_order_id"), scope.store.id, order_id)
    await execute(_SET_USED, scope.store.id, order_id, is_used)


async def withdraw_coupons(scope: Scope, order_id: int) -> None:
    """Delete the coupons that an order gave, except for those that were used."""
    await execute(_WITHDRAW, scope.store.id, order_id)
