"""Calculate a vendor's dashboard: its share of orders by day and status, its balance, and its product counts.

A sale is an order that was not cancelled, declined or failed; of an order shared with other vendors, a vendor's share is the sum of its own
lines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from domain.orders.transitions import CANCELLED, COMPLETE, DECLINED, FAILED, PROCESSED
from kernel.errors import Forbidden
from kernel.money import parse_cents
from kernel.scope import ActorKind, Scope
from models.connection.database import fetch, fetchrow

UNSUCCESSFUL = (DECLINED, FAILED, CANCELLED)
_PAID = (PROCESSED, COMPLETE)
_BASIS_POINTS = 10_000

# A UNION, because the planner can't use the two indexes for one condition with OR.
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
_EARNINGS = (
    _SHARES
    + """
SELECT count(own.status) AS orders, coalesce(sum(own.share), 0)::bigint AS total_cents, v.commission, v.commission_type
FROM vendors v LEFT JOIN own ON own.status = ANY($3::text[])
WHERE v.tenant_id = $1 AND v.id = $2 GROUP BY v.commission, v.commission_type
"""
)
_PRODUCT_COUNTS = """
SELECT count(*) AS total, count(*) FILTER (WHERE status = 'A') AS active,
    count(*) FILTER (WHERE stock <= 0 AND tracking <> 'D') AS out_of_stock
FROM products WHERE tenant_id = $1 AND vendor_id = $2 AND deleted_at IS NULL
"""


@dataclass(frozen=True, slots=True)
class ProductCounts:
    """Counts of a vendor's products."""

    total: int
    active: int
    out_of_stock: int


@dataclass(frozen=True, slots=True)
class OrderStatusCount:
    """The number of orders with a status."""

    status: str
    orders: int


@dataclass(frozen=True, slots=True)
class DailySales:
    """The sales of a day (UTC) that starts at `date`."""

    date: datetime
    total_cents: int
    orders: int


@dataclass(frozen=True, slots=True)
class Dashboard:
    """A vendor's dashboard; `balance_cents` is what it earned with all paid orders, less commission."""

    sales_cents: int
    order_count: int
    average_ticket_cents: int
    balance_cents: int
    products: ProductCounts
    orders_by_status: list[OrderStatusCount]
    days: list[DailySales]


async def load_dashboard(
    scope: Scope, created_from: datetime | None = None, created_before: datetime | None = None
) -> Dashboard:
    """Return the calling vendor's dashboard; counts orders placed in the period, omits days without sales.

    Raises Forbidden for callers other than vendors.
    """
    vendor_id = scope.actor.vendor_id
    if scope.actor.kind is not ActorKind.VENDOR or vendor_id is None:
        raise Forbidden("insufficient permissions")
    rows = await fetch(_BY_DAY, scope.store.id, vendor_id, created_from, created_before)
    earnings = await fetchrow(_EARNINGS, scope.store.id, vendor_id, list(_PAID))
    product_counts = await fetchrow(_PRODUCT_COUNTS, scope.store.id, vendor_id)
    assert product_counts is not None  # an aggregate without GROUP BY always returns one row
    days = _days(rows)
    sales, count = sum(day.total_cents for day in days), sum(day.orders for day in days)
    by_status: Counter[str] = Counter()
    for row in rows:
        by_status[row["status"]] += row["orders"]
    return Dashboard(
        sales_cents=sales,
        order_count=count,
        average_ticket_cents=(2 * sales + count) // (2 * count) if count else 0,
        balance_cents=_balance(earnings) if earnings is not None else 0,
        products=ProductCounts(**product_counts),
        orders_by_status=[OrderStatusCount(status, orders) for status, orders in by_status.items()],
        days=days,
    )


def _days(rows: Iterable[Mapping[str, Any]]) -> list[DailySales]:
    days: dict[datetime, DailySales] = {}
    for row in rows:
        if row["status"] in UNSUCCESSFUL:
            continue
        day = days.get(row["day"], DailySales(row["day"], 0, 0))
        days[row["day"]] = DailySales(day.date, day.total_cents + row["total_cents"], day.orders + row["orders"])
    return list(days.values())


def _balance(earnings: Mapping[str, Any]) -> int:
    """Subtract the commission: a percentage of the total, or an amount per order; never more than the total."""
    commission = parse_cents(earnings["commission"])
    if earnings["commission_type"] == "P":
        commission_cents = (earnings["total_cents"] * commission + _BASIS_POINTS // 2) // _BASIS_POINTS
    else:
        commission_cents = min(earnings["total_cents"], earnings["orders"] * commission)
    return int(earnings["total_cents"] - commission_cents)
