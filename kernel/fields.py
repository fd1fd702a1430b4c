"""Validate input: a mapping in which an absent key leaves its column unchanged (docs/reference/shared.md#unknown-fields).

A record's fields are a table (`Mapping[str, InputField]`): the input name, the column it sets, and how the value is validated. Errors are
collected, so that one response names every wrong field (docs/reference/shared.md#errors).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sized
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from kernel.codes import CodeTable, parse_code
from kernel.errors import ValidationFailed
from kernel.money import MAX_CENTS
from kernel.text import NFC_RATIO, InvalidValue, has_forbidden_characters, nfc, repr_value

InputValues: TypeAlias = Mapping[str, Any]
FieldReader: TypeAlias = Callable[[object], object]
FieldErrors: TypeAlias = dict[str, tuple[str, str]]
"""Error code and message by field name."""

# Names are indexed, and PostgreSQL limits index entries to about 2,700 bytes.
MAX_NAME = 255
MAX_TEXT = 1_000_000
MAX_INTEGER = 2**31 - 1
MAX_QUANTITY = 10**12
MAX_EMAIL_BYTES = 254  # RFC 5321, errata 1690
MAX_IDENTIFIER = 320
"""The longest text, in characters, that is examined as an e-mail, document or telephone number; a longer one is none."""


_HTTP_URL = re.compile(r"https?://(?![/?#])[^\s<>\"\\\x00-\x1f\x7f]+", re.IGNORECASE)
_LABEL_REST = r"(?:(?:[^\W_]|-){0,61}[^\W_])"
_EMAIL = re.compile(
    r"(?P<local>[^\s@\"<>(),:;\\\[\]\x00-\x1f\x7f]{1,64})"
    rf"@(?:[^\W_]{_LABEL_REST}?\.)+[^\W\d_]{_LABEL_REST}"
)
_WEB_PAGE = re.compile(r"https?://[A-Za-z0-9._\[\]:-]+(/[^\s#<>\"]*)?")


@dataclass(frozen=True, slots=True)
class InputField:
    """How an input value is validated: the column it sets, its reader, and the error code for an invalid value.

    `required` is the error code for a value that is blank, or missing on creation; a partial update omits unchanged fields.
    """

    column: str
    read: FieldReader
    code: str = "invalid"
    required: str | None = None


def read_fields(
    fields: Mapping[str, InputField], values: InputValues, *, creating: bool = False, within: str = ""
) -> dict[str, Any]:
    """Return the columns set by the input; unknown keys are ignored.

    Raises ValidationFailed with a code for each invalid field, and for each required field missing when `creating`; those of an entry
    of a list name the list too, which `within` is.
    """
    columns, errors = read_with_errors(fields, values, creating=creating)
    if within:
        errors = {f"{within}.{name}": (code, f"{within}: {sentence}") for name, (code, sentence) in errors.items()}
    raise_field_errors(errors)
    return columns


def read_with_errors(
    fields: Mapping[str, InputField], values: InputValues, *, creating: bool = False
) -> tuple[dict[str, Any], dict[str, tuple[str, str]]]:
    """Return the columns and the errors of each invalid field; `raise_field_errors` raises them."""
    columns: dict[str, Any] = {}
    errors: dict[str, tuple[str, str]] = {}
    for name, field in fields.items():
        if field.required and (creating or name in values) and _is_blank(values.get(name)):
            errors[name] = (field.required, f"{name} is required")
            continue
        if name not in values:
            continue
        try:
            columns[field.column] = field.read(values[name])
        except InvalidValue as error:
            errors[name] = (field.code, f"{name} {error}")
    return columns, errors


def _is_blank(value: object) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def raise_field_errors(errors: Mapping[str, tuple[str, str]]) -> None:
    """Raise one ValidationFailed that names every invalid field, if there is any."""
    if errors:
        message = "; ".join(sentence for _, sentence in errors.values())
        raise ValidationFailed(message, fields={name: code for name, (code, _) in errors.items()})


def check_count(items: Sized, maximum: int, label: str, *, field: str) -> None:
    """Raise ValidationFailed (`too_many`) if there are more than `maximum` items."""
    if len(items) > maximum:
        message = f"there are {len(items)} {label}; expected at most {maximum}"
        raise ValidationFailed(message, field=field, code="too_many")


# --- Readers: each returns the value to store, or raises InvalidValue with the text that follows the field's name ------------


def text(longest: int = MAX_TEXT, *, blank: bool = True) -> FieldReader:
    """Return a reader of texts of at most `longest` characters, composed (NFC); null reads as the empty text."""

    def read(value: object) -> str:
        value = "" if value is None else value
        if not isinstance(value, str):
            raise InvalidValue(f"is {repr_value(value)}; expected a text")
        if len(value) > longest * NFC_RATIO:
            raise InvalidValue(f"has {len(value)} characters; expected at most {longest}")
        if has_forbidden_characters(value):
            raise InvalidValue(f"is {repr_value(value)}; expected a text")
        composed = nfc(value)
        if len(composed) > longest:
            raise InvalidValue(f"has {len(composed)} characters; expected at most {longest}")
        if not blank and not composed.strip():
            raise InvalidValue("is required")
        return composed if blank else composed.strip()

    return read


def name_text(value: object) -> object:
    """Read a name: 1 to 255 characters, surrounding whitespace removed."""
    return text(MAX_NAME, blank=False)(value)


def short_text(value: object) -> object:
    """Read a text of at most 255 characters."""
    return text(MAX_NAME)(value)


@dataclass(frozen=True, slots=True)
class WholeNumber:
    """Read an integer between the inclusive bounds, or null where it is `nullable`; exposes what it reads."""

    least: int
    most: int
    nullable: bool = False

    def __call__(self, value: object) -> int | None:
        """Return the integer."""
        if value is None and self.nullable:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not self.least <= value <= self.most:
            raise InvalidValue(f"is {repr_value(value)}; expected a whole number from {self.least} to {self.most}")
        return value


def integer(least: int = 0, most: int = MAX_INTEGER, *, nullable: bool = False) -> FieldReader:
    """Return a reader of integers between the inclusive bounds."""
    return WholeNumber(least, most, nullable)


def cents(*, nullable: bool = False) -> FieldReader:
    """Return a reader of amounts in whole cents, zero or more."""
    return integer(0, MAX_CENTS, nullable=nullable)


def flag(value: object) -> bool:
    """Read a boolean, or the codes Y and N of legacy records."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.upper() in ("Y", "N"):
        return value.upper() == "Y"
    raise InvalidValue(f"is {repr_value(value)}; expected true or false")


