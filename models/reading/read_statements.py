"""Write the SQL of a read, whole or per level.

One statement reads the rows of one level; a related record is a column of JSON that PostgreSQL builds, a join, or left to the next level.
Every level contains `tenant_id = $1`, in addition to row-level security, the entity's base condition and the caller's visibility.

The SQL depends on the caller only through the texts that `ReadStatement.collect` returns, which are its cache key; `sql` takes them in
the same order. A relation's conditions are those of its visibility, then of its columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from kernel.clock import RFC3339_SQL
from kernel.codes import ROLE_NAMES
from kernel.scope import Scope
from models.quoting import literal
from models.reading.answer_size import AnswerLimits
from models.reading.queries import ColumnSql, Condition, Entity, Guard, Link, ToMany, ToOne, statement_limit, unindexed
from models.reading.response_shapes import (
    CalculatedField,
    ConstantField,
    ObjectField,
    RelatedPage,
    RelationField,
    ResponseField,
    ResponseShape,
    ScalarField,
    row_fields,
)

# The format of roles in JSON that PostgreSQL builds.
_ROLE_CASES = " ".join([f"WHEN '{code}' THEN '{name}'" for code, name in ROLE_NAMES.items()])
_ROLE_SQL = f"CASE {{0}} {_ROLE_CASES} ELSE {{0}} END"
MAX_COUNTED = 20_000
"""The number of rows that the size of a list is counted to."""
# A function takes at most 100 arguments, two for each pair.
_MAX_JSON_PAIRS = 45


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


@dataclass(frozen=True, slots=True)
class JoinedRecord:
    """A record that is joined to the row whose `column` refers to it."""

    alias: str
    entity: Entity
    column: str


class ReadStatement:
    """The statement of an entity's rows, or with a `link` of the rows related to many parents, whose keys are then the first column."""

    def __init__(
        self, entity: Entity, link: Link | None = None, limit: int | None = None, page: RelatedPage | None = None
    ) -> None:
        self.entity = entity
        self.link = link
        self._limit = limit
        self._page = page
        self.columns: list[ColumnSql | RelationField] = []
        self._guards: list[Guard] = []
        self._joins: list[JoinedRecord] = []
        if link is not None:
            self.columns.append("t.id" if isinstance(link, ToOne) else "p.id" if link.match else link.key)

    def add(self, column: ColumnSql | RelationField, guard: Guard | None = None) -> int:
        """Add a column, or a relation as JSON text; return its position."""
        if guard is not None:
            self._guards.append(guard)
        if not isinstance(column, RelationField) and column in self.columns:
            return self.columns.index(column)
        self.columns.append(column)
        return len(self.columns) - 1

    def add_scalar(self, field: ScalarField, alias: str = "t") -> int:
        """Add the column of a scalar; return its position."""
        sql = field.sql
        if isinstance(sql, str):
            sql = _replace_alias(f"({sql})::text" if field.value_type == "id" else sql, alias)
        return self.add(sql, field.guard)

    def add_calculated(self, field: CalculatedField) -> tuple[int, ...]:
        """Add the columns of a calculated value; return their positions."""
        return tuple([self.add(column, field.guard) for column in field.columns])

    def add_source(self, link: Link, guard: Guard | None = None) -> int:
        """Add the column of the row by which a link finds the related rows; return its position."""
        return self.add(f"t.{link.column if isinstance(link, ToOne) else link.parent}", guard)

    def add_position(self, page: RelatedPage) -> tuple[int, int]:
        """Add the sort key and the id of a row, which are its position in a connection; return the positions of the columns."""
        return self.add(page.key), self.add("t.id")

    def join(self, entity: Entity, link: ToOne, guard: Guard | None) -> tuple[str, int]:
        """Join the record that the row refers to; return its alias, and the position of its id."""
        join = JoinedRecord(f"j{len(self._joins)}", entity, link.column)
        self._joins.append(join)
        return join.alias, self.add(f"{join.alias}.id", guard)

    def collect(self, scope: Scope) -> ConditionCollector:
        """Collect the conditions that follow from the caller's access; raise the `DomainError` of what the caller may not read."""
        collector = ConditionCollector()
        for guard in self._guards:
            guard.check(scope)
        for column in self.columns:
            if isinstance(column, RelationField):
                collect_related(column.shape, scope, collector)
                if (page := column.page) is not None:
                    for condition in (page.condition(scope), page.key(scope), page.order_by(scope)):
                        collector.add(condition)
            elif not isinstance(column, str):
                collector.add(column(scope))
        for entity in (*(join.entity for join in self._joins), self.entity):
            collector.add(entity.visible(scope))
        if self._page is not None:
            collector.add(self._page.condition(scope))
            collector.add(self._page.order_by(scope))
        return collector

    def sql(
        self,
        access: Sequence[str],
        conditions: Sequence[str] = (),
        tail: str = "",
        extra: str = "",
        limits: AnswerLimits | None = None,
    ) -> str:
        """Write the statement. Its parameters: the store, those of `access`, `conditions`, `tail`, `extra`; then the keys of the parents.

        `tail` is the end of a list, `extra` are further columns. Of related records as JSON it reads just enough to exceed the `limits`.
        """
        writer = _Writer(access, limits)
        columns = [self._column(column, writer) for column in self.columns]
        joins = "".join([_join_sql(join, writer.take()) for join in self._joins])
        visible, wanted, end = writer.take(), [writer.bind(text) for text in conditions], writer.bind(tail)
        if extra:
            columns.append(writer.bind(extra))
        selected, link = ", ".join(columns) or "1", self.link
        if link is None:
            return f"SELECT {selected} {_rows_sql(self.entity, 't', visible, conditions=wanted, joins=joins)}{end}"
        narrowed, order = ([writer.take()], writer.take()) if self._page is not None else ([], "")
        keys = f"{writer.next_parameter()}::text::bigint[]"
        is_limited = isinstance(link, ToMany) and self._limit is not None
        parents = "p.id" if is_limited else f"ANY({keys})"
        rows = _rows_sql(self.entity, "t", visible, link, parents, conditions=narrowed, joins=joins)
        if isinstance(link, ToOne):
            return f"SELECT {selected} {rows}"
        order = order or link.order
        if self._limit is None:
            return f"SELECT {selected} {rows} ORDER BY {order}"
        return (
            f"SELECT c.* FROM unnest({keys}) AS p(id) CROSS JOIN LATERAL"
            f" (SELECT {selected} {rows} ORDER BY {order} LIMIT {statement_limit(self._limit)}) c"
        )

    @staticmethod
    def _column(column: ColumnSql | RelationField, writer: _Writer) -> str:
        if isinstance(column, RelationField):
            return writer.text(column)
        return column if isinstance(column, str) else writer.take()


