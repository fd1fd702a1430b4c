"""SQL of the stock of a product: that of its combinations if it has some, whatever its own row says (docs/reference/shared.md#stock)."""

from __future__ import annotations

from models.reading.queries import unindexed

_EXISTS = unindexed("c.deleted_at IS NULL")


def combinations_of(alias: str = "t") -> str:
    """Return the combinations `c` of the product in the row `alias`, as the end of a query from FROM on."""
    return f"combinations c WHERE c.tenant_id = {alias}.tenant_id AND c.product_id = {alias}.id AND {_EXISTS}"


def stock_sql(alias: str = "t", column: str = "stock") -> str:
    """Return the units of a product that can still be sold; `column` may be `on_hand` or `reserved` instead."""
    return f"coalesce((SELECT sum(c.{column})::bigint FROM {combinations_of(alias)}), {alias}.{column})"
