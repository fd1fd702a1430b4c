"""Compiled reads in one statement: PostgreSQL builds the JSON of all related records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kernel.errors import DomainError
from kernel.scope import Scope
from models import database
from models.answer_size import AnswerLimits, AnswerSize, current_answer, value_size
from models.caller_cache import AccessConditions, AccessConditionsPool, CallerCache
from models.queries import Condition, ToOne
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
    json_fragment,
    parse_json,
    replace_alias,
    require_value,
)

# The format of times and roles in JSON that PostgreSQL builds.
_ROLE_SQL = "CASE {0} WHEN 'A' THEN 'admin' WHEN 'V' THEN 'vendor' WHEN 'C' THEN 'customer' ELSE {0} END"
_TIME_SQL = "to_char({0} AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')"

_FIRST = " LIMIT 1"


def fits_one_statement(shape: ResponseShape) -> bool:
    """Return whether no related record needs a null check in Python."""
    return all(_fits_json(field) for field in shape.fields)


def _fits_json(field: ResponseField, inside: bool = False) -> bool:
    if isinstance(field, ScalarField):
        return not (inside and field.requires_value)
    if isinstance(field, ObjectField):
        return all(_fits_json(nested, inside) for nested in field.fields)
    if isinstance(field, RelationField):
        return all(_fits_json(nested, True) for nested in field.shape.fields)
    return True


class SingleStatementReader:
    """Reads records and all their related records in one statement."""

    def __init__(self, shape: ResponseShape, native: bool) -> None:
        self._shape = shape
        self._native = native
        self._compiled: dict[tuple[Any, ...], tuple[str, Callable[[Any], Any]]] = {}
        self._objects, self._markers = 1 + _count_objects(shape.fields), _object_markers(shape.fields)
        self._sized: list[int] = []
        self._conditions_pool = AccessConditionsPool()
        self._access = CallerCache(self._access_conditions)

    async def read(self, scope: Scope, condition: Condition) -> Any:
        """Read the first record that matches the condition, or None."""
        records, build = await self.fetch(scope, (condition,), _FIRST)
        return build(records[0]) if records else None

    async def fetch(
        self, scope: Scope, conditions: Sequence[Condition], tail: str, extra: tuple[str, ...] = ()
    ) -> tuple[list[Any], Callable[[Any], Any]]:
        """Fetch the records of a list, with `extra` columns at the end, and the function that builds an object from a record."""
        access = self._access(scope)
        texts = tuple([condition.sql for condition in conditions])
        answer = current_answer()
        form = (tail, extra, answer.limits if answer is not None else None)
        key = (form, texts)
        compiled = access.statements.get(key)
        if compiled is None:
            compiled = self._statement(form, access.texts + texts)
            if len(access.statements) < MAX_CACHED_STATEMENTS:
                access.statements[key] = compiled
        params = [scope.store.id, *access.params]
        for condition in conditions:
            params += condition.params
        sql, build = compiled
        records = await database.fetch(sql, *params)
        if answer is not None and records:
            self._count(answer, records)
        return records, build

    def _count(self, answer: AnswerSize, records: list[Any]) -> None:
        """Raise `AnswerTooLarge` when the answer would be over its limits."""
        size = 0
        for position in self._sized:
            size += sum([value_size(record[position]) for record in records])
        objects = self._objects * len(records)
        # An object takes more than one character, so that most answers need no look into the JSON.
        if size > answer.max_objects:
            texts = [record[position] for record in records for position in self._sized]
            for text in texts:
                if isinstance(text, str):
                    objects += sum([text.count(marker) for marker in self._markers])
        answer.add(objects, size)

    def _access_conditions(self, scope: Scope) -> AccessConditions:
        collector = ConditionCollector()
        _collect(self._shape, scope, collector)
        return self._conditions_pool(collector.texts, collector.params)

    def _statement(
        self, form: tuple[str, tuple[str, ...], AnswerLimits | None], texts: tuple[str, ...]
    ) -> tuple[str, Callable[[Any], Any]]:
        key = (*form, *texts)
        compiled = self._compiled.get(key)
        if compiled is None:
            compiled = self._compile(list(texts), *form)
            if len(self._compiled) < MAX_CACHED_STATEMENTS:
                self._compiled[key] = compiled
        return compiled

    def _compile(
        self, texts: list[str], tail: str, extra: tuple[str, ...], limits: AnswerLimits | None
    ) -> tuple[str, Callable[[Any], Any]]:
        writer = _JsonWriter(texts, limits)
        columns: list[str] = []
        self._sized = []
        names: dict[str, Any] = {"required": require_value, "json": parse_json, "roles": ROLE_NAMES.get}
        names["time"] = format_time
        names["related"] = json_fragment if self._native else parse_json
        visible = writer.take()
        literal = self._object(self._shape.fields, "t", writer, columns)
        columns += extra
        entity = self._shape.entity
        where = ["t.tenant_id = $1"]
        if entity.base_condition:
            where.append(entity.base_condition)
        where += [f"({text})" for text in (visible, *writer.take_rest()) if text]
        exec(compile(f"def build(r):\n    return {literal}", "<shape>", "exec"), names)  # noqa: S102  # as in level_statements
        sql = f"SELECT {', '.join(columns) or '1'} FROM {entity.table} t WHERE {' AND '.join(where)}{tail}"
        return sql, names["build"]

    def _object(self, fields: tuple[ResponseField, ...], alias: str, writer: _JsonWriter, columns: list[str]) -> str:
        return "{" + ", ".join(f"{f.key!r}: {self._value(f, alias, writer, columns)}" for f in fields) + "}"

    def _value(self, field: ResponseField, alias: str, writer: _JsonWriter, columns: list[str]) -> str:
        if isinstance(field, ConstantField):
            return repr(field.value)
        if isinstance(field, ObjectField):
            return self._object(field.fields, alias, writer, columns)
        if isinstance(field, RelationField):
            columns.append(writer.text(field, alias))
            self._sized.append(len(columns) - 1)
            return f"related(r[{len(columns) - 1}])"
        sql = field.sql if isinstance(field.sql, str) else writer.take()
        columns.append(f"({sql})::text" if field.value_type == "id" else sql)
        if field.has_any_size:
            self._sized.append(len(columns) - 1)
        value = f"r[{len(columns) - 1}]"
        if field.requires_value:
            value = f"required({value})"
        if field.value_type == "json":
            return f"json({value})"
        if field.value_type == "role":
            return f"roles({value}, {value})"
        return f"time({value})" if field.value_type == "time" and not self._native else value


def _count_objects(fields: tuple[ResponseField, ...]) -> int:
    """Return the number of objects nested in a row."""
    return sum(1 + _count_objects(field.fields) for field in fields if isinstance(field, ObjectField))


def _object_markers(fields: tuple[ResponseField, ...]) -> set[str]:
    """Return the beginnings of the related objects in PostgreSQL's JSON: a string can't contain them, it would escape the quotes."""
    markers: set[str] = set()
    for field in fields:
        if isinstance(field, RelationField):
            nested: list[tuple[ResponseField, ...]] = [field.shape.fields]
            while nested:
                inner = nested.pop()
                markers.add(f'{{"{inner[0].key}" : ' if inner else "{}")
                nested += [other.fields for other in inner if isinstance(other, ObjectField)]
            markers |= _object_markers(field.shape.fields)
        elif isinstance(field, ObjectField):
            markers |= _object_markers(field.fields)
    return markers


def _collect(shape: ResponseShape, scope: Scope, collector: ConditionCollector) -> None:
    """Collect the conditions of the caller's access, in the order in which `_JsonWriter` takes them."""
    try:
        collector.add(shape.entity.visible(scope))
        _collect_fields(shape.fields, scope, collector)
    except DomainError as error:
        raise NotCompiled from error


