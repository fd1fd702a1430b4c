"""Work out taxes. Pure arithmetic in whole cents.

What is taxed is a list of shares: the lines of an order after their discounts, its shipping, its surcharge. On each share its taxes are
taken by priority, the lowest first; those of one priority see the same amount, and those of a higher one see it with what was
added before. A percentage that the price includes is found within it (amount × rate / (100 + rates included)); one that it does not
include is added. A fixed rate is taken for each unit. Each tax is rounded half up once a share (decisions section 1, Money).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from kernel.money import rounded

FIXED = "F"
_WHOLE = 100_000  # thousandths of a percent
_THOUSANDTHS_IN_A_CENT = 10


@dataclass(frozen=True, slots=True)
class AppliedTax:
    """Describe a tax as it is at an address; `rate_value` is in thousandths of a percent or of the currency's unit."""

    id: int
    name: str
    rate_type: str
    rate_value: int
    included: bool
    priority: int = 0


@dataclass(frozen=True, slots=True)
class Share:
    """Describe something that is taxed: an amount in cents, how many units it is for, and the ids of the taxes that lie on it."""

    amount_cents: int
    taxes: Sequence[int]
    quantity: int = 1


@dataclass(frozen=True, slots=True)
class TaxTaken:
    """Tell what one tax took of a whole order, in cents."""

    tax: AppliedTax
    amount_cents: int


def taxes_of(shares: Iterable[Share], taxes: Mapping[int, AppliedTax]) -> list[TaxTaken]:
    """Work out what each tax takes of all shares, in the order of their priorities; a tax of nothing is left out."""
    sums: dict[int, int] = {}
    for share in shares:
        for number, amount in _of_share(share, [taxes[each] for each in share.taxes if each in taxes]):
            sums[number] = sums.get(number, 0) + amount
    ordered = sorted(sums, key=lambda number: (taxes[number].priority, number))
    return [TaxTaken(taxes[number], sums[number]) for number in ordered if sums[number]]


def added_cents(taken: Iterable[TaxTaken]) -> int:
    """Add up the taxes that the prices don't include."""
    return sum(each.amount_cents for each in taken if not each.tax.included)


def _of_share(share: Share, taxes: Sequence[AppliedTax]) -> Iterable[tuple[int, int]]:
    if share.amount_cents <= 0:
        return
    base = share.amount_cents
    within = sum(tax.rate_value for tax in taxes if tax.included and tax.rate_type != FIXED)
    ordered = sorted(taxes, key=lambda tax: (tax.priority, tax.id))
    for _, together in groupby(ordered, key=lambda tax: tax.priority):
        added = 0
        for tax in together:
            amount = _amount(tax, base, share, within)
            added += 0 if tax.included else amount
            yield tax.id, amount
        base += added


def _amount(tax: AppliedTax, base: int, share: Share, within: int) -> int:
    if tax.rate_type == FIXED:
        amount = tax.rate_value // _THOUSANDTHS_IN_A_CENT * share.quantity
        return min(amount, share.amount_cents) if tax.included else amount
    if tax.included:
        return rounded(share.amount_cents * tax.rate_value, _WHOLE + within)
    return rounded(base * tax.rate_value, _WHOLE)
