"""Calculate the reward of a purchase. Pure arithmetic in whole cents.

Promotions apply by priority, lowest first, then by creation. Catalogue promotions come first and lower unit prices, except fixed ones;
cart promotions see the new prices. Of the cart's, product discounts come before order discounts, each calculated from what remains, so
together they never exceed the subtotal. A promotion with `stop` whose conditions are met is the last of its zone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from domain.promotions.conditions import CATALOG, mentions_coupon, tests_of
from domain.promotions.rules import Rule, RuleContext, RuleLine, evaluate
from kernel.money import divide_half_up

_HUNDRED_PERCENT = 100_000  # thousandths of a percent


@dataclass(frozen=True, slots=True)
class ActivePromotion:
    """An active promotion; `coupon` is folded, empty without a code of its own.

    `is_issued`: the purchase's coupon was generated for this promotion (`issued_coupons`).
    """

    id: int
    zone: str
    rule: Rule
    gifts: Sequence[Mapping[str, Any]]
    coupon: str = ""
    usage_cap: int = 0
    used: int = 0
    priority: int = 0
    stop: bool = False
    name: str = ""
    is_issued: bool = False
    tests: frozenset[str] = field(init=False)
    """The names of the tests in the rule."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "tests", frozenset([test["test"] for test in tests_of(self.rule)]))

    @property
    def is_used_up(self) -> bool:
        """Return whether the usage limit is reached."""
        return bool(self.usage_cap) and self.used >= self.usage_cap

    def accepts_coupon(self, coupon: str) -> bool:
        """Return whether the promotion needs this coupon (folded)."""
        return bool(coupon) and (self.is_issued or self.coupon == coupon or mentions_coupon(self.rule, coupon))


@dataclass(frozen=True, slots=True)
class FreeProduct:
    """Free units of a product."""

    product_id: int
    quantity: int
    promotion_id: int


@dataclass(frozen=True, slots=True)
class Reward:
    """What promotions give, in cents.

    `unit_prices` are the lines' prices after catalogue promotions; subtotals use them. `discount_cents` is the total discount on the
    subtotal, `line_discounts` its parts on single lines. `free_shipping`: the selected method is free; `free_shipping_methods`: which
    ones would be (None: all). `promotions` are those that gave something, `coupon_accepted`: one of them needed the coupon.
    `points` are the reward points that the order earns, `coupons` the promotions of which it gives a coupon. `issued_coupon`: the
    coupon was generated for one customer. `amounts` are the discounts by promotion, those on unit prices included.
    """

    discount_cents: int = 0
    line_discounts: tuple[int, ...] = ()
    free_shipping: bool = False
    free_products: tuple[FreeProduct, ...] = ()
    promotions: tuple[int, ...] = ()
    coupon_accepted: bool = False
    unit_prices: tuple[int, ...] = ()
    free_shipping_methods: frozenset[int] | None = frozenset()
    points: int = 0
    coupons: tuple[int, ...] = ()
    issued_coupon: str = ""
    amounts: Mapping[int, int] = field(default_factory=dict)


class Reduction(NamedTuple):
    """A promotion that lowers the price of a unit, and by how much."""

    promotion: ActivePromotion
    cents: int


@dataclass(slots=True)
class _RewardTotals:
    lines: list[RuleLine]
    line_discounts: list[int]
    order_discount: int = 0
    methods: set[int] | None = field(default_factory=set)
    free_products: list[FreeProduct] = field(default_factory=list)
    points: int = 0
    coupons: list[int] = field(default_factory=list)

    @property
    def discount(self) -> int:
        """Return the discounts on the subtotal so far."""
        return sum(self.line_discounts) + self.order_discount

    @property
    def remaining(self) -> int:
        """Return what remains of the subtotal."""
        return sum(line.total_cents for line in self.lines) - self.discount


def calculate_reward(promotions: Iterable[ActivePromotion], context: RuleContext) -> Reward:
    """Return the reward of a purchase."""
    ordered = in_order(promotions)
    lowered = _lowered_lines(ordered, context)
    lines = [line for line, _ in lowered]
    applied = list({each.promotion.id: each.promotion for _, reductions in lowered for each in reductions}.values())
    amounts: Counter[int] = Counter()
    for line, reductions in lowered:
        for each in reductions:
            amounts[each.promotion.id] += each.cents * line.quantity
    totals = _RewardTotals(list(lines), [0] * len(lines))
    if applied:
        context = replace(context, lines=lines)
    due = list(
        _until_stop(
            promotion
            for promotion in ordered
            if promotion.zone != CATALOG
            and _is_usable(promotion, context)
            and evaluate(promotion.rule, context, promotion.id)
        )
    )
    effective: set[int] = set()
    for on_lines in (True, False):
        for promotion in due:
            before = totals.discount
            for gift in promotion.gifts:
                if (gift["gift"] == "product_discount") is on_lines and _apply(gift, promotion, totals, context):
                    effective.add(promotion.id)
            amounts[promotion.id] += totals.discount - before
    applied += [promotion for promotion in due if promotion.id in effective]
    methods = None if totals.methods is None else frozenset(totals.methods)
    return Reward(
        discount_cents=totals.discount,
        line_discounts=tuple(totals.line_discounts),
        free_shipping=methods is None or context.shipping_method_id in methods,
        free_products=tuple(totals.free_products),
        promotions=tuple(promotion.id for promotion in applied),
        coupon_accepted=any(promotion.accepts_coupon(context.coupon) for promotion in applied),
        unit_prices=tuple(line.price_cents for line in lines),
        free_shipping_methods=methods,
        points=totals.points,
        coupons=tuple(dict.fromkeys(totals.coupons)),
        issued_coupon=context.coupon if any(promotion.is_issued for promotion in applied) else "",
        amounts={number: cents for number, cents in amounts.items() if cents},
    )


