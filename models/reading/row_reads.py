"""Reads of the executor: rows of a shape, whose relations are loaded by dataloaders, one statement per relation and selection (no N+1).

A row holds its values by the keys of the shape's fields, nested objects as rows. In place of a field that the caller may not read it
holds the `DomainError`, which graphql-core turns into an error at its path. In place of a relation it holds the value of the column by
which the related rows are found: `Row.related` loads them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cached_property
from operator import itemgetter
from typing import Any

from aiodataloader import DataLoader

from kernel.errors import DomainError
from kernel.event_loop import in_parts
from kernel.ids import Reference
from kernel.scope import Scope
from models.connection import database
from models.reading.answer_size import current_answer
from models.reading.compiled_reads import array_literal, group_related
from models.reading.queries import Condition, Entity, Row, by_id, key_columns, page_of, plans_for
from models.reading.read_statements import ReadStatement, count_sql
from models.reading.response_shapes import (
    CalculatedField,
    Calculation,
    ConstantField,
    ObjectField,
    RelationField,
    ResponseField,
    ResponseShape,
    ScalarField,
)


async def fetch_many(
    scope: Scope,
    shape: ResponseShape,
    *,
    conditions: Sequence[Condition] = (),
    sort: str | None = None,
    limit: int = 10,
    offset: int = 0,
) -> list[Row]:
    """Read a list. `sort` is a name of the entity's sorts, descending with a leading `-`."""
    if limit <= 0:
        return []
    level = _Level(scope, shape)
    records = await level.fetch(conditions, page_of(scope, shape.entity, sort, limit, offset))
    return await level.build(records[:limit])


async def fetch_with_keys(
    scope: Scope, shape: ResponseShape, *, conditions: Sequence[Condition], sort: str | None, limit: int
) -> tuple[list[Row], list[tuple[Any, int]]]:
    """Read a list and, for the cursor of each row, its sort key and id."""
    level = _Level(scope, shape)
    tail = page_of(scope, shape.entity, sort, limit)
    records = (await level.fetch(conditions, tail, key_columns(scope, shape.entity, sort)))[:limit]
    return await level.build(records), [(record[-2], record[-1]) for record in records]


async def fetch_one(scope: Scope, shape: ResponseShape, reference: Reference) -> Row | None:
    """Read the record with the id (internal id or UUID), or None when the caller sees none."""
    return await fetch_first(scope, shape, by_id(reference))


async def fetch_first(scope: Scope, shape: ResponseShape, condition: Condition) -> Row | None:
    """Read the first record that matches the condition, or None."""
    rows = await fetch_many(scope, shape, conditions=[condition], limit=1)
    return rows[0] if rows else None


async def count_rows(scope: Scope, entity: Entity, conditions: Sequence[Condition] = ()) -> int:
    """Count the rows visible to the caller that match the conditions."""
    visible = entity.visible(scope) or Condition("")
    sql = count_sql(entity, visible.sql, [condition.sql for condition in conditions])
    params = [value for condition in (visible, *conditions) for value in condition.params]
    return int(await database.fetchval(sql, scope.store.id, *params, plans=plans_for(conditions)))


@dataclass(slots=True)
class _Layout:
    """Where the values of a row are in a record: one or more positions, an error, or the layout of a nested object."""

    values: dict[str, itemgetter[Any] | DomainError | _Layout] = field(default_factory=dict)
    loaders: dict[str, RowLoader] = field(default_factory=dict)


class _Level:
    """One level of a shape, as far as the caller may read it."""

    def __init__(self, scope: Scope, shape: ResponseShape, relation: RelationField | None = None) -> None:
        limit = None if relation is None else 1 if relation.single else relation.limit
        self._scope = scope
        link, page = (None, None) if relation is None else (relation.link, relation.page)
        self._statement = ReadStatement(shape.entity, link, limit, page)
        self.position = None if page is None else self._statement.add_position(page)
        self._layout = self._layout_of(shape.fields)

    def _layout_of(self, fields: tuple[ResponseField, ...]) -> _Layout:
        layout = _Layout()
        for selected in fields:
            if isinstance(selected, ConstantField):
                continue  # graphql-core resolves __typename
            if isinstance(selected, ObjectField):
                layout.values[selected.key] = self._layout_of(selected.fields)
                continue
            try:
                _check_access(self._scope, selected)
            except DomainError as error:
                layout.values[selected.key] = error
                continue
            if isinstance(selected, ScalarField):
                layout.values[selected.key] = itemgetter(self._statement.add_scalar(selected))
            elif isinstance(selected, CalculatedField):
                layout.values[selected.key] = itemgetter(*self._statement.add_calculated(selected))
                layout.loaders[selected.key] = CalculationLoader(self._scope, selected.calculate)
            else:
                layout.values[selected.key] = itemgetter(self._statement.add_source(selected.link))
                layout.loaders[selected.key] = RelationLoader(self._scope, selected)
        return layout

    async def fetch(
        self, conditions: Sequence[Condition], tail: Condition, extra: Condition = Condition("")
    ) -> list[Any]:
        """Fetch the records of a list."""
        access = self._statement.collect(self._scope)
        sql = self._statement.sql(access.texts, [condition.sql for condition in conditions], tail.sql, extra.sql)
        params = [value for condition in (*conditions, tail, extra) for value in condition.params]
        return await database.fetch(sql, self._scope.store.id, *access.params, *params, plans=plans_for(conditions))

    async def fetch_related(self, keys: Sequence[int], *, limit: int | None) -> list[Any]:
        """Fetch the records related to the parents with the keys."""
        access = self._statement.collect(self._scope)
        sql = self._statement.sql(access.texts)
        if limit is not None:
            sql = f"{sql} LIMIT {limit}"
        return await database.fetch(sql, self._scope.store.id, *access.params, array_literal(keys))

    async def build(self, records: Sequence[Any]) -> list[Row]:
        """Build the rows."""
        # The executor counts the bytes, and a row that is in the answer several times.
        answer = current_answer()
        if answer is not None:
            answer.add_rows(len(records))
        return [self._build(self._layout, record) async for part in in_parts(records) for record in part]

    def _build(self, layout: _Layout, record: Any) -> Row:
        row = Row()
        row.loaders = layout.loaders
        for key, value in layout.values.items():
            if isinstance(value, itemgetter):
                row[key] = value(record)
            else:
                row[key] = self._build(value, record) if isinstance(value, _Layout) else value
        for key, loader in layout.loaders.items():
            loader.expect(row[key])
        return row


