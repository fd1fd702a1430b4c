"""Read a tree of records with one statement a level, and make the answer's objects straight from the database's records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kernel.errors import DomainError
from kernel.scope import Scope
from models import database
from models.callers import Interned, PerCaller, Rights
from models.reading import ColumnSql, Entity, Guard, ToOne, Where, window
from models.shapes import Branch, Constant, Item, Leaf, NotCompiled, Part, Shape
from models.tree_texts import MOST_TEXTS, ROLES, Binder, Texts, loaded, renamed, required, written

# A record referred to is joined when so few of its columns are asked for; a wide one would be sent again with every row.
MOST_JOINED = 6


@dataclass(frozen=True, slots=True)
class Join:
    """A record that is read along with the row that refers to it."""

    alias: str
    entity: Entity
    column: str


def _is_small(shape: Shape) -> bool:
    return len(shape.items) <= MOST_JOINED and all(
        isinstance(item, Constant)
        or (isinstance(item, Leaf) and isinstance(item.sql, str) and not item.checked)
        for item in shape.items
    )


class ReadLevel:
    """One level of a shape: the columns of its rows and the levels below."""

    def __init__(self, shape: Shape, native: bool, lead: str = "") -> None:
        self.entity = shape.entity
        self.guards: list[Guard] = []
        self.columns: list[ColumnSql] = [lead] if lead else []
        self.branches: list[tuple[Branch, _Below, int]] = []
        self.joins: list[Join] = []
        self._native = native
        self._kept: dict[tuple[Any, ...], str] = {}
        self._constants: dict[str, Any] = {
            "required": required,
            "json": loaded,
            "time": written,
            "roles": ROLES.get,
        }
        literal = self._object(shape.items)
        maps = ", ".join(f"m{index}" for index in range(len(self.branches)))
        source = f"def shape(records, {maps}):\n    return [{literal} for r in records]"
        exec(compile(source, "<shape>", "exec"), self._constants)  # noqa: S102  # made of literals and repr() of keys
        self._make: Callable[..., list[Any]] = self._constants["shape"]
        self._interned = Interned()
        self.rights = PerCaller(self._rights_of)

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
        if isinstance(item.link, ToOne) and _is_small(item.shape):
            return self._joined(item.shape, item.link)
        below = _Below(item, self._native)
        source = item.link.column if isinstance(item.link, ToOne) else item.link.parent
        index = len(self.branches)
        place = self._place(f"t.{source}")
        self.branches.append((item, below, place))
        missing = "" if isinstance(item.link, ToOne) or item.single else ", ()"
        return f"m{index}(r[{place}]{missing})"

    def _joined(self, shape: Shape, link: ToOne) -> str:
        """Take the few columns of a record that is referred to along with the row."""
        join = Join(f"j{len(self.joins)}", shape.entity, link.column)
        self.joins.append(join)
        found = self._place(f"{join.alias}.id")
        parts = []
        for item in shape.items:
            if isinstance(item, Constant):
                value = repr(item.value)
            else:
                assert isinstance(item, Leaf)
                assert isinstance(item.sql, str)
                if item.guard is not None:
                    self.guards.append(item.guard)
                value = self._leaf(replace(item, sql=renamed(item.sql, join.alias)))
            parts.append(f"{item.key!r}: {value}")
        return f"(None if r[{found}] is None else {{{', '.join(parts)}}})"

    def joins_sql(self, texts: list[str], bind: Callable[[str], str]) -> str:
        """Write the joins; their conditions come from `texts`, first in, first out."""
        written_joins = ""
        for join in self.joins:
            seen = bind(texts.pop(0))
            also = f" AND ({seen})" if seen else ""
            written_joins += (
                f" LEFT JOIN {join.entity.table} {join.alias} ON {join.alias}.tenant_id = $1"
                f" AND {join.alias}.id = t.{join.column}{also}"
            )
        return written_joins

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

    def columns_sql(self, texts: list[str], bind: Callable[[str], str]) -> str:
        """Write the columns; computed ones take their text from `texts`, first in, first out."""
        parts = [sql if isinstance(sql, str) else bind(texts.pop(0)) for sql in self.columns]
        return ", ".join(parts) or "1"

    def _rights_of(self, scope: Scope) -> Rights:
        """Collect what the caller changes of the statement: computed columns, rows of what is joined, rows.

        What a caller may not see whole is left to the executor.
        """
        texts = Texts()
        try:
            for guard in self.guards:
                guard.check(scope)
            for sql in self.columns:
                if not isinstance(sql, str):
                    texts.add(sql(scope))
            for join in self.joins:
                where = join.entity.visible(scope)
                texts.add(None if where is None else Where(renamed(where.sql, join.alias), where.params))
            texts.add(self.entity.visible(scope))
        except DomainError as refusal:
            raise NotCompiled from refusal
        return self._interned(texts.texts, texts.params)

    async def fetch(
        self,
        scope: Scope,
        conditions: Sequence[Where],
        tail: str,
        offset: int,
        *,
        extra: tuple[str, ...] = (),
    ) -> list[Any]:
        """Read the records of a list."""
        rights = self.rights(scope)
        asked = (tail, bool(offset), extra, *[condition.sql for condition in conditions])
        sql = rights.written.get(asked)
        if sql is None:
            sql = self._statement((tail, bool(offset), extra), rights, asked)
        params = [scope.store.id, *rights.params]
        for condition in conditions:
            params += condition.params
        if offset:
            params.append(offset)
        return await database.rows(sql, *params)

    def _statement(
        self, form: tuple[str, bool, tuple[str, ...]], rights: Rights, asked: tuple[Any, ...]
    ) -> str:
        texts = [*rights.texts, *asked[len(form) :]]
        key = (*form, *texts)
        sql = self._kept.get(key) or self._text(texts, *form)
        for kept, name in ((self._kept, key), (rights.written, asked)):
            if len(kept) < MOST_TEXTS:
                kept[name] = sql
        return sql

    def _text(self, texts: list[str], tail: str, has_offset: bool, extra: tuple[str, ...]) -> str:
        binder = Binder()
        columns = ", ".join([self.columns_sql(texts, binder.bind), *extra])
        joins = self.joins_sql(texts, binder.bind)
        where = ["t.tenant_id = $1"]
        if self.entity.alive:
            where.append(self.entity.alive)
        where += [f"({binder.bind(text)})" for text in texts if text]
        sql = f"SELECT {columns} FROM {self.entity.table} t{joins} WHERE {' AND '.join(where)}{tail}"
        return f"{sql} OFFSET {binder.next()}" if has_offset else sql

    async def finish(self, scope: Scope, records: Sequence[Any]) -> list[Any]:
        """Read what hangs on the records and make their objects."""
        if not records:
            return []
        maps = []
        for _, below, place in self.branches:
            maps.append((await below.read(scope, [record[place] for record in records])).get)
        return self._make(records, *maps)


class _Below:
    """The records on one branch, for all parents of a level at once."""

    def __init__(self, branch: Branch, native: bool) -> None:
        self.branch = branch
        self.link = branch.link
        lead = "t.id" if isinstance(branch.link, ToOne) else branch.link.key
        self.level = ReadLevel(branch.shape, native, lead)
        self._kept: dict[tuple[str, ...], str] = {}

    async def read(self, scope: Scope, parents: list[Any]) -> dict[Any, Any]:
        level = self.level
        rights = level.rights(scope)
        keys = (
            {parent for parent in parents if parent is not None} if isinstance(self.link, ToOne) else parents
        )
        if not keys:
            return {}
        sql = rights.written.get(None)
        if sql is None:
            sql = self._kept.get(rights.texts) or self._text(list(rights.texts))
            rights.written[None] = sql
            if len(self._kept) < MOST_TEXTS:
                self._kept[rights.texts] = sql
        # As text: asyncpg looks at the type of each element of a list twice.
        given = "{" + ",".join(map(str, keys)) + "}"
        records = await database.rows(sql, scope.store.id, *rights.params, given)
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
        entity, binder = self.level.entity, Binder()
        columns = self.level.columns_sql(texts, binder.bind)
        joins = self.level.joins_sql(texts, binder.bind)
        where = ["t.tenant_id = $1"]
        if entity.alive and not isinstance(self.link, ToOne):
            where.append(entity.alive)
        where += [f"({binder.bind(text)})" for text in texts if text]
        if isinstance(self.link, ToOne):
            keys = binder.next()
            return f"SELECT {columns} FROM {entity.table} t{joins} WHERE {' AND '.join(where)} AND t.id = ANY({keys}::text::bigint[])"
        link = self.link
        if link.where:
            where.append(link.where.replace("{tenant}", "$1"))
        origin, keys = (link.through or f"{entity.table} t") + joins, binder.next()
        limit = 1 if self.branch.single else self.branch.limit
        if limit is None:
            return (
                f"SELECT {columns} FROM {origin} WHERE {' AND '.join(where)} AND {link.key} = ANY({keys}::text::bigint[])"
                f" ORDER BY {link.order}"
            )
        # The column that leads is needed by name outside of the lateral join.
        return (
            f"SELECT c.* FROM unnest({keys}::text::bigint[]) AS p(id) CROSS JOIN LATERAL (SELECT {columns} FROM {origin}"
            f" WHERE {' AND '.join(where)} AND {link.key} = p.id ORDER BY {link.order} LIMIT {window(limit)}) c"
        )
