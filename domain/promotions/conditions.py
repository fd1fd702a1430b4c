"""Parse the conditions of a promotion, in either of two forms, into a rule.

A plain object, all of whose conditions must be met:

    {"min_subtotal": "100.00", "categories": [3, 7], "price": {"operator": "lt", "value": "50.00"}, "once_per_customer": "Y"}

or CS-Cart's nested sets, which are stored and returned unchanged:

    {"set": "all", "set_value": "1", "conditions": {"1": {"operator": "gte", "condition": "subtotal", "value": "100"}}}

`docs/promotions.md` lists the conditions. Unknown ones are rejected: an ignored condition would give discounts away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from domain.promotions.feature_conditions import FEATURE_OPERATORS, FeatureCondition
from domain.promotions.rules import ALWAYS, COMPARING, Rule
from domain.promotions.values import PendingReferences, amount_cents, flag, kilograms, texts_of, values_of, whole_number
from kernel.documents import normalize_cep
from kernel.geography import state_code
from kernel.text import InvalidValue, fold, repr_value
from models.references import (
    CATEGORY,
    DESTINATION,
    FEATURE,
    PAYMENT_METHOD,
    PRODUCT,
    SHIPPING_METHOD,
    USER,
    USERGROUP,
    ReferenceType,
)

CART, CATALOG = "cart", "catalog"
MAX_CONDITIONS, MAX_DEPTH = 100, 8

_LISTING = frozenset({"eq", "neq", "in", "nin"})
_MATCHING = _LISTING | {"cont", "ncont"}
_BOTH = (CART, CATALOG)


@dataclass(frozen=True, slots=True)
class ConditionType:
    """A condition: its test, its operators with the default one, and the parser of its value.

    `reference_type` is the type of records its values refer to, `zones` where it is allowed. `may_be_empty`: it needs no value.
    """

    test: str
    operators: frozenset[str]
    default: str
    read: Callable[[object], Any]
    may_be_empty: bool = False
    reference_type: ReferenceType | None = None
    zones: tuple[str, ...] = (CART,)

    @property
    def member(self) -> str:
        """Return the name of its value where it is typed (`typed_terms`)."""
        return _MEMBERS.get(self.read, TEXTS)


def _products(value: object) -> list[dict[str, Any]]:
    products = []
    for item in values_of(value):
        if isinstance(item, Mapping):
            amount = item.get("amount")
            products.append(
                {"id": item.get("product_id"), "amount": 1 if amount in (None, "") else whole_number(amount)}
            )
        else:
            products.append({"id": item, "amount": 1})
    return products


def _codes(value: object) -> list[str]:
    return [text.upper() for text in texts_of(value)]


def _states(value: object) -> list[str]:
    return [state_code(text) for text in texts_of(value)]


def _coupons(value: object) -> list[str]:
    return [fold(text) for text in texts_of(value)]


def _ceps(value: object) -> list[str]:
    ceps = [normalize_cep(text) for text in texts_of(value)]
    if None in ceps:
        raise InvalidValue(f"is {repr_value(value)}; expected CEPs of eight digits")
    return [cep for cep in ceps if cep is not None]


TEXTS = "texts"
# What the parser of a value makes of it, where that isn't texts.
_MEMBERS: Mapping[Callable[[object], Any], str] = {
    amount_cents: "cents",
    whole_number: "number",
    kilograms: "grams",
    flag: "flag",
    values_of: "ids",
    _products: "products",
}


def _money(test: str, zones: tuple[str, ...] = (CART,)) -> ConditionType:
    return ConditionType(test, COMPARING, "gte", amount_cents, zones=zones)


def _ids(test: str, reference_type: ReferenceType, zones: tuple[str, ...] = (CART,)) -> ConditionType:
    return ConditionType(test, _LISTING, "in", values_of, reference_type=reference_type, zones=zones)


CONDITION_TYPES: Mapping[str, ConditionType] = {
    "subtotal": _money("subtotal"),
    "price": _money("price", _BOTH),
    "products_number": ConditionType("quantity", COMPARING, "gte", whole_number),
    "total_weight": ConditionType("weight", COMPARING, "gte", kilograms),
    "products": ConditionType("products", _LISTING, "in", _products, reference_type=PRODUCT, zones=_BOTH),
    "categories": _ids("categories", CATEGORY, _BOTH),
    "users": _ids("users", USER, _BOTH),
    "usergroup": _ids("usergroups", USERGROUP, _BOTH),
    "payment": _ids("payment", PAYMENT_METHOD),
    "shipping": _ids("shipping", SHIPPING_METHOD),
    "destinations": _ids("destinations", DESTINATION),
    "country": ConditionType("country", _LISTING, "in", _codes),
    "state": ConditionType("state", _LISTING, "in", _states),
    "zip_postal_code": ConditionType("zipcode", _LISTING, "in", _ceps),
    "coupon_code": ConditionType("coupon", _MATCHING, "in", _coupons),
    "once_per_customer": ConditionType("once_per_customer", frozenset({"eq"}), "eq", flag),
    "number_of_usages": ConditionType("number_of_usages", COMPARING, "lte", whole_number),
    "auto_coupons": ConditionType("issued_coupon", _LISTING, "in", _coupons, may_be_empty=True),
    "purchased_products": ConditionType(
        "purchased_products", _LISTING, "in", _products, reference_type=PRODUCT, zones=_BOTH
    ),
    "orders_number": ConditionType("orders_number", COMPARING, "gte", whole_number, zones=_BOTH),
    "orders_total": _money("orders_total", _BOTH),
    "reward_points": ConditionType("points", COMPARING, "gte", whole_number, zones=_BOTH),
    "registered": ConditionType("registered", frozenset({"eq"}), "eq", flag, zones=_BOTH),
}
# Aliases in the plain form: the condition, the operator, and the parser of the value where it differs.
_ALIASES: Mapping[str, tuple[str, str, Callable[[object], Any] | None]] = {
    "min_subtotal": ("subtotal", "gte", None),
    "max_subtotal": ("subtotal", "lte", None),
    "min_subtotal_cents": ("subtotal", "gte", whole_number),
    "max_subtotal_cents": ("subtotal", "lte", whole_number),
    "min_total": ("subtotal", "gte", None),
    "max_total": ("subtotal", "lte", None),
    "min_price": ("price", "gte", None),
    "max_price": ("price", "lte", None),
    "min_price_cents": ("price", "gte", whole_number),
    "max_price_cents": ("price", "lte", whole_number),
    "min_quantity": ("products_number", "gte", None),
    "max_quantity": ("products_number", "lte", None),
    "min_weight": ("total_weight", "gte", None),
    "max_weight": ("total_weight", "lte", None),
    "min_weight_grams": ("total_weight", "gte", whole_number),
    "max_weight_grams": ("total_weight", "lte", whole_number),
    "not_products": ("products", "nin", None),
    "not_categories": ("categories", "nin", None),
    "customer": ("users", "in", None),
    "customers": ("users", "in", None),
    "usergroups": ("usergroup", "in", None),
    "payment_methods": ("payment", "in", None),
    "shipping_methods": ("shipping", "in", None),
    "countries": ("country", "in", None),
    "states": ("state", "in", None),
    "zipcodes": ("zip_postal_code", "in", None),
    "max_uses": ("number_of_usages", "lte", None),
    "min_orders": ("orders_number", "gte", None),
    "max_orders": ("orders_number", "lte", None),
    "min_orders_total": ("orders_total", "gte", None),
    "max_orders_total": ("orders_total", "lte", None),
    "min_orders_total_cents": ("orders_total", "gte", whole_number),
    "max_orders_total_cents": ("orders_total", "lte", whole_number),
    "min_points": ("reward_points", "gte", None),
    "max_points": ("reward_points", "lte", None),
    "not_purchased_products": ("purchased_products", "nin", None),
}
_FEATURE_NAMES = ("feature", "features")


def parse_conditions(values: object, zone: str, pending: PendingReferences) -> Rule:
    """Parse conditions into a rule; references are added to `pending`, which replaces them by internal ids.

    Raises InvalidValue for an unknown condition; the message continues a sentence that starts with the field's name.
    """
    if values is None or values == [] or values == {}:
        return ALWAYS
    if not isinstance(values, Mapping):
        raise InvalidValue(f"is {repr_value(values)}; expected an object")
    rule: Rule = ConditionParser(zone, pending).parse(values)
    return rule


def _is_set(values: Mapping[str, Any]) -> bool:
    return "set" in values or "conditions" in values


class ConditionParser:
    """Parse one promotion's conditions, counting them, into a rule; a subclass may build something else of what is parsed."""

    def __init__(self, zone: str, pending: PendingReferences) -> None:
        self._zone = zone
        self._pending = pending
        self._count = 0

    def parse(self, values: Mapping[str, Any]) -> Any:
        """Parse conditions in either form."""
        return self._parse_set(values, 1) if _is_set(values) else self._parse_plain(values)

    def build_set(self, set_type: str, holds: bool, members: list[Any]) -> Any:
        """Build a set of conditions."""
        return {"set": set_type, "holds": holds, "of": members}

    def build_test(self, name: str, operator: str, parsed: Any, value: object) -> Any:
        """Build a condition of a value, in parsed form and as it was written."""
        return {"test": CONDITION_TYPES[name].test, "op": operator, "value": parsed}

    def build_feature(self, condition: FeatureCondition) -> Any:
        """Build a condition of a feature, whose value is completed once the feature is known."""
        return {"test": "feature", "op": condition.operator, "value": condition.value}

    def _parse_plain(self, values: Mapping[str, Any]) -> Any:
        """Parse an object whose conditions must all be met."""
        of = []
        for name, value in values.items():
            if name in _FEATURE_NAMES:
                members = value if isinstance(value, list) else [value]
                of += [self._feature(name, member) for member in members]
                continue
            condition_name, operator, read = _ALIASES.get(name, (name, "", None))
            if isinstance(value, Mapping) and "value" in value:
                explicit = value.get("operator")
                operator = explicit if isinstance(explicit, str) and explicit else operator
                value = value["value"]
            of.append(self._test(name, condition_name, operator, value, read))
        return self.build_set("all", True, of)

    def _parse_set(self, values: Mapping[str, Any], depth: int) -> Any:
        """Parse a CS-Cart set."""
        if depth > MAX_DEPTH:
            raise InvalidValue(f"are nested deeper than {MAX_DEPTH} sets")
        set_type = values.get("set", "all")
        if set_type not in ("all", "any"):
            raise InvalidValue(f"hold the set {repr_value(set_type)}; expected all or any")
        holds = flag(values.get("set_value", "1"))
        members = values.get("conditions") or {}
        if not isinstance(members, Mapping | list):
            raise InvalidValue(f"hold {repr_value(members)}; expected an object of conditions")
        of = [self._member(member, depth) for member in values_of(members)]
        return self.build_set(set_type, holds, of)

    def _member(self, values: object, depth: int) -> Any:
        if not isinstance(values, Mapping):
            raise InvalidValue(f"hold {repr_value(values)}; expected objects such as {{operator, condition, value}}")
        if _is_set(values):
            return self._parse_set(values, depth + 1)
        name, operator = values.get("condition"), values.get("operator") or ""
        if not isinstance(name, str) or not isinstance(operator, str):
            raise InvalidValue(f"hold {repr_value(values)}; expected objects such as {{operator, condition, value}}")
        if name == "feature":
            return self._feature(name, values)
        return self._test(name, name, operator, values.get("value"), None)

    def _count_one(self) -> None:
        self._count += 1
        if self._count > MAX_CONDITIONS:
            raise InvalidValue(f"are more than {MAX_CONDITIONS}")

    def _feature(self, label: str, value: object) -> Any:
        """Parse `{feature_id, operator?, value}`, in CS-Cart's form `{condition_element, operator, value}`."""
        self._count_one()
        if not isinstance(value, Mapping):
            raise InvalidValue(
                f"hold {label} with {repr_value(value)}; expected an object such as {{feature_id, value}}"
            )
        operator = str(value.get("operator") or "in").lower()
        if operator not in FEATURE_OPERATORS:
            allowed = ", ".join(sorted(FEATURE_OPERATORS))
            raise InvalidValue(f"hold {label} with the operator {repr_value(operator)}; expected one of {allowed}")
        feature = value.get("condition_element", value.get("feature_id"))
        texts = texts_of(value.get("value"))
        if not texts:
            raise InvalidValue(f"hold {label} without a value")
        condition = FeatureCondition(self._pending.add(FEATURE, [feature], label), operator, texts)
        self._pending.features.append(condition)
        return self.build_feature(condition)

    def _test(self, label: str, name: str, operator: str, value: object, read: Callable[[object], Any] | None) -> Any:
        self._count_one()
        condition = CONDITION_TYPES.get(name)
        if condition is None:
            known = ", ".join(sorted({*CONDITION_TYPES, *_ALIASES, *_FEATURE_NAMES}))
            raise InvalidValue(f"hold the unknown condition {repr_value(label)}; expected some of {known}")
        if self._zone not in condition.zones:
            raise InvalidValue(f"hold {label}, which the zone {self._zone} doesn't know")
        operator = operator.lower() or condition.default
        if operator not in condition.operators:
            allowed = ", ".join(sorted(condition.operators))
            raise InvalidValue(f"hold {label} with the operator {repr_value(operator)}; expected one of {allowed}")
        try:
            parsed = (read or condition.read)(value)
        except InvalidValue as error:
            raise InvalidValue(f"hold {label}, which {error}") from error
        if isinstance(parsed, list) and not parsed and not condition.may_be_empty:
            raise InvalidValue(f"hold {label} without a value")
        if condition.reference_type is not None:
            of_products = condition.read is _products
            parsed = self._pending.add(condition.reference_type, parsed, label, in_objects=of_products)
        return self.build_test(name, operator, parsed, value)


