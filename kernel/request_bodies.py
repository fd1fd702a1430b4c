"""Parse request bodies and query strings, rejecting what can't be stored or is too costly.

orjson rejects invalid JSON and UTF-8, NaN, infinities and lone surrogates, but accepts NUL, deep nesting (to 1,024) and integers
past 64 bits (as floats). Those are checked afterwards in the raw bytes, cheapest check first, so that an ordinary body costs three
searches; at that point the text is known to be well formed.
"""

from __future__ import annotations

import re
from binascii import a2b_qp
from collections.abc import Iterable
from itertools import accumulate
from typing import Any

import orjson

from kernel.text import InvalidValue, has_forbidden_characters, repr_value

MAX_DEPTH = 64
# The values of a body, arrays included: parsing 2 MiB of `[]` would take a tenth of a second, and checking them much longer.
MAX_VALUES = 25_000
MAX_FORM_DEPTH = 16
MAX_FORM_KEYS = 5_000

# The range of BIGINT: an integer between 2**63 and 2**64 would pass orjson and fail in the database.
_INTEGERS = range(-(2**63), 2**63)
_DIGITS_TO_ZERO = bytes.maketrans(b"123456789", b"0" * 9)
# The shortest length that may exceed the range; this search is ten times faster than a regular expression.
_NINETEEN_DIGITS = b"0" * 19
_NUMBER = re.compile(rb"-?[0-9][0-9.eE+-]*")
_BOM = b"\xef\xbb\xbf"
_BRACKETS = b"[]{}"
_NOT_BRACKETS = bytes(set(range(256)) - set(_BRACKETS))
_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
_LIST_INDEX = re.compile(r"0|[1-9][0-9]{0,8}")
_LITERAL_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
_TO_QUOTED_PRINTABLE = bytes.maketrans(b"%+", b"= ")


class MalformedBody(InvalidValue):
    """Report why a body or a query string can't be parsed."""


def parse_json_object(raw: bytes) -> dict[str, Any]:
    """Parse a JSON body that must be an object, else raise MalformedBody (docs/reference/shared.md#request-bodies)."""
    value = parse_json(raw)
    if not isinstance(value, dict):
        raise MalformedBody("the body is not a JSON object")
    return value


def parse_json(raw: bytes, *, max_depth: int = MAX_DEPTH) -> Any:
    """Parse any JSON value of at most `max_depth` levels; of duplicate keys the last wins.

    Raise MalformedBody for anything but JSON in UTF-8, NUL characters, lone surrogates, NaN and infinities, numbers past a double,
    integers past 64 bits (signed), deeper nesting, and more than 25,000 values. A byte order mark is skipped (RFC 8259, section 8.1).
    """
    raw = raw.removeprefix(_BOM)
    outside = None
    if len(raw) > MAX_VALUES:  # else it can't hold so many
        outside = _reject_many_values(raw)
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise MalformedBody(f"the body is not JSON: {error}") from error
    # The searches are here, not in functions, because every request makes them.
    if b"\\u0000" in raw:
        _reject_nul(raw)
    if raw.count(b"[") + raw.count(b"{") > max_depth:
        _reject_depth(_outside_strings(raw) if outside is None else outside, max_depth)
    if _NINETEEN_DIGITS in raw.translate(_DIGITS_TO_ZERO):
        _reject_long_integers(raw)
    return value


def parse_form(raw: bytes | str) -> dict[str, Any]:
    """Parse a form body as PHP does: `a=b&c[k]=v&d[]=1&d[]=2` is `{"a": "b", "c": {"k": "v"}, "d": ["1", "2"]}`.

    Values stay strings. Keys that count from 0 make a list, as in PHP's JSON; the last of equal names wins; spaces and dots in the
    outer name become `_`. Raise MalformedBody for invalid UTF-8, NUL characters, more than 16 levels, 5,000 names or 25,000 values.
    """
    try:
        text = raw.decode() if isinstance(raw, bytes) else raw
        if text.count("&") > MAX_FORM_KEYS:
            raise MalformedBody(f"the body has more than {MAX_FORM_KEYS} names")
        parts = (part.partition("=") for part in text.split("&") if part)
        pairs = [(_decoded(name), _decoded(value)) for name, _, value in parts]
    except UnicodeError as error:
        raise MalformedBody("the body is not UTF-8") from error
    return nest_form_fields(pairs)


def _decoded(text: str) -> str:
    """Decode `+` and `%xx` as `urllib.parse.unquote_plus` does, which takes ten times the time and 70 times the memory of a long text.

    Only the `=` of quoted-printable differs from the `%` of forms; the standard library decodes it in C.
    """
    if "%" not in text:
        return text.replace("+", " ")
    escaped = _LITERAL_PERCENT.sub("%25", text).replace("=", "%3D")
    return a2b_qp(escaped.encode().translate(_TO_QUOTED_PRINTABLE)).decode()