def _check_access(scope: Scope, selected: ScalarField | CalculatedField | RelationField) -> None:
    if selected.guard is not None:
        selected.guard.check(scope)
    if isinstance(selected, RelationField):
        selected.shape.entity.visible(scope)


def link_rows(scope: Scope, rows: Sequence[Row], relations: Sequence[RelationField]) -> None:
    """Give results, which hold ids by the keys of `relations`, the loaders of the records that they refer to."""
    loaders: dict[str, RelationLoader] = {}
    errors: dict[str, DomainError] = {}
    for relation in relations:
        try:
            _check_access(scope, relation)
        except DomainError as error:
            errors[relation.key] = error
        else:
            loaders[relation.key] = RelationLoader(scope, relation)
    for row in rows:
        row.loaders = loaders
        row.update(errors)
        for key, loader in loaders.items():
            loader.expect(row[key])


class RowLoader(DataLoader[Any, Any]):
    """Loads what one field shows of all rows of a level at once."""

    _missing: Any = None

    def __init__(self, scope: Scope) -> None:
        super().__init__(self._load)
        self._scope = scope
        self._expected: list[Any] = []

    def expect(self, key: Any) -> None:
        """Load the key along with the first one that is requested: the executor completes a long list in several turns."""
        if key is not None:
            self._expected.append(key)

    def related(self, key: Any) -> Any:
        """Return an awaitable of what belongs to the key."""
        if key is None:
            return self._missing
        expected, self._expected = self._expected, []
        for other in expected:
            self.load(other).add_done_callback(_observe_error)
        future = self.load(key)
        future.add_done_callback(_observe_error)
        # graphql-core cancels what awaits the siblings of a failed field; the future is shared with other rows.
        return asyncio.shield(future)

    async def _load(self, keys: list[Any]) -> list[Any]:
        raise NotImplementedError


class CalculationLoader(RowLoader):
    """Calculates a field of all rows."""

    def __init__(self, scope: Scope, calculate: Calculation) -> None:
        super().__init__(scope)
        self._calculate = calculate

    async def _load(self, keys: list[Any]) -> list[Any]:
        async with _loads.get().turn():
            return await self._calculate(self._scope, keys)


class RelationLoader(RowLoader):
    """Loads one selection of a relation for all rows."""

    def __init__(self, scope: Scope, relation: RelationField) -> None:
        super().__init__(scope)
        self._relation = relation
        self._missing = relation.missing

    @cached_property
    def _level(self) -> _Level:
        return _Level(self._scope, self._relation.shape, self._relation)

    async def _load(self, keys: list[Any]) -> list[Any]:
        """Read the rows related to the keys with one statement."""
        relation, answer = self._relation, current_answer()
        is_unlimited = not relation.is_one and relation.limit is None
        async with _loads.get().turn():
            limit = answer.limits.max_objects + 1 if answer is not None and is_unlimited else None
            records = await self._level.fetch_related(keys, limit=limit)
        related = await group_related(relation, records, await self._level.build(records), self._level.position)
        return [related.get(key, self._missing) for key in keys]


def _observe_error(future: asyncio.Future[Any]) -> None:
    """Ask a future for its error, so that asyncio doesn't log it: after another error nothing may wait for it."""
    if not future.cancelled():
        future.exception()


class _Loads:
    """The batches of one execution, which run one after the other: a document of many relations must not take the whole pool."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._tasks: set[asyncio.Task[Any]] = set()

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait until no other batch runs."""
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            async with self._lock:
                yield
        finally:
            self._tasks.discard(task)

    def cancel(self) -> None:
        """Cancel the batches that are still running: the execution has ended, or was cancelled."""
        for task in self._tasks:
            task.cancel()


_loads: ContextVar[_Loads] = ContextVar("vitrine_relation_loads")


@contextmanager
def relation_loads() -> Iterator[None]:
    """Load relations in a `with` block, the execution of one operation."""
    loads = _Loads()
    token = _loads.set(loads)
    try:
        yield
    finally:
        _loads.reset(token)
        loads.cancel()
