"""Describe promotions; docs/promotions.md says what their conditions and bonuses may hold."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from kernel.clock import from_unix, rfc3339
from kernel.letters import SWITCH_LETTERS
from kernel.text import Malformed, shown
from rest_facade.legacy.kinds import FLAG, NUMBER, SMALL_NUMBER, TEXT, Kind, if_given, letter
from rest_facade.legacy.resource import Field, Filter, Resource, id_field

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


_TERMS = Kind(read=_terms_from)
_MOMENT = Kind(show=str, read=_moment_from, seek=lambda text: rfc3339(from_unix(text)))


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
        Field("name", TEXT, "name", "name"),
        Field("zone", if_given(Kind(read=_zone_from, seek=str.lower)), "zone", "zone"),
        Field("conditions", _TERMS, "conditions"),
        Field("bonuses", _TERMS, "bonuses"),
        Field("coupon_code", TEXT, "coupon_code", "coupon_code"),
        Field("usage_limit", if_given(NUMBER), "usage_limit", "usage_limit"),
        Field("used", NUMBER, filters="used"),
        Field("from_date", _MOMENT, "from_at", "from_at"),
        Field("to_date", _MOMENT, "to_at", "to_at"),
        Field("priority", if_given(SMALL_NUMBER), "priority", "priority"),
        Field("stop", FLAG, "stop", "stop"),
        Field("status", letter(SWITCH_LETTERS), "status", "status"),
    ),
    required={"name": "name is required"},
    filters=(Filter("q", "search", TEXT, many=False),),
    sorts={"priority": "PRIORITY", "name": "NAME", "promotion_id": "ID"},
    default_sort=("priority", "asc"),
)
