"""Keep the store's commission on imported lines of vendors (docs/reference/shared.md#vendors-shares)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from domain.ledger.old_lines import RATE_OF_OLD_LINES, RATE_TYPE_OF_OLD_LINES
from domain.purchase.totals import CommissionRate, line_commissions
from kernel.scope import Scope
from models.connection.database import fetch

COLUMNS = ("commission_cents", "commission", "commission_type")

_CURRENT_RATES = "SELECT id, commission, commission_type FROM vendors WHERE tenant_id = $1 AND id = ANY($2::bigint[])"
_KEPT_RATES = f"""
SELECT DISTINCT l.order_id, l.vendor_id, coalesce(l.commission, {RATE_OF_OLD_LINES}) AS commission,
    coalesce(l.commission_type, {RATE_TYPE_OF_OLD_LINES}) AS commission_type
FROM order_lines l JOIN vendors v ON v.tenant_id = l.tenant_id AND v.id = l.vendor_id
WHERE l.tenant_id = $1 AND l.order_id = ANY($2::bigint[])
"""


async def keep_commissions(scope: Scope, lines: Sequence[dict[str, Any]]) -> None:
    """Set the commission of imported lines (rows with all lines of each order) at the rates their orders have, else those of now."""
    vendors = {line["vendor_id"] for line in lines if line.get("vendor_id") is not None}
    if not vendors:
        return
    orders = {line["order_id"] for line in lines}
    current = {row["id"]: _rate(row) for row in await fetch(_CURRENT_RATES, scope.store.id, sorted(vendors))}
    kept = {
        (row["order_id"], row["vendor_id"]): _rate(row)
        for row in await fetch(_KEPT_RATES, scope.store.id, sorted(orders))
    }
    for order, rows in groupby(sorted(lines, key=itemgetter("order_id")), itemgetter("order_id")):
        of_order = [
            (line, kept.get((order, line["vendor_id"]), current[line["vendor_id"]]))
            for line in rows
            if line.get("vendor_id") is not None
        ]
        amounts = [(line["vendor_id"], rate, line["quantity"] * line["price_cents"]) for line, rate in of_order]
        for (line, rate), commission in zip(of_order, line_commissions(amounts), strict=True):
            line |= dict(zip(COLUMNS, (commission, *rate), strict=True))


def _rate(row: Mapping[str, Any]) -> CommissionRate:
    return CommissionRate(row["commission"], row["commission_type"])
