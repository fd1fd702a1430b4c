"""Read a selection with one SQL statement per relation: no N+1, as with a dataloader.

Only the selected columns are read, and only rows the caller may see.

Independent of GraphQL: `schema/selection.py` builds the `Selection`, `domain/*/read.py` declare the entities. At every level:

* the SQL contains `t.tenant_id = $1`, in addition to row-level security;
* `Entity.base_condition` excludes deleted rows, `Entity.visible(scope)` those the caller may not see;
* a guarded column the caller may not read is not selected: the row contains the DomainError, which becomes an error at its path.

SQL is assembled from literals of the code only. Values are always parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from kernel.errors import DomainError
from kernel.event_loop import in_parts
from kernel.ids import Reference
from kernel.scope import Scope
from models import database
from models.answer_size import current_answer


class Guard(Protocol):
    """A check whether the caller may read a column; implemented by `auth.access.Access`."""

    def check(self, scope: Scope) -> None:
        """Raise a `DomainError` when the caller may not read the column."""


@dataclass(frozen=True, slots=True)
class Condition:
    """An SQL condition on the row `t`, with placeholders: `{}` for each parameter in turn, `{tenant}` for the store."""

    sql: str
    params: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class EntityFilter:
    """A filter of a list.

    `value_type` is a GraphQL type of `schema/filters.py`; with `many` the filter accepts a list, any element of which may match. `build`
    returns the condition for a value; `build_for`, where it depends on the caller, is used instead. With `of_users` the values are users:
    every user may filter by itself.
    """

    value_type: str
    build: Callable[[Any], Condition]
    description: str
    many: bool = False
    internal: bool = False
    build_for: Callable[[Scope, Any], Condition] | None = None
    of_users: bool = False

    def condition(self, scope: Scope, value: Any) -> Condition:
        """Return the condition for a value and a caller."""
        return self.build(value) if self.build_for is None else self.build_for(scope, value)


@dataclass(frozen=True, slots=True)
class Sort:
    """A sort order: a NOT NULL expression over `t`; ties are broken by the id in the same direction.

    `sql_for`, where the expression depends on the caller, is used instead of `sql`.
    """

    sql: str
    cast: str
    description: str
    internal: bool = False
    sql_for: Callable[[Scope], Condition] | None = None

    def expression(self, scope: Scope) -> Condition:
        """Return the expression for a caller."""
        return Condition(self.sql) if self.sql_for is None else self.sql_for(scope)


@dataclass(frozen=True, eq=False)
class Entity:
    """A table that can be read, with its filters and sort orders.

    `visible` returns None when the caller may see every row, else a condition; it raises a `DomainError` when the caller may see none.
    `has_numeric_ids`: the public id is the row's number.
    """

    name: str
    table: str
    visible: Callable[[Scope], Condition | None]
    base_condition: str = ""
    filters: Mapping[str, EntityFilter] = field(default_factory=dict)
    sorts: Mapping[str, Sort] = field(default_factory=dict)
    default_sort: str = ""
    has_numeric_ids: bool = False


ColumnSql = str | Callable[[Scope], Condition]


@dataclass(frozen=True, slots=True)
class Column:
    """A value of a row: its key, its SQL expression over `t`, and who may read it."""

    key: str
    sql: ColumnSql
    guard: Guard | None = None


@dataclass(frozen=True, slots=True)
class ToOne:
    """A foreign key of the parent row (`column`) to the child's id."""

    column: str


@dataclass(frozen=True, slots=True)
class ToMany:
    """Child rows that refer to the parent.

    `key` is the SQL expression of the foreign key, `order` the order of a parent's children. `through` replaces the child's table by a join
    with an association table (it must define `t`). `parent` is the referenced column of the parent.
    """

    key: str
    order: str
    through: str = ""
    where: str = ""
    parent: str = "id"


@dataclass(frozen=True, slots=True)
class ChildSelection:
    """A selected relation: its key in the parent row, its link and selection, and the limit per parent."""

    key: str
    link: ToOne | ToMany
    selection: Selection
    conditions: tuple[Condition, ...] = ()
    limit: int | None = None
    guard: Guard | None = None


@dataclass(frozen=True, slots=True)
class Selection:
    """The selected columns and relations of an entity."""

    entity: Entity
    columns: tuple[Column, ...]
    children: tuple[ChildSelection, ...] = ()


