"""Read a whole tree of records as it will be written: compiled once for a document, run with one statement a level.

A `Shape` is what a document asks of an entity, with the keys of the answer. `Reader` compiles it: the SQL text of each level (kept by the
text of its conditions) and a function that makes the answer's objects straight from the database's records. Lists take one statement a
level. A single record takes one statement in all: what hangs on it comes as JSON built by PostgreSQL and is passed through.

What this can't answer exactly as the executor of graphql-core would (a refused field, a null where there must be none) it does not answer
at all: `NotCompiled` sends the caller to the executor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from kernel.clock import rfc3339
from kernel.errors import Refusal
from kernel.scope import Scope
from models import database
from models.reading import ColumnSql, Entity, Guard, ToMany, ToOne, Where, _order_sql, _sort, _window


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


ROLES = {"A": "admin", "V": "vendor", "C": "customer"}
_ROLE_SQL = "CASE {0} WHEN 'A' THEN 'admin' WHEN 'V' THEN 'vendor' WHEN 'C' THEN 'customer' ELSE {0} END"
_TIME_SQL = "to_char({0} AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')"


def _required(value: Any) -> Any:
    if value is None:
        raise NotCompiled
    return value


def _json(value: Any) -> Any:
    return orjson.loads(value) if isinstance(value, str) else value


def _fragment(value: str | None) -> Any:
    return None if value is None else orjson.Fragment(value)


def _time(value: Any) -> Any:
    return None if value is None else rfc3339(value)


class _Texts:
    """Collect the conditions of one execution; their texts are the key under which SQL is kept, their values its parameters."""

    __slots__ = ("params", "texts")

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.params: list[Any] = []

    def add(self, where: Where | None) -> None:
        if where is None:
            self.texts.append("")
        else:
            self.texts.append(where.sql)
            self.params += where.params


class Reader:
    """Read records of one shape. `native` keeps times as they are and passes JSON through, for `orjson`; else all is plain data."""

    def __init__(self, shape: Shape, *, native: bool) -> None:
        self.entity = shape.entity
        self.native = native
        self._shape = shape
        self._level = _Level(shape, native)
        self._whole = _Whole(shape, native) if _fits_one_statement(shape) else None

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
        tail = f" ORDER BY {_order_sql(self.entity, sort)} LIMIT {_window(limit)}"
        records = await self._level.fetch(scope, conditions, tail, offset)
        return await self._level.finish(scope, records[:limit])

    async def keyed(
        self, scope: Scope, conditions: Sequence[Where], *, sort: str | None, limit: int
    ) -> tuple[list[Any], list[Any]]:
        """Read a list and, for each record, its sort key and id."""
        described, _ = _sort(self.entity, sort)
        tail = f" ORDER BY {_order_sql(self.entity, sort)} LIMIT {_window(limit)}"
        records = (await self._level.fetch(scope, conditions, tail, 0, extra=(described.sql, "t.id")))[:limit]
        keys = [(record[-2], record[-1]) for record in records]
        return await self._level.finish(scope, records), keys


class _Level:
    """One level of a shape: the columns of its rows and the levels below."""

    def __init__(self, shape: Shape, native: bool, lead: str = "") -> None:
        self.entity = shape.entity
        self.guards: list[Guard] = []
        self.columns: list[ColumnSql] = [lead] if lead else []
        self.branches: list[tuple[Branch, _Below, int]] = []
        self._native = native
        self._kept: dict[tuple[Any, ...], str] = {}
        self._constants: dict[str, Any] = {
            "required": _required,
            "json": _json,
            "time": _time,
            "roles": ROLES.get,
        }
        literal = self._object(shape.items)
        maps = ", ".join(f"m{index}" for index in range(len(self.branches)))
        source = f"def shape(records, {maps}):\n    return [{literal} for r in records]"
        exec(compile(source, "<shape>", "exec"), self._constants)  # noqa: S102  # made of literals and repr() of keys
        self._make: Callable[..., list[Any]] = self._constants["shape"]

    def _object(self, items: tuple[Item, ...]) -> str:
        return "{" + ", ".join(f"{item.key!r}: {self._value(item)}" for item in items) + "}"

    def _value(self, item: Item) -> str:
        if isinstance(item, Constant):
            return repr(item.value)
        if isinstance(item, Part):
            return self._object(item.items)
        if item.guard is not None:
            self.guards.append(item.guard)
        if isinstance(item, Leaf):
            return self._leaf(item)
        below = _Below(item, self._native)
        source = item.link.column if isinstance(item.link, ToOne) else item.link.parent
        index = len(self.branches)
        place = self._place(f"t.{source}")
        self.branches.append((item, below, place))
        missing = "" if isinstance(item.link, ToOne) or item.single else ", ()"
        return f"m{index}(r[{place}]{missing})"

    def _leaf(self, leaf: Leaf) -> str:
        sql = leaf.sql
        if leaf.kind == "id" and isinstance(sql, str):
            sql = f"({sql})::text"
        value = f"r[{self._place(sql)}]"
        if leaf.checked:
            value = f"required({value})"
        if leaf.kind == "json":
            return f"json({value})"
        if leaf.kind == "role":
            return f"roles({value}, {value})"
        if leaf.kind == "time" and not self._native:
            return f"time({value})"
        return value

    def _place(self, sql: ColumnSql) -> int:
        if sql in self.columns:
            return self.columns.index(sql)
        self.columns.append(sql)
        return len(self.columns) - 1

    def select(self, scope: Scope, texts: _Texts) -> None:
        """Add what the caller's kind changes of the columns."""
        for sql in self.columns:
            if not isinstance(sql, str):
                texts.add(sql(scope))

    def columns_sql(self, texts: list[str], bind: Callable[[str], str]) -> str:
        """Write the columns; computed ones take their text from `texts`, first in, first out."""
        parts = [sql if isinstance(sql, str) else bind(texts.pop(0)) for sql in self.columns]
        return ", ".join(parts) or "1"

    def check(self, scope: Scope) -> None:
        """Leave to the executor what a caller may not see whole."""
        try:
            for guard in self.guards:
                guard.check(scope)
        except Refusal as refusal:
            raise NotCompiled from refusal

    def visible(self, scope: Scope) -> Where | None:
        """Give the rows the caller sees."""
        try:
            return self.entity.visible(scope)
        except Refusal as refusal:
            raise NotCompiled from refusal

    async def fetch(
        self,
        scope: Scope,
        conditions: Sequence[Where],
        tail: str,
        offset: int,
        *,
        extra: tuple[str, ...] = (),
    ) -> list[Any]:
        self.check(scope)
        texts = _Texts()
        self.select(scope, texts)
        texts.add(self.visible(scope))
        for condition in conditions:
            texts.add(condition)
        key = (tail, bool(offset), extra, *texts.texts)
        sql = self._kept.get(key)
        if sql is None:
            sql = self._text(list(texts.texts), tail, bool(offset), extra)
            if len(self._kept) < 200:
                self._kept[key] = sql
        params = [scope.store.id, *texts.params]
        if offset:
            params.append(offset)
        return await database.rows(sql, *params)

    def _text(self, texts: list[str], tail: str, has_offset: bool, extra: tuple[str, ...]) -> str:
        binder = _Binder()
        columns = ", ".join([self.columns_sql(texts, binder.bind), *extra])
        where = ["t.tenant_id = $1"]
        if self.entity.alive:
            where.append(self.entity.alive)
        where += [f"({binder.bind(text)})" for text in texts if text]
        sql = f"SELECT {columns} FROM {self.entity.table} t WHERE {' AND '.join(where)}{tail}"
        return f"{sql} OFFSET {binder.next()}" if has_offset else sql

    async def finish(self, scope: Scope, records: Sequence[Any]) -> list[Any]:
        """Read what hangs on the records and make their objects."""
        if not records:
            return []
        maps = []
        for _, below, place in self.branches:
            maps.append((await below.read(scope, [record[place] for record in records])).get)
        return self._make(records, *maps)


