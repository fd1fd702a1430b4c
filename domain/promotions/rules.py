"""Evaluate the conditions of a promotion; pure: a rule and its context in, a boolean out.

A rule is JSON built by `conditions`: a set `{set: all|any, holds, of: [rules]}` (all or any of the rules must evaluate to `holds`), or a
test `{test, op, value}`. Ids are internal, money is cents, weights are grams.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Rule = Mapping[str, Any]

ALWAYS: Rule = {"set": "all", "holds": True, "of": []}


@dataclass(frozen=True, slots=True)
class RuleLine:
    """A line as rules see it: `categories` are the product's categories and all their ancestors.

    Promotions never change a `fixed` price; with `price_agreed` catalogue promotions don't lower it.
    """

    product_id: int
    quantity: int
    price_cents: int
    weight_grams: int = 0
    categories: frozenset[int] = frozenset()
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

    @property
    def subtotal_cents(self) -> int:
        """Sum the lines."""
        return sum(line.total_cents for line in self.lines)


def evaluate(rule: Rule, context: RuleContext, promotion_id: int, line: RuleLine | None = None) -> bool:
    """Return whether a rule is met by a purchase or, with a `line`, by that line alone (catalogue promotions)."""
    if "set" not in rule:
        return _TESTS[rule["test"]](_Test(rule, context, promotion_id, line))
    results = (evaluate(part, context, promotion_id, line) is rule["holds"] for part in rule["of"])
    return all(results) if rule["set"] == "all" or not rule["of"] else any(results)


@dataclass(frozen=True, slots=True)
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


def _products(test: _Test) -> bool:
    """Match any of the products in its minimum quantity (default 1)."""
    units: dict[int, int] = {}
    for line in test.lines:
        units[line.product_id] = units.get(line.product_id, 0) + line.quantity
    matches = any(units.get(product["id"], 0) >= product["amount"] for product in test.rule["value"])
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
    "categories": lambda test: test.matches_any(category for line in test.lines for category in line.categories),
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
}
