"""Promotions, whose conditions and bonuses are parsed when they are written."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import orjson

from domain.promotions.bonuses import parse_bonuses
from domain.promotions.conditions import (
    CART,
    CATALOG,
    coupon_of,
    is_once_per_customer,
    max_uses,
    parse_conditions,
)
from domain.promotions.rewards import coupon_key
from domain.promotions.values import PendingReferences
from domain.records import Change, RecordType
from kernel.codes import SWITCH_STATUSES
from kernel.errors import ValidationFailed
from kernel.fields import (
    MAX_INTEGER,
    MAX_NAME,
    MAX_QUANTITY,
    InputField,
    code_in,
    flag,
    integer,
    name_text,
    one_of,
    raise_field_errors,
    text,
    timestamp,
)
from kernel.text import InvalidValue, repr_value
from models.promotions import Promotion
from models.references import PROMOTION

MAX_JSON_BYTES = 100_000


def _optional_timestamp(value: object) -> datetime | None:
    return None if value is None else timestamp(value)


def _stripped_text(value: object) -> object:
    return str(text(MAX_NAME)(value)).strip()


def _json_value(value: object) -> object:
    """Accept conditions or bonuses as JSON; they are parsed once the zone is known."""
    if value is not None and not isinstance(value, Mapping | list):
        raise InvalidValue(f"is {repr_value(value)}; expected an object")
    if value is not None and len(orjson.dumps(value)) > MAX_JSON_BYTES:
        raise InvalidValue(f"has more than {MAX_JSON_BYTES} bytes")
    return {} if value is None else value


PROMOTION_FIELDS: Mapping[str, InputField] = {
    "name": InputField("name", name_text, code="name_invalid", required="name_required"),
    "description": InputField("description", text()),
    "zone": InputField("zone", one_of(CART, CATALOG), code="zone_invalid"),
    "conditions": InputField("conditions", _json_value, code="conditions_invalid"),
    "bonuses": InputField("bonuses", _json_value, code="bonuses_invalid"),
    "coupon_code": InputField("coupon_code", _stripped_text, code="coupon_invalid"),
    "usage_limit": InputField("usage_limit", integer(0, MAX_QUANTITY), code="usage_limit_invalid"),
    "from_at": InputField("from_at", _optional_timestamp, code="date_invalid"),
    "to_at": InputField("to_at", _optional_timestamp, code="date_invalid"),
    "priority": InputField("priority", integer(0, MAX_INTEGER), code="priority_invalid"),
    "stop": InputField("stop", flag),
    "status": InputField("status", code_in(SWITCH_STATUSES), code="status_invalid"),
}
_DEFAULTS: Mapping[str, Any] = {
    "zone": CART,
    "conditions": "{}",
    "bonuses": "{}",
    "coupon_code": "",
    "usage_limit": 0,
    "from_at": None,
    "to_at": None,
}
_LOCK = """
SELECT zone, conditions::text, bonuses::text, coupon_code, usage_limit, from_at, to_at FROM promotions
WHERE tenant_id = $1 AND id = $2 FOR NO KEY UPDATE
"""


async def _derive(change: Change) -> None:
    """Add the columns derived from conditions and bonuses. Raises ValidationFailed for invalid ones.

    An update derives them only when it changes a relevant field, so that a promotion whose product was deleted can be disabled.
    """
    columns = change.merged
    _check_dates(columns)
    relevant = ("zone", "conditions", "bonuses", "coupon_code", "usage_limit")
    if not change.is_new and not any(name in change.values for name in relevant):
        return
    for name in {"conditions", "bonuses"} - change.columns.keys():
        columns[name] = orjson.loads(columns[name])
    in_conditions, in_bonuses = _references_of(change, "conditions"), _references_of(change, "bonuses")
    errors: dict[str, tuple[str, str]] = {}
    rule = _try_parse("conditions", parse_conditions, columns, in_conditions, errors)
    gifts = _try_parse("bonuses", parse_bonuses, columns, in_bonuses, errors)
    if columns["zone"] == CATALOG and columns["coupon_code"]:
        errors["coupon_code"] = ("coupon_invalid", f"coupon_code is for the zone {CART}")
    raise_field_errors(errors)
    await in_conditions.resolve(change.scope, field="conditions")
    await in_bonuses.resolve(change.scope, field="bonuses")
    limits = [limit for limit in (columns["usage_limit"], max_uses(rule)) if limit]
    change.columns |= {
        "rule": rule,
        "gifts": gifts,
        "coupon_key": coupon_key(columns["coupon_code"]) or coupon_of(rule),
        "usage_cap": min(limits, default=0),
        "once_per_customer": is_once_per_customer(rule),
    }


def _references_of(change: Change, name: str) -> PendingReferences:
    """Return where to collect the references of a field; stored ones may be numbers, also when they are sent back as they were read."""
    is_stored = name not in change.columns or change.columns[name] == orjson.loads(change.current[name])
    return PendingReferences(uuid_only=change.scope.names_by_uuid and not is_stored)


def _try_parse(
    name: str,
    read: Any,
    columns: Mapping[str, Any],
    pending: PendingReferences,
    errors: dict[str, tuple[str, str]],
) -> Any:
    try:
        return read(columns[name], columns["zone"], pending)
    except InvalidValue as error:
        errors[name] = (f"{name}_invalid", f"{name} {error}")
        return None


def _check_dates(columns: Mapping[str, Any]) -> None:
    start, end = columns["from_at"], columns["to_at"]
    if start is not None and end is not None and start > end:
        raise ValidationFailed(
            f"to_at is {end.isoformat()}; expected from_at or later", field="to_at", code="date_invalid"
        )


PROMOTION_RECORDS = RecordType(
    PROMOTION,
    Promotion,
    PROMOTION_FIELDS,
    audit_input=True,
    lock_row=_LOCK,
    defaults=_DEFAULTS,
    prepare=_derive,
)
"""`usage_limit` 0 means none; the lowest `priority` applies first. Orders keep their rewards."""
