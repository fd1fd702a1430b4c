"""Read the values of a file's columns: from text in CSV, from what JSON has in JSON Lines. Each raises `InvalidValue`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from kernel.clock import now
from kernel.money import parse_cents
from kernel.text import InvalidValue, repr_value

_LIST_SEPARATOR = "|"
_MAX_DIGITS = 18
_FIRST_YEAR = 1970


def money(value: object) -> int | None:
    """Read an amount such as 49.90 as cents; null is none."""
    try:
        return None if value is None else parse_cents(value)
    except InvalidValue as error:
        raise InvalidValue(str(error).removeprefix("amount ")) from error


def whole(text: str) -> int:
    """Parse a whole number."""
    if not (text.isascii() and text.removeprefix("-").isdigit() and len(text) <= _MAX_DIGITS):
        raise InvalidValue(f"is {repr_value(text)}; expected a whole number")
    return int(text)


def flag(text: str) -> bool:
    """Parse 1 or 0."""
    words = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
    if text.lower() not in words:
        raise InvalidValue(f"is {repr_value(text)}; expected 1 or 0")
    return words[text.lower()]


def texts(text: str) -> list[str]:
    """Parse texts with `|` between them."""
    return [item.strip() for item in text.split(_LIST_SEPARATOR) if item.strip()]


def time(value: object) -> datetime | None:
    """Read a time, ISO 8601; without a zone it is UTC, and null is none."""
    read = None if value is None else _utc(value)
    if read is None and value is not None:
        raise InvalidValue(f"is {repr_value(value)}; expected a time such as 2026-11-22T14:00:00-03:00")
    return read


def moment(value: object) -> datetime | None:
    """Read a time in the past, as `time`."""
    read = None if value is None else _utc(value)
    if value is not None and (read is None or read > now() + timedelta(days=1)):
        raise InvalidValue(f"is {repr_value(value)}; expected a time in the past such as 2026-11-22T14:00:00-03:00")
    return read


def _utc(value: object) -> datetime | None:
    """Return the time of a text in UTC, None for any other value."""
    try:
        read = datetime.fromisoformat(value) if isinstance(value, str) else None
        if read is None:
            return None
        read = read.astimezone(UTC) if read.tzinfo else read.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None
    return read if read.year >= _FIRST_YEAR else None


def reference(value: object) -> object:
    """Read the ID of a record; null is none."""
    if value is None or (isinstance(value, str | int) and not isinstance(value, bool)):
        return value
    raise InvalidValue(f"is {repr_value(value)}; expected an ID")


def list_of(type_: type, expected: str) -> Callable[[object], object]:
    """Return a reader of lists of texts or objects; null is none."""

    def read(value: object) -> object:
        if value is None or (isinstance(value, list) and all(isinstance(item, type_) for item in value)):
            return value
        raise InvalidValue(f"is {repr_value(value)}; expected a list of {expected}")

    return read
