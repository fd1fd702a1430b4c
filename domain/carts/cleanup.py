"""Expire abandoned carts and delete old closed ones, which contain addresses and e-mails no longer needed."""

from __future__ import annotations

from datetime import timedelta

from kernel.scope import Scope, active_scope
from models.database import execute

# Ordered carts are deleted too: the order has the data.
CLOSED_RETENTION = timedelta(days=90)
_BATCH_SIZE = 1_000

_EXPIRE = """
UPDATE carts SET status = 'expired', is_untold = false
WHERE tenant_id = $1 AND id IN (
    SELECT id FROM carts WHERE tenant_id = $1 AND status = 'open' AND expires_at <= $2
    ORDER BY expires_at, id LIMIT $3 FOR NO KEY UPDATE SKIP LOCKED
)
"""
_DELETE = """
DELETE FROM carts WHERE tenant_id = $1 AND id IN (
    SELECT id FROM carts WHERE tenant_id = $1 AND updated_at < $2 AND status <> 'open' LIMIT $3
)
"""


async def expire_carts(scope: Scope, *, limit: int = _BATCH_SIZE) -> int:
    """Mark the store's expired carts; return their number, at most `limit` in one call.

    Carts locked by a concurrent change are skipped: the change extends their expiry.
    """
    with active_scope(scope):
        return await execute(_EXPIRE, scope.store.id, scope.now, limit)


async def delete_closed_carts(scope: Scope, *, limit: int = _BATCH_SIZE) -> int:
    """Delete the store's carts ordered or expired long ago; return their number, at most `limit` in one call."""
    with active_scope(scope):
        return await execute(_DELETE, scope.store.id, scope.now - CLOSED_RETENTION, limit)
