"""Calculate the totals, taxes, spent points and commissions of an order. Pure arithmetic in whole cents; no client states an amount.

    subtotal   the sum of price × quantity
    shipping   base + per kilogram × weight + per item × items + the freight of each unit, of the shipped lines without free shipping;
               free, freight included, when the subtotal reaches the method's `free_from` (docs/reference/legacy.md#shippings)
    surcharge  the payment method's fixed part plus its percentage of subtotal − discount + shipping
    tax        the taxes that prices don't include, of those on lines after discounts, shipping and surcharge (`calculate_taxes`)
    total      subtotal − discount + shipping + surcharge + tax
    commission the store's part of a vendor's lines (docs/reference/shared.md#vendors-shares): each keeps its own and the rate, so that a
               change of the vendor's rate changes no earlier order

Fractions of a cent are rounded half up, once, where they arise. Totals are limited to 10**15 cents, so that no column overflows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import NamedTuple

from domain.points.ledger import unavailable_error
from kernel.errors import ValidationFailed
from kernel.money import MAX_CENTS, allocate, divide_half_up, parse_cents

_GRAMS_PER_KG = 1_000
_HUNDREDTHS_OF_A_PERCENT = 10_000
PERCENTAGE, FIXED = "P", "F"
_HUNDRED_PERCENT = 100_000  # thousandths of a percent
_THOUSANDTHS_IN_A_CENT = 10


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


@dataclass(frozen=True, slots=True)
class AppliedTax:
    """A tax with its rate at an address; `rate_value` in thousandths of a percent or of the currency unit."""

    id: int
    name: str
    rate_type: str
    rate_value: int
    included: bool
    priority: int = 0


@dataclass(frozen=True, slots=True)
class TaxableAmount:
    """A taxable amount in cents, its number of units, and the ids of its taxes."""

    amount_cents: int
    taxes: Sequence[int]
    quantity: int = 1


@dataclass(frozen=True, slots=True)
class ChargedTax:
    """The total of one tax over an order, in cents."""

    tax: AppliedTax
    amount_cents: int


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


def calculate_taxes(amounts: Iterable[TaxableAmount], taxes: Mapping[int, AppliedTax]) -> list[ChargedTax]:
    """Return the total of each tax over all taxable amounts, by priority; zero totals are omitted.

    On each amount taxes apply by priority, lowest first; taxes of one priority see the same base, those of the next one include the taxes
    added before. An included percentage is part of the amount (amount × rate / (100 + included rates)); one not included is added. A fixed
    rate applies per unit. Each tax is rounded half up once per taxable amount (docs/reference/shared.md#money).
    """
    sums: dict[int, int] = {}
    for taxable in amounts:
        for tax_id, amount in _taxes_of(taxable, [taxes[tax] for tax in taxable.taxes if tax in taxes]):
            sums[tax_id] = sums.get(tax_id, 0) + amount
    ordered = sorted(sums, key=lambda tax_id: (taxes[tax_id].priority, tax_id))
    return [ChargedTax(taxes[tax_id], sums[tax_id]) for tax_id in ordered if sums[tax_id]]


def added_tax_cents(charged_taxes: Iterable[ChargedTax]) -> int:
    """Sum the taxes that prices don't include."""
    return sum(charged.amount_cents for charged in charged_taxes if not charged.tax.included)


def _taxes_of(taxable: TaxableAmount, taxes: Sequence[AppliedTax]) -> Iterable[tuple[int, int]]:
    if taxable.amount_cents <= 0:
        return
    base = taxable.amount_cents
    included_rate = sum(tax.rate_value for tax in taxes if tax.included and tax.rate_type != FIXED)
    ordered = sorted(taxes, key=lambda tax: (tax.priority, tax.id))
    for _, group in groupby(ordered, key=lambda tax: tax.priority):
        added = 0
        for tax in group:
            amount = _tax_cents(tax, base, taxable, included_rate)
            added += 0 if tax.included else amount
            yield tax.id, amount
        base += added


def _tax_cents(tax: AppliedTax, base: int, taxable: TaxableAmount, included_rate: int) -> int:
    if tax.rate_type == FIXED:
        amount = tax.rate_value // _THOUSANDTHS_IN_A_CENT * taxable.quantity
        return min(amount, taxable.amount_cents) if tax.included else amount
    if tax.included:
        return divide_half_up(taxable.amount_cents * tax.rate_value, _HUNDRED_PERCENT + included_rate)
    return divide_half_up(base * tax.rate_value, _HUNDRED_PERCENT)


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