def lowered_lines(
    promotions: Iterable[ActivePromotion], context: RuleContext
) -> list[tuple[RuleLine, Sequence[ActivePromotion]]]:
    """Return the lines at their prices after catalogue promotions, each with the promotions that lowered its price."""
    lowered = _lowered_lines(in_order(promotions), context)
    return [(line, [each.promotion for each in reductions]) for line, reductions in lowered]


def in_order(promotions: Iterable[ActivePromotion]) -> list[ActivePromotion]:
    """Return promotions in the order in which they apply."""
    return sorted(promotions, key=lambda promotion: (promotion.priority, promotion.id))


def _lowered_lines(
    ordered: Sequence[ActivePromotion], context: RuleContext
) -> list[tuple[RuleLine, Sequence[Reduction]]]:
    usable = [promotion for promotion in ordered if promotion.zone == CATALOG and _is_usable(promotion, context)]
    return [(line, ()) if line.price_agreed else _lowered(usable, context, line) for line in context.lines]


def _until_stop(promotions: Iterable[ActivePromotion]) -> Iterator[ActivePromotion]:
    """Yield promotions up to and including the first one with `stop`."""
    for promotion in promotions:
        yield promotion
        if promotion.stop:
            return


def _is_usable(promotion: ActivePromotion, context: RuleContext) -> bool:
    """Return whether the promotion has a use left, and the purchase the coupon that it needs."""
    return not promotion.is_used_up and promotion.coupon in ("", context.coupon)


def _lowered(
    promotions: Sequence[ActivePromotion], context: RuleContext, line: RuleLine
) -> tuple[RuleLine, Sequence[Reduction]]:
    """Return the line at its price after catalogue promotions, and what they lowered it by."""
    # Conditions see the price before any of them.
    due = [promotion for promotion in promotions if evaluate(promotion.rule, context, promotion.id, line)]
    reductions = []
    for promotion in _until_stop(due):
        price = line.price_cents
        for gift in promotion.gifts:
            if _applies_to(gift, line):
                price -= _discount_cents(gift, price)
        if price != line.price_cents:
            reductions.append(Reduction(promotion, line.price_cents - price))
            line = line._replace(price_cents=price)
    return line, reductions


def _apply(gift: Mapping[str, Any], promotion: ActivePromotion, totals: _RewardTotals, context: RuleContext) -> bool:
    """Apply a gift; return whether it had an effect."""
    match gift["gift"]:
        case "order_discount":
            discount = _discount_cents(gift, totals.remaining)
            totals.order_discount += discount
            return discount > 0
        case "product_discount":
            return _apply_to_lines(gift, totals)
        case "free_shipping":
            _add_free_methods(gift["methods"], totals)
            return not gift["methods"] or context.shipping_method_id in gift["methods"]
        case "give_points":
            # Guests have no account to credit.
            totals.points += gift["points"] if context.user_id is not None else 0
            return context.user_id is not None
        case "give_coupon":
            totals.coupons += gift["promotions"]
            return True
        case _:
            totals.free_products += [
                FreeProduct(product["id"], product["amount"], promotion.id) for product in gift["products"]
            ]
            return True


def _apply_to_lines(gift: Mapping[str, Any], totals: _RewardTotals) -> bool:
    """Discount each unit of the matching lines, at most what remains of the line and of the order."""
    previous_cents = sum(totals.line_discounts)
    for index, line in enumerate(totals.lines):
        if line.fixed or not _applies_to(gift, line):
            continue
        remaining = line.total_cents - totals.line_discounts[index]
        if gift["way"].endswith("percent"):
            discount = _discount_cents(gift, remaining)
        else:
            discount = _discount_cents(gift, divide_half_up(remaining, line.quantity)) * line.quantity
        totals.line_discounts[index] += max(0, min(discount, remaining, totals.remaining))
    return sum(totals.line_discounts) > previous_cents


def _add_free_methods(methods: Sequence[int], totals: _RewardTotals) -> None:
    if not methods:
        totals.methods = None
    elif totals.methods is not None:
        totals.methods |= set(methods)


def _applies_to(gift: Mapping[str, Any], line: RuleLine) -> bool:
    products, categories = gift.get("products"), gift.get("categories")
    if products is None and categories is None:
        return True
    return line.product_id in (products or ()) or not line.categories.isdisjoint(categories or ())


def _discount_cents(gift: Mapping[str, Any], amount_cents: int) -> int:
    """Return the discount on an amount, at most all of it."""
    value: int = gift["value"]
    match gift["way"]:
        case "by_percent":
            discount = divide_half_up(amount_cents * value, _HUNDRED_PERCENT)
        case "to_percent":
            discount = amount_cents - divide_half_up(amount_cents * value, _HUNDRED_PERCENT)
        case "by_cents":
            discount = value
        case _:
            discount = amount_cents - value
    return max(0, min(discount, amount_cents))
