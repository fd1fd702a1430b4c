"""SQL expressions that build JSON, in two styles: PostgreSQL's JSON functions, or string concatenation.

Which is faster depends on the response; the limit measures both (`bench.contestants.limit`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

# A function takes at most 100 arguments, and a member is up to four of them.
_MEMBERS = 20
_PAIRS = 50


class Style(StrEnum):
    """`functions` is json_build_object and json_agg, `texts` is concat and string_agg."""

    FUNCTIONS = "functions"
    TEXTS = "texts"


@dataclass(frozen=True)
class Value:
    """The SQL expression of a value in each style."""

    functions: str
    texts: str

    def of(self, style: Style) -> str:
        return self.functions if style is Style.FUNCTIONS else self.texts


def text(sql: str) -> Value:
    """Return a non-null text with any characters."""
    return Value(sql, f"to_json({sql})")


def optional_text(sql: str) -> Value:
    return Value(sql, f"coalesce(to_json({sql})::text, 'null')")


def plain(sql: str) -> Value:
    """Return a text that needs no escapes: a UUID, a code, digits, a time."""
    return Value(f"({sql})::text", f"'\"', {sql}, '\"'")


def optional_plain(sql: str) -> Value:
    return Value(f"({sql})::text", f"coalesce('\"' || ({sql})::text || '\"', 'null')")


def number(sql: str) -> Value:
    return Value(sql, f"coalesce(({sql})::text, 'null')")


def constant(json: str) -> Value:
    return Value(f"'{json}'::json", f"'{json}'")


def money(sql: str) -> Value:
    """Return cents as `12.34`."""
    decimal = f"({sql} / 100)::text || '.' || lpad(({sql} % 100)::text, 2, '0')"
    return plain(f"({decimal})")


def unix(sql: str) -> Value:
    return plain(f"floor(extract(epoch from {sql}))::bigint")


def moment(sql: str) -> Value:
    """Return a time in RFC 3339, in UTC and whole seconds."""
    return plain(f"to_char({sql} AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')")


def yes_or_no(sql: str) -> Value:
    return plain(f"CASE WHEN {sql} THEN 'Y' ELSE 'N' END")


def record(members: Mapping[str, Value]) -> Value:
    """Return an object."""
    pairs = [f"'{key}', {value.functions}" for key, value in members.items()]
    objects = [f"json_build_object({', '.join(pairs[at : at + _PAIRS])})" for at in range(0, len(pairs), _PAIRS)]
    functions = objects[0]
    for other in objects[1:]:
        functions = f"(left({functions}::text, -1) || ',' || substr({other}::text, 2))::json"
    texts = [
        f"'{'{' if not index else ','}\"{key}\":', {value.texts}" for index, (key, value) in enumerate(members.items())
    ]
    parts = [", ".join(texts[at : at + _MEMBERS]) for at in range(0, len(texts), _MEMBERS)]
    members_sql = parts[0] if len(parts) == 1 else ", ".join(f"concat({part})" for part in parts)
    return Value(functions, f"concat({members_sql}, '}}')")


def optional(value: Value, source: str, otherwise: str = "null") -> Value:
    """Return the object of a query's row, or null or other JSON."""
    functions = f"(SELECT {value.functions} {source})"
    return Value(
        functions if otherwise == "null" else f"coalesce({functions}, '{otherwise}')",
        f"coalesce((SELECT {value.texts} {source}), '{otherwise}')",
    )


def array(value: Value, source: str, order: str = "") -> Value:
    """Return a query's rows as an array."""
    by = f" ORDER BY {order}" if order else ""
    return Value(
        f"(SELECT coalesce(json_agg({value.functions}{by}), '[]') {source})",
        f"'[', (SELECT string_agg({value.texts}, ','{by}) {source}), ']'",
    )


def keyed(key: str, value: Value, source: str, order: str) -> Value:
    """Return a query's rows as an object with a member per row."""
    return Value(
        f"(SELECT coalesce(json_object_agg({key}, {value.functions} ORDER BY {order}), '{{}}') {source})",
        f"'{{', (SELECT string_agg(concat('\"', {key}, '\":', {value.texts}), ',' ORDER BY {order}) {source}), '}}'",
    )


def rows(value: Value, source: str) -> Value:
    """Return the rows of a query with ORDER BY and LIMIT as an array."""
    return Value(
        f"(SELECT coalesce(json_agg(x.j), '[]') FROM (SELECT {value.functions} AS j {source}) x)",
        f"'[', (SELECT string_agg(x.j, ',') FROM (SELECT {value.texts} AS j {source}) x), ']'",
    )