def count_sql(entity: Entity, visible: str, conditions: Sequence[str]) -> str:
    """Write the statement that counts an entity's rows."""
    writer = _Writer(())
    bound = [writer.bind(text) for text in (visible, *conditions)]
    return f"SELECT count(*) {_rows_sql(entity, 't', bound[0], conditions=bound[1:])}"


@cache
def size_sql(entity: Entity, link: ToMany | None = None) -> str:
    """Write the query of an array: the number of an entity's rows that one parent has at most, of all rows, and of parents that have any.

    Without a link all rows are those of one parent. At most `MAX_COUNTED` rows are read, also those that the caller may not see.
    """
    key = "true" if link is None else link.key
    rows = _rows_sql(entity if link is None else link.entity or entity, "t", "", link, key)
    return (
        "SELECT ARRAY[coalesce(max(g.n), 0), coalesce(sum(g.n), 0)::bigint, count(*)] FROM (SELECT count(*) AS n"
        f" FROM (SELECT {key} AS key {rows} LIMIT {MAX_COUNTED}) r GROUP BY r.key) g"
    )


def fits_json(relation: RelationField) -> bool:
    """Return whether PostgreSQL can build the related records: Python checks and calculates no value, and none has too many fields."""
    return _fits_json(relation.shape.fields)


