"""Write SQL expressions that build JSON, in either of two styles: PostgreSQL's JSON functions, or texts put together.

Which is faster depends on the shape; the limit tries both (`bench.contestants.limit`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

# A function takes at most 100 arguments, and a member is up to four of them.
_MEMBERS = 20


class Style(StrEnum):
    """`functions` is json_build_object and json_agg, `texts` is concat and string_agg."""

    FUNCTIONS = "functions"
    TEXTS = "texts"


@dataclass(frozen=True)
class Value:
    """An expression for each style, as it stands for the value of a member."""

    functions: str
    texts: str

    def of(self, style: Style) -> str:
        return self.functions if style is Style.FUNCTIONS else self.texts


def text(sql: str) -> Value:
    """Write a text of any characters, not null."""
    return Value(sql, f"to_json({sql})")


def optional_text(sql: str) -> Value:
    return Value(sql, f"coalesce(to_json({sql})::text, 'null')")


def plain(sql: str) -> Value:
    """Write as a text what needs no escapes: a UUID, a letter, digits, a time."""
    return Value(f"({sql})::text", f"'\"', {sql}, '\"'")


def optional_plain(sql: str) -> Value:
    return Value(f"({sql})::text", f"coalesce('\"' || ({sql})::text || '\"', 'null')")


def number(sql: str) -> Value:
    return Value(sql, f"coalesce(({sql})::text, 'null')")


def constant(json: str) -> Value:
    return Value(f"'{json}'::json", f"'{json}'")


def money(sql: str) -> Value:
    """Write cents as `12.34`."""
    written = f"({sql} / 100)::text || '.' || lpad(({sql} % 100)::text, 2, '0')"
    return plain(f"({written})")


def unix(sql: str) -> Value:
    return plain(f"floor(extract(epoch from {sql}))::bigint")


def moment(sql: str) -> Value:
    """Write RFC 3339 in UTC and whole seconds."""
    return plain(f"to_char({sql} AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')")


def yes_or_no(sql: str) -> Value:
    return plain(f"CASE WHEN {sql} THEN 'Y' ELSE 'N' END")


def record(members: Mapping[str, Value]) -> Value:
    """Write an object."""
    functions = ", ".join(f"'{key}', {value.functions}" for key, value in members.items())
    texts = [
        f"'{'{' if not place else ','}\"{key}\":', {value.texts}"
        for place, (key, value) in enumerate(members.items())
    ]
    parts = [", ".join(texts[at : at + _MEMBERS]) for at in range(0, len(texts), _MEMBERS)]
    whole = parts[0] if len(parts) == 1 else ", ".join(f"concat({part})" for part in parts)
    return Value(f"json_build_object({functions})", f"concat({whole}, '}}')")


def optional(value: Value, source: str) -> Value:
    """Write the object that a query gives, null where it gives none."""
    return Value(f"(SELECT {value.functions} {source})", f"coalesce((SELECT {value.texts} {source}), 'null')")


def array(value: Value, source: str, order: str = "") -> Value:
    """Write what a query gives as an array."""
    by = f" ORDER BY {order}" if order else ""
    return Value(
        f"(SELECT coalesce(json_agg({value.functions}{by}), '[]') {source})",
        f"'[', (SELECT string_agg({value.texts}, ','{by}) {source}), ']'",
    )


def keyed(key: str, value: Value, source: str, order: str) -> Value:
    """Write what a query gives as an object with a member for each row."""
    return Value(
        f"(SELECT coalesce(json_object_agg({key}, {value.functions} ORDER BY {order}), '{{}}') {source})",
        f"'{{', (SELECT string_agg(concat('\"', {key}, '\":', {value.texts}), ',' ORDER BY {order}) {source}), '}}'",
    )


def rows(value: Value, source: str) -> Value:
    """Write the rows of a query that orders and limits them itself as an array: made below the order, put together above it."""
    return Value(
        f"(SELECT coalesce(json_agg(x.j), '[]') FROM (SELECT {value.functions} AS j {source}) x)",
        f"'[', (SELECT string_agg(x.j, ',') FROM (SELECT {value.texts} AS j {source}) x), ']'",
    )
