"""Expire carts, abandoned ones and those of a customer; `domain/retention.py` deletes them later."""

from __future__ import annotations

from kernel.errors import NotFound
from kernel.scope import Scope, active_scope
from models import audit
from models.connection.database import execute, transaction
from models.references import USER, find

_BATCH_SIZE = 1_000

_EXPIRE = """
UPDATE carts SET status = 'expired', is_untold = false
WHERE tenant_id = $1 AND id IN (
    SELECT id FROM carts WHERE tenant_id = $1 AND status = 'open' AND expires_at <= $2
    ORDER BY expires_at, id LIMIT $3 FOR NO KEY UPDATE SKIP LOCKED
)
"""
_EXPIRE_OF_CUSTOMER = """
UPDATE carts SET status = 'expired', is_untold = false
WHERE tenant_id = $1 AND user_id = $2 AND status = 'open' AND expires_at > $3
"""


async def expire_carts(scope: Scope, *, limit: int = _BATCH_SIZE) -> int:
    """Mark the store's expired carts; return their number, at most `limit` in one call.

    Carts locked by a concurrent change are skipped: the change extends their expiry.
    """
    with active_scope(scope):
        return await execute(_EXPIRE, scope.store.id, scope.now, limit)


async def expire_customer_carts(scope: Scope, customer: object) -> None:
    """Expire the open carts of a customer; raises NotFound if there is none."""
    async with transaction(scope):
        try:
            user_id = await find(scope, USER, customer)
        except NotFound as error:
            raise NotFound("cart") from error
        if not await execute(_EXPIRE_OF_CUSTOMER, scope.store.id, user_id, scope.now):
            raise NotFound("cart")
        await audit.record(scope, "carts.expired", "user", user_id)
