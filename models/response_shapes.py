"""Response shapes: the fields that a GraphQL document selects, in the order of the response; `models.compiled_reads` compiles them."""

from __future__ import annotations

from dataclasses import dataclass

from models.queries import ColumnSql, Entity, Guard, ToMany, ToOne


class NotCompiled(Exception):
    """The read is not supported by compiled reads and must use the executor."""


@dataclass(frozen=True, slots=True)
class ScalarField:
    """A scalar: response key, SQL expression over `t`, and value type.

    The value types are `plain` (numbers, booleans, codes), `text` (lists too), `id`, `time`, `json` and `role`. `requires_value` when null
    would be an error that the database's constraints do not rule out.
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
class ConstantField:
    """A value that is the same for every row: `__typename`."""

    key: str
    value: str


@dataclass(frozen=True, slots=True)
class RelationField:
    """Related records: a list, the first of a list (`single`), or the one that `link` refers to."""

    key: str
    link: ToOne | ToMany
    shape: ResponseShape
    single: bool = False
    limit: int | None = None
    guard: Guard | None = None


@dataclass(frozen=True, slots=True)
class ObjectField:
    """A nested object built from the same row."""

    key: str
    fields: tuple[ResponseField, ...]


ResponseField = ScalarField | ConstantField | RelationField | ObjectField


@dataclass(frozen=True, slots=True)
class ResponseShape:
    """The selected fields of an entity."""

    entity: Entity
    fields: tuple[ResponseField, ...]
