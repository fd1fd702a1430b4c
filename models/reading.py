"""Turn a selection into rows: one SQL statement a level, only the columns asked for, only rows the caller may see.

This is the one way to read. It knows no GraphQL: `schema/selection.py` derives the `Selection`, `domain/*/read.py` declare the
entities. Rules that hold at every level, whatever the parent allowed:

* the text always says `t.tenant_id = $1`; row-level security says it again;
* `Entity.alive` hides deleted rows, `Entity.visible(scope)` those that the caller may not see;
* a guarded column the caller may not see is not read: its place holds the refusal, which becomes an error at its path.

SQL is assembled from literals of this code only. Values are always parameters.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

import orjson

from kernel.errors import DomainError, ValidationFailed
from kernel.ids import Reference
from kernel.scope import Scope
from models import database


class Guard(Protocol):
    """Say whether a caller may see a column; `auth.access.Access` is one."""

    def check(self, scope: Scope) -> None:
        """Return for those who may, raise a `DomainError` for those who may not."""


@dataclass(frozen=True, slots=True)
class Where:
    """A condition on the row `t`. `{}` stands for each parameter in turn, `{tenant}` for the store."""

    sql: str
    params: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class EntityFilter:
    """A way to narrow a list.

    `kind` names the GraphQL type of the value (`schema/filters.py` holds the table); `many` accepts a list, any of which may match.
    `build` gives the condition for a value.
    """

    kind: str
    build: Callable[[Any], Where]
    description: str
    many: bool = False
    internal: bool = False


@dataclass(frozen=True, slots=True)
class Sort:
    """An order of a list: a NOT NULL column expression over `t`; the id breaks ties in the same direction."""

    sql: str
    cast: str
    description: str
    internal: bool = False


@dataclass(frozen=True, eq=False)
class Entity:
    """Describe what can be read: where the rows lie, which exist, who sees which.

    `visible` gives None when the caller sees every row, a condition when some, and raises a `DomainError` when none ever.
    """

    name: str
    table: str
    visible: Callable[[Scope], Where | None]
    alive: str = ""
    filters: Mapping[str, EntityFilter] = field(default_factory=dict)
    sorts: Mapping[str, Sort] = field(default_factory=dict)
    default_sort: str = ""


ColumnSql = str | Callable[[Scope], Where]


@dataclass(frozen=True, slots=True)
class Column:
    """One value of a row: its key, the expression over `t` that gives it, and who may see it."""

    key: str
    sql: ColumnSql
    guard: Guard | None = None


@dataclass(frozen=True, slots=True)
class ToOne:
    """Follow a reference held by the parent row (`column`) to the child's id."""

    column: str


@dataclass(frozen=True, slots=True)
class ToMany:
    """Find children that refer to the parent.

    `key` is the expression that gives the parent's id, `order` the order among the children of one parent. `through` replaces
    the child's table where a table of links stands between (it must define `t`). `parent` is the parent's column referred to.
    """

    key: str
    order: str
    through: str = ""
    where: str = ""
    parent: str = "id"


@dataclass(frozen=True, slots=True)
class Child:
    """One relation asked for: its key in the parent row, the way there, what to read there and how much of it."""

    key: str
    link: ToOne | ToMany
    selection: Selection
    conditions: tuple[Where, ...] = ()
    limit: int | None = None
    guard: Guard | None = None


@dataclass(frozen=True, slots=True)
class Selection:
    """What is asked of an entity: columns and relations."""

    entity: Entity
    columns: tuple[Column, ...]
    children: tuple[Child, ...] = ()


class Row(dict[str, Any]):
    """One row read: values by field name, relations under `@` and the response key."""

    __slots__ = ()


class _Statement:
    """Collect the text and the parameters of one statement; parameter 1 is always the store."""

    def __init__(self, scope: Scope) -> None:
        self.params: list[Any] = [scope.store.id]

    def bind(self, value: Any) -> str:
        self.params.append(value)
        return f"${len(self.params)}"

    def render(self, where: Where) -> str:
        if not where.params and "{" not in where.sql:
            return where.sql
        return where.sql.format(*[self.bind(value) for value in where.params], tenant="$1")


