"""Check digits of payment cards and boletos, and the recognition of card numbers, which must never reach the server."""

from __future__ import annotations

import re
from collections.abc import Mapping

from kernel.documents import is_cnpj, normalize_phone
from kernel.errors import ValidationFailed

# 13 to 19 digits (ISO/IEC 7812), in groups or not.
_CARD_NUMBER = re.compile(r"(?<![0-9])[0-9](?:[ .-]?[0-9]){12,18}(?![0-9])")

# Among their random digits is the number of a card in one of 300 tokens.
_ID = re.compile(r"(?=.*[a-f])(?:[0-9a-f]{32,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})", re.IGNORECASE)


def luhn_digit(digits: str) -> int:
    """Return the check digit modulo 10 of digits: every second one, from the right, counts twice."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (2 if place % 2 == 0 else 1)
        total += value - 9 if value > 9 else value
    return -total % 10


def contains_card_number(text: str) -> bool:
    """Return whether a text contains what looks like the number of a card; ids and hexadecimal tokens, such as those of orders, don't."""
    if _ID.fullmatch(text):
        return False
    numbers = (re.sub("[^0-9]", "", match.group()) for match in _CARD_NUMBER.finditer(text))
    return any(luhn_digit(number[:-1]) == int(number[-1]) for number in numbers)


def reject_card_numbers(values: object) -> None:
    """Raise ValidationFailed for a request of which a field looks like the number of a card; its value is not in the message."""
    name = _find_card_number(values)
    if name is not None:
        raise ValidationFailed(
            f"{name} looks like the number of a card, which is never sent here: send the token that the gateway's script makes of it",
            field=name,
            code="card_number",
        )


def _find_card_number(value: object, name: str = "") -> str | None:
    """Return the name of the first field of a request, however nested, that looks like a card number; None without one.

    CNPJs and telephones, which have as many digits, are exempt in their own fields.
    """
    if isinstance(value, Mapping):
        names = (_find_card_number(member, str(key)) for key, member in value.items())
        return next((field for field in names if field is not None), None)
    if isinstance(value, list | tuple):
        names = (_find_card_number(member, name) for member in value)
        return next((field for field in names if field is not None), None)
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    text = str(value)
    is_exempt = (name == "document" and is_cnpj(text)) or (name == "phone" and normalize_phone(text) is not None)
    return name if not is_exempt and contains_card_number(text) else None
