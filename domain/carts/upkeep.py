"""End carts that nobody came back to, and forget old ones: they hold addresses and e-mails that nothing needs any more."""

from __future__ import annotations

from datetime import timedelta

from kernel.scope import Scope, entered
from models.database import execute

# What became an order is kept by the order.
KEEP_CLOSED = timedelta(days=90)
_AT_ONCE = 1_000

_EXPIRE = """
UPDATE carts SET status = 'expired', is_untold = false
WHERE tenant_id = $1 AND id IN (
    SELECT id FROM carts WHERE tenant_id = $1 AND status = 'open' AND expires_at <= $2
    ORDER BY expires_at, id LIMIT $3 FOR NO KEY UPDATE SKIP LOCKED
)
"""
_FORGET = """
DELETE FROM carts WHERE tenant_id = $1 AND id IN (
    SELECT id FROM carts WHERE tenant_id = $1 AND updated_at < $2 AND status <> 'open' LIMIT $3
)
"""


async def expire_carts(scope: Scope, *, limit: int = _AT_ONCE) -> int:
    """Mark the store's open carts whose time has passed; say how many, at most `limit` in one call.

    One that is being changed right now is left: the change moves its end away.
    """
    with entered(scope):
        return await execute(_EXPIRE, scope.store.id, scope.now, limit)


async def forget_closed(scope: Scope, *, limit: int = _AT_ONCE) -> int:
    """Delete the store's carts that were ordered or expired long ago; say how many, at most `limit` in one call."""
    with entered(scope):
        return await execute(_FORGET, scope.store.id, scope.now - KEEP_CLOSED, limit)