# Limits are written into the text, from a few sizes only: a parameter makes PostgreSQL plan each execution anew, and one text
# a size would fill the statement cache. What is read beyond the size asked for is cut off here.
_SIZES = (1, 2, 3, 5, 6, 10, 11, 20, 21, 25, 26, 50, 51, 100, 101, 250, 251, 500, 501, 1001)


def window(limit: int) -> int:
    """Give the size that is read for a limit."""
    return next((size for size in _SIZES if size >= limit), limit)


async def many(
    scope: Scope,
    selection: Selection,
    *,
    conditions: Sequence[Where] = (),
    sort: str | None = None,
    limit: int = 10,
    offset: int = 0,
) -> list[Row]:
    """Read a list.

    `sort` is a name of the entity's sorts, descending with a leading `-`. Children are read with one statement for each relation.
    """
    if limit <= 0:
        return []
    statement = _Statement(scope)
    entity = selection.entity
    reader = _LevelReader(scope, selection, statement)
    text = (
        f"SELECT {reader.columns_sql} FROM {entity.table} t WHERE {_conditions(scope, entity, statement, conditions)}"
        f" ORDER BY {order_sql(entity, sort)} LIMIT {window(limit)}"
    )
    if offset:
        text += f" OFFSET {statement.bind(offset)}"
    records = await database.rows(text, *statement.params)
    return await reader.finish(records[:limit])


async def one(scope: Scope, selection: Selection, reference: Reference) -> Row | None:
    """Read the record of that id (internal number or UUID), or None when the caller sees no such record."""
    found = await many(scope, selection, conditions=[by_reference(reference)], limit=1)
    return found[0] if found else None


async def one_where(scope: Scope, selection: Selection, condition: Where) -> Row | None:
    """Read the first record that fulfils the condition, or None."""
    found = await many(scope, selection, conditions=[condition], limit=1)
    return found[0] if found else None


async def count(scope: Scope, entity: Entity, conditions: Sequence[Where] = ()) -> int:
    """Count the rows the caller sees that fulfil the conditions."""
    statement = _Statement(scope)
    text = f"SELECT count(*) FROM {entity.table} t WHERE {_conditions(scope, entity, statement, conditions)}"
    return int(await database.value(text, *statement.params))


def by_reference(reference: Reference) -> Where:
    """Give the condition that names one record."""
    return Where("t.id = {}" if isinstance(reference, int) else "t.public_id = {}", (reference,))


def conditions_of(entity: Entity, given: Mapping[str, Any]) -> list[Where]:
    """Turn filter values (by the entity's filter names; None means not given) into conditions."""
    return [entity.filters[name].build(value) for name, value in given.items() if value is not None]


# --- keyset pages -----------------------------------------------------------------------------------------------------


def cursor_columns(entity: Entity, sort: str | None) -> tuple[Column, Column]:
    """Give the two columns that a cursor is made of: the sort key and the id."""
    return Column("@key", sort_of(entity, sort)[0].sql), Column("@id", "t.id")


def encode_cursor(sort: str, row: Row) -> str:
    """Write the place of a row in a list; it is bound to the sort it was made for."""
    key = row["@key"]
    if isinstance(key, datetime):
        key = key.isoformat()
    return base64.urlsafe_b64encode(orjson.dumps([sort, key, row["@id"]])).rstrip(b"=").decode()


def after_cursor(entity: Entity, sort: str | None, cursor: str) -> Where:
    """Give the condition for rows after the cursor; a cursor that isn't ours, or of another sort, is refused."""
    name = sort or entity.default_sort
    try:
        decoded = orjson.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        made_for, key, row_id = decoded
        if (
            made_for != name
            or not isinstance(row_id, int)
            or isinstance(row_id, bool)
            or not -(2**63) <= row_id < 2**63
        ):
            raise ValueError
        description, descending = sort_of(entity, sort)
        if description.cast == "timestamptz":
            key = datetime.fromisoformat(key)
            if key.tzinfo is None:
                raise ValueError
        elif description.cast == "bigint":
            if not isinstance(key, int) or isinstance(key, bool) or not -(2**63) <= key < 2**63:
                raise ValueError
        elif not isinstance(key, str) or "\x00" in key:
            raise ValueError
    except (ValueError, TypeError) as problem:
        raise ValidationFailed(
            "after is not a cursor of this list", field="after", code="invalid"
        ) from problem
    comparison = "<" if descending else ">"
    return Where(f"({description.sql}, t.id) {comparison} ({{}}, {{}})", (key, row_id))


