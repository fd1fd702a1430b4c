"""Read and validate the Olist files before anything is imported (docs/reference/shared.md#olist-import).

The files are the public *Brazilian E-Commerce Public Dataset by Olist*. A row that is malformed, repeats a key or refers to a missing
row is reported with its file and line; one such row and nothing is imported.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from kernel.errors import OperatorError
from kernel.text import InvalidValue, has_forbidden_characters, nfc, repr_value

T = TypeVar("T")

# Olist order status → our status code.
STATUSES = {
    "created": "O",
    "approved": "P",
    "invoiced": "P",
    "processing": "P",
    "shipped": "C",
    "delivered": "C",
    "canceled": "I",
    "unavailable": "F",
}
_STATES = frozenset(
    ("AC", "AL", "AM", "AP", "BA", "CE", "DF", "ES", "GO", "MA", "MG", "MS", "MT", "PA")
    + ("PB", "PE", "PI", "PR", "RJ", "RN", "RO", "RR", "RS", "SC", "SE", "SP", "TO")
)
_KEY = re.compile(r"[0-9a-f]{32}")
_TIME_FORMAT = "%Y-%m-%d %H:%M:%S"


class ImportFileError(OperatorError):
    """An import file is missing or malformed."""


@dataclass(frozen=True, slots=True)
class CsvRow:
    """A row with its position."""

    file: str
    line: int
    values: Mapping[str, str]

    def read(self, column: str, parse: Callable[[str], T]) -> T:
        """Parse a value; `InvalidValue` names the column."""
        try:
            return parse(self.values[column])
        except InvalidValue as error:
            raise InvalidValue(f"{column} {error}") from error


@dataclass(slots=True)
class RowErrors:
    """The invalid rows: their count and the first messages."""

    lines: list[str] = field(default_factory=list)
    count: int = 0

    def add(self, row: CsvRow, text: str) -> None:
        """Add an error."""
        self.count += 1
        if len(self.lines) < 20:
            self.lines.append(f"{row.file}:{row.line}: {text}")


def read_rows(folder: Path, name: str, columns: Iterable[str], errors: RowErrors) -> list[CsvRow]:
    """Read a file; raises `ImportFileError` when it is unusable."""
    path = folder / name
    wanted = list(columns)
    try:
        with path.open(encoding="utf-8-sig", newline="") as handle:
            reader = csv.reader(handle, strict=True)
            header = next(reader, [])
            missing = [column for column in wanted if column not in header]
            if missing:
                raise ImportFileError(f"{name} has no column {missing[0]}")
            return list(_rows(reader, header, name, errors))
    except OSError as error:
        raise ImportFileError(f"{name} can't be read: {error.strerror}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise ImportFileError(f"{name} is not a UTF-8 CSV file: {error}") from error


def _rows(reader: Any, header: list[str], name: str, errors: RowErrors) -> Iterable[CsvRow]:
    line = reader.line_num + 1
    for values in reader:
        row = CsvRow(name, line, dict(zip(header, values, strict=False)))
        # Values may contain line breaks: the next row starts after the last line of this one.
        line = reader.line_num + 1
        if not values:
            continue
        if len(values) != len(header):
            errors.add(row, f"has {len(values)} values; expected {len(header)}")
        elif any(has_forbidden_characters(value) for value in values):
            errors.add(row, "contains a NUL character")
        else:
            yield row


def parse_key(value: str) -> str:
    """Parse one of Olist's keys: 32 hexadecimal digits."""
    if not _KEY.fullmatch(value):
        raise InvalidValue(f"is {repr_value(value)}; expected 32 hexadecimal digits")
    return value


def parse_time(value: str) -> datetime:
    """Parse a date and time; Olist has no time zone, so it is read as UTC."""
    try:
        return datetime.strptime(value, _TIME_FORMAT).replace(tzinfo=UTC)
    except ValueError as error:
        raise InvalidValue(f"is {repr_value(value)}; expected a time such as 2017-07-09 21:57:05") from error


def parse_optional_time(value: str) -> datetime | None:
    """Parse a time, None when empty."""
    return parse_time(value) if value else None


def parse_number(minimum: int, maximum: int) -> Callable[[str], int]:
    """Return a parser of whole numbers within the bounds."""

    def read(value: str) -> int:
        if not value.isascii() or not value.isdigit() or not minimum <= int(value[:12]) <= maximum:
            raise InvalidValue(f"is {repr_value(value)}; expected a whole number from {minimum} to {maximum}")
        return int(value)

    return read


def parse_grams(value: str) -> int:
    """Parse a weight in grams, 0 when empty."""
    return parse_number(0, 10_000_000)(value.removesuffix(".0")) if value else 0


def parse_status(value: str) -> str:
    """Parse an order status into its code."""
    if value not in STATUSES:
        raise InvalidValue(f"is {repr_value(value)}; expected one of {', '.join(STATUSES)}")
    return STATUSES[value]


def parse_state(value: str) -> str:
    """Parse a Brazilian state code."""
    if value not in _STATES:
        raise InvalidValue(f"is {repr_value(value)}; expected a state of two letters")
    return value


def parse_text(value: str) -> str:
    """Strip and normalize a text."""
    return nfc(value.strip())