class Row(dict[str, Any]):
    """A result row: values by field name, relations under `@` and the response key."""

    __slots__ = ()


class _Statement:
    """The parameters of one statement; parameter 1 is always the store."""

    def __init__(self, scope: Scope) -> None:
        self.params: list[Any] = [scope.store.id]

    def bind(self, value: Any) -> str:
        self.params.append(value)
        return f"${len(self.params)}"

    def render(self, condition: Condition) -> str:
        if not condition.params and "{" not in condition.sql:
            return condition.sql
        return condition.sql.format(*[self.bind(value) for value in condition.params], tenant="$1")


# Limits are literals of a few sizes: with a parameter PostgreSQL would plan each execution again, and one text per limit would fill the
# cache of prepared statements. Rows beyond the requested limit are dropped.
_LIMITS = (1, 2, 3, 5, 6, 10, 11, 20, 21, 25, 26, 50, 51, 100, 101, 250, 251, 500, 501, 1001)


def statement_limit(limit: int) -> int:
    """Round a limit up to one of the sizes used in statements."""
    return next((size for size in _LIMITS if size >= limit), limit)


async def fetch_many(
    scope: Scope,
    selection: Selection,
    *,
    conditions: Sequence[Condition] = (),
    sort: str | None = None,
    limit: int = 10,
    offset: int = 0,
) -> list[Row]:
    """Read a list. `sort` is a name of the entity's sorts, descending with a leading `-`."""
    if limit <= 0:
        return []
    statement = _Statement(scope)
    entity = selection.entity
    reader = _LevelReader(scope, selection, statement)
    where = _conditions_sql(scope, entity, statement, conditions, entity.base_condition)
    text = (
        f"SELECT {reader.columns_sql} FROM {entity.table} t WHERE {where}"
        f" ORDER BY {_caller_order_sql(scope, statement, entity, sort)} LIMIT {statement_limit(limit)}"
    )
    if offset:
        text += f" OFFSET {statement.bind(offset)}"
    records = await database.fetch(text, *statement.params)
    return await reader.build_rows(records[:limit])


async def fetch_one(scope: Scope, selection: Selection, reference: Reference) -> Row | None:
    """Read the record with the id (internal id or UUID), or None when the caller sees none."""
    rows = await fetch_many(scope, selection, conditions=[by_id(reference)], limit=1)
    return rows[0] if rows else None


async def fetch_first(scope: Scope, selection: Selection, condition: Condition) -> Row | None:
    """Read the first record that matches the condition, or None."""
    rows = await fetch_many(scope, selection, conditions=[condition], limit=1)
    return rows[0] if rows else None


async def count_rows(scope: Scope, entity: Entity, conditions: Sequence[Condition] = ()) -> int:
    """Count the rows visible to the caller that match the conditions."""
    statement = _Statement(scope)
    where = _conditions_sql(scope, entity, statement, conditions, entity.base_condition)
    return int(await database.fetchval(f"SELECT count(*) FROM {entity.table} t WHERE {where}", *statement.params))


def by_id(reference: Reference) -> Condition:
    """Return the condition for one record."""
    return Condition("t.id = {}" if isinstance(reference, int) else "t.public_id = {}", (reference,))


# --- assembling SQL ---------------------------------------------------------------------------------------------------


def sort_of(entity: Entity, sort: str | None) -> tuple[Sort, bool]:
    """Return the sort order of the name (default: the entity's), and whether it is descending."""
    name = sort or entity.default_sort
    return entity.sorts[name.lstrip("-")], name.startswith("-")


def order_sql(entity: Entity, sort: str | None) -> str:
    """Return the ORDER BY expressions; ties are broken by the id."""
    if not (sort or entity.default_sort):
        return "t.id"
    order, descending = sort_of(entity, sort)
    direction = " DESC" if descending else ""
    if order.sql == "t.id":
        return f"t.id{direction}"
    return f"{order.sql}{direction}, t.id{direction}"


def is_sort_of_caller(scope: Scope, entity: Entity, sort: str | None) -> bool:
    """Return whether the sort order has another expression for this caller, with parameters, than `order_sql` returns."""
    if not (sort or entity.default_sort):
        return False
    order, _ = sort_of(entity, sort)
    return order.sql_for is not None and bool(order.sql_for(scope).params)


