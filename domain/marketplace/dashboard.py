"""Add up how a vendor's business goes: its share of orders by day and status, what it is owed, how its shelves stand.

A sale is an order that has not come to nothing; of an order shared with other vendors a vendor's share is the sum of its own lines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from domain.orders.transitions import CANCELLED, COMPLETE, DECLINED, FAILED, PROCESSED
from kernel.errors import Forbidden
from kernel.money import cents_from
from kernel.scope import ActorKind, Scope
from models.database import row, rows

FALLEN_THROUGH = (DECLINED, FAILED, CANCELLED)
_PAID = (PROCESSED, COMPLETE)
_TEN_THOUSANDTHS = 10_000

# Two ways to an order, each with an index of its own; the planner can't use them for one condition with OR.
_SHARES = """
WITH own AS (
    SELECT o.status, o.created_at, o.total_cents AS share FROM orders o
    WHERE o.tenant_id = $1 AND o.vendor_id = $2 AND o.deleted_at IS NULL
    UNION ALL
    SELECT o.status, o.created_at, l.share FROM (
        SELECT order_id, sum(quantity * price_cents)::bigint AS share FROM order_lines
        WHERE tenant_id = $1 AND vendor_id = $2 GROUP BY order_id
    ) l JOIN orders o ON o.tenant_id = $1 AND o.id = l.order_id
    WHERE o.vendor_id IS DISTINCT FROM $2 AND o.deleted_at IS NULL
)
"""
_BY_DAY = (
    _SHARES
    + """
SELECT date_trunc('day', created_at, 'UTC') AS day, status, count(*) AS orders, sum(share)::bigint AS total_cents FROM own
WHERE ($3::timestamptz IS NULL OR created_at >= $3) AND ($4::timestamptz IS NULL OR created_at < $4)
GROUP BY 1, 2 ORDER BY 1, 2
"""
)
_EARNED = (
    _SHARES
    + """
SELECT count(own.status) AS orders, coalesce(sum(own.share), 0)::bigint AS total_cents, v.commission, v.commission_type
FROM vendors v LEFT JOIN own ON own.status = ANY($3::text[])
WHERE v.tenant_id = $1 AND v.id = $2 GROUP BY v.commission, v.commission_type
"""
)
_SHELVES = """
SELECT count(*) AS total, count(*) FILTER (WHERE status = 'A') AS active,
    count(*) FILTER (WHERE stock <= 0 AND tracking <> 'D') AS out_of_stock
FROM products WHERE tenant_id = $1 AND vendor_id = $2 AND deleted_at IS NULL
"""


@dataclass(frozen=True, slots=True)
class Shelves:
    """Count a vendor's products."""

    total: int
    active: int
    out_of_stock: int


@dataclass(frozen=True, slots=True)
class Tally:
    """Count orders in a status."""

    status: str
    orders: int


@dataclass(frozen=True, slots=True)
class Day:
    """Add up the sales of a day (UTC), which `date` begins."""

    date: datetime
    total_cents: int
    orders: int


@dataclass(frozen=True, slots=True)
class Dashboard:
    """Sum a vendor's business up; `balance_cents` is what it earned with all paid orders, less commission."""

    sales_cents: int
    order_count: int
    average_ticket_cents: int
    balance_cents: int
    products: Shelves
    orders_by_status: list[Tally]
    days: list[Day]


async def dashboard(
    scope: Scope, created_from: datetime | None = None, created_before: datetime | None = None
) -> Dashboard:
    """Sum up the calling vendor's business; orders count that were placed in the span given, days without sales are left out.

    Raises Forbidden for callers who are no vendor's.
    """
    vendor = scope.actor.company_id
    if scope.actor.kind is not ActorKind.VENDOR or vendor is None:
        raise Forbidden("insufficient permissions")
    found = await rows(_BY_DAY, scope.store.id, vendor, created_from, created_before)
    earned = await row(_EARNED, scope.store.id, vendor, list(_PAID))
    shelves = await row(_SHELVES, scope.store.id, vendor)
    assert shelves is not None  # an aggregate without groups is always one row
    days = _days(found)
    sales, count = sum(day.total_cents for day in days), sum(day.orders for day in days)
    by_status: Counter[str] = Counter()
    for each in found:
        by_status[each["status"]] += each["orders"]
    return Dashboard(
        sales_cents=sales,
        order_count=count,
        average_ticket_cents=(2 * sales + count) // (2 * count) if count else 0,
        balance_cents=_balance(earned) if earned is not None else 0,
        products=Shelves(**shelves),
        orders_by_status=[Tally(status, orders) for status, orders in by_status.items()],
        days=days,
    )


def _days(found: Iterable[Mapping[str, Any]]) -> list[Day]:
    days: dict[datetime, Day] = {}
    for each in found:
        if each["status"] in FALLEN_THROUGH:
            continue
        day = days.get(each["day"], Day(each["day"], 0, 0))
        days[each["day"]] = Day(day.date, day.total_cents + each["total_cents"], day.orders + each["orders"])
    return list(days.values())


def _balance(earned: Mapping[str, Any]) -> int:
    """Take the commission off: a percentage of all, or an amount for each order; never more than was earned."""
    commission = cents_from(earned["commission"])
    if earned["commission_type"] == "P":
        kept = (earned["total_cents"] * commission + _TEN_THOUSANDTHS // 2) // _TEN_THOUSANDTHS
    else:
        kept = min(earned["total_cents"], earned["orders"] * commission)
    return int(earned["total_cents"] - kept)
