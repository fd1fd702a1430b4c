"""Calculate taxes. Pure arithmetic in whole cents.

The taxable amounts are an order's lines after discounts, its shipping and its surcharge. On each, taxes apply by priority, lowest first;
taxes of one priority see the same base, those of the next one include the taxes added before. An included percentage is part of the
amount (amount × rate / (100 + included rates)); one not included is added. A fixed rate applies per unit. Each tax is rounded half up once
per taxable amount (docs/reference/shared.md#money).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from kernel.money import divide_half_up

FIXED = "F"
_HUNDRED_PERCENT = 100_000  # thousandths of a percent
_THOUSANDTHS_IN_A_CENT = 10


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


def calculate_taxes(amounts: Iterable[TaxableAmount], taxes: Mapping[int, AppliedTax]) -> list[ChargedTax]:
    """Return the total of each tax over all taxable amounts, by priority; zero totals are omitted."""
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
            amount = _amount(tax, base, taxable, included_rate)
            added += 0 if tax.included else amount
            yield tax.id, amount
        base += added


def _amount(tax: AppliedTax, base: int, taxable: TaxableAmount, included_rate: int) -> int:
    if tax.rate_type == FIXED:
        amount = tax.rate_value // _THOUSANDTHS_IN_A_CENT * taxable.quantity
        return min(amount, taxable.amount_cents) if tax.included else amount
    if tax.included:
        return divide_half_up(taxable.amount_cents * tax.rate_value, _HUNDRED_PERCENT + included_rate)
    return divide_half_up(base * tax.rate_value, _HUNDRED_PERCENT)
