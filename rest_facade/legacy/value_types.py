"""Say, for each kind of value, how a legacy record shows it, how a body gives it and how a query asks for it. Pure functions.

GraphQL's values are typed (cents, grams, booleans, numbers); the legacy layer's are strings, and numbers or strings on input
(decisions-legacy section 1).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, Final, TypeAlias

from kernel import codes
from kernel.clock import from_unix, rfc3339
from kernel.codes import CodeTable
from kernel.documents import normalise_document, normalise_email, normalise_phone
from kernel.ids import parse_reference
from kernel.money import cents_from, decimal_text
from kernel.text import Malformed, nfc, shown

Show: TypeAlias = Callable[[Any], Any]
Read: TypeAlias = Callable[[Any, str], Any]
Seek: TypeAlias = Callable[[str], Any]

MAX_INTEGER = 2**31 - 1
_MAX_BIGINT = 2**63 - 1
_GRAMS_PER_KG = 1_000

_WHOLE = re.compile(r"\s*-?[0-9]{1,19}(?:\.0*)?\s*")
_KILOGRAMS = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,20})?")
_ONE_LETTER = re.compile(r"[A-Za-z]")

ABSENT: Final = object()
"""Stands for a value that counts as not given, such as the empty text a form sends for an id nobody chose."""


@dataclass(frozen=True, slots=True)
class ValueType:
    """Describe a kind of value.

    `show` turns GraphQL's value into the record's (None: it is that already), of which `shape` is the JSON Schema (None: nothing is
    said of it). `read` turns a body's value, with the field's name for messages, into GraphQL's, or gives ABSENT. `seek` turns a
    query's text into the value of a filter. Both raise Malformed. `echoes_sought` says that answers repeat the value sought instead of
    the text given (letters: never a long label), `many` that a filter takes several values, any of which may match.
    """

    show: Show | None = None
    read: Read | None = None
    seek: Seek | None = None
    echoes_sought: bool = False
    many: bool = True
    shape: Mapping[str, Any] | None = None


_TEXT: Mapping[str, Any] = {"type": "string"}
_DIGITS: Mapping[str, Any] = {"type": "string", "pattern": "^-?[0-9]+$"}
_AMOUNT: Mapping[str, Any] = {"type": "string", "pattern": r"^-?[0-9]+\.[0-9]{2}$"}


def if_given(kind: ValueType) -> ValueType:
    """Describe a value that counts as not given where a body holds null or the empty text."""
    read_value = kind.read
    assert read_value is not None

    def read(value: Any, label: str) -> Any:
        return ABSENT if value is None or value == "" else read_value(value, label)

    return replace(kind, read=read)


# --- Numbers -----------------------------------------------------------------------------------------------------------------


def whole_from(value: Any, label: str, *, most: int = _MAX_BIGINT) -> int:
    """Read a whole number given as a number or as text; `"10"`, `10` and `10.0` are ten."""
    number: int | None = None
    if isinstance(value, str) and _WHOLE.fullmatch(value):
        number = int(value.strip().partition(".")[0])
    elif isinstance(value, int) and not isinstance(value, bool):
        number = value
    elif isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        number = int(value)
    if number is None or not -most <= number <= most:
        raise Malformed(f"{label} is {shown(value)}; expected a whole number")
    return number


def _whole(most: int) -> ValueType:
    return ValueType(
        show=str,
        read=lambda value, label: whole_from(value, label, most=most),
        seek=lambda text: whole_from(text, "the number"),
        shape=_DIGITS,
    )


NUMBER = _whole(_MAX_BIGINT)
SMALL_NUMBER = _whole(MAX_INTEGER)
"""Fits GraphQL's Int: positions and the like."""


def _cents_read(value: Any, label: str) -> int:
    return cents_from(value, field=label)


INTEGER = ValueType(read=SMALL_NUMBER.read, seek=SMALL_NUMBER.seek)
"""A whole number that stays one in records: those of warehouses, as the contract tables them."""


