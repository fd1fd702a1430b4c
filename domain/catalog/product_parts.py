"""Delete what belongs to deleted products."""

from __future__ import annotations

from collections.abc import Iterable

from kernel.scope import Scope
from models.connection.database import execute

# In ascending id order, as orders do, and before the statement that updates them (`domain.orders.locked`).
_LOCK_COMBINATIONS = """
SELECT id FROM combinations WHERE tenant_id = $1 AND product_id = ANY($2::bigint[]) AND deleted_at IS NULL ORDER BY id FOR NO KEY UPDATE
"""
# Combinations are soft-deleted: orders still show them and return their units to them.
_DELETE_PARTS = """
WITH deleted AS (SELECT unnest($2::bigint[]) AS id), deleted_combinations AS (
    UPDATE combinations c SET deleted_at = $3, updated_at = $3
    WHERE c.tenant_id = $1 AND c.product_id = ANY($2::bigint[]) AND c.deleted_at IS NULL
), deleted_options AS (
    UPDATE options o SET deleted_at = $3, updated_at = $3
    WHERE o.tenant_id = $1 AND o.product_id = ANY($2::bigint[]) AND o.deleted_at IS NULL
), deleted_links AS (
    DELETE FROM product_options l USING deleted WHERE l.tenant_id = $1 AND l.product_id = deleted.id
), deleted_exceptions AS (
    DELETE FROM option_exceptions e USING deleted WHERE e.tenant_id = $1 AND e.product_id = deleted.id
), deleted_attachments AS (
    DELETE FROM attachments a USING deleted WHERE a.tenant_id = $1 AND a.product_id = deleted.id
), deleted_variations AS (
    DELETE FROM variation_group_products m USING deleted WHERE m.tenant_id = $1 AND m.product_id = deleted.id
)
DELETE FROM required_products r USING deleted
WHERE r.tenant_id = $1 AND (r.product_id = deleted.id OR r.required_id = deleted.id)
"""


async def delete_product_parts(scope: Scope, products: Iterable[int]) -> None:
    """Delete the options, combinations, exceptions, attachments and requirements of products, within the transaction."""
    ids = list(products)
    if ids:
        await execute(_LOCK_COMBINATIONS, scope.store.id, ids)
        await execute(_DELETE_PARTS, scope.store.id, ids, scope.now)
