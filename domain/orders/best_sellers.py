"""Rank products by the units sold in the last days, which `best_seller_days` of the store says; the worker does it every hour.

A rank is stored in place of the number, because the cursor of a sorted list contains its key: shoppers see an order, and no sales.
"""

from __future__ import annotations

from datetime import timedelta
from itertools import islice

from domain.catalog.stock import lock_stock
from domain.orders.transitions import UNSUCCESSFUL
from domain.store_settings import setting
from kernel.scope import Scope
from models.connection.database import fetch, transaction
from models.rows import update_rows

_PER_TRANSACTION = 500

# Orders of the period by their index, and the products that had a rank; equal sales have the same one.
_CHANGED = """
WITH sold AS (
    SELECT l.product_id AS id, sum(l.quantity) AS units FROM orders o
    JOIN order_lines l ON l.tenant_id = o.tenant_id AND l.order_id = o.id
    WHERE o.tenant_id = $1 AND o.created_at >= $2 AND o.created_at <= $3 AND o.deleted_at IS NULL AND o.status <> ALL($4::text[])
        AND l.product_id IS NOT NULL GROUP BY l.product_id
), ranked AS (SELECT id, dense_rank() OVER (ORDER BY units) AS sales_rank FROM sold WHERE units > 0),
    before AS (SELECT id, sales_rank FROM products WHERE tenant_id = $1 AND sales_rank > 0)
SELECT id, coalesce(r.sales_rank, 0) AS sales_rank FROM ranked r FULL JOIN before b USING (id)
WHERE coalesce(r.sales_rank, 0) <> coalesce(b.sales_rank, 0) ORDER BY id
"""


async def rank_sales(scope: Scope) -> int:
    """Rank the products of a store, 500 in a transaction; return how many have another rank than before."""
    since = scope.now - timedelta(days=setting(scope, "best_seller_days"))
    rows = iter(await fetch(_CHANGED, scope.store.id, since, scope.now, list(UNSUCCESSFUL)))
    changed = 0
    while batch := [dict(row) for row in islice(rows, _PER_TRANSACTION)]:
        async with transaction(scope):
            await lock_stock(scope, [row["id"] for row in batch])
            changed += len(await update_rows(scope, "products", batch))
    return changed
