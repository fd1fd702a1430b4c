"""Write the barcode of a boleto and the line that people type (Banco Central, Carta-Circular 2.926; FEBRABAN)."""

from __future__ import annotations

from datetime import date

from kernel.check_digits import luhn_digit

_REAL = "9"
# The due date is a number of days; after 9999, on 21 February 2025, it began again at 1000.
_FIRST_DAY = date(1997, 10, 7)
_LAST_FACTOR, _FIRST_FACTOR = 9_999, 1_000


def barcode(bank: str, due: date, amount_cents: int, free_field: str) -> str:
    """Return the 44 digits of a barcode: `bank` has three digits, `free_field` 25, the amount at most ten."""
    rest = f"{due_factor(due):04d}{amount_cents:010d}{free_field}"
    unchecked = f"{bank}{_REAL}{rest}"
    return f"{bank}{_REAL}{_digit_11(unchecked)}{rest}"


def typed_line(code: str) -> str:
    """Return the 47 digits of the line of a barcode."""
    free_field = code[19:]
    fields = (code[:4] + free_field[:5], free_field[5:15], free_field[15:])
    return "".join(f"{field}{luhn_digit(field)}" for field in fields) + code[4] + code[5:19]


def due_factor(due: date) -> int:
    """Return the four digits by which a barcode states a due date."""
    days = (due - _FIRST_DAY).days
    if days <= _LAST_FACTOR:
        return days
    return _FIRST_FACTOR + (days - _LAST_FACTOR - 1) % (_LAST_FACTOR + 1 - _FIRST_FACTOR)


def _digit_11(digits: str) -> int:
    """Return the check digit modulo 11 with the weights 2 to 9 from the right; 1 in place of 0, 10 and 11."""
    total = sum(int(digit) * (2 + place % 8) for place, digit in enumerate(reversed(digits)))
    digit = 11 - total % 11
    return digit if digit < 10 else 1
