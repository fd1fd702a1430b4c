"""Read the values of CS-Cart's records, as PHP writes them: numbers as texts, `[]` for an empty map, null, false or "" for none."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from typing import Any, TypeAlias

from kernel.fields import MAX_INTEGER
from kernel.text import repr_value

Record: TypeAlias = Mapping[str, Any]

OFFERED_BY = "offered_by"
"""The member of a shared option's record with the products that offer it; added while reading."""

_NONE = (None, "", False)
_LAST_SECOND = 253_402_300_799  # the end of the year 9999
_MAX_DIGITS = 15  # programs read these numbers as floats; and records made here still get the numbers above
_SERIALIZED_NUMBER = re.compile(r's:[0-9]+:"([a-z_]+)";(?:[id]:|s:[0-9]+:")([0-9.]+)"?;')
_YES, _NO = ("y", "true", "1"), ("n", "false", "0", "")


class ObservedRecord(Mapping[str, Any]):
    """A record that knows which of its members were asked for."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._asked: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        self._asked.add(name)
        return self._record[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._record)

    def __len__(self) -> int:
        return len(self._record)

    def unread(self) -> list[str]:
        """Return the members that nobody asked for and that say something."""
        return [name for name, value in self._record.items() if name not in self._asked and not _is_empty(value)]


def _is_empty(value: object) -> bool:
    """Return whether a value is what CS-Cart writes where nothing was entered: zero, `N`, an empty text, array or map."""
    if isinstance(value, str) and re.fullmatch(r"0*\.?0*", value):
        return True
    return value in _NONE or value in (0, "N", [], {})


class NotBrought(Exception):
    """A record can't be imported; the message is the reason in the report."""


def text(record: Record, name: str, default: str = "") -> str:
    """Return a text; numbers become texts, and what is no text (PHP's `false` or `[]`) the default."""
    value = record.get(name)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return default
    return str(value)


def decimal(record: Record, name: str) -> Decimal:
    """Return a number, 0 where there is none."""
    value = record.get(name)
    if value in _NONE or value == []:
        return Decimal(0)
    try:
        result = Decimal(repr(value) if isinstance(value, float) else str(value).strip())
    except InvalidOperation:
        raise NotBrought(f"{name} is {repr_value(value)}; expected a number") from None
    if not result.is_finite() or abs(result.adjusted()) > 20:
        raise NotBrought(f"{name} is {repr_value(value)}; expected a number")
    return result


def rounded(record: Record, name: str, factor: int) -> int:
    """Return a number times the factor, rounded half up (half away from zero) to an integer."""
    return int((decimal(record, name) * factor).to_integral_value(ROUND_HALF_UP))


def cents(record: Record, name: str) -> int:
    """Return an amount in cents; CS-Cart writes up to eight decimals."""
    return rounded(record, name, 100)


def grams(record: Record, name: str) -> int:
    """Return a weight in kilograms as grams."""
    return rounded(record, name, 1_000)


def shipping_params(record: Record) -> Record:
    """Return the dimensions of a product's box: a map, or in CS-Cart's lists and exports the text of PHP's `serialize`."""
    value = record.get("shipping_params")
    return dict(_SERIALIZED_NUMBER.findall(value)) if isinstance(value, str) else entries(value)


def integer(record: Record, name: str, default: int = 0) -> int:
    """Return a whole number; decimals are cut."""
    value = record.get(name)
    return default if value in _NONE else int(decimal(record, name))


def position(record: Record, name: str = "position") -> int:
    """Return a position or priority; CS-Cart's may be negative, which becomes 0."""
    return max(0, min(integer(record, name), MAX_INTEGER))


def as_number(value: object) -> int | None:
    """Return the number of a record, None for none (0, "", null); raises NotBrought for what is no number."""
    if value in _NONE or value == []:
        return None
    digits = str(int(value)) if isinstance(value, float) and value.is_integer() else str(value).strip()
    if not digits.isascii() or not digits.isdigit() or len(digits) > _MAX_DIGITS:
        raise NotBrought(f"{repr_value(value)} is no number of a record")
    return int(digits) or None


def number(record: Record, name: str) -> int | None:
    """Return the number of another record, None for none."""
    try:
        return as_number(record.get(name))
    except NotBrought as error:
        raise NotBrought(f"{name}: {error}") from None


def own_number(record: Record, name: str) -> int:
    """Return the record's own number."""
    result = number(record, name)
    if result is None:
        raise NotBrought(f"{name} is {repr_value(record.get(name))}; expected the record's number")
    return result


def numbers(record: Record, name: str) -> list[int]:
    """Return several numbers: an array, a map, or a text with commas; without repetitions, in order."""
    value = record.get(name)
    parts = (
        value.split(",") if isinstance(value, str) else items(value) if isinstance(value, list | Mapping) else [value]
    )
    parsed = [as_number(part) for part in parts]
    return list(dict.fromkeys(part for part in parsed if part is not None))


def flag(record: Record, name: str, *, default: bool = False) -> bool:
    """Return a boolean: `Y` and `N`, 1 and 0, true and false."""
    value = record.get(name)
    if value is None or value == []:
        return default
    word = str(value).lower()
    if word not in (*_YES, *_NO):
        raise NotBrought(f"{name} is {repr_value(value)}; expected Y or N")
    return word in _YES


def moment(record: Record, *names: str) -> datetime | None:
    """Return the first of these times (Unix seconds), None where all are 0 or missing."""
    for name in names:
        seconds = integer(record, name)
        if seconds:
            if not 0 < seconds <= _LAST_SECOND:
                raise NotBrought(f"{name} is {repr_value(record.get(name))}; expected Unix seconds")
            return datetime.fromtimestamp(seconds, UTC)
    return None


def entries(value: object) -> dict[str, Any]:
    """Return a map; an array, which PHP writes for an empty map or one keyed from 0, by position."""
    if isinstance(value, Mapping):
        return {str(key): entry for key, entry in value.items()}
    if isinstance(value, list):
        return {str(position): entry for position, entry in enumerate(value)}
    return {}


def items(value: object) -> list[Any]:
    """Return the entries of an array or a map."""
    return list(entries(value).values())


def objects(value: object) -> list[Record]:
    """Return the objects of an array or a map."""
    return [entry for entry in items(value) if isinstance(entry, Mapping)]
