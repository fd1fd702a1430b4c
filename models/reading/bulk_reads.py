"""Read all records of a list as lines of JSON, in the snapshot of the open transaction and in constant memory.

A record is read by the reader of compiled reads, in parts: its relations take one statement per level and part. The connections of a
record are read after its part, by one statement each, and each of their records is a line of its own with `__parentId`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from kernel.clock import RFC3339_JSON
from kernel.errors import DomainError
from kernel.scope import Scope
from models.reading.answer_size import AnswerLimits, AnswerTooLarge, limited_answer
from models.reading.compiled_reads import RecordReader
from models.reading.queries import Condition, Guard, ToMany, order_of
from models.reading.response_shapes import (
    NotCompiled,
    ObjectField,
    RelationField,
    ResponseField,
    ResponseShape,
    ScalarField,
)
from models.reading.snapshots import stream

PARENT = "__parentId"
# What is in memory at once: a part of this size, and of one record at most this much.
_TARGET_BYTES = 2 * 1024 * 1024
RECORD_LIMITS = AnswerLimits(max_objects=100_000, max_bytes=32 * 1024 * 1024)
_FIRST_PART, _LARGEST_PART = 50, 1_000
# The format of times is that of /graphql.
JSON_LINE = RFC3339_JSON | orjson.OPT_APPEND_NEWLINE


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines of JSON, `count` of them; `is_root` if their records are those of the list itself."""

    content: bytes
    count: int
    is_root: bool


class _PartSize:
    """The number of records to read next: as many as have been `_TARGET_BYTES` of JSON, at most twice as many as before."""

    def __init__(self) -> None:
        self._size = _FIRST_PART

    def __call__(self) -> int:
        return self._size

    def lines(self, objects: Sequence[Any], *, is_root: bool) -> Lines:
        """Serialize the objects, and learn how large they are."""
        content = b"".join([orjson.dumps(item, option=JSON_LINE) for item in objects])
        fitting = _TARGET_BYTES * len(objects) // max(1, len(content))
        self._size = max(1, min(fitting, 2 * self._size, _LARGEST_PART))
        return Lines(content, len(objects), is_root)


@dataclass(frozen=True, slots=True)
class _Connection:
    """The records of a connection: their reader, the column of the parent by which they are found, and who may read them."""

    reader: RecordReader
    parent: str
    guard: Guard | None


class BulkReader:
    """Reads all records of a shape; its connections are read as lines of their own.

    A shape with connections has the field `id`, which their lines refer to.
    """

    def __init__(self, shape: ResponseShape) -> None:
        connections = [field for field in shape.fields if is_connection(field)]
        plain = tuple([field for field in shape.fields if not is_connection(field)])
        self._entity = shape.entity
        self._reader = RecordReader(replace(shape, fields=plain), native=True)
        self._connections = [_connection(field) for field in connections if isinstance(field, RelationField)]
        self._parents = tuple(dict.fromkeys(connection.parent for connection in self._connections))

    def check(self, scope: Scope) -> None:
        """Raise `NotCompiled`, caused by its `DomainError`, for what the caller may not read."""
        self._reader.check(scope)
        for connection in self._connections:
            if connection.guard is not None:
                try:
                    connection.guard.check(scope)
                except DomainError as error:
                    raise NotCompiled from error
            connection.reader.check(scope)

    async def read(self, scope: Scope, conditions: Sequence[Condition], sort: str | None) -> AsyncIterator[Lines]:
        """Yield the lines of all records, in the order of `sort` or of their ids; a record's connections follow its line.

        Raise `NotCompiled` for a record that has an error, `AnswerTooLarge` for one over the limits.
        """
        self.check(scope)
        order = Condition("t.id") if sort is None else order_of(scope, self._entity, sort)
        tail = Condition(f" ORDER BY {order.sql}", order.params)
        extra = Condition(", ".join(f"t.{name}" for name in self._parents)) if self._parents else None
        sql, params = self._reader.statement(scope, conditions, tail, extra)
        size, width = _PartSize(), len(self._parents)
        async for records in stream(sql, *params, size=size):
            rows = [tuple(record) for record in records]
            async for part, objects in _built(self._reader, scope, rows, width):
                yield size.lines(objects, is_root=True)
                for connection in self._connections:
                    at = self._parents.index(connection.parent) - width
                    ids = {row[at]: item["id"] for row, item in zip(part, objects, strict=True)}
                    async for lines in _related(connection, scope, ids):
                        yield lines


def is_connection(field: ResponseField) -> bool:
    """Return whether a field is a connection of related records."""
    return isinstance(field, RelationField) and field.page is not None


def has_public_id(shape: ResponseShape) -> bool:
    """Return whether the records have their public id under the key `id`."""
    return any(
        isinstance(field, ScalarField) and (field.key, field.sql) == ("id", "t.public_id") for field in shape.fields
    )


def deeper_connections(fields: Sequence[ResponseField], *, is_record: bool = True) -> list[str]:
    """Return the keys of the connections that are not fields of the records themselves: they can't be read as lines."""
    keys = []
    for field in fields:
        if isinstance(field, ObjectField):
            keys += deeper_connections(field.fields, is_record=False)
        elif isinstance(field, RelationField):
            if is_connection(field) and not is_record:
                keys.append(field.key)
            keys += deeper_connections(field.shape.fields, is_record=False)
    return keys


def _connection(field: RelationField) -> _Connection:
    assert isinstance(field.link, ToMany)
    reader = RecordReader(field.shape, native=True, relation=replace(field, limit=None))
    return _Connection(reader, field.link.parent, field.guard)


async def _related(connection: _Connection, scope: Scope, ids: dict[Any, str]) -> AsyncIterator[Lines]:
    """Yield the lines of a connection of several parents, whose ids are by the key of their children."""
    sql, params = connection.reader.statement(scope, keys=ids)
    size = _PartSize()
    async for records in stream(sql, *params, size=size):
        async for part, objects in _built(connection.reader, scope, records, 0):
            children = [{**item, PARENT: ids[row[0]]} for row, item in zip(part, objects, strict=True)]
            yield size.lines(children, is_root=False)


async def _built(
    reader: RecordReader, scope: Scope, rows: Sequence[Any], width: int
) -> AsyncIterator[tuple[Sequence[Any], list[Any]]]:
    """Yield rows, whose last `width` columns are none of the reader's, with their objects; of too large ones each half apart."""
    own = [row[:-width] for row in rows] if width else rows
    try:
        with limited_answer(RECORD_LIMITS):
            objects = await reader.build(scope, own)
    except AnswerTooLarge:
        if len(rows) == 1:
            raise
        middle = len(rows) // 2
        for half in (rows[:middle], rows[middle:]):
            async for part in _built(reader, scope, half, width):
                yield part
    else:
        yield rows, objects