def _fits_json(fields: tuple[ResponseField, ...]) -> bool:
    return len(fields) <= _MAX_JSON_PAIRS and all(
        _fits_json(field.fields)
        if isinstance(field, ObjectField)
        else field.page is None and _fits_json(field.shape.fields)
        if isinstance(field, RelationField)
        else isinstance(field, ConstantField) or (isinstance(field, ScalarField) and not field.requires_value)
        for field in fields
    )


def json_object_starts(fields: tuple[ResponseField, ...]) -> set[str]:
    """Return the beginnings of the related objects in PostgreSQL's JSON: a string can't contain them, it would escape the quotes."""
    starts: set[str] = set()
    for relation in row_fields(fields):
        if isinstance(relation, RelationField):
            nested = [relation.shape.fields]
            while nested:
                inner = nested.pop()
                starts.add(f'{{"{inner[0].key}" : ' if inner else "{}")
                nested += [field.fields for field in inner if isinstance(field, ObjectField)]
            starts |= json_object_starts(relation.shape.fields)
    return starts


def related_sql(
    relation: RelationField, alias: str, first: int, access: Sequence[str], limits: AnswerLimits | None
) -> str:
    """Write the relation of the row `alias` of any statement, as JSON text; the parameters of `access` begin with the number `first`."""
    return _Writer(access, limits, first - 1).text(relation, alias)


def collect_related(shape: ResponseShape, scope: Scope, collector: ConditionCollector) -> None:
    """Collect the conditions of related records that follow from the caller's access, as `ReadStatement.collect` does."""
    collector.add(shape.entity.visible(scope))
    for field in row_fields(shape.fields):
        if field.guard is not None:
            field.guard.check(scope)
        if isinstance(field, RelationField):
            collect_related(field.shape, scope, collector)
        elif isinstance(field, ScalarField) and not isinstance(field.sql, str):
            collector.add(field.sql(scope))


def _rows_sql(
    entity: Entity,
    alias: str,
    visible: str,
    link: Link | None = None,
    keys: str = "",
    *,
    conditions: Sequence[str] = (),
    joins: str = "",
) -> str:
    """Return FROM and WHERE of the rows the caller may see: an entity's, or those that `link` finds by the keys of parents."""
    source, where = f"{entity.table} {alias}", [f"{alias}.tenant_id = $1"]
    # A referenced record is shown even after its deletion (docs/reference/shared.md#deletion).
    if entity.base_condition and not isinstance(link, ToOne):
        condition = _replace_alias(entity.base_condition, alias)
        where.append(condition if link is None else unindexed(condition))
    where += [f"({text})" for text in (visible, *conditions) if text]
    if isinstance(link, ToOne):
        where.append(f"{alias}.id = {keys}")
    elif link is not None:
        if link.where:
            where.append(_replace_alias(link.where.replace("{tenant}", "$1"), alias))
        if link.match and keys != link.key:
            where.append(_replace_alias(link.match, alias).replace("{tenant}", "$1").replace("{parent}", keys))
        else:
            where.append(f"{_replace_alias(link.key, alias)} = {keys}")
            source = _replace_alias(link.through, alias, table=True) or source
    return f"FROM {source}{joins} WHERE {' AND '.join(where)}"


def _join_sql(join: JoinedRecord, visible: str) -> str:
    alias = join.alias
    condition = f" AND ({_replace_alias(visible, alias)})" if visible else ""
    return (
        f" LEFT JOIN {join.entity.table} {alias} ON {alias}.tenant_id = $1 AND {alias}.id = t.{join.column}{condition}"
    )