MONEY = ValueType(show=decimal_text, read=_cents_read, seek=cents_from, shape=_AMOUNT)


SIGNED_MONEY = ValueType(
    show=decimal_text,
    read=lambda value, label: cents_from(value, negative=True, field=label),
    seek=lambda text: cents_from(text, negative=True),
    shape=_AMOUNT,
)
"""What is added to a price, which may be below zero; percentages have the same form, in hundredths of a percent."""


def _optional_money_read(value: Any, label: str) -> int | None:
    return None if value is None or value == "" else cents_from(value, field=label) or None


OPTIONAL_MONEY = ValueType(
    show=lambda cents: decimal_text(cents or 0),
    read=_optional_money_read,
    seek=cents_from,
    shape=_AMOUNT,
)
"""An amount that may be absent: `0.00` says that there is none, on input too."""


def grams_from(value: Any, label: str) -> int:
    """Read kilograms into grams; what is finer than a gram is rounded, for scales know no better."""
    text = repr(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
    if not isinstance(text, str) or not _KILOGRAMS.fullmatch(text):
        raise Malformed(f'{label} is {shown(value)}; expected kilograms such as "0.350"')
    return int((Decimal(text) * _GRAMS_PER_KG).to_integral_value(ROUND_HALF_UP))


def _kilograms(grams: int) -> str:
    whole, rest = divmod(grams, _GRAMS_PER_KG)
    return f"{whole}.{rest:03d}"


WEIGHT = ValueType(
    show=_kilograms,
    read=grams_from,
    seek=lambda text: grams_from(text, "the weight"),
    shape={"type": "string", "pattern": r"^[0-9]+\.[0-9]{3}$"},
)


# --- Texts -------------------------------------------------------------------------------------------------------------------


def text_from(value: Any, label: str) -> str | None:
    """Read a text; a number counts as the text that it prints as, for clients send codes and telephones so."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    raise Malformed(f"{label} is {shown(value)}; expected a text")


TEXT = ValueType(read=text_from, seek=nfc)
OPTIONAL_TEXT = ValueType(show=lambda text: text or "", read=text_from, seek=nfc, shape=_TEXT)
"""A text that GraphQL gives as null where there is none."""
EMAIL = ValueType(show=lambda text: text or "", read=text_from, seek=normalise_email, shape=_TEXT)
PHONE = ValueType(
    show=lambda text: text or "",
    read=text_from,
    seek=lambda text: normalise_phone(text) or "".join(re.findall("[0-9]", text)),
    shape=_TEXT,
)


def document(digits: int) -> ValueType:
    """Describe a CPF or CNPJ: a number has lost its leading zeros, so they are put back."""

    def read(value: Any, label: str) -> str | None:
        text = text_from(value, label)
        return text.zfill(digits) if isinstance(value, int) and text is not None else text

    return ValueType(show=lambda text: text or "", read=read, seek=normalise_document, shape=_TEXT)


# --- Letters and flags -------------------------------------------------------------------------------------------------------


def code(table: CodeTable) -> ValueType:
    """Describe a letter: GraphQL shows it already; input and queries take the long labels too."""

    def read(value: Any, label: str) -> str:
        try:
            return codes.parse_code(value, table)
        except Malformed as error:
            raise Malformed(f"{label} {str(error).removeprefix(f'{table.field} ')}") from error

    return ValueType(read=read, seek=lambda text: codes.parse_code(text, table), echoes_sought=True)


def open_code(table: CodeTable) -> ValueType:
    """Describe a letter to which a store may add others: whether a single one is known is said below."""
    known = code(table)
    assert known.read is not None

    def read(value: Any, label: str) -> Any:
        if isinstance(value, str) and _ONE_LETTER.fullmatch(value):
            return value.upper()
        return known.read(value, label)  # type: ignore[misc]  # asserted above

    return ValueType(read=read, seek=lambda text: read(text, table.field), echoes_sought=True)


ORDER_STATUS = open_code(codes.ORDER_STATUSES)

_FLAGS: Mapping[object, bool] = {"y": True, "n": False, "true": True, "false": False, "1": True, "0": False}


def flag_from(value: Any, label: str) -> bool:
    """Read yes or no: `Y` and `N` in either case, JSON's own, 1 and 0."""
    word = (
        value.lower()
        if isinstance(value, str)
        else str(value).lower()
        if isinstance(value, bool | int)
        else ""
    )
    if word not in _FLAGS:
        raise Malformed(f"{label} is {shown(value)}; expected Y or N")
    return _FLAGS[word]


FLAG = ValueType(
    show=lambda value: "Y" if value else "N",
    read=flag_from,
    seek=lambda text: flag_from(text, "the flag"),
    many=False,
    shape={"type": "string", "enum": ["Y", "N"]},
)


def one_of(*words: str) -> ValueType:
    """Describe a word of a few, in capitals."""

    def read(value: Any, label: str) -> str:
        if not isinstance(value, str) or value.upper() not in words:
            raise Malformed(f"{label} is {shown(value)}; expected one of {', '.join(words)}")
        return value.upper()

    return ValueType(read=read, seek=lambda text: read(text, "the word"))


# --- Ids and times -----------------------------------------------------------------------------------------------------------


def id_from(value: Any, label: str) -> Any:
    """Read the number or UUID of a record: null and 0 mean none (None), an empty text counts as not given."""
    if value is None:
        return None
    if value == "":
        return ABSENT
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        value = int(value)
    if value in (0, "0") and not isinstance(value, bool):
        return None
    if parse_reference(value) is None:
        raise Malformed(f"{label} is {shown(value)}; expected an id")
    return str(value)


ID = ValueType(show=str, read=id_from, seek=str, shape=_DIGITS)


def listed(value: Any) -> list[Any]:
    """Give what a client may mean by several: a list, PHP's map with numbers as keys, or one alone."""
    if isinstance(value, Mapping):
        return list(value.values())
    return list(value) if isinstance(value, list) else [value]


def ids_from(value: Any, label: str) -> Any:
    """Read several ids: a list of numbers or texts, or one text that holds one id or several with commas between."""
    if value == "":
        return ABSENT
    parts: Iterable[Any] = (
        value.split(",") if isinstance(value, str) else listed([] if value is None else value)
    )
    found = [id_from(part.strip() if isinstance(part, str) else part, label) for part in parts]
    return [each for each in found if each is not None and each is not ABSENT]


def _id_texts(numbers: Iterable[int]) -> list[str]:
    return [str(number) for number in numbers]


IDS = ValueType(show=_id_texts, read=ids_from, seek=str, shape={"type": "array", "items": _DIGITS})


def _as_moment(text: str) -> str:
    return rfc3339(from_unix(text))


UNIX = ValueType(show=str, seek=_as_moment, shape=_DIGITS)


def _iso_moment(text: str) -> str:
    try:
        moment = datetime.fromisoformat(text.strip().upper().replace("Z", "+00:00"))
        return rfc3339(moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC))
    except (ValueError, OverflowError) as error:
        raise Malformed(f"the time is {shown(text)}; expected ISO 8601") from error


ISO = ValueType(seek=_iso_moment)
"""A time in ISO 8601, UTC: those of warehouses, as the contract tables them."""

PLAIN = ValueType()
"""A value shown as it is, written by the server alone and never sought."""


def object_from(value: Any, label: str) -> dict[str, Any]:
    """Read an object; PHP's empty array is an empty one."""
    if not isinstance(value, Mapping) and value not in (None, []):
        raise Malformed(f"{label} is {shown(value)}; expected an object")
    return dict(value or {})


OBJECT = ValueType(read=object_from)


def moment_from(text: str) -> datetime:
    """Read the Unix seconds of a query."""
    return from_unix(text).astimezone(UTC)


def shown_with(show: Show, read: Read | None = None, shape: Mapping[str, Any] | None = None) -> ValueType:
    """Describe a value with a form of its own."""
    return ValueType(show=show, read=read, shape=shape)
