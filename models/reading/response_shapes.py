"""Shapes of reads: the fields that a GraphQL document selects. `schema/selection.py` derives them, all reads consume them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from kernel.scope import Scope
from models.reading.queries import ColumnSql, Condition, Entity, Guard, Link, ToOne


class NotCompiled(Exception):
    """The read is not supported by compiled reads and must use the executor."""


Calculation = Callable[[Scope, list[Any]], Awaitable[list[Any]]]
"""Turns values into others; in place of one that fails is its `DomainError`."""


@dataclass(frozen=True, slots=True)
class ScalarField:
    """A scalar: its key, SQL expression over `t`, and value type.

    The value types are `plain` (numbers, booleans, codes), `text` (lists too), `id`, `time`, `json`, `role`, and `python`, which only the
    executor serializes. `requires_value` when null would be an error that neither the database nor the declaration rules out.
    """

    key: str
    sql: ColumnSql
    value_type: str = "plain"
    guard: Guard | None = None
    requires_value: bool = False

    @property
    def has_any_size(self) -> bool:
        """Return whether a value may be long."""
        return self.value_type in ("text", "json")


@dataclass(frozen=True, slots=True)
class CalculatedField:
    """A value that Python calculates from columns of the row, for all rows of a level at once.

    `calculate` turns what the column contains, or the tuples of several, into texts (`is_text`), or into rows of results for the executor
    and what the response contains for compiled reads.
    """

    key: str
    columns: tuple[ColumnSql, ...]
    calculate: Calculation
    is_text: bool = False
    guard: Guard | None = None


@dataclass(frozen=True, slots=True)
class ConstantField:
    """A value that is the same for every row: `__typename`."""

    key: str
    value: str


class RelatedPage(Protocol):
    """The part of the related records that a connection shows; implemented by `schema.connections.RelatedConnection`."""

    def condition(self, scope: Scope) -> Condition | None:
        """Return the condition for the records, None for all; raise the `DomainError` of what the caller may not compare."""
        ...

    def key(self, scope: Scope) -> Condition:
        """Return the expression of the sort key."""
        ...

    def order_by(self, scope: Scope) -> Condition:
        """Return the order of a parent's records."""
        ...

    def build(self, rows: Sequence[tuple[Any, tuple[Any, int]]]) -> Any:
        """Return what the answer contains of one parent's records, each with its sort key and id."""
        ...


@dataclass(frozen=True, slots=True)
class RelationField:
    """Related records: a list, a connection (with a `page`), the first of a list (`single`), or the one that `link` refers to."""

    key: str
    link: Link
    shape: ResponseShape
    single: bool = False
    limit: int | None = None
    guard: Guard | None = None
    page: RelatedPage | None = None

    @property
    def is_one(self) -> bool:
        """Return whether a parent has at most one related record."""
        return self.single or isinstance(self.link, ToOne)

    @property
    def missing(self) -> Any:
        """Return what the answer contains for a parent without related records."""
        return None if self.is_one else () if self.page is None else self.page.build(())


@dataclass(frozen=True, slots=True)
class ObjectField:
    """A nested object built from the same row."""

    key: str
    fields: tuple[ResponseField, ...]


ResponseField = ScalarField | CalculatedField | ConstantField | RelationField | ObjectField


@dataclass(frozen=True, slots=True)
class ResponseShape:
    """The selected fields of an entity, in the order of the response."""

    entity: Entity
    fields: tuple[ResponseField, ...]

    def of(self, entity: Entity) -> ResponseShape:
        """Return the shape for an entity that shows other rows of the table."""
        return self if entity is self.entity else replace(self, entity=entity)


def row_fields(fields: tuple[ResponseField, ...]) -> Iterator[ScalarField | CalculatedField | RelationField]:
    """Iterate over the values and relations of a row, those of nested objects included, in order."""
    for field in fields:
        if isinstance(field, ObjectField):
            yield from row_fields(field.fields)
        elif not isinstance(field, ConstantField):
            yield field


def count_objects(fields: tuple[ResponseField, ...]) -> int:
    """Return the number of objects nested in a row."""
    return sum(1 + count_objects(field.fields) for field in fields if isinstance(field, ObjectField))
