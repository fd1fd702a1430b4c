"""The commission of order lines that keep none: those from before migration 0036 (docs/reference/shared.md#vendors-shares)."""

from __future__ import annotations

COMMISSION_SQL = """least({cents}, CASE WHEN {type} = 'P'
    THEN div(2 * {cents}::numeric * ({rate}::numeric * 100)::bigint + 10000, 20000)
    ELSE ({rate}::numeric * 100)::bigint END)::bigint"""
"""The commission on `{cents}` of an order at the `{rate}` and its `{type}`, as `domain.purchase.totals` calculates it."""

RATE_OF_OLD_LINES = "coalesce(v.first_commission, v.commission)"
RATE_TYPE_OF_OLD_LINES = "coalesce(v.first_commission_type, v.commission_type)"
