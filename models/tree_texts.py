"""Write the parts that both ways of reading a tree share: conditions as texts, parameters, and values as they are answered."""

from __future__ import annotations

import re
from typing import Any

import orjson

from models.reading import Where
from models.shapes import NotCompiled

# How many SQL texts one level of a compiled document keeps. Filters and kinds of callers make a dozen; the rest is written anew.
MOST_TEXTS = 200
ROLES = {"A": "admin", "V": "vendor", "C": "customer"}


def required(value: Any) -> Any:
    """Give a value that must be there; null is left to the executor, which knows what to say."""
    if value is None:
        raise NotCompiled
    return value


def loaded(value: Any) -> Any:
    """Read JSON that the database gave as text."""
    return orjson.loads(value) if isinstance(value, str) else value


def fragment(value: str | None) -> Any:
    """Pass JSON through as it is."""
    return None if value is None else orjson.Fragment(value)


def written(value: Any) -> Any:
    """Write a moment, where the answer is not made by orjson."""
    return None if value is None else value.isoformat()[:19] + "Z"


class Texts:
    """Collect the conditions of one execution; their texts are the key under which SQL is kept, their values its parameters."""

    __slots__ = ("params", "texts")

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.params: list[Any] = []

    def add(self, where: Where | None) -> None:
        """Take a condition; None holds its place."""
        if where is None:
            self.texts.append("")
        else:
            self.texts.append(where.sql)
            self.params += where.params


class Binder:
    """Number the parameters of a text: `{}` becomes `$2`, `$3`, … and `{tenant}` `$1`."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 1

    def next(self) -> str:
        """Give the next parameter."""
        self.count += 1
        return f"${self.count}"

    def bind(self, text: str) -> str:
        """Write a text with its parameters numbered."""
        if "{" not in text:
            return text
        pieces = text.split("{}")
        bound = pieces[0] + "".join(self.next() + piece for piece in pieces[1:])
        return bound.replace("{tenant}", "$1")


def renamed(sql: str, alias: str, *, table: bool = False) -> str:
    """Write an expression over `t` for another alias; every other alias in it is one of its own subqueries'."""
    found = re.sub(r"\bt\.", f"{alias}.", sql)
    return re.sub(r"\b(\w+) t\b(?= ON)", rf"\1 {alias}", found) if table else found
