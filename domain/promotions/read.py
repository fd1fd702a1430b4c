"""Declare what of promotions can be read."""

from __future__ import annotations

from domain.catalog.read import holds_text, in_second
from domain.visibility import Rows
from models.reading import Entity, EntityFilter, Sort, any_of, compares, flag, named

PROMOTIONS = Entity(
    name="promotion",
    table="promotions",
    alive="t.deleted_at IS NULL",
    # Not for shoppers: who sees the list knows the coupons.
    visible=Rows(admin=("view_content",), app="read_content"),
    filters={
        "id": EntityFilter("id", named, "any of these promotions", many=True),
        "status": EntityFilter("switch_status", any_of("t.status"), "any of these statuses", many=True),
        "search": EntityFilter("text", holds_text("t.name"), "part of the name"),
        "zone": EntityFilter("text", any_of("t.zone"), "any of these zones", many=True),
        "name": EntityFilter("text", any_of("t.name"), "exact name", many=True),
        "coupon_code": EntityFilter("text", any_of("t.coupon_code"), "any of these coupons", many=True),
        "priority": EntityFilter(
            "big_int", any_of("t.priority", "bigint"), "any of these priorities", many=True
        ),
        "used_from": EntityFilter("big_int", compares("t.used", ">="), "used at least so often"),
        "used": EntityFilter(
            "big_int", any_of("t.used", "bigint"), "used exactly so often", many=True, internal=True
        ),
        "usage_limit": EntityFilter(
            "big_int", any_of("t.usage_limit", "bigint"), "exact limit of uses", many=True, internal=True
        ),
        "stop": EntityFilter("boolean", flag("t.stop"), "keeps later ones out", internal=True),
        "from_at": EntityFilter(
            "time",
            in_second("coalesce(t.from_at, 'epoch')"),
            "begins in that second, 0 for no beginning",
            many=True,
            internal=True,
        ),
        "to_at": EntityFilter(
            "time",
            in_second("coalesce(t.to_at, 'epoch')"),
            "ends in that second, 0 for no end",
            many=True,
            internal=True,
        ),
    },
    sorts={
        "priority": Sort("t.priority", "bigint", "priority"),
        "name": Sort("t.name", "text", "name"),
        "created_at": Sort("t.created_at", "timestamptz", "time of creation"),
        "id": Sort("t.id", "bigint", "order of entry"),
    },
    default_sort="priority",
)
