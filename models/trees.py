"""Read a whole tree of records as it will be written: compiled once for a document, run with few statements.

A `Shape` is what a document asks of an entity, with the keys of the answer. A list takes one statement a level; a single record and a
short list from its beginning one in all. SQL texts are kept by the text of their conditions, which the caller's kind and the filters
decide.

What this can't answer exactly as the executor of graphql-core would (a refused field, a null where there must be none) it does not answer
at all: `NotCompiled` sends the caller to the executor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kernel.scope import Scope
from models.reading import Where, order_sql, sort_of, window
from models.shapes import Shape
from models.tree_levels import ReadLevel
from models.tree_whole import Whole, fits_one_statement

# Up to so many records are read with all that hangs on them in one statement: the round trips that are spared cost the server more than
# the JSON costs the database. Rows that an offset skips would have theirs built too, so these are read level by level.
MOST_WHOLE = 25


class Reader:
    """Read records of one shape. `native` keeps times as they are and passes JSON through, for `orjson`; else all is plain data."""

    def __init__(self, shape: Shape, *, native: bool) -> None:
        self.entity = shape.entity
        self.native = native
        self._shape = shape
        self._level = ReadLevel(shape, native)
        self._whole = Whole(shape, native) if fits_one_statement(shape) else None
        # What reads short lists: nothing is gained where no level hangs below.
        self._short = self._whole if self._level.branches else None

    async def one(self, scope: Scope, condition: Where) -> Any:
        """Read the first record that fulfils the condition, or None."""
        if self._whole is not None:
            return await self._whole.read(scope, condition)
        found = await self.many(scope, [condition], sort=None, limit=1, offset=0)
        return found[0] if found else None

    async def many(
        self, scope: Scope, conditions: Sequence[Where], *, sort: str | None, limit: int, offset: int
    ) -> list[Any]:
        """Read a list."""
        if limit <= 0:
            return []
        tail = f" ORDER BY {order_sql(self.entity, sort)} LIMIT {window(limit)}"
        if self._short is not None and not offset and limit <= MOST_WHOLE:
            found, make = await self._short.fetch(scope, conditions, tail)
            return [make(record) for record in found[:limit]]
        records = await self._level.fetch(scope, conditions, tail, offset)
        return await self._level.finish(scope, records[:limit])

    async def keyed(
        self, scope: Scope, conditions: Sequence[Where], *, sort: str | None, limit: int
    ) -> tuple[list[Any], list[Any]]:
        """Read a list and, for each record, its sort key and id."""
        described, _ = sort_of(self.entity, sort)
        tail = f" ORDER BY {order_sql(self.entity, sort)} LIMIT {window(limit)}"
        extra = (described.sql, "t.id")
        if self._short is not None and limit <= MOST_WHOLE:
            found, make = await self._short.fetch(scope, conditions, tail, extra)
            return [make(record) for record in found[:limit]], [
                (each[-2], each[-1]) for each in found[:limit]
            ]
        records = (await self._level.fetch(scope, conditions, tail, 0, extra=extra))[:limit]
        keys = [(record[-2], record[-1]) for record in records]
        return await self._level.finish(scope, records), keys