def nest_form_fields(pairs: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Nest decoded names and values as PHP does: `name[]=a&name[]=b` is `{"name": ["a", "b"]}`; errors as in `parse_form`."""
    root = _PhpArray()
    values = 0
    for count, (name, value) in enumerate(pairs, start=1):
        if count > MAX_FORM_KEYS:
            raise MalformedBody(f"there are more than {MAX_FORM_KEYS} names")
        if has_forbidden_characters(name) or has_forbidden_characters(value):
            raise MalformedBody(f"{repr_value(name)} holds a character that text can't have")
        values += _put(root, _path(name), value)
        if values > MAX_VALUES:
            raise MalformedBody(f"there are more than {MAX_VALUES} values, arrays included")
    return {key: _plain(value) for key, value in root.children.items()}


def _reject_many_values(raw: bytes) -> bytes | None:
    """Reject a body of too many values before it is parsed; every value but the first follows a comma or an opening bracket.

    Return it without its strings, if they had to be removed to know.
    """
    if _count_values(raw) <= MAX_VALUES:
        return None
    # Texts hold commas as well. A value and its name take at most four quotes, which limits the work of removing the texts.
    quotes = raw.count(b'"') - raw.count(b'\\"')
    if quotes > 4 * MAX_VALUES or _count_values(outside := _outside_strings(raw)) > MAX_VALUES:
        raise MalformedBody(f"the body holds more than {MAX_VALUES} values")
    return outside


def _count_values(raw: bytes) -> int:
    return sum(map(raw.count, (b",", b"[", b"{")))


def _reject_nul(raw: bytes) -> None:
    # orjson rejects a raw NUL byte; after an escaped backslash, `\u0000` is plain text.
    if b"\\u0000" in raw.replace(b"\\\\", b""):
        raise MalformedBody("the body holds a NUL character")


def _reject_depth(outside: bytes, max_depth: int) -> None:
    brackets = outside.translate(_STEPS, _NOT_BRACKETS)
    if max(accumulate(memoryview(brackets).cast("b")), default=0) > max_depth:
        raise MalformedBody(f"the body is nested deeper than {max_depth} levels")


def _reject_long_integers(raw: bytes) -> None:
    for number in _NUMBER.findall(_outside_strings(raw)):
        digits = number.removeprefix(b"-")
        if digits.isdigit() and (len(digits) > 19 or int(number) not in _INTEGERS):
            raise MalformedBody("the body holds an integer of more than 64 bits")


def _outside_strings(raw: bytes) -> bytes:
    """Remove every string from JSON: without escapes, every second part between quotes is one."""
    return b" ".join(raw.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')[::2])


class _PhpArray:
    """A PHP array under construction: its elements, and the index that `[]` uses next."""

    def __init__(self) -> None:
        self.children: dict[str, _PhpArray | str] = {}
        self.next_index = 0

    def put(self, key: str | None, value: _PhpArray | str) -> None:
        """Set an element; without a key, append it."""
        key = str(self.next_index) if key is None else key
        if _LIST_INDEX.fullmatch(key):
            self.next_index = max(self.next_index, int(key) + 1)
        self.children[key] = value


def _path(name: str) -> list[str | None]:
    """Split `a[b][]` into `a`, `b` and None for "append"; empty for a name that PHP ignores."""
    outer, bracket, rest = name.lstrip(" ").partition("[")
    if not outer:
        return []
    if bracket and "]" not in rest:
        outer, rest = f"{outer}_{rest}", ""
    path: list[str | None] = [outer.replace(" ", "_").replace(".", "_")]
    while "]" in rest:
        key, _, rest = rest.partition("]")
        path.append(key or None)
        if len(path) > MAX_FORM_DEPTH:
            raise MalformedBody(f"{repr_value(name)} is nested deeper than {MAX_FORM_DEPTH} levels")
        if not rest.startswith("["):
            break
        rest = rest[1:]
    return path


def _put(root: _PhpArray, path: list[str | None], value: str) -> int:
    """Set the value at the path and return how many values were made; an array replaces a plain value on the way, as in PHP."""
    if not path:
        return 0
    array = root
    made = 1
    for key in path[:-1]:
        child = None if key is None else array.children.get(key)
        if not isinstance(child, _PhpArray):
            child = _PhpArray()
            array.put(key, child)
            made += 1
        array = child
    array.put(path[-1], value)
    return made


def _plain(value: _PhpArray | str) -> Any:
    if isinstance(value, str):
        return value
    children = {key: _plain(child) for key, child in value.children.items()}
    counts_from_zero = all(key == str(index) for index, key in enumerate(children))
    return list(children.values()) if counts_from_zero else children
