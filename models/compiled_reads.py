"""Compiled reads: fetch a tree of records in the form of the response; compiled once per document, run with few statements.

A list takes one statement per level; a single record, and a short list without an offset, one statement in total. SQL texts are cached by
the text of their conditions, which depend on the caller's access and the filters.

Cases that need the exact behaviour of graphql-core's executor (a field the caller may not read, null in a non-null field) raise
`NotCompiled`, and the caller runs the executor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kernel.scope import Scope
from models.level_statements import LevelReader
from models.queries import Condition, order_sql, sort_of, statement_limit
from models.response_shapes import ResponseShape
from models.single_statement import SingleStatementReader, fits_one_statement

# Up to this size, saving the round trips is worth the cost of building JSON in PostgreSQL. Lists with an offset are read by level, because
# the JSON of the skipped rows would be built as well.
SINGLE_STATEMENT_MAX_ROWS = 25


class CompiledReader:
    """Reads records of one shape. `native` leaves times and JSON to `orjson`; else the result is plain data."""

    def __init__(self, shape: ResponseShape, *, native: bool) -> None:
        self.entity = shape.entity
        self.native = native
        self._shape = shape
        self._levels = LevelReader(shape, native)
        self._single = SingleStatementReader(shape, native) if fits_one_statement(shape) else None
        # For short lists: without relations the level reader needs one statement as well.
        self._short_lists = self._single if self._levels.relations else None

    async def fetch_one(self, scope: Scope, condition: Condition) -> Any:
        """Read the first record that matches the condition, or None."""
        if self._single is not None:
            return await self._single.read(scope, condition)
        objects = await self.fetch_many(scope, [condition], sort=None, limit=1, offset=0)
        return objects[0] if objects else None

    async def fetch_many(
        self, scope: Scope, conditions: Sequence[Condition], *, sort: str | None, limit: int, offset: int
    ) -> list[Any]:
        """Read a list."""
        if limit <= 0:
            return []
        tail = f" ORDER BY {order_sql(self.entity, sort)} LIMIT {statement_limit(limit)}"
        if self._short_lists is not None and not offset and limit <= SINGLE_STATEMENT_MAX_ROWS:
            records, build = await self._short_lists.fetch(scope, conditions, tail)
            return [build(record) for record in records[:limit]]
        records = await self._levels.fetch(scope, conditions, tail, offset)
        return await self._levels.build(scope, records[:limit])

    async def fetch_with_keys(
        self, scope: Scope, conditions: Sequence[Condition], *, sort: str | None, limit: int
    ) -> tuple[list[Any], list[Any]]:
        """Read a list and, for the cursor of each record, its sort key and id."""
        sort_column = sort_of(self.entity, sort)[0].sql
        tail = f" ORDER BY {order_sql(self.entity, sort)} LIMIT {statement_limit(limit)}"
        extra = (sort_column, "t.id")
        if self._short_lists is not None and limit <= SINGLE_STATEMENT_MAX_ROWS:
            records, build = await self._short_lists.fetch(scope, conditions, tail, extra)
            objects = [build(record) for record in records[:limit]]
        else:
            records = await self._levels.fetch(scope, conditions, tail, 0, extra=extra)
            objects = await self._levels.build(scope, records[:limit])
        return objects, [(record[-2], record[-1]) for record in records[:limit]]
