"""Define how each value type is rendered in a legacy record, parsed from a body and parsed from a query. Pure functions.

GraphQL values are typed (cents, grams, booleans, integers); legacy records contain strings, and legacy input strings or numbers
(docs/reference/legacy.md#values).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, Final, TypeAlias

from kernel import codes
from kernel.clock import format_rfc3339, parse_unix
from kernel.codes import CodeTable
from kernel.documents import normalize_document, normalize_phone
from kernel.fields import normalize_email
from kernel.ids import parse_reference
from kernel.json_schema import FREE_OBJECT, NULL, STRING, array, enum, one_of
from kernel.json_schema import INTEGER as INTEGER_NUMBER
from kernel.money import CENTS, parse_cents
from kernel.record_conversion import Inline
from kernel.text import InvalidValue, nfc, repr_value
from rest_facade.legacy import value_schemas as schemas

Render: TypeAlias = Callable[[Any], Any]
Parse: TypeAlias = Callable[[Any, str], Any]
ParseFilter: TypeAlias = Callable[[str], Any]

MAX_INTEGER = 2**31 - 1
_MAX_BIGINT = 2**63 - 1
_GRAMS_PER_KG = 1_000
_MILLIMETRES_PER_CM = 10

_INTEGER_TEXT = re.compile(r"\s*-?[0-9]{1,19}(?:\.0*)?\s*")
_DECIMALS = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,20})?")
_SINGLE_LETTER = re.compile(r"[A-Za-z]")

ABSENT: Final = object()
"""Marks a value that counts as missing, such as the empty string a form sends for an unselected id."""


@dataclass(frozen=True, slots=True)
class ValueType:
    """Describe a value type.

    `render` converts a GraphQL value to the record's (None: unchanged). `parse` converts a body value to GraphQL's, or returns ABSENT;
    its second argument is the field name for error messages. `parse_filter` converts query text to a filter value. Both raise
    InvalidValue. `echoes_parsed`: the response echoes the parsed filter value, not the text sent (codes instead of labels).
    `multiple`: a filter accepts several values and matches any. `schema` and `body_schema` are the JSON Schemas of the record's value
    and of a body's (None: GraphQL's); a type with `render` has a `schema`.
    """

    render: Render | None = None
    parse: Parse | None = None
    parse_filter: ParseFilter | None = None
    echoes_parsed: bool = False
    multiple: bool = True
    schema: Any = None
    body_schema: Any = None


def unexpected(label: str, value: object, expected: str, *, verb: str = "is") -> InvalidValue:
    """Return the error `<label> is <value>; expected <expected>`."""
    return InvalidValue(f"{label} {verb} {repr_value(value)}; expected {expected}")


def optional(value_type: ValueType) -> ValueType:
    """Make null and the empty string count as missing."""
    parse_value = value_type.parse
    assert parse_value is not None

    def parse(value: Any, label: str) -> Any:
        return ABSENT if value is None or value == "" else parse_value(value, label)

    return replace(value_type, parse=parse)


# --- Numbers -----------------------------------------------------------------------------------------------------------------


def parse_integer(value: Any, label: str, *, maximum: int = _MAX_BIGINT) -> int:
    """Parse an integer sent as a number or text; `"10"`, `10` and `10.0` are equal."""
    number: int | None = None
    if isinstance(value, str) and _INTEGER_TEXT.fullmatch(value):
        number = int(value.strip().partition(".")[0])
    elif isinstance(value, int) and not isinstance(value, bool):
        number = value
    elif isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        number = int(value)
    if number is None or not -maximum <= number <= maximum:
        raise unexpected(label, value, "a whole number")
    return number


def _integer(maximum: int) -> ValueType:
    return ValueType(
        render=str,
        parse=lambda value, label: parse_integer(value, label, maximum=maximum),
        parse_filter=lambda text: parse_integer(text, "the number"),
        schema=schemas.INTEGER_TEXT,
        body_schema=schemas.INTEGER_INPUT,
    )


BIGINT = _integer(_MAX_BIGINT)
INTEGER = _integer(MAX_INTEGER)
"""An integer within GraphQL's Int range, such as a position."""


