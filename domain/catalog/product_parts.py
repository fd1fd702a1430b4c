"""Take away what belongs to products that are deleted."""

from __future__ import annotations

from collections.abc import Iterable

from kernel.scope import Scope
from models.database import execute

# Orders go on showing what was chosen, and give their units back to a combination that is hidden.
_HIDE = """
WITH gone AS (SELECT unnest($2::bigint[]) AS id), locked AS (
    SELECT c.id FROM combinations c
    WHERE c.tenant_id = $1 AND c.product_id = ANY($2::bigint[]) AND c.deleted_at IS NULL ORDER BY c.id FOR NO KEY UPDATE
), of_combinations AS (
    UPDATE combinations c SET deleted_at = $3, updated_at = $3 FROM locked WHERE c.tenant_id = $1 AND c.id = locked.id
), of_options AS (
    UPDATE options o SET deleted_at = $3, updated_at = $3
    WHERE o.tenant_id = $1 AND o.product_id = ANY($2::bigint[]) AND o.deleted_at IS NULL
), of_links AS (
    DELETE FROM product_options l USING gone WHERE l.tenant_id = $1 AND l.product_id = gone.id
), of_exceptions AS (
    DELETE FROM option_exceptions e USING gone WHERE e.tenant_id = $1 AND e.product_id = gone.id
), of_attachments AS (
    DELETE FROM attachments a USING gone WHERE a.tenant_id = $1 AND a.product_id = gone.id
)
DELETE FROM required_products r USING gone
WHERE r.tenant_id = $1 AND (r.product_id = gone.id OR r.required_id = gone.id)
"""


async def hide_parts(scope: Scope, products: Iterable[int]) -> None:
    """Hide options and combinations of products, and delete exceptions, attachments and requirements, as part of the transaction.

    A product that others required is required no more.
    """
    ids = list(products)
    if ids:
        await execute(_HIDE, scope.store.id, ids, scope.now)
