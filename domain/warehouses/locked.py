"""Take hold of a warehouse for the rest of a transaction: whatever changes what hangs on it begins here."""

from __future__ import annotations

from typing import Any

from kernel.errors import NotFound
from kernel.ids import parse_reference
from kernel.scope import Scope
from models.database import row

_LOCK = """
SELECT id, public_id, vendor_id, country, state, is_default, min_items_in_box, max_items_in_box FROM warehouses
WHERE tenant_id = $1 AND (id = $2 OR public_id = $3) AND deleted_at IS NULL FOR NO KEY UPDATE
"""


async def lock_warehouse(scope: Scope, warehouse: object) -> dict[str, Any]:
    """Lock a warehouse and give what changes of it decide upon; raises NotFound."""
    reference = parse_reference(warehouse)
    if reference is not None:
        number, public_id = (reference, None) if isinstance(reference, int) else (None, reference)
        found = await row(_LOCK, scope.store.id, number, public_id)
        if found is not None:
            return dict(found)
    raise NotFound("warehouse")
