"""The readable entity of promotions: visible rows, filters and sort orders."""

from __future__ import annotations

from domain.filters import contains_text, within_second
from domain.visibility import VisibleRows
from models.queries import Entity, EntityFilter, Sort, any_of, by_ids, compares, flag

PROMOTIONS = Entity(
    name="promotion",
    table="promotions",
    base_condition="t.deleted_at IS NULL",
    # Not for storefronts: the list reveals the coupons.
    visible=VisibleRows(admin=("view_content",), app="read_content"),
    filters={
        "id": EntityFilter("id", by_ids, "any of these promotions", many=True),
        "status": EntityFilter("switch_status", any_of("t.status"), "any of these statuses", many=True),
        "search": EntityFilter("text", contains_text("t.name"), "part of the name"),
        "zone": EntityFilter("text", any_of("t.zone"), "any of these zones", many=True),
        "name": EntityFilter("text", any_of("t.name"), "exact name", many=True),
        "coupon_code": EntityFilter("text", any_of("t.coupon_code"), "any of these coupons", many=True),
        "priority": EntityFilter(
            "big_int", any_of("t.priority", "bigint"), "any of these priorities", many=True
        ),
        "used_from": EntityFilter("big_int", compares("t.used", ">="), "used at least this often"),
        "used": EntityFilter(
            "big_int", any_of("t.used", "bigint"), "exact number of uses", many=True, internal=True
        ),
        "usage_limit": EntityFilter(
            "big_int", any_of("t.usage_limit", "bigint"), "exact usage limit", many=True, internal=True
        ),
        "stop": EntityFilter("boolean", flag("t.stop"), "stops later promotions", internal=True),
        "from_at": EntityFilter(
            "time",
            within_second("coalesce(t.from_at, 'epoch')"),
            "starts in this second, 0 for no start",
            many=True,
            internal=True,
        ),
        "to_at": EntityFilter(
            "time",
            within_second("coalesce(t.to_at, 'epoch')"),
            "ends in this second, 0 for no end",
            many=True,
            internal=True,
        ),
    },
    sorts={
        "priority": Sort("t.priority", "bigint", "priority"),
        "name": Sort("t.name", "text", "name"),
        "created_at": Sort("t.created_at", "timestamptz", "time of creation"),
        "id": Sort("t.id", "bigint", "creation order"),
    },
    default_sort="priority",
)
