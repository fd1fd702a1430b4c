"""SQL templates of compiled reads: collected conditions, numbered parameters and the conversion of values."""

from __future__ import annotations

import re
from typing import Any

import orjson

from models.queries import Condition
from models.response_shapes import NotCompiled

# SQL texts cached per level of a document. Filters and caller types make a dozen; further ones are built on each request.
MAX_CACHED_STATEMENTS = 200
ROLE_NAMES = {"A": "admin", "V": "vendor", "C": "customer"}


def require_value(value: Any) -> Any:
    """Return a non-null value; raise `NotCompiled` for null, because the executor reports the error."""
    if value is None:
        raise NotCompiled
    return value


def parse_json(value: Any) -> Any:
    """Parse JSON that the database returned as text."""
    return orjson.loads(value) if isinstance(value, str) else value


def json_fragment(value: str | None) -> Any:
    """Wrap JSON text so that orjson writes it unchanged."""
    return None if value is None else orjson.Fragment(value)


def format_time(value: Any) -> Any:
    """Format a time for responses that orjson does not serialize."""
    return None if value is None else value.isoformat()[:19] + "Z"


class ConditionCollector:
    """Conditions of one execution: their texts are the cache key of the SQL, their values its parameters."""

    __slots__ = ("params", "texts")

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.params: list[Any] = []

    def add(self, condition: Condition | None) -> None:
        """Append a condition, or an empty text for None."""
        if condition is None:
            self.texts.append("")
        else:
            self.texts.append(condition.sql)
            self.params += condition.params


class ParameterNumbering:
    """Numbers the parameters of a statement: `{}` becomes `$2`, `$3`, … and `{tenant}` `$1`."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 1

    def next(self) -> str:
        """Return the next parameter."""
        self.count += 1
        return f"${self.count}"

    def bind(self, text: str) -> str:
        """Return the text with numbered parameters."""
        if "{" not in text:
            return text
        pieces = text.split("{}")
        bound = pieces[0] + "".join(self.next() + piece for piece in pieces[1:])
        return bound.replace("{tenant}", "$1")


def replace_alias(sql: str, alias: str, *, table: bool = False) -> str:
    """Replace the alias `t` in an expression; other aliases belong to its own subqueries."""
    replaced = re.sub(r"\bt\.", f"{alias}.", sql)
    return re.sub(r"\b(\w+) t\b(?= ON)", rf"\1 {alias}", replaced) if table else replaced