class _Writer:
    """Takes the collected texts of one statement in order, and numbers parameters: `{}` becomes `$2`, `$3`, …, `{tenant}` `$1`."""

    def __init__(self, texts: Sequence[str], limits: AnswerLimits | None = None, parameters: int = 1) -> None:
        self._texts: Iterator[str] = iter(texts)
        self._limits = limits
        self._parameters = parameters
        self._aliases = 0

    def take(self) -> str:
        """Return the next collected text with numbered parameters."""
        return self.bind(next(self._texts))

    def next_parameter(self) -> str:
        """Return the next parameter."""
        self._parameters += 1
        return f"${self._parameters}"

    def bind(self, text: str) -> str:
        """Return the text with numbered parameters."""
        if "{" not in text:
            return text
        first, *pieces = text.split("{}")
        return (first + "".join([self.next_parameter() + piece for piece in pieces])).replace("{tenant}", "$1")

    def text(self, relation: RelationField, parent: str = "t") -> str:
        """Return the JSON of a relation as text, of a connection as `page`."""
        if relation.page is not None:
            return self.page(relation, parent)
        return self._limited(f"({self.relation(relation, parent)})::text")

    def _limited(self, text: str) -> str:
        """Return at most one character more of the text than an answer may have bytes, so that it is refused."""
        return f"left({text}, {self._limits.max_bytes + 1})" if self._limits is not None else text

    def page(self, relation: RelationField, parent: str) -> str:
        """Return the subquery of a connection: the JSON of each record as text, its sort key and its id."""
        assert relation.limit is not None
        alias, rows, json = self._rows(relation, parent)
        key, order = [_replace_alias(self.take(), alias) for _ in range(2)]
        return (
            "(SELECT array_agg(ROW(x.j, x.k, x.id)) FROM"
            f" (SELECT {self._limited(f'({json})::text')} AS j, {key} AS k, {alias}.id {rows}"
            f" ORDER BY {order} LIMIT {statement_limit(relation.limit)}) x)"
        )

    def relation(self, relation: RelationField, parent: str) -> str:
        """Return the subquery of a relation as JSON."""
        alias, rows, json = self._rows(relation, parent)
        link = relation.link
        if isinstance(link, ToOne):
            return f"SELECT {json} {rows}"
        order = f"ORDER BY {_replace_alias(link.order, alias)}"
        if relation.single:
            return f"SELECT {json} {rows} {order} LIMIT 1"
        limit = relation.limit
        if limit is None and self._limits is not None:
            limit = self._limits.max_objects + 1
        array = f"SELECT json_agg({json} {order}) {rows}"
        if limit is not None:
            array = f"SELECT json_agg(x.j) FROM (SELECT {json} AS j {rows} {order} LIMIT {limit}) x"
        return f"SELECT coalesce(({array}), '[]'::json)"

    def _rows(self, relation: RelationField, parent: str) -> tuple[str, str, str]:
        """Return the alias of the related rows, FROM and WHERE, and the JSON of each. Each level has its own alias: `t`, `t1`, `t2`, …"""
        self._aliases += 1
        alias, link = f"t{self._aliases}", relation.link
        visible = _replace_alias(self.take(), alias)
        json = self._json(relation.shape.fields, alias)
        conditions = [] if relation.page is None else [_replace_alias(self.take(), alias)]
        key = f"{parent}.{link.column if isinstance(link, ToOne) else link.parent}"
        return alias, _rows_sql(relation.shape.entity, alias, visible, link, key, conditions=conditions), json

    def _json(self, fields: tuple[ResponseField, ...], alias: str) -> str:
        pairs = [f"{literal(field.key)}, {self._value(field, alias)}" for field in fields]
        return f"json_build_object({', '.join(pairs)})"

    def _value(self, field: ResponseField, alias: str) -> str:
        if isinstance(field, ConstantField):
            return literal(field.value)
        if isinstance(field, ObjectField):
            return self._json(field.fields, alias)
        if isinstance(field, RelationField):
            return f"({self.relation(field, alias)})"
        assert isinstance(field, ScalarField), "a calculated value is not part of JSON that PostgreSQL builds"
        sql = _replace_alias(field.sql if isinstance(field.sql, str) else self.take(), alias)
        form = {"time": RFC3339_SQL, "role": _ROLE_SQL}.get(field.value_type)
        return form.format(sql) if form else sql


def _replace_alias(sql: str, alias: str, *, table: bool = False) -> str:
    """Replace the alias `t` in an expression; other aliases belong to its own subqueries."""
    replaced = re.sub(r"\bt\.", f"{alias}.", sql)
    return re.sub(r"(?<=[\w)]) t\b(?= ON|$)", f" {alias}", replaced) if table else replaced
