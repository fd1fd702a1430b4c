"""Say what a document asks of the records, with the keys of the answer: plain data, compiled by `models.trees`."""

from __future__ import annotations

from dataclasses import dataclass

from models.reading import ColumnSql, Entity, Guard, ToMany, ToOne


class NotCompiled(Exception):
    """Say that a read has to go through the executor."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value: its key, the expression over `t`, and how it is written.

    `kind` is `plain` (text, numbers, booleans), `id`, `time`, `json` or `role`. `checked` says that null would be an error and the
    database does not rule it out.
    """

    key: str
    sql: ColumnSql
    kind: str = "plain"
    guard: Guard | None = None
    checked: bool = False


@dataclass(frozen=True, slots=True)
class Constant:
    """A value that every row has: `__typename`."""

    key: str
    value: str


@dataclass(frozen=True, slots=True)
class Branch:
    """Other records: a list of them, the first of them (`single`), or the one that `link` refers to."""

    key: str
    link: ToOne | ToMany
    shape: Shape
    single: bool = False
    limit: int | None = None
    guard: Guard | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """An object made of the same row."""

    key: str
    items: tuple[Item, ...]


Item = Leaf | Constant | Branch | Part


@dataclass(frozen=True, slots=True)
class Shape:
    """What is asked of an entity, in the order of the answer's keys."""

    entity: Entity
    items: tuple[Item, ...]