class _Binder:
    """Number the parameters of a text: `{}` becomes `$2`, `$3`, … and `{tenant}` `$1`."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 1

    def next(self) -> str:
        self.count += 1
        return f"${self.count}"

    def bind(self, text: str) -> str:
        if "{" not in text:
            return text
        pieces = text.split("{}")
        bound = pieces[0] + "".join(self.next() + piece for piece in pieces[1:])
        return bound.replace("{tenant}", "$1")


class _Below:
    """The records on one branch, for all parents of a level at once."""

    def __init__(self, branch: Branch, native: bool) -> None:
        self.branch = branch
        self.link = branch.link
        lead = "t.id" if isinstance(branch.link, ToOne) else branch.link.key
        self.level = _Level(branch.shape, native, lead)
        self._kept: dict[tuple[str, ...], str] = {}

    async def read(self, scope: Scope, parents: list[Any]) -> dict[Any, Any]:
        level = self.level
        level.check(scope)
        keys = (
            {parent for parent in parents if parent is not None} if isinstance(self.link, ToOne) else parents
        )
        if not keys:
            return {}
        texts = _Texts()
        level.select(scope, texts)
        texts.add(level.visible(scope))
        key = tuple(texts.texts)
        sql = self._kept.get(key)
        if sql is None:
            sql = self._kept[key] = self._text(list(texts.texts))
        records = await database.rows(sql, scope.store.id, *texts.params, list(keys))
        objects = await level.finish(scope, records)
        if isinstance(self.link, ToOne):
            return {record[0]: made for record, made in zip(records, objects, strict=True)}
        if self.branch.single:
            firsts: dict[Any, Any] = {}
            for record, made in zip(records, objects, strict=True):
                firsts.setdefault(record[0], made)
            return firsts
        groups: dict[Any, list[Any]] = {}
        for record, made in zip(records, objects, strict=True):
            group = groups.get(record[0])
            if group is None:
                groups[record[0]] = [made]
            elif self.branch.limit is None or len(group) < self.branch.limit:
                group.append(made)
        return groups

    def _text(self, texts: list[str]) -> str:
        entity, binder = self.level.entity, _Binder()
        columns = self.level.columns_sql(texts, binder.bind)
        where = ["t.tenant_id = $1"]
        if entity.alive and not isinstance(self.link, ToOne):
            where.append(entity.alive)
        where += [f"({binder.bind(text)})" for text in texts if text]
        if isinstance(self.link, ToOne):
            keys = binder.next()
            return f"SELECT {columns} FROM {entity.table} t WHERE {' AND '.join(where)} AND t.id = ANY({keys}::bigint[])"
        link = self.link
        if link.where:
            where.append(link.where.replace("{tenant}", "$1"))
        origin, keys = link.through or f"{entity.table} t", binder.next()
        limit = 1 if self.branch.single else self.branch.limit
        if limit is None:
            return (
                f"SELECT {columns} FROM {origin} WHERE {' AND '.join(where)} AND {link.key} = ANY({keys}::bigint[])"
                f" ORDER BY {link.order}"
            )
        # The column that leads is needed by name outside of the lateral join.
        return (
            f"SELECT c.* FROM unnest({keys}::bigint[]) AS p(id) CROSS JOIN LATERAL (SELECT {columns} FROM {origin}"
            f" WHERE {' AND '.join(where)} AND {link.key} = p.id ORDER BY {link.order} LIMIT {_window(limit)}) c"
        )


def _fits_one_statement(shape: Shape) -> bool:
    """Tell whether nothing below the record needs a check that only Python makes."""
    return all(_fits_json(item) for item in shape.items)


def _fits_json(item: Item, inside: bool = False) -> bool:
    if isinstance(item, Leaf):
        return not (inside and item.checked)
    if isinstance(item, Part):
        return all(_fits_json(each, inside) for each in item.items)
    if isinstance(item, Branch):
        return all(_fits_json(each, True) for each in item.shape.items)
    return True


class _Whole:
    """A record and all that hangs on it, in one statement."""

    def __init__(self, shape: Shape, native: bool) -> None:
        self._shape = shape
        self._native = native
        self._kept: dict[tuple[str, ...], tuple[str, Callable[[Any], Any]]] = {}

    async def read(self, scope: Scope, condition: Where) -> Any:
        texts = _Texts()
        _gather(self._shape, scope, texts)
        texts.add(condition)
        key = tuple(texts.texts)
        found = self._kept.get(key)
        if found is None:
            found = self._compile(list(texts.texts))
            if len(self._kept) < 200:
                self._kept[key] = found
        sql, make = found
        record = await database.row(sql, scope.store.id, *texts.params)
        return None if record is None else make(record)

    def _compile(self, texts: list[str]) -> tuple[str, Callable[[Any], Any]]:
        writer = _Writer(texts)
        columns: list[str] = []
        names: dict[str, Any] = {"required": _required, "json": _json, "roles": ROLES.get}
        names["time"] = _time
        names["below"] = _fragment if self._native else _json
        visible = writer.take()
        literal = self._object(self._shape.items, "t", writer, columns)
        entity = self._shape.entity
        where = ["t.tenant_id = $1"]
        if entity.alive:
            where.append(entity.alive)
        where += [f"({text})" for text in (visible, writer.take()) if text]
        exec(compile(f"def make(r):\n    return {literal}", "<shape>", "exec"), names)  # noqa: S102  # as in _Level
        sql = f"SELECT {', '.join(columns) or '1'} FROM {entity.table} t WHERE {' AND '.join(where)} LIMIT 1"
        return sql, names["make"]

    def _object(self, items: tuple[Item, ...], alias: str, writer: _Writer, columns: list[str]) -> str:
        return "{" + ", ".join(f"{i.key!r}: {self._value(i, alias, writer, columns)}" for i in items) + "}"

    def _value(self, item: Item, alias: str, writer: _Writer, columns: list[str]) -> str:
        if isinstance(item, Constant):
            return repr(item.value)
        if isinstance(item, Part):
            return self._object(item.items, alias, writer, columns)
        if isinstance(item, Branch):
            columns.append(f"({writer.branch(item, alias)})::text")
            return f"below(r[{len(columns) - 1}])"
        sql = item.sql if isinstance(item.sql, str) else writer.take()
        columns.append(f"({sql})::text" if item.kind == "id" else sql)
        value = f"r[{len(columns) - 1}]"
        if item.checked:
            value = f"required({value})"
        if item.kind == "json":
            return f"json({value})"
        if item.kind == "role":
            return f"roles({value}, {value})"
        return f"time({value})" if item.kind == "time" and not self._native else value


def _gather(shape: Shape, scope: Scope, texts: _Texts) -> None:
    """Collect, in the order in which `_Writer` takes them, what the caller changes of the statement."""
    try:
        texts.add(shape.entity.visible(scope))
        _gather_items(shape.items, scope, texts)
    except Refusal as refusal:
        raise NotCompiled from refusal


def _gather_items(items: tuple[Item, ...], scope: Scope, texts: _Texts) -> None:
    for item in items:
        if isinstance(item, Constant):
            continue
        if isinstance(item, Part):
            _gather_items(item.items, scope, texts)
            continue
        if item.guard is not None:
            item.guard.check(scope)
        if isinstance(item, Leaf):
            if not isinstance(item.sql, str):
                texts.add(item.sql(scope))
        else:
            _gather(item.shape, scope, texts)


class _Writer:
    """Write the JSON of branches as SQL. Every level has an alias of its own: `t`, `t1`, `t2`, …"""

    def __init__(self, texts: list[str]) -> None:
        self._texts = texts
        self._binder = _Binder()
        self._aliases = 0

    def take(self) -> str:
        """Give the next collected text, its parameters numbered."""
        return self._binder.bind(self._texts.pop(0))

    def branch(self, branch: Branch, parent: str) -> str:
        """Write the subquery that gives a branch as JSON."""
        self._aliases += 1
        alias = f"t{self._aliases}"
        entity, link = branch.shape.entity, branch.link
        visible = _renamed(self.take(), alias)
        made = self._json(branch.shape.items, alias)
        where = [f"{alias}.tenant_id = $1"]
        if visible:
            where.append(f"({visible})")
        if isinstance(link, ToOne):
            where.append(f"{alias}.id = {parent}.{link.column}")
            return f"SELECT {made} FROM {entity.table} {alias} WHERE {' AND '.join(where)}"
        if entity.alive:
            where.append(_renamed(entity.alive, alias))
        if link.where:
            where.append(_renamed(link.where.replace("{tenant}", "$1"), alias))
        where.append(f"{_renamed(link.key, alias)} = {parent}.{link.parent}")
        origin = _renamed(link.through, alias, table=True) if link.through else f"{entity.table} {alias}"
        order = _renamed(link.order, alias)
        if branch.single:
            return f"SELECT {made} FROM {origin} WHERE {' AND '.join(where)} ORDER BY {order} LIMIT 1"
        if branch.limit is None:
            listed = f"SELECT json_agg({made} ORDER BY {order}) FROM {origin} WHERE {' AND '.join(where)}"
        else:
            listed = (
                f"SELECT json_agg(x.j) FROM (SELECT {made} AS j FROM {origin} WHERE {' AND '.join(where)}"
                f" ORDER BY {order} LIMIT {branch.limit}) x"
            )
        return f"SELECT coalesce(({listed}), '[]'::json)"

    def _json(self, items: tuple[Item, ...], alias: str) -> str:
        pairs = [f"{_literal(item.key)}, {self._value(item, alias)}" for item in items]
        # A function takes at most 100 arguments.
        if len(pairs) <= 45:
            return f"json_build_object({', '.join(pairs)})"
        raise NotCompiled

    def _value(self, item: Item, alias: str) -> str:
        if isinstance(item, Constant):
            return _literal(item.value)
        if isinstance(item, Part):
            return self._json(item.items, alias)
        if isinstance(item, Branch):
            return f"({self.branch(item, alias)})"
        sql = _renamed(item.sql if isinstance(item.sql, str) else self.take(), alias)
        if item.kind == "time":
            return _TIME_SQL.format(sql)
        if item.kind == "role":
            return _ROLE_SQL.format(sql)
        return sql


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _renamed(sql: str, alias: str, *, table: bool = False) -> str:
    """Write an expression over `t` for another alias; every other alias in it is one of its own subqueries'."""
    import re

    found = re.sub(r"\bt\.", f"{alias}.", sql)
    return re.sub(r"\b(\w+) t\b(?= ON)", rf"\1 {alias}", found) if table else found


__all__ = ["Branch", "Constant", "Item", "Leaf", "Mapping", "NotCompiled", "Part", "Reader", "Shape"]
