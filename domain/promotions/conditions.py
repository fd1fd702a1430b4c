"""Read the conditions of a promotion, in either of the two forms they are written in, and make a rule of them.

A plain object, all of whose words must hold:

    {"min_subtotal": "100.00", "categories": [3, 7], "price": {"operator": "lt", "value": "50.00"}, "once_per_customer": "Y"}

or CS-Cart's sets, nested at will, which are kept as they are and given back so:

    {"set": "all", "set_value": "1", "conditions": {"1": {"operator": "gte", "condition": "subtotal", "value": "100"}}}

`docs/promotions.md` has the vocabulary. What it doesn't know is refused: a condition nobody looks at would give money away.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from domain.promotions.reading import Unresolved, amount_cents, each_of, flag, kilograms, words_of
from domain.promotions.rules import ALWAYS, COMPARING, Rule
from domain.references import (
    CATEGORY,
    DESTINATION,
    PAYMENT_METHOD,
    PRODUCT,
    SHIPPING_METHOD,
    USER,
    USERGROUP,
    ReferenceType,
)
from kernel.documents import normalise_cep
from kernel.text import Malformed, fold, shown

CART, CATALOG = "cart", "catalog"
MAX_CONDITIONS, MAX_DEPTH = 100, 8

_LISTING = frozenset({"eq", "neq", "in", "nin"})
_MATCHING = _LISTING | {"cont", "ncont"}
_BOTH = (CART, CATALOG)


@dataclass(frozen=True, slots=True)
class Word:
    """Describe a condition: the test it is, its operators (the first is meant where none is given), and how its value is read.

    `kind` names the records its values refer to. `zones` are where it makes sense. `turns` maps an operator to the test's own.
    """

    test: str
    operators: frozenset[str]
    default: str
    read: Callable[[object], Any]
    kind: ReferenceType | None = None
    zones: tuple[str, ...] = (CART,)


def _whole(value: object) -> int:
    text = str(value).strip() if isinstance(value, str | int) and not isinstance(value, bool) else ""
    if not text.isascii() or not text.isdigit() or len(text) > 15:
        raise Malformed(f"is {shown(value)}; expected a whole number")
    return int(text)


def _products(value: object) -> list[dict[str, Any]]:
    """Read products, each an id or `{product_id, amount}`."""
    found = []
    for each in each_of(value):
        if isinstance(each, Mapping):
            amount = each.get("amount")
            found.append(
                {"id": each.get("product_id"), "amount": 1 if amount in (None, "") else _whole(amount)}
            )
        else:
            found.append({"id": each, "amount": 1})
    return found


def _codes(value: object) -> list[str]:
    return [text.upper() for text in words_of(value)]


def _coupons(value: object) -> list[str]:
    return [fold(text) for text in words_of(value)]


def _ceps(value: object) -> list[str]:
    found = [normalise_cep(text) for text in words_of(value)]
    if None in found:
        raise Malformed(f"is {shown(value)}; expected CEPs of eight digits")
    return [cep for cep in found if cep is not None]


def _money(test: str, zones: tuple[str, ...] = (CART,)) -> Word:
    return Word(test, COMPARING, "gte", amount_cents, zones=zones)


def _ids(test: str, kind: ReferenceType, zones: tuple[str, ...] = (CART,)) -> Word:
    return Word(test, _LISTING, "in", each_of, kind, zones)


WORDS: Mapping[str, Word] = {
    "subtotal": _money("subtotal"),
    "price": _money("price", _BOTH),
    "products_number": Word("quantity", COMPARING, "gte", _whole),
    "total_weight": Word("weight", COMPARING, "gte", kilograms),
    "products": Word("products", _LISTING, "in", _products, PRODUCT, _BOTH),
    "categories": _ids("categories", CATEGORY, _BOTH),
    "users": _ids("users", USER, _BOTH),
    "usergroup": _ids("usergroups", USERGROUP, _BOTH),
    "payment": _ids("payment", PAYMENT_METHOD),
    "shipping": _ids("shipping", SHIPPING_METHOD),
    "destinations": _ids("destinations", DESTINATION),
    "country": Word("country", _LISTING, "in", _codes),
    "state": Word("state", _LISTING, "in", _codes),
    "zip_postal_code": Word("zipcode", _LISTING, "in", _ceps),
    "coupon_code": Word("coupon", _MATCHING, "in", _coupons),
    "once_per_customer": Word("once_per_customer", frozenset({"eq"}), "eq", flag),
    "number_of_usages": Word("number_of_usages", COMPARING, "lte", _whole),
    "registered": Word("registered", frozenset({"eq"}), "eq", flag, zones=_BOTH),
}
# Other names, of the plain form: the word meant, the operator, and how the value is read where that differs.
_PLAIN: Mapping[str, tuple[str, str, Callable[[object], Any] | None]] = {
    "min_subtotal": ("subtotal", "gte", None),
    "max_subtotal": ("subtotal", "lte", None),
    "min_subtotal_cents": ("subtotal", "gte", _whole),
    "max_subtotal_cents": ("subtotal", "lte", _whole),
    "min_total": ("subtotal", "gte", None),
    "max_total": ("subtotal", "lte", None),
    "min_price": ("price", "gte", None),
    "max_price": ("price", "lte", None),
    "min_price_cents": ("price", "gte", _whole),
    "max_price_cents": ("price", "lte", _whole),
    "min_quantity": ("products_number", "gte", None),
    "max_quantity": ("products_number", "lte", None),
    "min_weight": ("total_weight", "gte", None),
    "max_weight": ("total_weight", "lte", None),
    "min_weight_grams": ("total_weight", "gte", _whole),
    "max_weight_grams": ("total_weight", "lte", _whole),
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
}


def rule_from(given: object, zone: str, unresolved: Unresolved) -> Rule:
    """Make the rule of some conditions; the records they name are left in `unresolved`, which puts their numbers in.

    Raises Malformed for what no condition means, in a sentence that goes on from the field's name.
    """
    if given is None or given == [] or given == {}:
        return ALWAYS
    if not isinstance(given, Mapping):
        raise Malformed(f"is {shown(given)}; expected an object")
    reader = _Reader(zone, unresolved)
    return reader.read_set(given, 1) if _is_set(given) else reader.read_plain(given)


def _is_set(given: Mapping[str, Any]) -> bool:
    return "set" in given or "conditions" in given


class _Reader:
    """Read one promotion's conditions, counting them."""

    def __init__(self, zone: str, unresolved: Unresolved) -> None:
        self._zone = zone
        self._unresolved = unresolved
        self._count = 0

    def read_plain(self, given: Mapping[str, Any]) -> Rule:
        """Read an object whose words must all hold."""
        of = []
        for name, value in given.items():
            word_name, operator, read = _PLAIN.get(name, (name, "", None))
            if isinstance(value, Mapping) and "value" in value:
                said = value.get("operator")
                operator = said if isinstance(said, str) and said else operator
                value = value["value"]
            of.append(self._test(name, word_name, operator, value, read))
        return {"set": "all", "holds": True, "of": of}

    def read_set(self, given: Mapping[str, Any], depth: int) -> Rule:
        """Read one of CS-Cart's sets."""
        if depth > MAX_DEPTH:
            raise Malformed(f"are nested deeper than {MAX_DEPTH} sets")
        kind = given.get("set", "all")
        if kind not in ("all", "any"):
            raise Malformed(f"hold the set {shown(kind)}; expected all or any")
        holds = flag(given.get("set_value", "1"))
        members = given.get("conditions") or {}
        if not isinstance(members, Mapping | list):
            raise Malformed(f"hold {shown(members)}; expected an object of conditions")
        of = [self._member(each, depth) for each in each_of(members)]
        return {"set": kind, "holds": holds, "of": of}

    def _member(self, given: object, depth: int) -> Rule:
        if not isinstance(given, Mapping):
            raise Malformed(f"hold {shown(given)}; expected objects such as {{operator, condition, value}}")
        if _is_set(given):
            return self.read_set(given, depth + 1)
        name, operator = given.get("condition"), given.get("operator") or ""
        if not isinstance(name, str) or not isinstance(operator, str):
            raise Malformed(f"hold {shown(given)}; expected objects such as {{operator, condition, value}}")
        return self._test(name, name, operator, given.get("value"), None)

    def _test(
        self, said: str, name: str, operator: str, value: object, read: Callable[[object], Any] | None
    ) -> Rule:
        self._count += 1
        if self._count > MAX_CONDITIONS:
            raise Malformed(f"are more than {MAX_CONDITIONS}")
        word = WORDS.get(name)
        if word is None:
            known = ", ".join(sorted({*WORDS, *_PLAIN}))
            raise Malformed(f"hold the unknown condition {shown(said)}; expected some of {known}")
        if self._zone not in word.zones:
            raise Malformed(f"hold {said}, which the zone {self._zone} doesn't know")
        operator = operator.lower() or word.default
        if operator not in word.operators:
            allowed = ", ".join(sorted(word.operators))
            raise Malformed(f"hold {said} with the operator {shown(operator)}; expected one of {allowed}")
        try:
            found = (read or word.read)(value)
        except Malformed as error:
            raise Malformed(f"hold {said}, which {error}") from error
        if isinstance(found, list) and not found:
            raise Malformed(f"hold {said} without a value")
        if word.kind is not None:
            found = self._unresolved.later(word.kind, found, said)
        return {"test": word.test, "op": operator, "value": found}


