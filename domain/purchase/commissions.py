"""Calculate and keep the store's commission on the lines of vendors (docs/reference/shared.md#vendors-shares).

A rate is a percentage of the lines (`P`) or an amount per order (`A`), which is divided among the vendor's lines. A line keeps its
commission and the rate, so that a change of the vendor's rate changes no order of before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from domain.ledger.old_lines import RATE_OF_OLD_LINES, RATE_TYPE_OF_OLD_LINES
from kernel.money import allocate, divide_half_up, parse_cents
from kernel.scope import Scope
from models.connection.database import fetch

PERCENTAGE = "P"
_BASIS_POINTS = 10_000
COLUMNS = ("commission_cents", "commission", "commission_type")


class Rate(NamedTuple):
    """A rate as vendors have it: a decimal text, and whether it is a percentage (`P`) or an amount (`A`)."""

    commission: str
    commission_type: str


def order_commission_cents(rate: Rate, lines_cents: int) -> int:
    """Return the commission on the lines of a vendor in an order; never more than they cost.

    `domain.ledger.old_lines.COMMISSION_SQL` is the same.
    """
    amount = parse_cents(rate.commission)
    if rate.commission_type == PERCENTAGE:
        return min(lines_cents, divide_half_up(lines_cents * amount, _BASIS_POINTS))
    return min(lines_cents, amount)


def line_commissions(lines: Iterable[tuple[int | None, Rate, int]]) -> list[int | None]:
    """Return the commission of each line of an order, of `(vendor, rate, cents)`; None for the store's own."""
    numbered = list(enumerate(lines))
    commissions: list[int | None] = [None] * len(numbered)
    groups: dict[tuple[int, Rate], list[tuple[int, int]]] = {}
    for index, (vendor, rate, cents) in numbered:
        if vendor is not None:
            groups.setdefault((vendor, rate), []).append((index, cents))
    for (_, rate), members in groups.items():
        amounts = [cents for _, cents in members]
        divided = allocate(order_commission_cents(rate, sum(amounts)), amounts)
        for (index, _), commission in zip(members, divided, strict=True):
            commissions[index] = commission
    return commissions


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


def _rate(row: Mapping[str, Any]) -> Rate:
    return Rate(row["commission"], row["commission_type"])
