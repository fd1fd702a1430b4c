"""Calculate the totals of an order, the points it spends, and commissions. Pure arithmetic in whole cents; no client states an amount.

    subtotal   the sum of price × quantity
    shipping   base + per kilogram × weight + per item × items + the freight of each unit, of the shipped lines without free shipping;
               free, freight included, when the subtotal reaches the method's `free_from` (docs/reference/legacy.md#shippings)
    surcharge  the payment method's fixed part plus its percentage of subtotal − discount + shipping
    tax        the taxes that prices don't include (`domain.taxes.calculation`)
    total      subtotal − discount + shipping + surcharge + tax
    commission the store's part of a vendor's lines (docs/reference/shared.md#vendors-shares): each keeps its own and the rate, so that a
               change of the vendor's rate changes no earlier order

Fractions of a cent are rounded half up, once, where they arise. Totals are limited to 10**15 cents, so that no column overflows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from domain.points.ledger import unavailable_error
from kernel.errors import ValidationFailed
from kernel.money import MAX_CENTS, allocate, divide_half_up, parse_cents

_GRAMS_PER_KG = 1_000
_HUNDREDTHS_OF_A_PERCENT = 10_000
PERCENTAGE = "P"


class TotalsLine(NamedTuple):  # made several times for each line, in a third of the time of a frozen dataclass
    """Units of a product as the totals need them; per unit the weight in grams and the freight that it adds to the price of shipping."""

    quantity: int
    price_cents: int
    weight_grams: int = 0
    is_shipped: bool = True
    ships_free: bool = False
    freight_cents: int = 0

    @property
    def pays_shipping(self) -> bool:
        """Return whether the line counts toward the shipping price."""
        return self.is_shipped and not self.ships_free


@dataclass(frozen=True, slots=True)
class MethodRate:
    """The prices of a shipping method; `free_from_cents` None: never free."""

    base_cents: int = 0
    per_kg_cents: int = 0
    per_item_cents: int = 0
    free_from_cents: int | None = None


@dataclass(frozen=True, slots=True)
class PaymentSurcharge:
    """The surcharge of a payment method: cents plus hundredths of a percent."""

    cents: int = 0
    percent: int = 0


@dataclass(frozen=True, slots=True)
class OrderTotals:
    """The amounts of an order, in cents."""

    subtotal_cents: int
    discount_cents: int
    shipping_cents: int
    surcharge_cents: int
    tax_cents: int
    total_cents: int


@dataclass(frozen=True, slots=True)
class PointsRequest:
    """Points to spend, each worth `value_cents`; 0 cents: they can't be spent.

    With `up_to` fewer are spent when the account has fewer (carts). `agreed`: the order spent them already, so that the balance doesn't
    matter.
    """

    points: int = 0
    value_cents: int = 0
    up_to: bool = False
    agreed: bool = False


@dataclass(frozen=True, slots=True)
class SpentPoints:
    """The points that a purchase spends and their worth in cents."""

    points: int = 0
    cents: int = 0


class CommissionRate(NamedTuple):
    """The rate of a vendor's commission, a decimal text: a percentage of its lines (`P`), or an amount per order (`A`)."""

    commission: str
    commission_type: str


NO_POINTS = PointsRequest()
NOTHING_SPENT = SpentPoints()


def calculate_totals(
    lines: Sequence[TotalsLine],
    *,
    rate: MethodRate | None = None,
    surcharge: PaymentSurcharge | None = None,
    discount_cents: int = 0,
    tax_cents: int = 0,
    fixed_shipping_cents: int = 0,
) -> OrderTotals:
    """Calculate all amounts of an order; without a rate shipping costs `fixed_shipping_cents` (an import).

    Raises ValidationFailed for a discount above the subtotal and for amounts above 10**15 cents.
    """
    subtotal = subtotal_cents(lines)
    if discount_cents > subtotal:
        raise ValidationFailed(
            f"discount_cents is {discount_cents}; expected at most the subtotal, {subtotal}",
            field="discount_cents",
            code="discount_invalid",
        )
    shipping = shipping_cents(rate, lines, subtotal) if rate else fixed_shipping_cents
    surcharged = surcharge_cents(surcharge, subtotal - discount_cents + shipping) if surcharge else 0
    total = subtotal - discount_cents + shipping + surcharged + tax_cents
    _check_size(total)
    return OrderTotals(subtotal, discount_cents, shipping, surcharged, tax_cents, total)


