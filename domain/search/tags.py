"""Find the tags of the products that a caller finds in lists, and count these."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from domain.catalog.read import PRODUCTS
from domain.search.statement import Statement
from kernel.scope import Scope, active_scope
from kernel.text import fold
from models.connection.database import fetch
from models.reading.queries import Condition


async def find_tags(scope: Scope, search: str, limit: int) -> list[Mapping[str, Any]]:
    """Return `{name, product_count}` of tags, the most frequent first, in one statement."""
    statement = Statement([scope.store.id])
    conditions = [PRODUCTS.in_lists.visible(scope) or Condition("true")]
    if search:
        conditions.append(Condition("strpos(vitrine_fold(l.tag), {}::text) > 0", (fold(search),)))
    where = " AND ".join(f"({statement.bind(condition)})" for condition in conditions)
    sql = (
        "SELECT l.tag AS name, count(*) AS product_count FROM product_tags l"
        " JOIN products t ON t.tenant_id = l.tenant_id AND t.id = l.product_id"
        f" WHERE l.tenant_id = $1 AND t.deleted_at IS NULL AND {where}"
        f" GROUP BY l.tag ORDER BY count(*) DESC, l.tag LIMIT {statement.value(limit, 'bigint')}"
    )
    with active_scope(scope):
        return await fetch(sql, *statement.params)
