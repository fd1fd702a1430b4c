"""Read and check the Olist files before anything is written.

The files are the public *Brazilian E-Commerce Public Dataset by Olist*. A row that can't be read, repeats a key or refers to a row that
isn't there is reported with its file and line; an import with any such row writes nothing.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from kernel.money import cents_from
from kernel.text import Malformed, has_forbidden_characters, nfc, shown

T = TypeVar("T")

# What Olist calls a state of an order, and the letter it becomes (decisions, section 9).
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
_MOMENT = "%Y-%m-%d %H:%M:%S"


class Missing(Exception):
    """Say which file isn't there or isn't what its name promises."""


@dataclass(frozen=True, slots=True)
class CsvRow:
    """One row and where it stands."""

    file: str
    line: int
    values: Mapping[str, str]

    def read(self, column: str, parse: Callable[[str], T]) -> T:
        """Parse a value; `Malformed` names the column."""
        try:
            return parse(self.values[column])
        except Malformed as problem:
            raise Malformed(f"{column} {problem}") from problem


@dataclass(slots=True)
class Problems:
    """Collect what is wrong, at most so many lines of it."""

    lines: list[str] = field(default_factory=list)
    count: int = 0

    def add(self, row: CsvRow, text: str) -> None:
        """Report a row."""
        self.count += 1
        if len(self.lines) < 20:
            self.lines.append(f"{row.file}:{row.line}: {text}")


def rows_of(folder: Path, name: str, columns: Iterable[str], problems: Problems) -> list[CsvRow]:
    """Read a file; raises `Missing` when it can't be read as a whole."""
    path = folder / name
    wanted = list(columns)
    try:
        with path.open(encoding="utf-8-sig", newline="") as handle:
            reader = csv.reader(handle, strict=True)
            header = next(reader, [])
            lacking = [column for column in wanted if column not in header]
            if lacking:
                raise Missing(f"{name} has no column {lacking[0]}")
            return list(_rows(reader, header, name, problems))
    except OSError as problem:
        raise Missing(f"{name} can't be read: {problem.strerror}") from problem
    except (UnicodeDecodeError, csv.Error) as problem:
        raise Missing(f"{name} is no CSV file in UTF-8: {problem}") from problem


def _rows(reader: Any, header: list[str], name: str, problems: Problems) -> Iterable[CsvRow]:
    line = reader.line_num + 1
    for values in reader:
        row = CsvRow(name, line, dict(zip(header, values, strict=False)))
        # A text may hold line breaks: the next row begins after the last line of this one.
        line = reader.line_num + 1
        if not values:
            continue
        if len(values) != len(header):
            problems.add(row, f"has {len(values)} values; expected {len(header)}")
        elif any(has_forbidden_characters(value) for value in values):
            problems.add(row, "holds a NUL character")
        else:
            yield row


def key(value: str) -> str:
    """Read one of Olist's keys: 32 hexadecimal digits."""
    if not _KEY.fullmatch(value):
        raise Malformed(f"is {shown(value)}; expected 32 hexadecimal digits")
    return value


def moment(value: str) -> datetime:
    """Read a time of day and date; Olist names no zone, so it is taken as UTC."""
    try:
        return datetime.strptime(value, _MOMENT).replace(tzinfo=UTC)
    except ValueError as problem:
        raise Malformed(f"is {shown(value)}; expected a time such as 2017-07-09 21:57:05") from problem


def optional_moment(value: str) -> datetime | None:
    """Read a time that may be absent."""
    return moment(value) if value else None


def amount(value: str) -> int:
    """Read an amount in cents."""
    return cents_from(value)


def number(least: int, most: int) -> Callable[[str], int]:
    """Read a whole number between the bounds."""

    def read(value: str) -> int:
        if not value.isascii() or not value.isdigit() or not least <= int(value[:12]) <= most:
            raise Malformed(f"is {shown(value)}; expected a whole number from {least} to {most}")
        return int(value)

    return read


def grams(value: str) -> int:
    """Read a weight in grams, 0 when it is absent."""
    return number(0, 10_000_000)(value.removesuffix(".0")) if value else 0


def status(value: str) -> str:
    """Read the state of an order as its letter."""
    if value not in STATUSES:
        raise Malformed(f"is {shown(value)}; expected one of {', '.join(STATUSES)}")
    return STATUSES[value]


def state(value: str) -> str:
    """Read a Brazilian state."""
    if value not in _STATES:
        raise Malformed(f"is {shown(value)}; expected a state of two letters")
    return value


def text(value: str) -> str:
    """Read a text as it is stored."""
    return nfc(value.strip())
