"""The lock of an account for changes of its parts, whose limits depend on all of them."""

from __future__ import annotations

from kernel.errors import NotFound
from kernel.scope import Scope
from models.connection.database import fetchval

# A checkout locks the user for its order's foreign key (FOR KEY SHARE), which this doesn't wait for.
_LOCK = "SELECT id FROM users WHERE tenant_id = $1 AND id = $2 AND deleted_at IS NULL FOR NO KEY UPDATE"


async def lock_for_parts(scope: Scope, user_id: int) -> int:
    """Lock a user's row until the transaction ends, and return its id; raises NotFound."""
    if await fetchval(_LOCK, scope.store.id, user_id) is None:
        raise NotFound("user")  # deleted a moment ago
    return user_id
