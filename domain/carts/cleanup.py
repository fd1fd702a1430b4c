"""Expire abandoned carts; `domain/retention.py` deletes them later."""

from __future__ import annotations

from kernel.scope import Scope, active_scope
from models.connection.database import execute

_BATCH_SIZE = 1_000

_EXPIRE = """
UPDATE carts SET status = 'expired', is_untold = false
WHERE tenant_id = $1 AND id IN (
    SELECT id FROM carts WHERE tenant_id = $1 AND status = 'open' AND expires_at <= $2
    ORDER BY expires_at, id LIMIT $3 FOR NO KEY UPDATE SKIP LOCKED
)
"""


async def expire_carts(scope: Scope, *, limit: int = _BATCH_SIZE) -> int:
    """Mark the store's expired carts; return their number, at most `limit` in one call.

    Carts locked by a concurrent change are skipped: the change extends their expiry.
    """
    with active_scope(scope):
        return await execute(_EXPIRE, scope.store.id, scope.now, limit)
