"""The instalments that a store offers for a card, with their interest (setting `installments`, docs/payments.md#instalments).

    2-3:0, 4-12:1.99:200    two or three without interest; four to twelve at 1.99 % a month, for amounts from 200.00 on

Interest is that of equal instalments, the first a month after the purchase (Tabela Price); it is calculated with decimals and rounded
half up to the cent once for each instalment.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal, localcontext

from kernel.text import InvalidValue, repr_value

MAX_INSTALLMENTS = 24
_PART = re.compile(r"(\d{1,2})(?:-(\d{1,2}))?:(\d{1,2}(?:\.\d{1,2})?)(?::(\d{1,9})(?:\.(\d{2}))?)?")
_EXPECTED = (
    "expected parts as 2-3:0 or 4-12:1.99:200 (numbers, percent a month, amount from which), with commas between them"
)


@dataclass(frozen=True, slots=True)
class InstallmentRule:
    """How many instalments a rule is about, their monthly interest in percent, and the amount from which they are offered, in cents."""

    number: int
    monthly_rate: Decimal
    least_cents: int


@dataclass(frozen=True, slots=True)
class InstallmentOption:
    """A number of instalments for an amount: interest, total and instalments in cents; the first takes the rest of the division."""

    number: int
    monthly_rate: Decimal
    surcharge_cents: int
    total_cents: int
    first_cents: int
    other_cents: int


def parse_rules(text: str) -> tuple[InstallmentRule, ...]:
    """Parse the setting; raises InvalidValue. One instalment is always offered, without interest."""
    rules: dict[int, InstallmentRule] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        match = _PART.fullmatch(part)
        if match is None:
            raise InvalidValue(f"is {repr_value(text)}; {_EXPECTED}")
        first, last = int(match[1]), int(match[2] or match[1])
        if not 2 <= first <= last <= MAX_INSTALLMENTS:
            raise InvalidValue(f"is {repr_value(text)}; expected 2 to {MAX_INSTALLMENTS} instalments")
        least = int(match[4] or 0) * 100 + int(match[5] or 0)
        for number in range(first, last + 1):
            if number in rules:
                raise InvalidValue(f"is {repr_value(text)}; {number} instalments are in it twice")
            rules[number] = InstallmentRule(number, Decimal(match[3]), least)
    return tuple(rules[number] for number in sorted(rules))


def installment_options(rules: Sequence[InstallmentRule], amount_cents: int) -> list[InstallmentOption]:
    """Return what is offered for an amount, one instalment first; each is of a cent at least."""
    offered = [InstallmentRule(1, Decimal(0), 0), *rules]
    return [
        _option(rule, amount_cents)
        for rule in offered
        if amount_cents >= rule.least_cents and amount_cents >= rule.number
    ]


def find_option(rules: Sequence[InstallmentRule], amount_cents: int, number: int) -> InstallmentOption | None:
    """Return the option of a number of instalments, None if it isn't offered for the amount."""
    return next((option for option in installment_options(rules, amount_cents) if option.number == number), None)


def _option(rule: InstallmentRule, amount_cents: int) -> InstallmentOption:
    total = amount_cents
    if rule.monthly_rate:
        # Rounded to the cent, very small instalments are worth less than the amount.
        total = max(amount_cents, _installment(amount_cents, rule) * rule.number)
    other = total // rule.number
    first = total - other * (rule.number - 1)
    return InstallmentOption(rule.number, rule.monthly_rate, total - amount_cents, total, first, other)


def _installment(amount_cents: int, rule: InstallmentRule) -> int:
    with localcontext() as context:
        context.prec = 40
        rate = rule.monthly_rate / 100
        each = amount_cents * rate / (1 - (1 + rate) ** -rule.number)
        return int(each.quantize(Decimal(1), rounding=ROUND_HALF_UP))
