"""Promotions, whose conditions and bonuses are parsed when they are written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from domain.promotions.bonuses import EXTENDED_GIFTS, parse_bonuses
from domain.promotions.conditions import (
    CART,
    CATALOG,
    coupon_of,
    has_test,
    is_once_per_customer,
    max_uses,
    parse_conditions,
    tests_of,
)
from domain.promotions.rewards import coupon_key
from domain.promotions.rules import EXTENDED_TESTS, NEVER, Rule
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
    optional_timestamp,
    raise_field_errors,
    text,
)
from kernel.scope import Scope
from kernel.text import InvalidValue, repr_value
from models.connection.database import fetch
from models.tables.promotions import Promotion

MAX_JSON_BYTES = 100_000


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
    "from_at": InputField("from_at", optional_timestamp, code="date_invalid"),
    "to_at": InputField("to_at", optional_timestamp, code="date_invalid"),
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
_PARSED = frozenset({"zone", "conditions", "bonuses"})
_COUPON_PROMOTIONS = """
SELECT id, zone, coalesce(extended_rule, rule)::text AS rule FROM promotions WHERE tenant_id = $1 AND id = ANY($2::bigint[])
"""
_LOCK = """
SELECT zone, conditions::text, bonuses::text, coupon_code, usage_limit, from_at, to_at, coalesce(extended_rule, rule)::text AS stored_rule
FROM promotions WHERE tenant_id = $1 AND id = $2 FOR NO KEY UPDATE
"""


async def _derive(change: Change) -> None:
    """Add the columns derived from conditions and bonuses. Raises ValidationFailed for invalid ones.

    An update derives them only when it changes a relevant field, and parses only what it changes: of a promotion whose product was deleted
    the status, coupon and limit can still be set.
    """
    columns = change.merged
    _check_dates(columns)
    is_parsed = change.is_new or not _PARSED.isdisjoint(change.values)
    if not is_parsed and not {"coupon_code", "usage_limit"} & change.values.keys():
        return
    if is_parsed:
        rule = await _parse(change, columns)
    else:
        raise_field_errors(_coupon_errors(columns))
        rule = orjson.loads(change.current["stored_rule"])
    limits = [limit for limit in (columns["usage_limit"], max_uses(rule)) if limit]
    change.columns |= {
        "coupon_key": coupon_key(columns["coupon_code"]) or coupon_of(rule),
        "usage_cap": min(limits, default=0),
        "once_per_customer": is_once_per_customer(rule),
    }


async def _parse(change: Change, columns: dict[str, Any]) -> Rule:
    """Add the columns of the rule and gifts, and return the rule; raises ValidationFailed."""
    errors: dict[str, tuple[str, str]] = {}
    for name in {"conditions", "bonuses"} - change.columns.keys():
        columns[name] = orjson.loads(columns[name])
    in_conditions, in_bonuses = _references_of(change, "conditions"), _references_of(change, "bonuses")
    rule: Rule = _try_parse("conditions", parse_conditions, columns, in_conditions, errors)
    gifts = _try_parse("bonuses", parse_bonuses, columns, in_bonuses, errors)
    raise_field_errors(errors | _coupon_errors(columns))
    await in_conditions.resolve(change.scope, field="conditions")
    await in_bonuses.resolve(change.scope, field="bonuses")
    await _check_coupon_promotions(change.scope, gifts)
    change.columns |= _evaluated(rule, gifts)
    return rule


def _coupon_errors(columns: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    if columns["zone"] == CATALOG and columns["coupon_code"]:
        return {"coupon_code": ("coupon_invalid", f"coupon_code is for the zone {CART}")}
    return {}


def _evaluated(rule: Rule, gifts: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the columns of the rule and gifts.

    The version before, which may run at the same time, evaluates `rule` and `gifts`: a promotion that it can't evaluate is never due
    for it.
    """
    is_extended = any(test["test"] in EXTENDED_TESTS for test in tests_of(rule)) or any(
        gift["gift"] in EXTENDED_GIFTS for gift in gifts
    )
    if is_extended:
        return {"rule": NEVER, "gifts": [], "extended_rule": rule, "extended_gifts": gifts}
    return {"rule": rule, "gifts": gifts, "extended_rule": None, "extended_gifts": None}


async def _check_coupon_promotions(scope: Scope, gifts: list[dict[str, Any]]) -> None:
    """Refuse to give coupons of a promotion that doesn't take them. Raises ValidationFailed."""
    wanted = {number for gift in gifts if gift["gift"] == "give_coupon" for number in gift["promotions"]}
    if not wanted:
        return
    for row in await fetch(_COUPON_PROMOTIONS, scope.store.id, list(wanted)):
        if row["zone"] != CART or not has_test(orjson.loads(row["rule"]), "issued_coupon"):
            raise ValidationFailed(
                f"bonuses hold give_coupon with the promotion {row['id']}; expected one of the zone {CART} with the condition auto_coupons",
                field="bonuses",
                code="bonuses_invalid",
            )


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
    Promotion,
    PROMOTION_FIELDS,
    audit_input=True,
    lock_row=_LOCK,
    defaults=_DEFAULTS,
    prepare=_derive,
)
"""`usage_limit` 0 means none; the lowest `priority` applies first. Orders keep their rewards."""