# --- assembling -------------------------------------------------------------------------------------------------------


def sort_of(entity: Entity, sort: str | None) -> tuple[Sort, bool]:
    """Give the order of that name, else the entity's own, and whether it is descending."""
    name = sort or entity.default_sort
    return entity.sorts[name.lstrip("-")], name.startswith("-")


def order_sql(entity: Entity, sort: str | None) -> str:
    """Write what stands behind ORDER BY; the id breaks ties."""
    if not (sort or entity.default_sort):
        return "t.id"
    description, descending = sort_of(entity, sort)
    direction = " DESC" if descending else ""
    if description.sql == "t.id":
        return f"t.id{direction}"
    return f"{description.sql}{direction}, t.id{direction}"


def _conditions(scope: Scope, entity: Entity, statement: _Statement, conditions: Iterable[Where]) -> str:
    parts = ["t.tenant_id = $1"]
    if entity.alive:
        parts.append(entity.alive)
    visible = entity.visible(scope)
    if visible is not None:
        parts.append(f"({statement.render(visible)})")
    parts += [f"({statement.render(condition)})" for condition in conditions]
    return " AND ".join(parts)


class _LevelReader:
    """Read one level: render its columns, turn records into rows, then read the relations below."""

    def __init__(
        self, scope: Scope, selection: Selection, statement: _Statement, lead: Sequence[str] = ()
    ) -> None:
        self.scope = scope
        self.selection = selection
        self.refused: dict[str, DomainError] = {}
        self.keys: list[str] = []
        self.children: list[Child] = []
        expressions: list[str] = list(lead)
        for column in selection.columns:
            if self._may_see(column.key, column.guard):
                self._add(column.key, column.sql, statement, expressions)
        for child in selection.children:
            if self._may_see("@" + child.key, child.guard) and self._may_enter(child):
                self.children.append(child)
                source = child.link.column if isinstance(child.link, ToOne) else child.link.parent
                self._add("#" + source, "t." + source, statement, expressions)
        if not expressions:
            expressions.append("1")
            self.keys.append("#")
        self.columns_sql = ", ".join(expressions)
        self.lead = len(lead)

    def _add(self, key: str, sql: ColumnSql, statement: _Statement, expressions: list[str]) -> None:
        if key in self.keys:
            return
        self.keys.append(key)
        expressions.append(sql if isinstance(sql, str) else statement.render(sql(self.scope)))

    def _may_see(self, key: str, guard: Guard | None) -> bool:
        if guard is None:
            return True
        try:
            guard.check(self.scope)
        except DomainError as refusal:
            self.refused[key] = refusal
            return False
        return True

    def _may_enter(self, child: Child) -> bool:
        try:
            child.selection.entity.visible(self.scope)
        except DomainError as refusal:
            self.refused["@" + child.key] = refusal
            return False
        return True

    async def finish(self, records: Sequence[Any]) -> list[Row]:
        keys, lead = self.keys, self.lead
        if lead:
            rows = [Row(zip(keys, tuple(record)[lead:], strict=True)) for record in records]
        else:
            rows = [Row(zip(keys, record, strict=True)) for record in records]
        if self.refused:
            for row in rows:
                row.update(self.refused)
        if rows:
            for child in self.children:
                await _attach(self.scope, child, rows)
        return rows


async def _attach(scope: Scope, child: Child, parents: list[Row]) -> None:
    if isinstance(child.link, ToOne):
        await _attach_one(scope, child, child.link, parents)
    else:
        await _attach_many(scope, child, child.link, parents)


async def _attach_one(scope: Scope, child: Child, link: ToOne, parents: list[Row]) -> None:
    source, target = "#" + link.column, "@" + child.key
    wanted = {parent[source] for parent in parents}
    wanted.discard(None)
    by_id: dict[Any, Row] = {}
    if wanted:
        statement = _Statement(scope)
        reader = _LevelReader(scope, child.selection, statement, lead=["t.id"])
        entity = child.selection.entity
        # A record that something refers to is shown there even after it was deleted (decisions, section 1).
        condition = Where("t.id = ANY({}::bigint[])", (list(wanted),))
        where = _conditions_shown(scope, entity, statement, [condition, *child.conditions])
        records = await database.rows(
            f"SELECT {reader.columns_sql} FROM {entity.table} t WHERE {where}", *statement.params
        )
        by_id = {record[0]: row for record, row in zip(records, await reader.finish(records), strict=True)}
    for parent in parents:
        parent[target] = by_id.get(parent[source])


