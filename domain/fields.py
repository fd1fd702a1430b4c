"""Read what a caller gave for a record: a plain mapping, in which a key that is absent leaves its column as it is.

A record's fields are a table (`Mapping[str, Field]`): the name a caller uses, the column it fills, and how the value is read.
Wrong values are collected, so that one refusal names every field (contract, Errors, field validation).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from kernel.codes import CodeTable, parse_code
from kernel.errors import ValidationFailed
from kernel.money import MAX_CENTS
from kernel.text import Malformed, has_forbidden_characters, nfc, shown

Given: TypeAlias = Mapping[str, Any]
Reader: TypeAlias = Callable[[object], object]

# A name may stand in an index, whose entries PostgreSQL limits to about 2,700 bytes.
MAX_NAME = 255
MAX_TEXT = 1_000_000
MAX_INTEGER = 2**31 - 1
MAX_QUANTITY = 10**12


_WEB_PAGE = re.compile(r"https?://[A-Za-z0-9._\[\]:-]+(/[^\s#<>\"]*)?")


@dataclass(frozen=True, slots=True)
class InputField:
    """Say which column a given value fills, how it is read, and the code that names a wrong one.

    `required` is the code for one that is blank, or missing on creation: a partial update leaves out what it doesn't change.
    """

    column: str
    read: Reader
    code: str = "invalid"
    required: str | None = None


def read_fields(fields: Mapping[str, InputField], given: Given, *, creating: bool = False) -> dict[str, Any]:
    """Give the columns that the mapping fills; keys that no field knows are ignored (decisions section 1).

    Raises ValidationFailed with a code for each wrong field, and for each required one that is missing when `creating`.
    """
    columns, wrong = check_fields(fields, given, creating=creating)
    refuse_wrong(wrong)
    return columns


def check_fields(
    fields: Mapping[str, InputField], given: Given, *, creating: bool = False
) -> tuple[dict[str, Any], dict[str, tuple[str, str]]]:
    """Give the columns and, for each wrong field, its code and a sentence; `refuse_wrong` raises them."""
    columns: dict[str, Any] = {}
    wrong: dict[str, tuple[str, str]] = {}
    for name, field in fields.items():
        if field.required and (creating or name in given) and _is_blank(given.get(name)):
            wrong[name] = (field.required, f"{name} is required")
            continue
        if name not in given:
            continue
        try:
            columns[field.column] = field.read(given[name])
        except Malformed as error:
            wrong[name] = (field.code, f"{name} {error}")
    return columns, wrong


def _is_blank(value: object) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def refuse_wrong(wrong: Mapping[str, tuple[str, str]]) -> None:
    """Raise one refusal that names every wrong field, if there is any."""
    if wrong:
        message = "; ".join(sentence for _, sentence in wrong.values())
        raise ValidationFailed(message, fields={name: code for name, (code, _) in wrong.items()})


# --- Readers: each gives the value as it is stored, or raises Malformed with what follows the field's name ---------------


def text(longest: int = MAX_TEXT, *, blank: bool = True) -> Reader:
    """Read a text of at most `longest` characters, composed (NFC); null is the empty text."""

    def read(value: object) -> str:
        value = "" if value is None else value
        if not isinstance(value, str) or has_forbidden_characters(value):
            raise Malformed(f"is {shown(value)}; expected a text")
        composed = nfc(value)
        if len(composed) > longest:
            raise Malformed(f"has {len(composed)} characters; expected at most {longest}")
        if not blank and not composed.strip():
            raise Malformed("is required")
        return composed if blank else composed.strip()

    return read


def name_text(value: object) -> object:
    """Read a name: 1 to 255 characters, spaces around it dropped."""
    return text(MAX_NAME, blank=False)(value)


def short_text(value: object) -> object:
    """Read a text of one line's length, at most 255 characters."""
    return text(MAX_NAME)(value)


def whole(least: int = 0, most: int = MAX_INTEGER, *, nullable: bool = False) -> Reader:
    """Read a whole number between the bounds, both included."""

    def read(value: object) -> int | None:
        if value is None and nullable:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise Malformed(f"is {shown(value)}; expected a whole number from {least} to {most}")
        return value

    return read


def cents(*, nullable: bool = False) -> Reader:
    """Read an amount in whole cents, zero or more."""
    return whole(0, MAX_CENTS, nullable=nullable)


def flag(value: object) -> bool:
    """Read yes or no: a boolean, or the letters Y and N that legacy records use."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.upper() in ("Y", "N"):
        return value.upper() == "Y"
    raise Malformed(f"is {shown(value)}; expected true or false")


def code_in(table: CodeTable) -> Reader:
    """Read a letter or one of its long labels."""

    def read(value: object) -> str:
        try:
            return parse_code(value, table)
        except Malformed as error:
            # The table's own name for the field would repeat the name that read_fields puts in front.
            raise Malformed(str(error).removeprefix(f"{table.field} ")) from error

    return read


@dataclass(frozen=True, slots=True)
class OneOf:
    """Read one of a few words, exactly; a reader that can tell which they are."""

    words: tuple[str, ...]

    def __call__(self, value: object) -> str:
        """Give the word."""
        if not isinstance(value, str) or value not in self.words:
            raise Malformed(f"is {shown(value)}; expected one of {', '.join(self.words)}")
        return value


def one_of(*words: str) -> OneOf:
    """Read one of a few words, exactly."""
    return OneOf(words)


def web_page(value: object) -> str:
    """Read the address of a page, `https` (or `http` while somebody develops), without a fragment; blank for none."""
    page = str(short_text(value)).strip()
    if page and not _WEB_PAGE.fullmatch(page):
        raise Malformed(f"is {shown(value)}; expected an https address without a fragment")
    return page


def moment(value: object) -> datetime:
    """Read a point in time that carries its zone."""
    if not isinstance(value, datetime) or value.tzinfo is None:
        raise Malformed(f"is {shown(value)}; expected a time with its zone")
    return value