def _caller_order_sql(scope: Scope, statement: _Statement, entity: Entity, sort: str | None) -> str:
    if not is_sort_of_caller(scope, entity, sort):
        return order_sql(entity, sort)
    order, descending = sort_of(entity, sort)
    direction = " DESC" if descending else ""
    return f"{statement.render(order.expression(scope))}{direction}, t.id{direction}"


def _conditions_sql(
    scope: Scope, entity: Entity, statement: _Statement, conditions: Iterable[Condition], base: str = ""
) -> str:
    parts = ["t.tenant_id = $1"]
    if base:
        parts.append(base)
    visible = entity.visible(scope)
    if visible is not None:
        parts.append(f"({statement.render(visible)})")
    parts += [f"({statement.render(condition)})" for condition in conditions]
    return " AND ".join(parts)


class _LevelReader:
    """Reads one level: its columns, its rows, then the relations below."""

    def __init__(self, scope: Scope, selection: Selection, statement: _Statement, leading: Sequence[str] = ()) -> None:
        self.scope = scope
        self.selection = selection
        self.errors: dict[str, DomainError] = {}
        self.keys: list[str] = []
        self.children: list[ChildSelection] = []
        expressions: list[str] = list(leading)
        for column in selection.columns:
            if self._is_readable(column.key, column.guard):
                self._add(column.key, column.sql, statement, expressions)
        for child in selection.children:
            if self._is_readable("@" + child.key, child.guard) and self._has_visible_rows(child):
                self.children.append(child)
                source = child.link.column if isinstance(child.link, ToOne) else child.link.parent
                self._add("#" + source, "t." + source, statement, expressions)
        if not expressions:
            expressions.append("1")
            self.keys.append("#")
        self.columns_sql = ", ".join(expressions)
        self.leading = len(leading)

    def _add(self, key: str, sql: ColumnSql, statement: _Statement, expressions: list[str]) -> None:
        if key in self.keys:
            return
        self.keys.append(key)
        expressions.append(sql if isinstance(sql, str) else statement.render(sql(self.scope)))

    def _is_readable(self, key: str, guard: Guard | None) -> bool:
        if guard is None:
            return True
        try:
            guard.check(self.scope)
        except DomainError as error:
            self.errors[key] = error
            return False
        return True

    def _has_visible_rows(self, child: ChildSelection) -> bool:
        try:
            child.selection.entity.visible(self.scope)
        except DomainError as error:
            self.errors["@" + child.key] = error
            return False
        return True

    async def build_rows(self, records: Sequence[Any]) -> list[Row]:
        # The executor counts the bytes, and a row that is in the answer several times.
        answer = current_answer()
        if answer is not None:
            answer.add_rows(len(records))
        keys, leading = self.keys, self.leading
        rows: list[Row] = []
        async for part in in_parts(records):
            if leading:
                rows += [Row(zip(keys, tuple(record)[leading:], strict=True)) for record in part]
            else:
                rows += [Row(zip(keys, record, strict=True)) for record in part]
        if self.errors:
            for row in rows:
                row.update(self.errors)
        if rows:
            for child in self.children:
                await _attach(self.scope, child, rows)
        return rows


async def _attach(scope: Scope, child: ChildSelection, parents: list[Row]) -> None:
    if isinstance(child.link, ToOne):
        await _attach_to_one(scope, child, child.link, parents)
    else:
        await _attach_to_many(scope, child, child.link, parents)


async def _attach_to_one(scope: Scope, child: ChildSelection, link: ToOne, parents: list[Row]) -> None:
    source, target = "#" + link.column, "@" + child.key
    ids = {parent[source] for parent in parents}
    ids.discard(None)
    rows: dict[Any, Row] = {}
    if ids:
        statement = _Statement(scope)
        reader = _LevelReader(scope, child.selection, statement, leading=["t.id"])
        entity = child.selection.entity
        # Without the base condition: a referenced record is shown even after its deletion (docs/reference/shared.md#deletion).
        condition = Condition("t.id = ANY({}::bigint[])", (list(ids),))
        where = _conditions_sql(scope, entity, statement, [condition, *child.conditions])
        records = await database.fetch(
            f"SELECT {reader.columns_sql} FROM {entity.table} t WHERE {where}", *statement.params
        )
        rows = {record[0]: row for record, row in zip(records, await reader.build_rows(records), strict=True)}
    for parent in parents:
        parent[target] = rows.get(parent[source])