def needed(rule: Rule) -> list[Rule]:
    """List the tests without which a rule can't hold, whatever the others say."""
    if "set" not in rule:
        return [rule]
    if not rule["holds"] or (rule["set"] == "any" and len(rule["of"]) > 1):
        return []
    return [test for each in rule["of"] for test in needed(each)]


def coupon_of(rule: Rule) -> str:
    """Give the one coupon without which a rule can't hold, folded; empty where there is none, or a choice of several."""
    coupons = [each for each in needed(rule) if each["test"] == "coupon" and each["op"] in ("eq", "in")]
    return next((each["value"][0] for each in coupons if len(each["value"]) == 1), "")


def most_uses(rule: Rule) -> int:
    """Give how often a rule can hold at most, 0 for without end."""
    limits = [
        each["value"] - (each["op"] == "lt")
        for each in needed(rule)
        if each["test"] == "number_of_usages" and each["op"] in ("lt", "lte")
    ]
    return max(min(limits), 1) if limits else 0


def is_once_per_customer(rule: Rule) -> bool:
    """Say whether a rule holds but once for a customer."""
    return any(each["test"] == "once_per_customer" and each["value"] for each in needed(rule))


def asks(rule: Rule, test: str) -> bool:
    """Say whether a test occurs anywhere in a rule."""
    if "set" not in rule:
        return bool(rule["test"] == test)
    return any(asks(each, test) for each in rule["of"])


def wants_coupon(rule: Rule, coupon: str) -> bool:
    """Say whether a rule speaks of this coupon (folded)."""
    if "set" not in rule:
        if rule["test"] != "coupon":
            return False
        return any(each == coupon or (rule["op"] == "cont" and each in coupon) for each in rule["value"])
    return any(wants_coupon(each, coupon) for each in rule["of"])
