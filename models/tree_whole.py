"""Read one record, or a few, and all that hangs on them in one statement: what hangs on them is JSON that PostgreSQL builds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kernel.errors import DomainError
from kernel.scope import Scope
from models import database
from models.callers import Interned, PerCaller, Rights
from models.reading import ToOne, Where
from models.shapes import Branch, Constant, Item, Leaf, NotCompiled, Part, Shape
from models.tree_texts import MOST_TEXTS, ROLES, Binder, Texts, fragment, loaded, renamed, required, written

# How times and roles are written where PostgreSQL writes the answer.
_ROLE_SQL = "CASE {0} WHEN 'A' THEN 'admin' WHEN 'V' THEN 'vendor' WHEN 'C' THEN 'customer' ELSE {0} END"
_TIME_SQL = "to_char({0} AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')"

_FIRST = " LIMIT 1"


def fits_one_statement(shape: Shape) -> bool:
    """Tell whether nothing below a record needs a check that only Python makes."""
    return all(_fits_json(item) for item in shape.items)


def _fits_json(item: Item, inside: bool = False) -> bool:
    if isinstance(item, Leaf):
        return not (inside and item.checked)
    if isinstance(item, Part):
        return all(_fits_json(each, inside) for each in item.items)
    if isinstance(item, Branch):
        return all(_fits_json(each, True) for each in item.shape.items)
    return True


class Whole:
    """Records and all that hangs on them, in one statement."""

    def __init__(self, shape: Shape, native: bool) -> None:
        self._shape = shape
        self._native = native
        self._kept: dict[tuple[Any, ...], tuple[str, Callable[[Any], Any]]] = {}
        self._interned = Interned()
        self._rights = PerCaller(self._rights_of)

    async def read(self, scope: Scope, condition: Where) -> Any:
        """Read the first record that fulfils the condition, or None."""
        found, make = await self.fetch(scope, (condition,), _FIRST)
        return make(found[0]) if found else None

    async def fetch(
        self, scope: Scope, conditions: Sequence[Where], tail: str, extra: tuple[str, ...] = ()
    ) -> tuple[list[Any], Callable[[Any], Any]]:
        """Read the records of a list, with `extra` columns behind them, and give what makes an object of a record."""
        rights = self._rights(scope)
        texts = tuple([condition.sql for condition in conditions])
        asked = (tail, extra, texts)
        found = rights.written.get(asked)
        if found is None:
            found = self._statement((tail, extra), rights.texts + texts)
            if len(rights.written) < MOST_TEXTS:
                rights.written[asked] = found
        params = [scope.store.id, *rights.params]
        for condition in conditions:
            params += condition.params
        sql, make = found
        return await database.rows(sql, *params), make

    def _rights_of(self, scope: Scope) -> Rights:
        texts = Texts()
        _gather(self._shape, scope, texts)
        return self._interned(texts.texts, texts.params)

    def _statement(
        self, form: tuple[str, tuple[str, ...]], texts: tuple[str, ...]
    ) -> tuple[str, Callable[[Any], Any]]:
        key = (*form, *texts)
        found = self._kept.get(key)
        if found is None:
            found = self._compile(list(texts), *form)
            if len(self._kept) < MOST_TEXTS:
                self._kept[key] = found
        return found

    def _compile(
        self, texts: list[str], tail: str, extra: tuple[str, ...]
    ) -> tuple[str, Callable[[Any], Any]]:
        writer = _Writer(texts)
        columns: list[str] = []
        names: dict[str, Any] = {"required": required, "json": loaded, "roles": ROLES.get}
        names["time"] = written
        names["below"] = fragment if self._native else loaded
        visible = writer.take()
        literal = self._object(self._shape.items, "t", writer, columns)
        columns += extra
        entity = self._shape.entity
        where = ["t.tenant_id = $1"]
        if entity.alive:
            where.append(entity.alive)
        where += [f"({text})" for text in (visible, *writer.rest()) if text]
        exec(compile(f"def make(r):\n    return {literal}", "<shape>", "exec"), names)  # noqa: S102  # as in tree_levels
        sql = f"SELECT {', '.join(columns) or '1'} FROM {entity.table} t WHERE {' AND '.join(where)}{tail}"
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


def _gather(shape: Shape, scope: Scope, texts: Texts) -> None:
    """Collect, in the order in which `_Writer` takes them, what the caller changes of the statement."""
    try:
        texts.add(shape.entity.visible(scope))
        _gather_items(shape.items, scope, texts)
    except DomainError as refusal:
        raise NotCompiled from refusal


def _gather_items(items: tuple[Item, ...], scope: Scope, texts: Texts) -> None:
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
        self._binder = Binder()
        self._aliases = 0

    def take(self) -> str:
        """Give the next collected text, its parameters numbered."""
        return self._binder.bind(self._texts.pop(0))

    def rest(self) -> list[str]:
        """Give the texts that are left: the conditions of the list."""
        return [self.take() for _ in range(len(self._texts))]

    def branch(self, branch: Branch, parent: str) -> str:
        """Write the subquery that gives a branch as JSON."""
        self._aliases += 1
        alias = f"t{self._aliases}"
        entity, link = branch.shape.entity, branch.link
        visible = renamed(self.take(), alias)
        made = self._json(branch.shape.items, alias)
        where = [f"{alias}.tenant_id = $1"]
        if visible:
            where.append(f"({visible})")
        if isinstance(link, ToOne):
            where.append(f"{alias}.id = {parent}.{link.column}")
            return f"SELECT {made} FROM {entity.table} {alias} WHERE {' AND '.join(where)}"
        if entity.alive:
            where.append(renamed(entity.alive, alias))
        if link.where:
            where.append(renamed(link.where.replace("{tenant}", "$1"), alias))
        where.append(f"{renamed(link.key, alias)} = {parent}.{link.parent}")
        origin = renamed(link.through, alias, table=True) if link.through else f"{entity.table} {alias}"
        order = renamed(link.order, alias)
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
        sql = renamed(item.sql if isinstance(item.sql, str) else self.take(), alias)
        if item.kind == "time":
            return _TIME_SQL.format(sql)
        if item.kind == "role":
            return _ROLE_SQL.format(sql)
        return sql


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
