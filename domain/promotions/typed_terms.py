"""Conditions and bonuses of promotions as typed values, of the JSON that is stored, and as that JSON.

A set of conditions is `{match: all|any, holds, conditions}`, a condition `{kind, operator, feature_id?}` and its value by the name that
`ConditionType.member` states. A bonus is `{kind}` with `{mode, value}` of a discount, and the records, units or points that it names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import partial
from typing import Any, NamedTuple

import orjson

from domain.promotions.bonuses import DISCOUNT_MODES, parse_bonuses
from domain.promotions.conditions import CART, CATALOG, CONDITION_TYPES, TEXTS, ConditionParser
from domain.promotions.feature_conditions import FEATURE_OPERATORS, FeatureCondition
from domain.promotions.values import PendingReferences, texts_of
from kernel.errors import ValidationFailed
from kernel.event_loop import convert_texts, total_length
from kernel.money import format_cents
from kernel.scope import Scope
from kernel.text import InvalidValue

FEATURE = "feature"
CONDITIONS, BONUSES = "condition_tree", "bonus_list"
_CODES = {CONDITIONS: "conditions_invalid", BONUSES: "bonuses_invalid"}
_LIMITS = {"products": "product_ids", "categories": "category_ids"}
_EMPTY = {"match": "all", "holds": True, "conditions": []}


class TypedCondition(NamedTuple):
    """A kind of condition: its operators with the default first, the name of its value, and the zones that know it."""

    kind: str
    operators: Sequence[str]
    value: str
    zones: Sequence[str]


def _kinds() -> dict[str, TypedCondition]:
    kinds = {
        name: TypedCondition(name, _default_first(type_.operators, type_.default), type_.member, type_.zones)
        for name, type_ in CONDITION_TYPES.items()
    }
    return kinds | {
        FEATURE: TypedCondition(FEATURE, _default_first(FEATURE_OPERATORS, "in"), TEXTS, (CART, CATALOG)),
    }


def _default_first(operators: frozenset[str], default: str) -> Sequence[str]:
    return (default, *sorted(operators - {default}))


CONDITION_KINDS: Mapping[str, TypedCondition] = _kinds()


class _TypedParser(ConditionParser):
    """Parse conditions into typed values."""

    def build_set(self, set_type: str, holds: bool, members: list[Any]) -> Any:
        return {"match": set_type, "holds": holds, "conditions": members}

    def build_test(self, name: str, operator: str, parsed: Any, value: object) -> Any:
        member = CONDITION_TYPES[name].member
        # Texts as they were written, not as they are compared.
        return {"kind": name, "operator": operator, member: texts_of(value) if member == TEXTS else parsed}

    def build_feature(self, condition: FeatureCondition) -> Any:
        return {
            "kind": FEATURE,
            "operator": condition.operator,
            TEXTS: list(condition.texts),
            "feature_id": condition.feature,
        }


async def typed_conditions(scope: Scope, stored: Sequence[str]) -> list[dict[str, Any] | None]:
    """Return the conditions of promotions, each of the JSON array of its zone and conditions; null for what can't be read any more.

    Takes one statement for each type of records that are named by numbers.
    """
    pending = PendingReferences(uuid_only=False)
    sets = await convert_texts(partial(_read_conditions, pending), stored)
    await pending.show(scope, total_length(stored))
    return sets


def _read_conditions(pending: PendingReferences, stored: str) -> dict[str, Any] | None:
    zone, conditions = orjson.loads(stored)
    if not conditions:
        return _EMPTY
    try:
        tree: dict[str, Any] = _TypedParser(zone, pending).parse(conditions)
    except InvalidValue:
        return None
    return tree


async def typed_bonuses(scope: Scope, stored: Sequence[str]) -> list[list[dict[str, Any]] | None]:
    """Return the bonuses of promotions, each of the JSON array of its zone and bonuses, as `typed_conditions` does."""
    pending = PendingReferences(uuid_only=False)
    gifts = await convert_texts(partial(_read_bonuses, pending), stored)
    await pending.show(scope, total_length(stored))
    return [None if each is None else [_typed_bonus(gift) for gift in each] for each in gifts]


def _read_bonuses(pending: PendingReferences, stored: str) -> list[dict[str, Any]] | None:
    zone, bonuses = orjson.loads(stored)
    try:
        return parse_bonuses(bonuses, zone, pending)
    except InvalidValue:
        return None


def _typed_bonus(gift: Mapping[str, Any]) -> dict[str, Any]:
    kind, products = gift["gift"], gift.get("products")
    return {
        "kind": kind,
        "discount": {"mode": gift["way"], "value": gift["value"]} if "way" in gift else None,
        "product_ids": products if kind != "free_products" else None,
        "category_ids": gift.get("categories"),
        "shipping_method_ids": gift.get("methods"),
        "products": products if kind == "free_products" else None,
        "points": gift.get("points"),
        "promotion_id": gift["promotions"][0] if gift.get("promotions") else None,
    }


def stored_conditions(group: Mapping[str, Any]) -> dict[str, Any]:
    """Return typed conditions as the JSON that is stored. Raises ValidationFailed for a value of another kind of condition."""
    return _stored_group(_without_nulls(group))


def _without_nulls(value: Any) -> Any:
    """Return an input without its explicit nulls, which mean what leaving a member out means."""
    if isinstance(value, Mapping):
        return {name: _without_nulls(each) for name, each in value.items() if each is not None}
    return [_without_nulls(each) for each in value] if isinstance(value, list) else value


def _stored_group(group: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "set": group["match"],
        "set_value": "1" if group.get("holds", True) else "0",
        "conditions": {str(number): _stored_member(member) for number, member in enumerate(group["conditions"], 1)},
    }


def _stored_member(member: Mapping[str, Any]) -> dict[str, Any]:
    if "group" in member:
        return _stored_group(member["group"])
    test = member["test"]
    kind, [(name, value)] = test["kind"], test["value"].items()
    expected = CONDITION_KINDS[kind].value
    if name != expected:
        raise _invalid(CONDITIONS, f"hold {kind} with {name}; expected {expected}")
    if (kind == FEATURE) is not ("feature_id" in test):
        raise _invalid(CONDITIONS, f"hold {kind} {'without' if kind == FEATURE else 'with'} feature_id")
    condition = {"condition": kind, "operator": test.get("operator", ""), "value": _stored_value(name, value)}
    return condition | ({"condition_element": test["feature_id"]} if kind == FEATURE else {})


def _stored_value(name: str, value: Any) -> Any:
    match name:
        case "cents":
            return format_cents(value)
        case "grams":
            return str(Decimal(value) / 1_000)
        case "flag":
            return "Y" if value else "N"
        case "products":
            return _stored_products(value)
        case _:
            return value


def _stored_products(products: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [{"product_id": each["product_id"], "amount": each.get("quantity", 1)} for each in products]


def stored_bonuses(bonuses: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return typed bonuses as the JSON that is stored. Raises ValidationFailed for a discount that is limited to nothing."""
    given = [next(iter(bonus.items())) for bonus in _without_nulls(bonuses)]
    return {str(number): _stored_bonus(kind, value) for number, (kind, value) in enumerate(given, 1)}


def _stored_bonus(kind: str, value: Any) -> dict[str, Any]:
    match kind:
        case "order_discount":
            return {"bonus": kind, **_stored_discount(value)}
        case "product_discount":
            limits = {key: value[name] for key, name in _LIMITS.items() if name in value}
            for key, ids in limits.items():
                if not ids:
                    raise _invalid(BONUSES, f"hold {kind} with empty {_LIMITS[key]}; expected null for all products")
            return {"bonus": kind, **_stored_discount(value["discount"]), **limits}
        case "free_shipping":
            return {"bonus": kind, "value": value.get("shipping_method_ids") or "Y"}
        case "free_products":
            return {"bonus": kind, "value": _stored_products(value)}
        case _:
            return {"bonus": kind, "value": value}


def _stored_discount(discount: Mapping[str, Any]) -> dict[str, str]:
    mode, value = discount["mode"], discount["value"]
    text = str(Decimal(value) / 1_000) if mode.endswith("percent") else format_cents(value)
    return {"discount_bonus": DISCOUNT_MODES[mode], "discount_value": text}


def _invalid(field: str, problem: str) -> ValidationFailed:
    return ValidationFailed(f"{field} {problem}", field=field, code=_CODES[field])
