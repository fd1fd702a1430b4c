"""Decide what promotions give for a purchase. Pure arithmetic in whole cents.

Promotions are taken by priority, the lowest first, then in the order they were made. Those of the catalogue come first and lower the
price of each unit, except prices given by hand; those of the cart then see the new prices. Of the cart's, all discounts on products
come before all discounts on the order, and each is worked out of what the ones before it left, so together they never take more than
there is. One with `stop` whose conditions hold is the last of its zone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from domain.promotions.conditions import CATALOG, wants_coupon
from domain.promotions.rules import Facts, LineFacts, Rule, holds
from kernel.money import rounded

_WHOLE = 100_000  # thousandths of a percent


@dataclass(frozen=True, slots=True)
class ActivePromotion:
    """Describe a promotion that is on; `coupon` is folded, empty where it has no code of its own."""

    id: int
    zone: str
    rule: Rule
    gifts: Sequence[Mapping[str, Any]]
    coupon: str = ""
    usage_cap: int = 0
    used: int = 0
    priority: int = 0
    stop: bool = False

    @property
    def is_used_up(self) -> bool:
        """Say whether nobody can use it any more."""
        return bool(self.usage_cap) and self.used >= self.usage_cap

    def takes(self, coupon: str) -> bool:
        """Say whether it is one that the coupon (folded) is for."""
        return bool(coupon) and (self.coupon == coupon or wants_coupon(self.rule, coupon))


@dataclass(frozen=True, slots=True)
class FreeProduct:
    """Give some units of a product away."""

    product_id: int
    quantity: int
    promotion_id: int


@dataclass(frozen=True, slots=True)
class Reward:
    """Hold what promotions give, in cents.

    `unit_prices` are the lines' prices after the catalogue's promotions, in the order of the lines; subtotals are of these.
    `discount_cents` is all that is taken off the subtotal, `line_discounts` the part of it that was taken off each line.
    `free_shipping` says that the chosen method costs nothing, `free_shipping_methods` which ones would (None: every one).
    `promotions` are those that gave something, `coupon_accepted` says that one of them asked for the coupon.
    """

    discount_cents: int = 0
    line_discounts: tuple[int, ...] = ()
    free_shipping: bool = False
    free_products: tuple[FreeProduct, ...] = ()
    promotions: tuple[int, ...] = ()
    coupon_accepted: bool = False
    unit_prices: tuple[int, ...] = ()
    free_shipping_methods: frozenset[int] | None = frozenset()


@dataclass(slots=True)
class _Tally:
    lines: list[LineFacts]
    taken: list[int]
    from_order: int = 0
    methods: set[int] | None = field(default_factory=set)
    free_products: list[FreeProduct] = field(default_factory=list)

    @property
    def left(self) -> int:
        """Give what is left of the subtotal."""
        return sum(line.total_cents for line in self.lines) - sum(self.taken) - self.from_order


def decide(promotions: Iterable[ActivePromotion], facts: Facts) -> Reward:
    """Decide what a purchase gets."""
    ordered = sorted(promotions, key=lambda promotion: (promotion.priority, promotion.id))
    given: list[ActivePromotion] = []
    lines = _catalogue_prices([each for each in ordered if each.zone == CATALOG], facts, given)
    tally = _Tally(list(lines), [0] * len(lines))
    facts = replace(facts, lines=lines)
    due = list(_until_stop(each for each in ordered if each.zone != CATALOG and _is_due(each, facts)))
    came: set[int] = set()
    for on_lines in (True, False):
        for promotion in due:
            for gift in promotion.gifts:
                if (gift["gift"] == "product_discount") is on_lines and _give(gift, promotion, tally, facts):
                    came.add(promotion.id)
    given += [promotion for promotion in due if promotion.id in came]
    methods = None if tally.methods is None else frozenset(tally.methods)
    return Reward(
        discount_cents=sum(tally.taken) + tally.from_order,
        line_discounts=tuple(tally.taken),
        free_shipping=methods is None or facts.shipping_method_id in methods,
        free_products=tuple(tally.free_products),
        promotions=tuple(promotion.id for promotion in given),
        coupon_accepted=any(promotion.takes(facts.coupon) for promotion in given),
        unit_prices=tuple(line.price_cents for line in lines),
        free_shipping_methods=methods,
    )


def _until_stop(promotions: Iterable[ActivePromotion]) -> Iterator[ActivePromotion]:
    """Give promotions up to the first that keeps the later ones out, that one included."""
    for promotion in promotions:
        yield promotion
        if promotion.stop:
            return


def _is_due(promotion: ActivePromotion, facts: Facts, line: LineFacts | None = None) -> bool:
    if promotion.is_used_up or (promotion.coupon and promotion.coupon != facts.coupon):
        return False
    return holds(promotion.rule, facts, promotion.id, line)


# --- The catalogue -----------------------------------------------------------------------------------------------------------


def _catalogue_prices(
    promotions: Sequence[ActivePromotion], facts: Facts, given: list[ActivePromotion]
) -> list[LineFacts]:
    lines = []
    for line in facts.lines:
        due = [] if line.settled else [each for each in promotions if _is_due(each, facts, line)]
        for promotion in _until_stop(due):
            price = line.price_cents
            for gift in promotion.gifts:
                if _is_meant(gift, line):
                    price -= _off(gift, price)
            if price != line.price_cents and promotion not in given:
                given.append(promotion)
            line = replace(line, price_cents=price)
        lines.append(line)
    return lines


# --- The cart ----------------------------------------------------------------------------------------------------------------


def _give(gift: Mapping[str, Any], promotion: ActivePromotion, tally: _Tally, facts: Facts) -> bool:
    """Add a gift to the tally; say whether anything came of it."""
    match gift["gift"]:
        case "order_discount":
            off = _off(gift, tally.left)
            tally.from_order += off
            return off > 0
        case "product_discount":
            return _give_on_lines(gift, tally)
        case "free_shipping":
            _free_methods(gift["methods"], tally)
            return not gift["methods"] or facts.shipping_method_id in gift["methods"]
        case _:
            tally.free_products += [
                FreeProduct(product["id"], product["amount"], promotion.id) for product in gift["products"]
            ]
            return True


def _give_on_lines(gift: Mapping[str, Any], tally: _Tally) -> bool:
    """Take something off every unit of the lines meant; what a line gives is bounded by what is left of it, and of the order."""
    before = sum(tally.taken)
    for place, line in enumerate(tally.lines):
        if line.fixed or not _is_meant(gift, line):
            continue
        left = line.total_cents - tally.taken[place]
        if gift["way"].endswith("percent"):
            off = _off(gift, left)
        else:
            off = _off(gift, rounded(left, line.quantity)) * line.quantity
        tally.taken[place] += max(0, min(off, left, tally.left))
    return sum(tally.taken) > before


def _free_methods(methods: Sequence[int], tally: _Tally) -> None:
    if not methods:
        tally.methods = None
    elif tally.methods is not None:
        tally.methods |= set(methods)


def _is_meant(gift: Mapping[str, Any], line: LineFacts) -> bool:
    products, categories = gift.get("products"), gift.get("categories")
    if products is None and categories is None:
        return True
    return line.product_id in (products or ()) or not line.categories.isdisjoint(categories or ())


def _off(gift: Mapping[str, Any], amount_cents: int) -> int:
    """Give what is taken off an amount, at most all of it."""
    value: int = gift["value"]
    match gift["way"]:
        case "by_percent":
            off = rounded(amount_cents * value, _WHOLE)
        case "to_percent":
            off = amount_cents - rounded(amount_cents * value, _WHOLE)
        case "by_cents":
            off = value
        case _:
            off = amount_cents - value
    return max(0, min(off, amount_cents))
