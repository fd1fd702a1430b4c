"""The wishlist of a user: products that it keeps for later.

A guest's is kept by the storefront, which adds its products to the customer's after sign-in.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from domain.catalog.listing import OPEN
from domain.people.locks import lock_for_parts
from kernel.errors import RuleViolation
from kernel.fields import check_count
from kernel.ids import parse_uuid, uuid7
from kernel.scope import Scope
from models.connection.database import execute, fetch, fetchval, transaction
from models.references import PRODUCT, reject_missing

MAX_ITEMS = 500
_FIELD = "product_ids"

# What the caller can't open is as absent as what doesn't exist.
_FIND = f"SELECT t.public_id FROM products t WHERE t.tenant_id = $1 AND t.public_id = ANY($2::uuid[]) AND t.deleted_at IS NULL AND {OPEN}"
_ADD = """
INSERT INTO wishlist_items (tenant_id, public_id, user_id, product_id, created_at)
SELECT $1, n.public_id, $2, p.id, $5
FROM unnest($3::uuid[], $4::uuid[]) WITH ORDINALITY AS n (product, public_id, position)
JOIN products p ON p.tenant_id = $1 AND p.public_id = n.product ORDER BY n.position DESC
ON CONFLICT (tenant_id, user_id, product_id) DO NOTHING
"""
_REMOVE = """
DELETE FROM wishlist_items w USING products p
WHERE w.tenant_id = $1 AND w.user_id = $2 AND p.tenant_id = $1 AND p.id = w.product_id AND p.public_id = ANY($3::uuid[])
"""
_COUNT = "SELECT count(*) FROM wishlist_items WHERE tenant_id = $1 AND user_id = $2"


async def add_products(scope: Scope, products: Sequence[object]) -> None:
    """Add products to the caller's wishlist, the first as the newest; those that it has stay where they are.

    Raises ValidationFailed for products that the caller can't open, and RuleViolation `wishlist_full`.
    """
    check_count(products, MAX_ITEMS, "products", field=_FIELD)
    named = list(dict.fromkeys([parse_uuid(product) or product for product in products]))
    ids = [product for product in named if isinstance(product, UUID)]
    async with transaction(scope):
        user_id = await lock_for_parts(scope, scope.own_user_id())
        rows = await fetch(_FIND, scope.store.id, ids)
        visible = {row["public_id"] for row in rows}
        reject_missing(PRODUCT, [product for product in named if product not in visible], field=_FIELD)
        await execute(_ADD, scope.store.id, user_id, ids, [uuid7() for _ in ids], scope.now)
        if await fetchval(_COUNT, scope.store.id, user_id) > MAX_ITEMS:
            raise RuleViolation(f"a wishlist has at most {MAX_ITEMS} products", reason="wishlist_full")


async def remove_products(scope: Scope, products: Sequence[object]) -> None:
    """Remove products from the caller's wishlist; those that it doesn't have are ignored."""
    check_count(products, MAX_ITEMS, "products", field=_FIELD)
    ids = [public_id for product in products if (public_id := parse_uuid(product)) is not None]
    await execute(_REMOVE, scope.store.id, scope.own_user_id(), ids)
