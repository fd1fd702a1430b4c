"""Sum the sales of a period up to now in the store's time zone: all of the store's, or a vendor's shares (`domain.marketplace.shares`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from types import MappingProxyType
from zoneinfo import ZoneInfo

from domain.marketplace.shares import VENDOR_SHARES
from domain.orders.transitions import UNSUCCESSFUL
from domain.store_settings import setting
from kernel.scope import ActorKind, Scope
from models.connection.database import fetch

DAYS: Mapping[str, int] = MappingProxyType({"day": 1, "week": 7, "month": 30})
"""The days of each period, the present one included."""

_OF_STORE = """
SELECT status, created_at, total_cents AS share_cents FROM orders WHERE tenant_id = $1 AND $2::bigint IS NULL AND deleted_at IS NULL
"""
_SALES = """
SELECT width_bucket(s.created_at, $3::timestamptz[]) AS part, count(*) AS orders, sum(s.share_cents)::bigint AS total_cents
FROM ({sales}) s WHERE s.created_at >= $4 AND s.created_at < $5 AND s.status <> ALL ($6::text[])
GROUP BY 1
"""


@dataclass(frozen=True, slots=True)
class PartSales:
    """The sales of an hour or day that begins at `begins_at`."""

    begins_at: datetime
    orders: int
    total_cents: int


@dataclass(frozen=True, slots=True)
class SalesSummary:
    """The sales of a period, and of each of its hours or days; orders that were cancelled, declined or failed are none."""

    period: str
    begins_at: datetime
    ends_at: datetime
    orders: int
    total_cents: int
    parts: list[PartSales]


async def load_sales_summary(scope: Scope, period: str) -> SalesSummary:
    """Return the sales of today by the hour (`day`), or of 7 (`week`) or 30 days (`month`) by the day."""
    borders = part_borders(scope.now, ZoneInfo(setting(scope, "time_zone")), DAYS[period])
    starts, end = borders[:-1], borders[-1]
    vendor_id = scope.actor.vendor_id if scope.actor.kind is ActorKind.VENDOR else None
    statement = _SALES.format(sales=_OF_STORE if vendor_id is None else VENDOR_SHARES)
    rows = await fetch(statement, scope.store.id, vendor_id, starts, starts[0], end, list(UNSUCCESSFUL))
    sums = {row["part"]: (row["orders"], row["total_cents"]) for row in rows}
    parts = [PartSales(start, *sums.get(part, (0, 0))) for part, start in enumerate(starts, start=1)]
    orders, total = sum(part.orders for part in parts), sum(part.total_cents for part in parts)
    return SalesSummary(period, starts[0], end, orders, total, parts)


def part_borders(at: datetime, zone: ZoneInfo, days: int) -> list[datetime]:
    """Return the starts of the parts of so many days up to that of a time, and the end of the last: of hours for one day, else of days.

    A day of the zone may have 23 or 25 hours.
    """
    today = at.astimezone(zone).date()
    midnights = [
        datetime.combine(today + timedelta(days=day), time(), zone).astimezone(UTC) for day in range(1 - days, 2)
    ]
    if days > 1:
        return midnights
    begin, end = midnights
    return [begin + timedelta(hours=hour) for hour in range((end - begin) // timedelta(hours=1))] + [end]