def subtotal_cents(lines: Sequence[TotalsLine]) -> int:
    """Return the price of all lines. Raises ValidationFailed for amounts above 10**15 cents."""
    subtotal = sum([line.quantity * line.price_cents for line in lines])
    _check_size(subtotal)
    return subtotal


def add_tax(totals: OrderTotals, tax_cents: int) -> OrderTotals:
    """Set the taxes that prices don't include. Raises ValidationFailed for a total above 10**15 cents."""
    if tax_cents == totals.tax_cents:
        return totals
    total = totals.total_cents - totals.tax_cents + tax_cents
    _check_size(total)
    return replace(totals, tax_cents=tax_cents, total_cents=total)


def _check_size(cents: int) -> None:
    if cents > MAX_CENTS:
        raise ValidationFailed(
            f"the total is {cents} cents; expected at most {MAX_CENTS}",
            field="total_cents",
            code="total_too_large",
        )


def shipping_cents(rate: MethodRate, lines: Sequence[TotalsLine], subtotal_cents: int) -> int:
    """Return the shipping price: 0 when no line pays shipping, or when the subtotal reaches the free amount."""
    charged = [line for line in lines if line.pays_shipping]
    if not charged or (rate.free_from_cents is not None and subtotal_cents >= rate.free_from_cents):
        return 0
    by_weight = divide_half_up(rate.per_kg_cents * weight_grams(charged), _GRAMS_PER_KG)
    by_item = sum(line.quantity * (rate.per_item_cents + line.freight_cents) for line in charged)
    return rate.base_cents + by_weight + by_item


def surcharge_cents(surcharge: PaymentSurcharge, amount_cents: int) -> int:
    """Return the payment surcharge on an amount."""
    return surcharge.cents + divide_half_up(surcharge.percent * amount_cents, _HUNDREDTHS_OF_A_PERCENT)


def weight_grams(lines: Sequence[TotalsLine]) -> int:
    """Return the total weight of the shipped lines."""
    return sum(line.quantity * line.weight_grams for line in lines if line.is_shipped)


def spend_points(request: PointsRequest, balance: int, remaining_cents: int) -> SpentPoints:
    """Return what is spent on the remaining amount: whole points, at most as many as needed.

    Raises RuleViolation `points_unavailable` for more points than the account has.
    """
    points = request.points
    if not request.agreed and points > balance:
        if not request.up_to:
            raise unavailable_error(balance)
        points = max(0, balance)
    if not points or not request.value_cents:
        return NOTHING_SPENT
    points = min(points, max(0, remaining_cents) // request.value_cents)
    return SpentPoints(points, points * request.value_cents)


def order_commission_cents(rate: CommissionRate, lines_cents: int) -> int:
    """Return the commission on the lines of a vendor in an order; never more than they cost.

    `domain.ledger.old_lines.COMMISSION_SQL` is the same.
    """
    amount = parse_cents(rate.commission)
    if rate.commission_type == PERCENTAGE:
        return min(lines_cents, divide_half_up(lines_cents * amount, _HUNDREDTHS_OF_A_PERCENT))
    return min(lines_cents, amount)


def line_commissions(lines: Iterable[tuple[int | None, CommissionRate, int]]) -> list[int | None]:
    """Return the commission of each line of an order, of `(vendor, rate, cents)`; None for the store's own."""
    numbered = list(enumerate(lines))
    commissions: list[int | None] = [None] * len(numbered)
    groups: dict[tuple[int, CommissionRate], list[tuple[int, int]]] = {}
    for index, (vendor, rate, cents) in numbered:
        if vendor is not None:
            groups.setdefault((vendor, rate), []).append((index, cents))
    for (_, rate), members in groups.items():
        amounts = [cents for _, cents in members]
        divided = allocate(order_commission_cents(rate, sum(amounts)), amounts)
        for (index, _), commission in zip(members, divided, strict=True):
            commissions[index] = commission
    return commissions
