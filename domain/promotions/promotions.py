"""Make, change and delete promotions."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import orjson

from domain import audit
from domain.fields import (
    MAX_INTEGER,
    MAX_NAME,
    MAX_QUANTITY,
    Given,
    InputField,
    code_in,
    flag,
    moment,
    name_text,
    one_of,
    read_fields,
    refuse_wrong,
    text,
    whole,
)
from domain.promotions.applying import coupon_key
from domain.promotions.bonuses import gifts_from
from domain.promotions.conditions import (
    CART,
    CATALOG,
    coupon_of,
    is_once_per_customer,
    most_uses,
    rule_from,
)
from domain.promotions.reading import Unresolved
from domain.references import PROMOTION, find
from kernel.codes import SWITCH_STATUSES
from kernel.errors import ValidationFailed
from kernel.scope import Scope
from kernel.text import Malformed, shown
from models.database import row, transaction
from models.promotions import Promotion

MAX_JSON_BYTES = 100_000


def _moment(value: object) -> datetime | None:
    return None if value is None else moment(value)


def _trimmed(value: object) -> object:
    return str(text(MAX_NAME)(value)).strip()


def _json_of(value: object) -> object:
    """Read conditions or bonuses as they are; what they mean is read once the zone is known."""
    if value is not None and not isinstance(value, Mapping | list):
        raise Malformed(f"is {shown(value)}; expected an object")
    if value is not None and len(orjson.dumps(value)) > MAX_JSON_BYTES:
        raise Malformed(f"has more than {MAX_JSON_BYTES} bytes")
    return {} if value is None else value


PROMOTION_FIELDS: Mapping[str, InputField] = {
    "name": InputField("name", name_text, code="name_invalid", required="name_required"),
    "description": InputField("description", text()),
    "zone": InputField("zone", one_of(CART, CATALOG), code="zone_invalid"),
    "conditions": InputField("conditions", _json_of, code="conditions_invalid"),
    "bonuses": InputField("bonuses", _json_of, code="bonuses_invalid"),
    "coupon_code": InputField("coupon_code", _trimmed, code="coupon_invalid"),
    "usage_limit": InputField("usage_limit", whole(0, MAX_QUANTITY), code="usage_limit_invalid"),
    "from_at": InputField("from_at", _moment, code="date_invalid"),
    "to_at": InputField("to_at", _moment, code="date_invalid"),
    "priority": InputField("priority", whole(0, MAX_INTEGER), code="priority_invalid"),
    "stop": InputField("stop", flag),
    "status": InputField("status", code_in(SWITCH_STATUSES), code="status_invalid"),
}
_NEW: Mapping[str, Any] = {
    "zone": CART,
    "conditions": {},
    "bonuses": {},
    "coupon_code": "",
    "usage_limit": 0,
    "from_at": None,
    "to_at": None,
}
_BEFORE = """
SELECT zone, conditions::text, bonuses::text, coupon_code, usage_limit, from_at, to_at FROM promotions
WHERE tenant_id = $1 AND id = $2 FOR NO KEY UPDATE
"""


async def create_promotion(scope: Scope, given: Given) -> int:
    """Make a promotion and give its internal id.

    Keys: `name`*, `description`, `zone` (`cart`, `catalog`), `conditions` and `bonuses` (see the modules of these names),
    `coupon_code`, `usage_limit` (0: none), `from_at`, `to_at`, `priority` (the lowest first), `stop`, `status`.
    """
    columns = read_fields(PROMOTION_FIELDS, given, creating=True)
    async with transaction(scope):
        columns |= await _understood(scope, {**_NEW, **columns})
        promotion = Promotion(**columns, created_at=scope.now, updated_at=scope.now)
        await promotion.save()
        promotion_id: int = promotion.id
        await audit.record(scope, "promotion.created", "promotion", promotion.public_id)
    return promotion_id


async def update_promotion(scope: Scope, promotion: object, given: Given) -> int:
    """Change a promotion partially and give its internal id; orders keep what they were given."""
    columns = read_fields(PROMOTION_FIELDS, given)
    async with transaction(scope):
        promotion_id = await find(scope, PROMOTION, promotion)
        before = dict(await row(_BEFORE, scope.store.id, promotion_id) or _NEW)
        for name in ("conditions", "bonuses"):
            before[name] = orjson.loads(before[name])
        columns |= await _understood(scope, {**before, **columns}, checked=given)
        await Promotion.filter(id=promotion_id).update(**columns, updated_at=scope.now)
        await audit.record(
            scope, "promotion.updated", "promotion", promotion_id, {"fields": sorted(map(str, given))}
        )
    return promotion_id


async def delete_promotion(scope: Scope, promotion: object) -> None:
    """Hide a promotion; orders keep what they were given by it."""
    async with transaction(scope):
        promotion_id = await find(scope, PROMOTION, promotion)
        await Promotion.filter(id=promotion_id).update(deleted_at=scope.now, updated_at=scope.now)
        await audit.record(scope, "promotion.deleted", "promotion", promotion_id)


async def _understood(
    scope: Scope, columns: Mapping[str, Any], *, checked: Given | None = None
) -> dict[str, Any]:
    """Give the columns that decisions are made on. Raises ValidationFailed for what can't be understood.

    Of a promotion that is changed only what bears on them is `checked`, so that one whose product is gone can be switched off.
    """
    _check_dates(columns)
    bearing = ("zone", "conditions", "bonuses", "coupon_code", "usage_limit")
    if checked is not None and not any(name in checked for name in bearing):
        return {}
    asked, offered = Unresolved(), Unresolved()
    wrong: dict[str, tuple[str, str]] = {}
    rule, gifts = _tried("conditions", rule_from, columns, asked, wrong), None
    gifts = _tried("bonuses", gifts_from, columns, offered, wrong)
    if columns["zone"] == CATALOG and columns["coupon_code"]:
        wrong["coupon_code"] = ("coupon_invalid", f"coupon_code is for the zone {CART}")
    refuse_wrong(wrong)
    await asked.resolve(scope, field="conditions")
    await offered.resolve(scope, field="bonuses")
    limits = [limit for limit in (columns["usage_limit"], most_uses(rule)) if limit]
    return {
        "rule": rule,
        "gifts": gifts,
        "coupon_key": coupon_key(columns["coupon_code"]) or coupon_of(rule),
        "usage_cap": min(limits, default=0),
        "once_per_customer": is_once_per_customer(rule),
    }


def _tried(
    name: str,
    read: Any,
    columns: Mapping[str, Any],
    unresolved: Unresolved,
    wrong: dict[str, tuple[str, str]],
) -> Any:
    try:
        return read(columns[name], columns["zone"], unresolved)
    except Malformed as error:
        wrong[name] = (f"{name}_invalid", f"{name} {error}")
        return None


def _check_dates(columns: Mapping[str, Any]) -> None:
    begin, end = columns["from_at"], columns["to_at"]
    if begin is not None and end is not None and begin > end:
        raise ValidationFailed(
            f"to_at is {end.isoformat()}; expected from_at or later", field="to_at", code="date_invalid"
        )
