"""Decide whether the conditions of a promotion hold. Pure: a rule and facts in, yes or no out.

A rule is JSON, made by `conditions` of what people write: a set `{set: all|any, holds, of: [rules]}` (all or any of them must be as
`holds` says), or a test `{test, op, value}`. Ids in it are internal ones, money is cents, weights are grams.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Rule = Mapping[str, Any]

ALWAYS: Rule = {"set": "all", "holds": True, "of": []}


@dataclass(frozen=True, slots=True)
class LineFacts:
    """Describe a line: `categories` are those the product stands in and all above them.

    `fixed` prices were given by hand, `settled` ones are not the catalogue's promotions' to lower.
    """

    product_id: int
    quantity: int
    price_cents: int
    weight_grams: int = 0
    categories: frozenset[int] = frozenset()
    fixed: bool = False
    settled: bool = False

    @property
    def total_cents(self) -> int:
        """Multiply price and quantity."""
        return self.price_cents * self.quantity


@dataclass(frozen=True, slots=True)
class Facts:
    """Describe a purchase as far as conditions ask; ids are internal, `coupon` is folded, empty for none."""

    lines: Sequence[LineFacts] = ()
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
    """How often each promotion was used in all."""
    used_by_buyer: Mapping[int, int] = field(default_factory=dict)
    """How often this buyer used each promotion."""

    @property
    def subtotal_cents(self) -> int:
        """Add up the lines."""
        return sum(line.total_cents for line in self.lines)


def holds(rule: Rule, facts: Facts, promotion_id: int, line: LineFacts | None = None) -> bool:
    """Say whether a rule holds for a purchase, or, with a `line`, for that line alone (the catalogue's promotions)."""
    if "set" not in rule:
        return _TESTS[rule["test"]](_Asked(rule, facts, promotion_id, line))
    results = (holds(each, facts, promotion_id, line) is rule["holds"] for each in rule["of"])
    return all(results) if rule["set"] == "all" or not rule["of"] else any(results)


@dataclass(frozen=True, slots=True)
class _Asked:
    rule: Rule
    facts: Facts
    promotion_id: int
    line: LineFacts | None

    @property
    def lines(self) -> Sequence[LineFacts]:
        return self.facts.lines if self.line is None else (self.line,)

    def compares(self, found: int) -> bool:
        return _COMPARES[self.rule["op"]](found, self.rule["value"])

    def is_any(self, found: Iterable[object]) -> bool:
        """Say whether any of what was found is among the values; the negating operators turn that round."""
        among = not set(self.rule["value"]).isdisjoint(found)
        return among is not (self.rule["op"] in NEGATING)


NEGATING = frozenset({"neq", "nin", "ncont"})
_COMPARES: Mapping[str, Callable[[int, int], bool]] = {
    "eq": lambda found, value: found == value,
    "neq": lambda found, value: found != value,
    "lt": lambda found, value: found < value,
    "lte": lambda found, value: found <= value,
    "gt": lambda found, value: found > value,
    "gte": lambda found, value: found >= value,
}
COMPARING = frozenset(_COMPARES)


def _products(asked: _Asked) -> bool:
    """Look for any of the products in the quantity named with it (1 unless said)."""
    units: dict[int, int] = {}
    for line in asked.lines:
        units[line.product_id] = units.get(line.product_id, 0) + line.quantity
    among = any(units.get(each["id"], 0) >= each["amount"] for each in asked.rule["value"])
    return among is not (asked.rule["op"] in NEGATING)


def _price(asked: _Asked) -> bool:
    return any(asked.compares(line.price_cents) for line in asked.lines)


def _coupon(asked: _Asked) -> bool:
    coupon, wanted = asked.facts.coupon, asked.rule["value"]
    if asked.rule["op"] in ("cont", "ncont"):
        among = bool(coupon) and any(each in coupon for each in wanted)
    else:
        among = coupon in wanted
    return among is not (asked.rule["op"] in NEGATING)


def _is_registered(asked: _Asked) -> bool:
    return (asked.facts.user_id is not None) is asked.rule["value"]


def _once_per_customer(asked: _Asked) -> bool:
    return not asked.rule["value"] or not asked.facts.used_by_buyer.get(asked.promotion_id)


def _number_of_usages(asked: _Asked) -> bool:
    # Of the use that is about to be made: "at most 5" lets the fifth pass.
    return asked.compares(asked.facts.used.get(asked.promotion_id, 0) + 1)


_TESTS: Mapping[str, Callable[[_Asked], bool]] = {
    "subtotal": lambda asked: asked.compares(sum(line.total_cents for line in asked.lines)),
    "quantity": lambda asked: asked.compares(sum(line.quantity for line in asked.lines)),
    "weight": lambda asked: asked.compares(sum(line.quantity * line.weight_grams for line in asked.lines)),
    "price": _price,
    "products": _products,
    "categories": lambda asked: asked.is_any(
        category for line in asked.lines for category in line.categories
    ),
    "users": lambda asked: asked.is_any((asked.facts.user_id,)),
    "registered": _is_registered,
    "usergroups": lambda asked: asked.is_any(asked.facts.usergroups),
    "coupon": _coupon,
    "payment": lambda asked: asked.is_any((asked.facts.payment_method_id,)),
    "shipping": lambda asked: asked.is_any((asked.facts.shipping_method_id,)),
    "country": lambda asked: asked.is_any((asked.facts.country,)),
    "state": lambda asked: asked.is_any((asked.facts.state,)),
    "zipcode": lambda asked: asked.is_any((asked.facts.zipcode,)),
    "destinations": lambda asked: asked.is_any((asked.facts.destination_id,)),
    "once_per_customer": _once_per_customer,
    "number_of_usages": _number_of_usages,
}
