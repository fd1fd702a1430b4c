"""Report the sales of vendors by month, from the ledger (docs/ledger.md#sales-report)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from domain.ledger.read import LEDGER_ENTRIES
from kernel.errors import ValidationFailed
from kernel.scope import ActorKind, Scope
from kernel.text import repr_value
from models.connection.database import fetch
from models.references import VENDOR_ACCOUNT, find

MAX_MONTHS = 36
_MONTH = re.compile(r"([0-9]{4})-(0[1-9]|1[0-2])")

# Entries that an order was given back are sales with a negative amount, those of refunds apart. Those by which a share moves from the
# balance to the gateway's split add up to nothing.
_REPORT = """
SELECT to_char(s.month, 'YYYY-MM') AS month, v.public_id AS vendor_id, v.id AS vendor_number, v.name AS vendor_name, v.cnpj,
    s.gross_cents, s.commission_cents, s.refunds_cents, s.gross_cents - s.commission_cents - s.refunds_cents AS net_cents, s.orders
FROM (
    SELECT o.month, o.vendor_id, sum(o.gross_cents)::bigint AS gross_cents, sum(o.commission_cents)::bigint AS commission_cents,
        sum(o.refunds_cents)::bigint AS refunds_cents, count(*) FILTER (WHERE o.sale_cents > 0) AS orders
    FROM (
        SELECT date_trunc('month', e.created_at, 'UTC') AS month, e.vendor_id, e.order_id,
            coalesce(sum(e.amount_cents) FILTER (WHERE e.kind = 'sale'), 0) AS sale_cents,
            coalesce(sum(e.amount_cents) FILTER (WHERE e.kind IN ('sale', 'shipping')), 0) AS gross_cents,
            coalesce(-sum(e.amount_cents) FILTER (WHERE e.kind IN ('commission', 'commission_refund')), 0) AS commission_cents,
            coalesce(-sum(e.amount_cents) FILTER (WHERE e.kind = 'refund'), 0) AS refunds_cents
        FROM ledger_entries e
        WHERE e.tenant_id = $1 AND e.vendor_id IS NOT NULL AND e.order_id IS NOT NULL AND ($2::bigint IS NULL OR e.vendor_id = $2)
            AND e.created_at >= $3 AND e.created_at < $4
        GROUP BY 1, 2, 3
    ) o GROUP BY 1, 2
) s JOIN vendors v ON v.tenant_id = $1 AND v.id = s.vendor_id
ORDER BY s.month DESC, v.name, v.id LIMIT $5 OFFSET $6
"""


@dataclass(frozen=True, slots=True)
class VendorSales:
    """The sales of a vendor in a month (`2026-11`, UTC), in cents: net is gross less commission and refunds."""

    month: str
    vendor_id: Any
    vendor_number: int
    vendor_name: str
    cnpj: str | None
    gross_cents: int
    commission_cents: int
    refunds_cents: int
    net_cents: int
    orders: int


async def load_sales_report(
    scope: Scope,
    vendor: object | None = None,
    month_from: str | None = None,
    month_to: str | None = None,
    *,
    limit: int = 1_000,
    offset: int = 0,
) -> list[VendorSales]:
    """Return the sales of vendors by month, latest first; by default of all vendors in the present month. A vendor gets its own.

    Raises Forbidden, NotFound for the vendor, ValidationFailed for a month or a period of more than 36.
    """
    access(scope)
    if scope.actor.kind is ActorKind.VENDOR:
        vendor_id = scope.actor.vendor_id
    else:
        vendor_id = None if vendor is None else await find(scope, VENDOR_ACCOUNT, vendor)
    present = f"{scope.now.astimezone(UTC):%Y-%m}"
    months = {"month_from": month_from, "month_to": month_to}
    numbers = [_month_number(field, month) for field, month in months.items() if month] or [
        _month_number("month_from", present)
    ]
    first, last = numbers[0], numbers[-1]
    if not 0 <= last - first < MAX_MONTHS:
        raise ValidationFailed(
            f"the period has {last - first + 1} months; expected 1 to {MAX_MONTHS}",
            field="month_to",
            code="month_invalid",
        )
    rows = await fetch(_REPORT, scope.store.id, vendor_id, _start(first), _start(last + 1), limit, offset)
    return [VendorSales(**row) for row in rows]


def access(scope: Scope) -> None:
    """Raise the error of a caller who may not read the ledger."""
    LEDGER_ENTRIES.visible(scope)


def _month_number(field: str, month: str) -> int:
    match = _MONTH.fullmatch(month)
    if match is None or match[1] in ("0000", "9999"):
        raise ValidationFailed(
            f"{field} is {repr_value(month)}; expected a month such as 2026-11", field=field, code="month_invalid"
        )
    return int(match[1]) * 12 + int(match[2]) - 1


def _start(month: int) -> datetime:
    return datetime(month // 12, month % 12 + 1, 1, tzinfo=UTC)
