"""Convert money between the decimal strings of the legacy API and integer cents (docs/reference/shared.md#money)."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal

from kernel.record_conversion import Inline
from kernel.text import InvalidValue, repr_value

# Far below BIGINT (9.2e18), so that price times quantity, summed over an order, still fits the column.
MAX_CENTS = 10**15
# Amounts within 0.000001 currency units of a whole cent are that cent.
TOLERANCE = Decimal("0.000001")

_AMOUNT = re.compile(r"-?[0-9]{1,32}(?:\.[0-9]{1,64})?")
_MAX_AMOUNT = Decimal(MAX_CENTS).scaleb(-2)
# Wide enough for every string that _AMOUNT matches and every float in range, so that nothing is rounded by accident.
_EXACT = Context(prec=200, rounding=ROUND_HALF_EVEN)


def parse_cents(value: object, *, negative: bool = False, field: str = "amount") -> int:
    """Parse an amount, a string or JSON number, into whole cents.

    Accepts `"30.000000"`, `19.900000000000002`, `"129.9"` and `129`. A finer amount, an exponent in a string, a plus sign, spaces, NaN,
    an infinity, a boolean, more than 10**15 cents and (unless `negative`) less than zero raise InvalidValue; its message begins with
    `field`.
    """
    amount = _exact_amount(value, field)
    if amount.copy_abs() > _MAX_AMOUNT:
        raise InvalidValue(f"{field} is too large; expected at most {format_cents(MAX_CENTS)}")
    in_cents = _EXACT.multiply(amount, Decimal(100))
    whole = _EXACT.to_integral_value(in_cents)
    if _EXACT.subtract(in_cents, whole).copy_abs() > 100 * TOLERANCE:
        raise InvalidValue(f"{field} is {repr_value(value)}; expected at most two decimal places")
    if whole < 0 and not negative:
        raise InvalidValue(f"{field} is {repr_value(value)}; expected zero or more")
    return int(whole)


CENTS = Inline("f'{v // 100}.{v % 100:02d}' if v >= 0 else f'-{-v // 100}.{-v % 100:02d}'")


def format_cents(cents: int) -> str:
    """Format cents as the legacy API's decimal string: 12990 is `129.90`, -5 is `-0.05`."""
    text: str = CENTS(cents)
    return text


CURRENCIES = frozenset(
    """
    AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CNY COP CRC CUP CVE CZK DKK DOP
    DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD
    LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD
    SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD UYU UZS VED VES WST XCD XCG YER ZAR ZMW
    ZWG
    """.split()  # noqa: SIM905  # a list of names is as long as this table
)
"""The currencies in which a store can sell: those of ISO 4217 (2026) with hundredths, since amounts are in cents."""
CURRENCY_SYMBOLS = {"BRL": "R$", "USD": "US$", "EUR": "€"}


def format_price(cents: int, currency: str) -> str:
    """Format cents as people in Brazil write an amount: 123456 is `R$ 1.234,56`."""
    units, rest = divmod(abs(cents), 100)
    grouped = f"{units:,}".replace(",", ".")
    return f"{'-' if cents < 0 else ''}{CURRENCY_SYMBOLS.get(currency, currency)} {grouped},{rest:02d}"


def divide_half_up(numerator: int, denominator: int) -> int:
    """Divide two non-negative integers and round half up."""
    return (2 * numerator + denominator) // (2 * denominator)


def allocate(amount: int, weights: Sequence[int]) -> list[int]:
    """Divide an amount among weights, to the cent; the rounding remainder goes to the largest remainders, first come first."""
    total = sum(weights)
    if not total:
        return [0] * len(weights)
    parts = [amount * weight // total for weight in weights]
    remainders = sorted(range(len(weights)), key=lambda index: (-(amount * weights[index] % total), index))
    for index in remainders[: amount - sum(parts)]:
        parts[index] += 1
    return parts


def allocate_growing(amount: int, weights: Sequence[int]) -> list[int]:
    """Divide an amount of at most the sum of the weights among them, to the cent, so that no part of a larger amount is smaller."""
    total = sum(weights)
    parts = []
    for weight in weights:
        part = amount * weight // total if total else 0
        parts.append(part)
        amount, total = amount - part, total - weight
    return parts


def _exact_amount(value: object, field: str) -> Decimal:
    """Parse the value without rounding; a float means the shortest decimal that it prints as."""
    if isinstance(value, int) and not isinstance(value, bool):
        return Decimal(value)
    if isinstance(value, float) and math.isfinite(value):
        return Decimal(repr(value))
    if isinstance(value, str) and _AMOUNT.fullmatch(value):
        return Decimal(value)
    raise InvalidValue(f'{field} is {repr_value(value)}; expected an amount such as "129.90"')
