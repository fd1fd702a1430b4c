"""Evaluate the conditions of a promotion; pure: a rule and its context in, a boolean out.

A rule is JSON built by `conditions`: a set `{set: all|any, holds, of: [rules]}` (all or any of the rules must evaluate to `holds`), or a
test `{test, op, value}`. Ids are internal, money is cents, weights are grams.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from types import MappingProxyType
from typing import Any, NamedTuple

from kernel.text import fold

Rule = Mapping[str, Any]

ALWAYS: Rule = {"set": "all", "holds": True, "of": []}
NEVER: Rule = {
    "set": "all",
    "holds": True,
    "of": [{"test": "registered", "op": "eq", "value": value} for value in (True, False)],
}


@dataclass(frozen=True, slots=True)
class FeatureValues:
    """A product's value of one feature: its variants by id, its texts (the variants' names, or the value) and its number, if it is one."""

    variants: frozenset[int] = frozenset()
    texts: frozenset[str] = frozenset()
    number: Decimal | None = None


@dataclass(frozen=True, slots=True)
class EarlierPurchases:
    """The paid and completed orders of the customer's account: their number, their totals less refunds, and the units by product."""

    orders: int = 0
    total_cents: int = 0
    products: Mapping[int, int] = field(default_factory=dict)


NO_PURCHASES = EarlierPurchases()
NO_FEATURES: Mapping[int, FeatureValues] = MappingProxyType({})


class RuleLine(NamedTuple):  # made for each product of a list, in a third of the time of a frozen dataclass
    """A line as rules see it: `categories` are the product's categories and all their ancestors, `features` its values by feature.

    Promotions never change a `fixed` price; with `price_agreed` catalogue promotions don't lower it.
    """

    product_id: int
    quantity: int
    price_cents: int
    weight_grams: int = 0
    categories: frozenset[int] = frozenset()
    features: Mapping[int, FeatureValues] = NO_FEATURES
    fixed: bool = False
    price_agreed: bool = False

    @property
    def total_cents(self) -> int:
        """Return price × quantity."""
        return self.price_cents * self.quantity


@dataclass(frozen=True, slots=True)
class RuleContext:
    """The purchase as rules see it; ids are internal, `coupon` is folded, empty for none."""

    lines: Sequence[RuleLine] = ()
    user_id: int | None = None
    usergroups: frozenset[int] = frozenset()
    coupon: str = ""
    payment_method_id: int | None = None
    shipping_method_id: int | None = None
    country: str = ""
    state: str = ""
    zipcode: str = ""
    destination_id: int | None = None
    used: Mapping[int, int] = field(default_factory=dict)
    """Total uses by promotion."""
    used_by_customer: Mapping[int, int] = field(default_factory=dict)
    """This customer's uses by promotion."""
    issued: frozenset[int] = frozenset()
    """The promotions of which the coupon was generated for one customer (`issued_coupons`)."""
    earlier: EarlierPurchases = NO_PURCHASES
    points: int = 0
    """The customer's reward points, without what this order spent or earned."""

    @property
    def subtotal_cents(self) -> int:
        """Sum the lines."""
        return sum(line.total_cents for line in self.lines)


def evaluate(rule: Rule, context: RuleContext, promotion_id: int, line: RuleLine | None = None) -> bool:
    """Return whether a rule is met by a purchase or, with a `line`, by that line alone (catalogue promotions)."""
    if "set" not in rule:
        return _TESTS[rule["test"]](_Test(rule, context, promotion_id, line))
    needs_all, holds = rule["set"] == "all" or not rule["of"], rule["holds"]
    for part in rule["of"]:
        if (evaluate(part, context, promotion_id, line) is holds) is not needs_all:
            return not needs_all
    return needs_all


@dataclass(slots=True)  # not frozen: made for each test of each line
class _Test:
    rule: Rule
    context: RuleContext
    promotion_id: int
    line: RuleLine | None

    @property
    def lines(self) -> Sequence[RuleLine]:
        return self.context.lines if self.line is None else (self.line,)

    def compare(self, actual: int) -> bool:
        return _COMPARES[self.rule["op"]](actual, self.rule["value"])

    def matches_any(self, actual: Iterable[object]) -> bool:
        """Return whether any actual value is among the rule's values; negating operators invert the result."""
        matches = not set(self.rule["value"]).isdisjoint(actual)
        return matches is not (self.rule["op"] in NEGATING)


NEGATING = frozenset({"neq", "nin", "ncont"})
_COMPARES: Mapping[str, Callable[[int, int], bool]] = {
    "eq": lambda actual, value: actual == value,
    "neq": lambda actual, value: actual != value,
    "lt": lambda actual, value: actual < value,
    "lte": lambda actual, value: actual <= value,
    "gt": lambda actual, value: actual > value,
    "gte": lambda actual, value: actual >= value,
}
COMPARING = frozenset(_COMPARES)
_BOUNDS: Mapping[str, Callable[[Decimal, Decimal], bool]] = {
    "lt": lambda actual, bound: actual < bound,
    "lte": lambda actual, bound: actual <= bound,
    "gt": lambda actual, bound: actual > bound,
    "gte": lambda actual, bound: actual >= bound,
}


