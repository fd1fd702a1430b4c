"""Calculate a vendor's dashboard: its share of orders by day and status, its balance, and its product counts.

A sale is an order that was not cancelled, declined or failed; `domain.marketplace.shares` says what a vendor's share of it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from domain.catalog.availability import STOCK
from domain.ledger.balances import load_balances
from domain.marketplace.shares import VENDOR_SHARES
from domain.orders.transitions import UNSUCCESSFUL
from kernel.errors import Forbidden
from kernel.scope import ActorKind, Scope
from models.connection.database import fetch, fetchrow

_BY_DAY = f"""
WITH own AS ({VENDOR_SHARES})
SELECT date_trunc('day', created_at, 'UTC') AS day, status, count(*) AS orders, sum(share_cents)::bigint AS total_cents FROM own
WHERE ($3::timestamptz IS NULL OR created_at >= $3) AND ($4::timestamptz IS NULL OR created_at < $4)
GROUP BY 1, 2 ORDER BY 1, 2
"""
_PRODUCT_COUNTS = f"""
SELECT count(*) AS total, count(*) FILTER (WHERE status = 'A') AS active,
    count(*) FILTER (WHERE {STOCK} <= 0 AND tracking <> 'D') AS out_of_stock
FROM products t WHERE tenant_id = $1 AND vendor_id = $2 AND deleted_at IS NULL
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
    """A vendor's dashboard; `balance_cents` is the sum of its account in the ledger."""

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
    balances = await load_balances(scope, [vendor_id])
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
        balance_cents=balances[vendor_id].total_cents,
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