def _collect_fields(fields: tuple[ResponseField, ...], scope: Scope, collector: ConditionCollector) -> None:
    for field in fields:
        if isinstance(field, ConstantField):
            continue
        if isinstance(field, ObjectField):
            _collect_fields(field.fields, scope, collector)
            continue
        if field.guard is not None:
            field.guard.check(scope)
        if isinstance(field, ScalarField):
            if not isinstance(field.sql, str):
                collector.add(field.sql(scope))
        else:
            _collect(field.shape, scope, collector)


class _JsonWriter:
    """Builds the SQL of related records as JSON. Each level has its own alias: `t`, `t1`, `t2`, …"""

    def __init__(self, texts: list[str], limits: AnswerLimits | None) -> None:
        self._texts = texts
        self._limits = limits
        self._numbering = ParameterNumbering()
        self._aliases = 0

    def take(self) -> str:
        """Return the next collected condition with numbered parameters."""
        return self._numbering.bind(self._texts.pop(0))

    def take_rest(self) -> list[str]:
        """Return the remaining conditions, which are those of the list."""
        return [self.take() for _ in range(len(self._texts))]

    def text(self, relation: RelationField, parent: str) -> str:
        """Return the JSON of a relation as text: one character more than an answer may have bytes, so that the answer is refused."""
        text = f"({self.relation(relation, parent)})::text"
        return f"left({text}, {self._limits.max_bytes + 1})" if self._limits is not None else text

    def relation(self, relation: RelationField, parent: str) -> str:
        """Return the subquery of a relation."""
        self._aliases += 1
        alias = f"t{self._aliases}"
        entity, link = relation.shape.entity, relation.link
        visible = replace_alias(self.take(), alias)
        json = self._json(relation.shape.fields, alias)
        where = [f"{alias}.tenant_id = $1"]
        if visible:
            where.append(f"({visible})")
        if isinstance(link, ToOne):
            where.append(f"{alias}.id = {parent}.{link.column}")
            return f"SELECT {json} FROM {entity.table} {alias} WHERE {' AND '.join(where)}"
        if entity.base_condition:
            where.append(replace_alias(entity.base_condition, alias))
        if link.where:
            where.append(replace_alias(link.where.replace("{tenant}", "$1"), alias))
        where.append(f"{replace_alias(link.key, alias)} = {parent}.{link.parent}")
        source = replace_alias(link.through, alias, table=True) if link.through else f"{entity.table} {alias}"
        order = replace_alias(link.order, alias)
        if relation.single:
            return f"SELECT {json} FROM {source} WHERE {' AND '.join(where)} ORDER BY {order} LIMIT 1"
        # Of an unlimited relation one record more than an answer may have, so that the answer is refused.
        limit = self._limits.max_objects + 1 if self._limits is not None else None
        limit = relation.limit if relation.limit is not None else limit
        if limit is None:
            array = f"SELECT json_agg({json} ORDER BY {order}) FROM {source} WHERE {' AND '.join(where)}"
        else:
            array = (
                f"SELECT json_agg(x.j) FROM (SELECT {json} AS j FROM {source} WHERE {' AND '.join(where)}"
                f" ORDER BY {order} LIMIT {limit}) x"
            )
        return f"SELECT coalesce(({array}), '[]'::json)"

    def _json(self, fields: tuple[ResponseField, ...], alias: str) -> str:
        pairs = [f"{_literal(field.key)}, {self._value(field, alias)}" for field in fields]
        # A function takes at most 100 arguments.
        if len(pairs) <= 45:
            return f"json_build_object({', '.join(pairs)})"
        raise NotCompiled

    def _value(self, field: ResponseField, alias: str) -> str:
        if isinstance(field, ConstantField):
            return _literal(field.value)
        if isinstance(field, ObjectField):
            return self._json(field.fields, alias)
        if isinstance(field, RelationField):
            return f"({self.relation(field, alias)})"
        sql = replace_alias(field.sql if isinstance(field.sql, str) else self.take(), alias)
        if field.value_type == "time":
            return _TIME_SQL.format(sql)
        if field.value_type == "role":
            return _ROLE_SQL.format(sql)
        return sql


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
