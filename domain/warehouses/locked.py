"""Lock a warehouse for changes of it and its areas and groups."""

from __future__ import annotations

from typing import Any

from kernel.errors import NotFound
from kernel.ids import split_reference
from kernel.scope import Scope
from models.connection.database import fetchrow

_LOCK = """
SELECT id, public_id, vendor_id, country, state, is_default, min_items_in_box, max_items_in_box FROM warehouses
WHERE tenant_id = $1 AND (id = $2 OR public_id = $3) AND deleted_at IS NULL FOR NO KEY UPDATE
"""


async def lock_warehouse(scope: Scope, warehouse: object) -> dict[str, Any]:
    """Lock a warehouse and return the columns needed by changes; raises NotFound."""
    row = await fetchrow(_LOCK, scope.store.id, *split_reference(warehouse))
    if row is None:
        raise NotFound("warehouse")
    return dict(row)