def code_in(table: CodeTable) -> FieldReader:
    """Return a reader of a code or one of its long labels."""

    def read(value: object) -> str:
        try:
            return parse_code(value, table)
        except InvalidValue as error:
            # read_fields prepends the field name, so remove the one that parse_code added.
            raise InvalidValue(str(error).removeprefix(f"{table.field} ")) from error

    return read


@dataclass(frozen=True, slots=True)
class OneOf:
    """Read one of a fixed set of words, matched exactly; exposes the set."""

    words: tuple[str, ...]

    def __call__(self, value: object) -> str:
        """Return the word."""
        if not isinstance(value, str) or value not in self.words:
            raise InvalidValue(f"is {repr_value(value)}; expected one of {', '.join(self.words)}")
        return value


def one_of(*words: str) -> OneOf:
    """Return a reader of one of a fixed set of words, matched exactly."""
    return OneOf(words)


def normalize_email(text: str) -> str:
    """Return the form in which an e-mail is stored and compared: stripped, lower-case, NFC; a text too long for one is only truncated."""
    if len(text) > MAX_IDENTIFIER:
        return text[: MAX_IDENTIFIER + 1]
    return nfc(nfc(text).strip().lower())


def is_email(text: str) -> bool:
    """Return whether the text is a deliverable address: one `@`, a domain with a dot, at most 254 bytes (not all of RFC 5322)."""
    if len(text) > MAX_EMAIL_BYTES or has_forbidden_characters(text) or len(text.encode()) > MAX_EMAIL_BYTES:
        return False
    match = _EMAIL.fullmatch(text)
    return match is not None and not _has_stray_dot(match["local"])


def _has_stray_dot(local: str) -> bool:
    return local.startswith(".") or local.endswith(".") or ".." in local


def email_text(value: object) -> object:
    """Read an e-mail address, normalised; empty means none."""
    email = normalize_email(str(text(MAX_EMAIL_BYTES)(value)))
    if email and not is_email(email):
        raise InvalidValue(f"is {repr_value(value)}; expected an e-mail address")
    return email


def web_page(value: object) -> str:
    """Read the URL of a page, `https` (or `http` for development), without a fragment; blank for none."""
    page = str(short_text(value)).strip()
    if page and not _WEB_PAGE.fullmatch(page):
        raise InvalidValue(f"is {repr_value(value)}; expected an https address without a fragment")
    return page


def http_url(limit: int) -> FieldReader:
    """Return a reader of `http` and `https` URLs of up to `limit` characters, blank for none: pages link to them (no `javascript:`)."""

    def read(value: object) -> str:
        url = str(text(limit)(value)).strip()
        if url and not _HTTP_URL.fullmatch(url):
            raise InvalidValue(f"is {repr_value(value)}; expected an http or https address")
        return url

    return read


def timestamp(value: object) -> datetime:
    """Read a timestamp with a time zone."""
    if not isinstance(value, datetime) or value.tzinfo is None:
        raise InvalidValue(f"is {repr_value(value)}; expected a time with its zone")
    return value


def optional_timestamp(value: object) -> datetime | None:
    """Read a timestamp with a time zone, or null."""
    return None if value is None else timestamp(value)