def _conditions_shown(
    scope: Scope, entity: Entity, statement: _Statement, conditions: Iterable[Where]
) -> str:
    parts = ["t.tenant_id = $1"]
    visible = entity.visible(scope)
    if visible is not None:
        parts.append(f"({statement.render(visible)})")
    parts += [f"({statement.render(condition)})" for condition in conditions]
    return " AND ".join(parts)


async def _attach_many(scope: Scope, child: Child, link: ToMany, parents: list[Row]) -> None:
    source, target = "#" + link.parent, "@" + child.key
    statement = _Statement(scope)
    reader = _LevelReader(scope, child.selection, statement, lead=[f"{link.key} AS parent_id"])
    entity = child.selection.entity
    keys = statement.bind([parent[source] for parent in parents])
    conditions = list(child.conditions)
    if link.where:
        conditions.append(Where(link.where))
    where = _conditions(scope, entity, statement, conditions)
    origin = link.through or f"{entity.table} t"
    if child.limit is None:
        text = (
            f"SELECT {reader.columns_sql} FROM {origin} WHERE {where} AND {link.key} = ANY({keys}::bigint[])"
            f" ORDER BY {link.order}"
        )
    else:
        text = (
            f"SELECT c.* FROM unnest({keys}::bigint[]) AS p(id) CROSS JOIN LATERAL ("
            f"SELECT {reader.columns_sql} FROM {origin} WHERE {where} AND {link.key} = p.id"
            f" ORDER BY {link.order} LIMIT {window(child.limit)}) c"
        )
    records = await database.rows(text, *statement.params)
    groups: dict[Any, list[Row]] = {}
    for record, row in zip(records, await reader.finish(records), strict=True):
        groups.setdefault(record[0], []).append(row)
    for parent in parents:
        rows = groups.get(parent[source], [])
        parent[target] = rows if child.limit is None else rows[: child.limit]


# --- the usual filters ------------------------------------------------------------------------------------------------


def any_of(column: str, cast: str = "text") -> Callable[[Any], Where]:
    """Match a value or any of a list."""

    def build(value: Any) -> Where:
        values = value if isinstance(value, list) else [value]
        return Where(f"{column} = ANY({{}}::{cast}[])", (values,))

    return build


def refers_to(column: str, table: str) -> Callable[[Any], Where]:
    """Match rows whose `column` refers to any of the records named by number or UUID; unknown ones match nothing."""

    def build(value: Any) -> Where:
        values = value if isinstance(value, list) else [value]
        numbers = [item for item in values if isinstance(item, int)]
        uuids = [item for item in values if not isinstance(item, int)]
        if not uuids:
            return Where(f"{column} = ANY({{}}::bigint[])", (numbers,))
        found = (
            f"SELECT x.id FROM {table} x WHERE x.tenant_id = {{tenant}} AND x.public_id = ANY({{}}::uuid[])"
        )
        if not numbers:
            return Where(f"{column} IN ({found})", (uuids,))
        return Where(f"{column} = ANY({{}}::bigint[]) OR {column} IN ({found})", (numbers, uuids))

    return build


def named(value: Any) -> Where:
    """Match any of the records named by number or UUID."""
    values = value if isinstance(value, list) else [value]
    numbers = [item for item in values if isinstance(item, int)]
    uuids = [item for item in values if not isinstance(item, int)]
    if not uuids:
        return Where("t.id = ANY({}::bigint[])", (numbers,))
    if not numbers:
        return Where("t.public_id = ANY({}::uuid[])", (uuids,))
    return Where("t.id = ANY({}::bigint[]) OR t.public_id = ANY({}::uuid[])", (numbers, uuids))


def compares(column: str, operator: str) -> Callable[[Any], Where]:
    """Compare with a value; `operator` is a literal of the calling code."""

    def build(value: Any) -> Where:
        return Where(f"{column} {operator} {{}}", (value,))

    return build


def flag(column: str) -> Callable[[Any], Where]:
    """Match a boolean column."""

    def build(value: Any) -> Where:
        return Where(column if value else f"NOT {column}")

    return build