def required_tests(rule: Rule) -> list[Rule]:
    """Return the tests that must be met for the rule to be met, whatever the others yield."""
    if "set" not in rule:
        return [rule]
    if not rule["holds"] or (rule["set"] == "any" and len(rule["of"]) > 1):
        return []
    return [test for part in rule["of"] for test in required_tests(part)]


def coupon_of(rule: Rule) -> str:
    """Return the one coupon the rule requires, folded; empty for none or a choice of several."""
    tests = [test for test in required_tests(rule) if test["test"] == "coupon" and test["op"] in ("eq", "in")]
    return next((test["value"][0] for test in tests if len(test["value"]) == 1), "")


def max_uses(rule: Rule) -> int:
    """Return how often the rule can be met, 0 for unlimited."""
    limits = [
        test["value"] - (test["op"] == "lt")
        for test in required_tests(rule)
        if test["test"] == "number_of_usages" and test["op"] in ("lt", "lte")
    ]
    return max(min(limits), 1) if limits else 0


def is_once_per_customer(rule: Rule) -> bool:
    """Return whether the rule can be met only once per customer."""
    return any(test["test"] == "once_per_customer" and test["value"] for test in required_tests(rule))


def tests_of(rule: Rule) -> Iterator[Rule]:
    """Yield every test of the rule; a row's default, `{}`, has none."""
    if "test" in rule:
        yield rule
    for part in rule.get("of", ()):
        yield from tests_of(part)


def has_test(rule: Rule, test: str) -> bool:
    """Return whether a test occurs anywhere in the rule."""
    return any(part["test"] == test for part in tests_of(rule))


def mentions_coupon(rule: Rule, coupon: str) -> bool:
    """Return whether the rule refers to this coupon (folded)."""
    if "set" not in rule:
        if rule["test"] not in ("coupon", "issued_coupon"):
            return False
        return any(value == coupon or (rule["op"] == "cont" and value in coupon) for value in rule["value"])
    return any(mentions_coupon(part, coupon) for part in rule["of"])