async def _attach_to_many(scope: Scope, child: ChildSelection, link: ToMany, parents: list[Row]) -> None:
    source, target = "#" + link.parent, "@" + child.key
    statement = _Statement(scope)
    reader = _LevelReader(scope, child.selection, statement, leading=[f"{link.key} AS parent_id"])
    entity = child.selection.entity
    keys = statement.bind([parent[source] for parent in parents])
    conditions = list(child.conditions)
    if link.where:
        conditions.append(Condition(link.where))
    where = _conditions_sql(scope, entity, statement, conditions, entity.base_condition)
    source_sql = link.through or f"{entity.table} t"
    if child.limit is None:
        text = (
            f"SELECT {reader.columns_sql} FROM {source_sql} WHERE {where} AND {link.key} = ANY({keys}::bigint[])"
            f" ORDER BY {link.order}"
        )
        answer = current_answer()
        if answer is not None:
            text = f"{text} LIMIT {answer.max_objects + 1}"
    else:
        text = (
            f"SELECT c.* FROM unnest({keys}::bigint[]) AS p(id) CROSS JOIN LATERAL ("
            f"SELECT {reader.columns_sql} FROM {source_sql} WHERE {where} AND {link.key} = p.id"
            f" ORDER BY {link.order} LIMIT {statement_limit(child.limit)}) c"
        )
    records = await database.fetch(text, *statement.params)
    groups: dict[Any, list[Row]] = {}
    async for part in in_parts(list(zip(records, await reader.build_rows(records), strict=True))):
        for record, row in part:
            groups.setdefault(record[0], []).append(row)
    for parent in parents:
        rows = groups.get(parent[source], [])
        parent[target] = rows if child.limit is None else rows[: child.limit]


# --- common filters ---------------------------------------------------------------------------------------------------


def any_of(column: str, cast: str = "text") -> Callable[[Any], Condition]:
    """Return a filter for equality with a value or any of a list."""

    def build(value: Any) -> Condition:
        values = value if isinstance(value, list) else [value]
        return Condition(f"{column} = ANY({{}}::{cast}[])", (values,))

    return build


def refers_to(column: str, table: str) -> Callable[[Any], Condition]:
    """Return a filter for rows whose `column` refers to any of the ids (internal ids or UUIDs); unknown ones match nothing."""

    def build(value: Any) -> Condition:
        values = value if isinstance(value, list) else [value]
        numbers = [item for item in values if isinstance(item, int)]
        uuids = [item for item in values if not isinstance(item, int)]
        if not uuids:
            return Condition(f"{column} = ANY({{}}::bigint[])", (numbers,))
        ids = f"SELECT x.id FROM {table} x WHERE x.tenant_id = {{tenant}} AND x.public_id = ANY({{}}::uuid[])"
        if not numbers:
            return Condition(f"{column} IN ({ids})", (uuids,))
        return Condition(f"{column} = ANY({{}}::bigint[]) OR {column} IN ({ids})", (numbers, uuids))

    return build


def by_ids(value: Any) -> Condition:
    """Return the condition for records with any of the ids (internal ids or UUIDs)."""
    values = value if isinstance(value, list) else [value]
    numbers = [item for item in values if isinstance(item, int)]
    uuids = [item for item in values if not isinstance(item, int)]
    if not uuids:
        return Condition("t.id = ANY({}::bigint[])", (numbers,))
    if not numbers:
        return Condition("t.public_id = ANY({}::uuid[])", (uuids,))
    return Condition("t.id = ANY({}::bigint[]) OR t.public_id = ANY({}::uuid[])", (numbers, uuids))


def compares(column: str, operator: str) -> Callable[[Any], Condition]:
    """Return a filter that compares with a value; `operator` is a literal of the calling code."""

    def build(value: Any) -> Condition:
        return Condition(f"{column} {operator} {{}}", (value,))

    return build


def flag(column: str) -> Callable[[Any], Condition]:
    """Return a filter for a boolean column."""

    def build(value: Any) -> Condition:
        return Condition(column if value else f"NOT {column}")

    return build
