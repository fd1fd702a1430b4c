"""Compiled reads with one statement per level (no N+1): response objects are built directly from the database records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kernel.errors import DomainError
from kernel.event_loop import PART_SIZE, in_parts
from kernel.scope import Scope
from models import database
from models.answer_size import AnswerSize, current_answer, value_size
from models.caller_cache import AccessConditions, AccessConditionsPool, CallerCache
from models.queries import ColumnSql, Condition, Entity, Guard, ToOne, statement_limit
from models.response_shapes import (
    ConstantField,
    NotCompiled,
    ObjectField,
    RelationField,
    ResponseField,
    ResponseShape,
    ScalarField,
)
from models.sql_templates import (
    MAX_CACHED_STATEMENTS,
    ROLE_NAMES,
    ConditionCollector,
    ParameterNumbering,
    format_time,
    parse_json,
    replace_alias,
    require_value,
)

# A record referred to is joined up to this number of columns; a wider one would be repeated in every row.
JOIN_MAX_COLUMNS = 6


@dataclass(frozen=True, slots=True)
class JoinedRecord:
    """A record that is joined to the row that refers to it."""

    alias: str
    entity: Entity
    column: str


def _is_joinable(shape: ResponseShape) -> bool:
    return len(shape.fields) <= JOIN_MAX_COLUMNS and all(
        isinstance(field, ConstantField)
        or (isinstance(field, ScalarField) and isinstance(field.sql, str) and not field.requires_value)
        for field in shape.fields
    )


class LevelReader:
    """One level of a shape: the columns of its rows and the levels below."""

    def __init__(self, shape: ResponseShape, native: bool, leading_column: str = "") -> None:
        self.entity = shape.entity
        self.guards: list[Guard] = []
        self.columns: list[ColumnSql] = [leading_column] if leading_column else []
        self.relations: list[tuple[_RelationReader, int]] = []
        self.joins: list[JoinedRecord] = []
        self._native = native
        self._objects = 1
        self._sized: list[int] = []
        self._statements: dict[tuple[Any, ...], str] = {}
        names: dict[str, Any] = {
            "required": require_value,
            "json": parse_json,
            "time": format_time,
            "roles": ROLE_NAMES.get,
        }
        literal = self._object(shape.fields)
        maps = ", ".join(f"m{index}" for index in range(len(self.relations)))
        source = f"def build(records, {maps}):\n    return [{literal} for r in records]"
        exec(compile(source, "<shape>", "exec"), names)  # noqa: S102  # made of literals and repr() of keys
        self._build: Callable[..., list[Any]] = names["build"]
        self._conditions_pool = AccessConditionsPool()
        self.access = CallerCache(self._access_conditions)

    def _object(self, fields: tuple[ResponseField, ...]) -> str:
        return "{" + ", ".join(f"{field.key!r}: {self._value(field)}" for field in fields) + "}"

    def _value(self, field: ResponseField) -> str:
        if isinstance(field, ConstantField):
            return repr(field.value)
        if isinstance(field, ObjectField):
            self._objects += 1
            return self._object(field.fields)
        if field.guard is not None:
            self.guards.append(field.guard)
        if isinstance(field, ScalarField):
            return self._scalar(field)
        if isinstance(field.link, ToOne) and _is_joinable(field.shape):
            return self._joined(field.shape, field.link)
        reader = _RelationReader(field, self._native)
        column = field.link.column if isinstance(field.link, ToOne) else field.link.parent
        index = len(self.relations)
        position = self._position(f"t.{column}")
        self.relations.append((reader, position))
        missing = "" if isinstance(field.link, ToOne) or field.single else ", ()"
        return f"m{index}(r[{position}]{missing})"

    def _joined(self, shape: ResponseShape, link: ToOne) -> str:
        """Add a join and return the expression that builds its object."""
        join = JoinedRecord(f"j{len(self.joins)}", shape.entity, link.column)
        self.joins.append(join)
        self._objects += 1
        id_position = self._position(f"{join.alias}.id")
        parts = []
        for field in shape.fields:
            if isinstance(field, ConstantField):
                value = repr(field.value)
            else:
                assert isinstance(field, ScalarField)
                assert isinstance(field.sql, str)
                if field.guard is not None:
                    self.guards.append(field.guard)
                value = self._scalar(replace(field, sql=replace_alias(field.sql, join.alias)))
            parts.append(f"{field.key!r}: {value}")
        return f"(None if r[{id_position}] is None else {{{', '.join(parts)}}})"

    def joins_sql(self, texts: list[str], bind: Callable[[str], str]) -> str:
        """Return the joins; removes their conditions from the beginning of `texts`."""
        joins = ""
        for join in self.joins:
            visible = bind(texts.pop(0))
            condition = f" AND ({visible})" if visible else ""
            joins += (
                f" LEFT JOIN {join.entity.table} {join.alias} ON {join.alias}.tenant_id = $1"
                f" AND {join.alias}.id = t.{join.column}{condition}"
            )
        return joins

    def _scalar(self, field: ScalarField) -> str:
        sql = field.sql
        if field.value_type == "id" and isinstance(sql, str):
            sql = f"({sql})::text"
        position = self._position(sql)
        if field.has_any_size:
            self._sized.append(position)
        value = f"r[{position}]"
        if field.requires_value:
            value = f"required({value})"
        if field.value_type == "json":
            return f"json({value})"
        if field.value_type == "role":
            return f"roles({value}, {value})"
        if field.value_type == "time" and not self._native:
            return f"time({value})"
        return value

    def _position(self, sql: ColumnSql) -> int:
        if sql in self.columns:
            return self.columns.index(sql)
        self.columns.append(sql)
        return len(self.columns) - 1

    def columns_sql(self, texts: list[str], bind: Callable[[str], str]) -> str:
        """Return the columns; removes the texts of computed ones from the beginning of `texts`."""
        parts = [sql if isinstance(sql, str) else bind(texts.pop(0)) for sql in self.columns]
        return ", ".join(parts) or "1"

    def _access_conditions(self, scope: Scope) -> AccessConditions:
        """Collect the caller's conditions: computed columns, visibility of joined records, visibility of rows.

        Raise `NotCompiled` when the caller may not read a field.
        """
        collector = ConditionCollector()
        try:
            for guard in self.guards:
                guard.check(scope)
            for sql in self.columns:
                if not isinstance(sql, str):
                    collector.add(sql(scope))
            for join in self.joins:
                visible = join.entity.visible(scope)
                if visible is not None:
                    visible = Condition(replace_alias(visible.sql, join.alias), visible.params)
                collector.add(visible)
            collector.add(self.entity.visible(scope))
        except DomainError as error:
            raise NotCompiled from error
        return self._conditions_pool(collector.texts, collector.params)

    async def fetch(
        self,
        scope: Scope,
        conditions: Sequence[Condition],
        tail: str,
        offset: int,
        *,
        extra: tuple[str, ...] = (),
    ) -> list[Any]:
        """Fetch the records of a list."""
        access = self.access(scope)
        key = (tail, bool(offset), extra, *[condition.sql for condition in conditions])
        sql = access.statements.get(key)
        if sql is None:
            sql = self._statement((tail, bool(offset), extra), access, key)
        params = [scope.store.id, *access.params]
        for condition in conditions:
            params += condition.params
        if offset:
            params.append(offset)
        return await database.fetch(sql, *params)

    def _statement(
        self, form: tuple[str, bool, tuple[str, ...]], access: AccessConditions, access_key: tuple[Any, ...]
    ) -> str:
        texts = [*access.texts, *access_key[len(form) :]]
        key = (*form, *texts)
        sql = self._statements.get(key) or self._sql(texts, *form)
        for cache, cache_key in ((self._statements, key), (access.statements, access_key)):
            if len(cache) < MAX_CACHED_STATEMENTS:
                cache[cache_key] = sql
        return sql

    def _sql(self, texts: list[str], tail: str, has_offset: bool, extra: tuple[str, ...]) -> str:
        numbering = ParameterNumbering()
        columns = ", ".join([self.columns_sql(texts, numbering.bind), *extra])
        joins = self.joins_sql(texts, numbering.bind)
        where = ["t.tenant_id = $1"]
        if self.entity.base_condition:
            where.append(self.entity.base_condition)
        where += [f"({numbering.bind(text)})" for text in texts if text]
        sql = f"SELECT {columns} FROM {self.entity.table} t{joins} WHERE {' AND '.join(where)}{tail}"
        return f"{sql} OFFSET {numbering.next()}" if has_offset else sql

    async def build(self, scope: Scope, records: Sequence[Any], times: Sequence[int] | None = None) -> list[Any]:
        """Read the related records and build the objects. `times`: how often the answer contains each record; None: once.

        Raise `AnswerTooLarge` when the answer would be over its limits, before the next level is read.
        """
        if not records:
            return []
        answer = current_answer()
        if answer is not None:
            start = 0
            async for part in in_parts(records):
                self._count(answer, part, times[start : start + len(part)] if times is not None else None)
                start += len(part)
        maps = []
        for reader, position in self.relations:
            maps.append((await reader.read(scope, [record[position] for record in records], times)).get)
        if len(records) <= PART_SIZE:
            return self._build(records, *maps)
        return [built async for part in in_parts(records) for built in self._build(part, *maps)]

    def _count(self, answer: AnswerSize, records: Sequence[Any], times: Sequence[int] | None) -> None:
        size, sized = 0, self._sized
        if times is None:
            for position in sized:
                size += sum([value_size(record[position]) for record in records])
            answer.add(self._objects * len(records), size)
            return
        for position in sized:
            size += sum([n * value_size(record[position]) for record, n in zip(records, times, strict=True)])
        answer.add(self._objects * sum(times), size)


class _RelationReader:
    """Reads the related records of all parents of a level at once."""

    def __init__(self, relation: RelationField, native: bool) -> None:
        self.relation = relation
        self.link = relation.link
        parent_column = "t.id" if isinstance(relation.link, ToOne) else relation.link.key
        self.level = LevelReader(relation.shape, native, parent_column)
        self._statements: dict[tuple[str, ...], str] = {}
        self._is_unlimited = not isinstance(relation.link, ToOne) and not relation.single and relation.limit is None

    async def read(self, scope: Scope, parents: list[Any], times: Sequence[int] | None = None) -> dict[Any, Any]:
        """Read the related objects by the key of their parent.

        The objects of a key are in the answer as often as its parents are: `times` each, None for once.
        """
        level = self.level
        access = level.access(scope)
        keys = {parent for parent in parents if parent is not None} if isinstance(self.link, ToOne) else parents
        if not keys:
            return {}
        sql = access.statements.get(None)
        if sql is None:
            sql = self._statements.get(access.texts) or self._sql(list(access.texts))
            access.statements[None] = sql
            if len(self._statements) < MAX_CACHED_STATEMENTS:
                self._statements[access.texts] = sql
        # As an array literal: asyncpg checks the type of each element of a list twice.
        array = "{" + ",".join(map(str, keys)) + "}"
        answer = current_answer()
        if answer is not None and self._is_unlimited:
            sql = f"{sql} LIMIT {answer.max_objects + 1}"
        records = await database.fetch(sql, scope.store.id, *access.params, array)
        if answer is not None and (times is not None or len(set(parents)) < len(parents)):
            totals = _total_times(parents, times)
            times = [totals[record[0]] for record in records]
        objects = await level.build(scope, records, times)
        if isinstance(self.link, ToOne):
            return {record[0]: built for record, built in zip(records, objects, strict=True)}
        if self.relation.single:
            firsts: dict[Any, Any] = {}
            for record, built in zip(records, objects, strict=True):
                firsts.setdefault(record[0], built)
            return firsts
        groups: dict[Any, list[Any]] = {}
        async for part in in_parts(list(zip(records, objects, strict=True))):
            for record, built in part:
                group = groups.get(record[0])
                if group is None:
                    groups[record[0]] = [built]
                elif self.relation.limit is None or len(group) < self.relation.limit:
                    group.append(built)
        return groups

    def _sql(self, texts: list[str]) -> str:
        entity, numbering = self.level.entity, ParameterNumbering()
        columns = self.level.columns_sql(texts, numbering.bind)
        joins = self.level.joins_sql(texts, numbering.bind)
        where = ["t.tenant_id = $1"]
        if entity.base_condition and not isinstance(self.link, ToOne):
            where.append(entity.base_condition)
        where += [f"({numbering.bind(text)})" for text in texts if text]
        if isinstance(self.link, ToOne):
            keys = numbering.next()
            return f"SELECT {columns} FROM {entity.table} t{joins} WHERE {' AND '.join(where)} AND t.id = ANY({keys}::text::bigint[])"
        link = self.link
        if link.where:
            where.append(link.where.replace("{tenant}", "$1"))
        source, keys = (link.through or f"{entity.table} t") + joins, numbering.next()
        limit = 1 if self.relation.single else self.relation.limit
        if limit is None:
            return (
                f"SELECT {columns} FROM {source} WHERE {' AND '.join(where)} AND {link.key} = ANY({keys}::text::bigint[])"
                f" ORDER BY {link.order}"
            )
        return (
            f"SELECT c.* FROM unnest({keys}::text::bigint[]) AS p(id) CROSS JOIN LATERAL (SELECT {columns} FROM {source}"
            f" WHERE {' AND '.join(where)} AND {link.key} = p.id ORDER BY {link.order} LIMIT {statement_limit(limit)}) c"
        )


def _total_times(parents: Sequence[Any], times: Sequence[int] | None) -> Counter[Any]:
    """Return how often the answer contains the parents with each key."""
    if times is None:
        return Counter(parents)
    totals: Counter[Any] = Counter()
    for parent, count in zip(parents, times, strict=True):
        totals[parent] += count
    return totals
