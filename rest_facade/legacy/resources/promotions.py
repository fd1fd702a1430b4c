"""Describe promotions; docs/promotions.md documents their conditions and bonuses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from kernel.clock import format_rfc3339, parse_unix
from kernel.codes import SWITCH_STATUSES
from kernel.text import InvalidValue
from rest_facade.legacy import value_types as types
from rest_facade.legacy.resource import SEARCH, RecordField, Resource, id_field
from rest_facade.legacy.value_schemas import TIME_INPUT

_DAY = re.compile(r"\d{4}-\d\d-\d\d")


def _parse_terms(value: Any, label: str) -> Any:
    """Parse conditions or bonuses unchanged: an object, or CS-Cart's list."""
    if not isinstance(value, Mapping | list) and value not in (None, ""):
        raise types.unexpected(label, value, "an object")
    return value or {}


def _parse_time(value: Any, label: str) -> str | None:
    """Parse Unix seconds; 0 and a missing value mean no limit. A date means its first second."""
    if value in (None, "", 0, "0") and not isinstance(value, bool):
        return None
    try:
        if isinstance(value, str) and _DAY.fullmatch(value):
            return format_rfc3339(datetime.fromisoformat(value).replace(tzinfo=UTC))
        return format_rfc3339(parse_unix(str(value) if isinstance(value, int) else value))
    except (InvalidValue, TypeError, ValueError) as error:
        raise types.unexpected(label, value, "Unix seconds") from error


_TERMS = types.ValueType(parse=_parse_terms)
_TIME = replace(types.UNIX_TIME, parse=_parse_time, body_schema=TIME_INPUT)


def _parse_zone(value: Any, label: str) -> str:
    if not isinstance(value, str) or value.lower() not in ("cart", "catalog"):
        raise types.unexpected(label, value, "one of cart, catalog")
    return value.lower()


PROMOTIONS = Resource(
    path="promotions",
    privilege_area="content",
    texts=("name",),
    fields=(
        id_field("promotion_id"),
        RecordField("name", types.TEXT, "name", "name"),
        RecordField("zone", types.optional(types.ValueType(parse=_parse_zone, parse_filter=str.lower)), "zone", "zone"),
        RecordField("conditions", _TERMS, "conditions"),
        RecordField("bonuses", _TERMS, "bonuses"),
        RecordField("coupon_code", types.TEXT, "coupon_code", "coupon_code"),
        RecordField("usage_limit", types.optional(types.BIGINT), "usage_limit", "usage_limit"),
        RecordField("used", types.BIGINT, filter_name="used"),
        RecordField("from_date", _TIME, "from_at", "from_at"),
        RecordField("to_date", _TIME, "to_at", "to_at"),
        RecordField("priority", types.optional(types.INTEGER), "priority", "priority"),
        RecordField("stop", types.FLAG, "stop", "stop"),
        RecordField("status", types.code(SWITCH_STATUSES), "status", "status"),
    ),
    required=("name",),
    filters=(SEARCH,),
    sorts={"priority": "PRIORITY", "name": "NAME", "promotion_id": "ID"},
)