def _products(test: _Test) -> bool:
    """Match any of the products in its minimum quantity (default 1)."""
    units: dict[int, int] = {}
    for line in test.lines:
        units[line.product_id] = units.get(line.product_id, 0) + line.quantity
    matches = any(units.get(product["id"], 0) >= product["amount"] for product in test.rule["value"])
    return matches is not (test.rule["op"] in NEGATING)


def _categories(test: _Test) -> bool:
    values = test.rule["value"]
    matches = any(not line.categories.isdisjoint(values) for line in test.lines)
    return matches is not (test.rule["op"] in NEGATING)


def _price(test: _Test) -> bool:
    return any(test.compare(line.price_cents) for line in test.lines)


def _coupon(test: _Test) -> bool:
    coupon, values = test.context.coupon, test.rule["value"]
    if test.rule["op"] in ("cont", "ncont"):
        matches = bool(coupon) and any(part in coupon for part in values)
    else:
        matches = coupon in values
    return matches is not (test.rule["op"] in NEGATING)


def _issued_coupon(test: _Test) -> bool:
    coupon = test.context.coupon
    return test.promotion_id in test.context.issued or (bool(coupon) and coupon in test.rule["value"])


def _purchased_products(test: _Test) -> bool:
    """Match any of the products in its minimum number of units; in the catalogue the product itself must be the one bought before."""
    purchased, line = test.context.earlier.products, test.line
    matches = any(
        purchased.get(product["id"], 0) >= product["amount"]
        for product in test.rule["value"]
        if line is None or line.product_id == product["id"]
    )
    return matches is not (test.rule["op"] in NEGATING)


def _feature(test: _Test) -> bool:
    """Match any line whose product has such a value; a negating operator is met when no line does."""
    value, operator = test.rule["value"], test.rule["op"]
    matching = [values for line in test.lines if (values := line.features.get(value["feature"])) is not None]
    if operator in _BOUNDS:
        bound = Decimal(value["number"])
        return any(values.number is not None and _BOUNDS[operator](values.number, bound) for values in matching)
    return any(_has_value(values, value, operator) for values in matching) is not (operator in NEGATING)


def _has_value(values: FeatureValues, wanted: Mapping[str, Any], operator: str) -> bool:
    if operator in ("cont", "ncont"):
        return any(part in text for part in wanted["texts"] for text in values.texts)
    return not (values.variants.isdisjoint(wanted["variants"]) and values.texts.isdisjoint(wanted["texts"]))


def feature_texts(*texts: str) -> frozenset[str]:
    """Return texts as feature conditions compare them: ignoring case and accents."""
    return frozenset(fold(text.strip()) for text in texts if text)


def _is_registered(test: _Test) -> bool:
    return (test.context.user_id is not None) is test.rule["value"]


def _once_per_customer(test: _Test) -> bool:
    return not test.rule["value"] or not test.context.used_by_customer.get(test.promotion_id)


def _number_of_usages(test: _Test) -> bool:
    # Counts the use about to be made: "at most 5" allows the fifth.
    return test.compare(test.context.used.get(test.promotion_id, 0) + 1)


_TESTS: Mapping[str, Callable[[_Test], bool]] = {
    "subtotal": lambda test: test.compare(sum(line.total_cents for line in test.lines)),
    "quantity": lambda test: test.compare(sum(line.quantity for line in test.lines)),
    "weight": lambda test: test.compare(sum(line.quantity * line.weight_grams for line in test.lines)),
    "price": _price,
    "products": _products,
    "categories": _categories,
    "users": lambda test: test.matches_any((test.context.user_id,)),
    "registered": _is_registered,
    "usergroups": lambda test: test.matches_any(test.context.usergroups),
    "coupon": _coupon,
    "payment": lambda test: test.matches_any((test.context.payment_method_id,)),
    "shipping": lambda test: test.matches_any((test.context.shipping_method_id,)),
    "country": lambda test: test.matches_any((test.context.country,)),
    "state": lambda test: test.matches_any((test.context.state,)),
    "zipcode": lambda test: test.matches_any((test.context.zipcode,)),
    "destinations": lambda test: test.matches_any((test.context.destination_id,)),
    "once_per_customer": _once_per_customer,
    "number_of_usages": _number_of_usages,
    "issued_coupon": _issued_coupon,
    "feature": _feature,
    "purchased_products": _purchased_products,
    "orders_number": lambda test: test.compare(test.context.earlier.orders),
    "orders_total": lambda test: test.compare(test.context.earlier.total_cents),
    "points": lambda test: test.compare(test.context.points),
}
EXTENDED_TESTS = frozenset(
    {"issued_coupon", "feature", "purchased_products", "orders_number", "orders_total", "points"}
)
"""The tests that versions before 0.3 don't know (`domain.promotions.promotions`)."""
