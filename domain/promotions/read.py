"""The readable entity of promotions: visible rows, filters and sort orders."""

from __future__ import annotations

from domain.filters import exact, exact_second, ids, sorts, statuses, substring
from domain.visibility import VisibleRows
from models.reading.queries import Entity, EntityFilter, compares

# Reached only through an order, whose rows are filtered already.
ISSUED_COUPONS = Entity(
    table="issued_coupons",
    visible=VisibleRows(admin=("view_orders",), app="read_orders", customer="t.active_at IS NOT NULL"),
)

PROMOTIONS = Entity(
    table="promotions",
    # Not for storefronts: the list reveals the coupons.
    visible=VisibleRows(admin=("view_content",), app="read_content"),
    filters={
        "id": ids("promotions"),
        "status": statuses(),
        "search": substring("name", "t.name"),
        **exact("promotion_zone", zone="any of these zones"),
        **exact("text", name="exact name", coupon_code="any of these coupons"),
        **exact("big_int", priority="any of these priorities"),
        "used_from": EntityFilter("big_int", compares("t.used", ">="), "used at least this often"),
        **exact("big_int", "used", "usage_limit", internal=True),
        **exact("boolean", "stop", internal=True),
        "from_at": exact_second("coalesce(t.from_at, 'epoch')", "starts in this second, 0 for no start"),
        "to_at": exact_second("coalesce(t.to_at, 'epoch')", "ends in this second, 0 for no end"),
    },
    sorts=sorts("priority", "name", "created_at", "id"),
)