def _parse_amount(value: Any, label: str) -> int:
    return parse_cents(value, field=label)


JSON_INTEGER = replace(INTEGER, render=None, schema=None)
"""An integer that stays a JSON number in records (warehouses)."""


MONEY = ValueType(
    render=CENTS, parse=_parse_amount, parse_filter=parse_cents, schema=schemas.MONEY, body_schema=schemas.MONEY_INPUT
)


SIGNED_MONEY = ValueType(
    render=CENTS,
    parse=lambda value, label: parse_cents(value, negative=True, field=label),
    parse_filter=lambda text: parse_cents(text, negative=True),
    schema=schemas.SIGNED_MONEY,
    body_schema=schemas.MONEY_INPUT,
)
"""A price modifier, possibly negative; percentages have the same format, in hundredths of a percent."""


def _parse_optional_amount(value: Any, label: str) -> int | None:
    return None if value is None or value == "" else parse_cents(value, field=label) or None


OPTIONAL_MONEY = ValueType(
    render=Inline(f"{CENTS.of('v')} if v else '0.00'"),
    parse=_parse_optional_amount,
    parse_filter=parse_cents,
    schema=schemas.MONEY,
    body_schema=schemas.MONEY_INPUT,
)
"""An optional amount: `0.00` means none, on input too."""


def parse_grams(value: Any, label: str) -> int:
    """Parse kilograms to grams, rounding half up to the gram."""
    return _parse_units(value, label, _GRAMS_PER_KG, 'kilograms such as "0.350"')


