"""Describe promotions; docs/promotions.md says what their conditions and bonuses may hold."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from kernel.clock import from_unix, rfc3339
from kernel.codes import SWITCH_STATUSES
from kernel.text import Malformed, shown
from rest_facade.legacy.resource import QueryFilter, RecordField, Resource, id_field
from rest_facade.legacy.value_types import FLAG, NUMBER, SMALL_NUMBER, TEXT, ValueType, code, if_given

_DAY = re.compile(r"\d{4}-\d\d-\d\d")


def _terms_from(value: Any, label: str) -> Any:
    """Read conditions or bonuses as they are: an object, or CS-Cart's list."""
    if not isinstance(value, Mapping | list) and value not in (None, ""):
        raise Malformed(f"{label} is {shown(value)}; expected an object")
    return value or {}


def _moment_from(value: Any, label: str) -> str | None:
    """Read Unix seconds; 0 and nothing at all mean that there is no such end. A day stands for its first second."""
    if value in (None, "", 0, "0") and not isinstance(value, bool):
        return None
    try:
        if isinstance(value, str) and _DAY.fullmatch(value):
            return rfc3339(datetime.fromisoformat(value).replace(tzinfo=UTC))
        return rfc3339(from_unix(str(value) if isinstance(value, int) else value))
    except (Malformed, TypeError, ValueError) as error:
        raise Malformed(f"{label} is {shown(value)}; expected Unix seconds") from error


_TERMS = ValueType(read=_terms_from)
_MOMENT = ValueType(show=str, read=_moment_from, seek=lambda text: rfc3339(from_unix(text)))


def _zone_from(value: Any, label: str) -> str:
    if not isinstance(value, str) or value.lower() not in ("cart", "catalog"):
        raise Malformed(f"{label} is {shown(value)}; expected one of cart, catalog")
    return value.lower()


PROMOTIONS = Resource(
    path="promotions",
    key="promotion_id",
    thing="promotion",
    area="content",
    operations="Promotion",
    fields=(
        id_field("promotion_id"),
        RecordField("name", TEXT, "name", "name"),
        RecordField("zone", if_given(ValueType(read=_zone_from, seek=str.lower)), "zone", "zone"),
        RecordField("conditions", _TERMS, "conditions"),
        RecordField("bonuses", _TERMS, "bonuses"),
        RecordField("coupon_code", TEXT, "coupon_code", "coupon_code"),
        RecordField("usage_limit", if_given(NUMBER), "usage_limit", "usage_limit"),
        RecordField("used", NUMBER, filters="used"),
        RecordField("from_date", _MOMENT, "from_at", "from_at"),
        RecordField("to_date", _MOMENT, "to_at", "to_at"),
        RecordField("priority", if_given(SMALL_NUMBER), "priority", "priority"),
        RecordField("stop", FLAG, "stop", "stop"),
        RecordField("status", code(SWITCH_STATUSES), "status", "status"),
    ),
    required={"name": "name is required"},
    filters=(QueryFilter("q", "search", TEXT, many=False),),
    sorts={"priority": "PRIORITY", "name": "NAME", "promotion_id": "ID"},
    default_sort=("priority", "asc"),
)