def _parse_units(value: Any, label: str, factor: int, expected: str) -> int:
    text = repr(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
    if not isinstance(text, str) or not _DECIMALS.fullmatch(text):
        raise InvalidValue(f"{label} is {repr_value(value)}; expected {expected}")
    return int((Decimal(text) * factor).to_integral_value(ROUND_HALF_UP))


WEIGHT = ValueType(
    render=Inline("f'{v // 1000}.{v % 1000:03d}'"),
    parse=parse_grams,
    parse_filter=lambda text: parse_grams(text, "the weight"),
    schema=schemas.WEIGHT,
    body_schema=schemas.WEIGHT_INPUT,
)


def parse_millimetres(value: Any, label: str) -> int:
    """Parse centimetres to millimetres, rounding half up to the millimetre."""
    return _parse_units(value, label, _MILLIMETRES_PER_CM, 'centimetres such as "12.5"')


LENGTH = ValueType(
    render=Inline("f'{v // 10}.{v % 10}'"),
    parse=parse_millimetres,
    parse_filter=lambda text: parse_millimetres(text, "the length"),
    schema=schemas.LENGTH,
    body_schema=schemas.LENGTH_INPUT,
)


def own_or_empty(value_type: ValueType) -> ValueType:
    """Describe a combination's own value: empty where it is the product's; null and `""` in a body remove it."""
    parse_own, render = value_type.parse, value_type.render
    assert parse_own is not None
    rendered = render.of("v") if isinstance(render, Inline) else "v"
    schema = value_type.schema or STRING
    return replace(
        value_type,
        render=Inline(f"'' if v is None else {rendered}"),
        parse=lambda value, label: None if value is None or value == "" else parse_own(value, label),
        schema=schema if schema == STRING else one_of(schema, schemas.EMPTY),
        body_schema=one_of(value_type.body_schema or STRING, NULL),
    )


# --- Texts -------------------------------------------------------------------------------------------------------------------


def parse_text(value: Any, label: str) -> str | None:
    """Parse a text; numbers are converted to text, since clients send codes and phone numbers so, `12.0` as PHP does to `12`."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    raise unexpected(label, value, "a text")


TEXT = ValueType(parse=parse_text, parse_filter=nfc)
OPTIONAL_TEXT = ValueType(render=Inline("v or ''"), parse=parse_text, parse_filter=nfc, schema=STRING)
"""A text that is null in GraphQL when missing, and empty in the record."""
EMAIL = ValueType(render=Inline("v or ''"), parse=parse_text, parse_filter=normalize_email, schema=STRING)
PHONE = ValueType(
    render=Inline("v or ''"),
    parse=parse_text,
    parse_filter=lambda text: normalize_phone(text) or "".join(re.findall("[0-9]", text)),
    schema=STRING,
)


def document(digits: int) -> ValueType:
    """Describe a CPF or CNPJ; restores the leading zeros that a JSON number has lost."""

    def parse(value: Any, label: str) -> str | None:
        text = parse_text(value, label)
        return text.zfill(digits) if isinstance(value, int) and text is not None else text

    return ValueType(render=Inline("v or ''"), parse=parse, parse_filter=normalize_document, schema=STRING)


# --- Codes and flags ---------------------------------------------------------------------------------------------------------


def code(table: CodeTable) -> ValueType:
    """Describe a code; input and queries accept the long labels too."""

    def parse(value: Any, label: str) -> str:
        try:
            return codes.parse_code(value, table)
        except InvalidValue as error:
            raise InvalidValue(f"{label} {str(error).removeprefix(f'{table.field} ')}") from error

    return ValueType(parse=parse, parse_filter=lambda text: codes.parse_code(text, table), echoes_parsed=True)


HIDDEN_AS_DISABLED = code(
    CodeTable("status", {**codes.SWITCH_STATUSES.labels, "D": (*codes.SWITCH_STATUSES.labels["D"], "h", "hidden")})
)
"""The status of records that CS-Cart hides from its storefront by `H`, which disables them here."""


def code_name(table: CodeTable) -> ValueType:
    """Describe a code whose long name is shown."""
    names = {each: table.name(each) for each in table.codes}
    return replace(code(table), render=names.__getitem__, echoes_parsed=False, schema=STRING)


def open_code(table: CodeTable) -> ValueType:
    """Describe a code table that stores can extend; `domain` checks whether a single-letter code exists."""
    base = code(table)
    assert base.parse is not None

    def parse(value: Any, label: str) -> Any:
        if isinstance(value, str) and _SINGLE_LETTER.fullmatch(value):
            return value.upper()
        return base.parse(value, label)  # type: ignore[misc]  # asserted above

    return ValueType(parse=parse, parse_filter=lambda text: parse(text, table.field), echoes_parsed=True)


ORDER_STATUS = open_code(codes.ORDER_STATUSES)

_FLAGS: Mapping[object, bool] = {"y": True, "n": False, "true": True, "false": False, "1": True, "0": False}


def parse_flag(value: Any, label: str) -> bool:
    """Parse a flag: `Y` and `N` in either case, JSON booleans, 1 and 0."""
    word = value.lower() if isinstance(value, str) else str(value).lower() if isinstance(value, bool | int) else ""
    if word not in _FLAGS:
        raise unexpected(label, value, "Y or N")
    return _FLAGS[word]


FLAG = ValueType(
    render=Inline("'Y' if v else 'N'"),
    parse=parse_flag,
    parse_filter=lambda text: parse_flag(text, "the flag"),
    multiple=False,
    schema=schemas.FLAG,
    body_schema=schemas.FLAG_INPUT,
)


def choice(*words: str, **synonyms: str) -> ValueType:
    """Describe an uppercase enumeration; bodies may name a word by a synonym."""
    bodies = {**{word: word for word in words}, **synonyms}

    def parse(value: Any, label: str, accepted: Mapping[str, str] = bodies) -> str:
        word = accepted.get(value.upper()) if isinstance(value, str) else None
        if word is None:
            raise unexpected(label, value, f"one of {', '.join(words)}")
        return word

    known = {word: word for word in words}
    return ValueType(parse=parse, parse_filter=lambda text: parse(text, "the word", known), body_schema=enum(bodies))


# --- Ids and times -----------------------------------------------------------------------------------------------------------


def parse_id(value: Any, label: str) -> Any:
    """Parse a numeric id or UUID; null and 0 mean none (None), an empty text is missing (ABSENT)."""
    if value is None:
        return None
    if value == "":
        return ABSENT
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        value = int(value)
    if value in (0, "0") and not isinstance(value, bool):
        return None
    if parse_reference(value) is None:
        raise unexpected(label, value, "an id")
    return str(value)


ID = ValueType(render=str, parse=parse_id, parse_filter=str, schema=schemas.ID, body_schema=schemas.ID_INPUT)


PARENT_ID = replace(ID, parse=lambda value, label: None if value is False else parse_id(value, label))
"""The parent in a tree; `false` means none in CS-Cart's dialect."""


def as_list(value: Any) -> list[Any]:
    """Return the items of a list, of PHP's map with numeric keys, or of a single value."""
    if isinstance(value, Mapping):
        return list(value.values())
    return list(value) if isinstance(value, list) else [value]


def parse_ids(value: Any, label: str) -> Any:
    """Parse several ids: a list of numbers or texts, or one comma-separated text."""
    if value == "":
        return ABSENT
    parts: Iterable[Any] = value.split(",") if isinstance(value, str) else as_list([] if value is None else value)
    ids = [parse_id(part.strip() if isinstance(part, str) else part, label) for part in parts]
    return [value for value in ids if value is not None and value is not ABSENT]


IDS = ValueType(
    render=Inline("list(map(str, v)) if v else []"),
    parse=parse_ids,
    parse_filter=str,
    schema=schemas.IDS,
    body_schema=schemas.IDS_INPUT,
)


def _unix_to_rfc3339(text: str) -> str:
    return format_rfc3339(parse_unix(text))


def parse_optional_time(value: Any, label: str) -> str | None:
    """Parse Unix seconds; 0, null and the empty text mean none."""
    if value in (None, "", 0, "0") and not isinstance(value, bool):
        return None
    try:
        return _unix_to_rfc3339(str(value) if isinstance(value, int) else value)
    except (InvalidValue, TypeError, ValueError) as error:
        raise unexpected(label, value, "Unix seconds") from error


UNIX_TIME = ValueType(render=str, parse_filter=_unix_to_rfc3339, schema=schemas.UNIX_TIME)


def iso_datetime(text: str) -> datetime:
    """Parse an ISO 8601 time, in UTC if it has no offset."""
    try:
        moment = datetime.fromisoformat(text.strip().upper().replace("Z", "+00:00"))
        return moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise InvalidValue(f"the time is {repr_value(text)}; expected ISO 8601") from error


OPTIONAL_TIME = replace(UNIX_TIME, parse=parse_optional_time, body_schema=schemas.TIME_INPUT)
"""A writable time, 0 for none."""


def _iso_to_rfc3339(text: str) -> str:
    return format_rfc3339(iso_datetime(text))


ISO_TIME = ValueType(parse_filter=_iso_to_rfc3339)
"""An ISO 8601 time in UTC (warehouses)."""

INTEGER_ID = ValueType(schema=INTEGER_NUMBER)
INTEGER_IDS = ValueType(schema=array(INTEGER_NUMBER))
"""Ids as JSON integers, in records of CS-Cart's dialect."""

RAW = ValueType()
"""A read-only value rendered unchanged; not filterable."""


def added(schema: Any) -> ValueType:
    """Describe a value that `prepare` or `complete` adds to the record."""
    return ValueType(schema=schema)


def parse_object(value: Any, label: str) -> dict[str, Any]:
    """Parse an object; PHP's empty array counts as an empty one."""
    if not isinstance(value, Mapping) and value not in (None, []):
        raise unexpected(label, value, "an object")
    return dict(value or {})


OBJECT = ValueType(parse=parse_object, schema=FREE_OBJECT, body_schema=FREE_OBJECT)


def unix_datetime(text: str) -> datetime:
    """Parse the Unix seconds of a query."""
    return parse_unix(text).astimezone(UTC)


def rendered_by(render: Render, parse: Parse | None = None, *, schema: Any, body_schema: Any = None) -> ValueType:
    """Describe a value type with its own renderer."""
    return ValueType(render=render, parse=parse, schema=schema, body_schema=body_schema)
