"""Declare what can be read: entities with their filters and sort orders, columns, links between entities, conditions.

Independent of GraphQL: `domain/*/read.py` declare the entities, `schema/selection.py` derives the shape of a read from a document,
`models/reading/read_statements.py` writes its SQL. SQL is assembled from literals of the code only. Values are always parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar
from weakref import WeakSet, WeakValueDictionary

from kernel.errors import DomainError
from kernel.ids import Reference, split_references
from kernel.scope import Actor, Scope, Store
from models.connection.binding import Plans
from models.reading.columns import has_column


class Guard(Protocol):
    """A check whether the caller may read a column; implemented by `auth.access.Access`."""

    def check(self, scope: Scope) -> None:
        """Raise a `DomainError` when the caller may not read the column."""


@dataclass(frozen=True, slots=True)
class Condition:
    """An SQL condition on the row `t`, with placeholders: `{}` for each parameter in turn, `{tenant}` for the store.

    `skewed`: some values match few rows and others most, so that a list and its count are planned for its values at each execution.
    """

    sql: str
    params: tuple[Any, ...] = ()
    skewed: bool = False


@dataclass(frozen=True, slots=True)
class EntityFilter:
    """A filter of a list.

    `value_type` is a GraphQL type of `schema/filters.py`; with `many` the filter accepts a list, any element of which may match. `build`
    returns the condition for a value; `build_for`, where it depends on the caller, is used instead. With `of_users` the values are users:
    every user may filter by itself. `listed`, of a filter by ids with which a list shows other rows, is used in place of the entity's.
    """

    value_type: str
    build: Callable[[Any], Condition]
    description: str
    many: bool = False
    internal: bool = False
    build_for: Callable[[Scope, Any], Condition] | None = None
    of_users: bool = False
    listed: Callable[[Scope, Any], Condition | None] | None = None

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


NOT_DELETED = "t.deleted_at IS NULL"


def unindexed(condition: str) -> str:
    """Return the condition in a form that is no condition of an index, for rows that are looked up by the key of a parent.

    While statistics are older than an import, PostgreSQL takes `deleted_at IS NULL` for rare: an index of another column that leaves
    deleted rows out then seems as good as that of the key, and is read from end to end for each parent.
    """
    return f"coalesce({condition}, false)"


BY_PUBLIC_ID = "t.public_id = {}"


def by_id(reference: Reference) -> Condition:
    """Return the condition for one record."""
    return Condition("t.id = {}" if isinstance(reference, int) else BY_PUBLIC_ID, (reference,))


@dataclass(frozen=True, eq=False)
class Entity:
    """A table that can be read, with its filters and sort orders.

    `visible` returns None when the caller may see every row, else a condition; it raises a `DomainError` when the caller may see none.
    `listed`, where lists leave some of them out, returns the condition of those that they show.
    `base_condition` excludes deleted rows by default, of tables that have them; `default_sort` is by default the first of the sorts.
    `label` is its name in descriptions, where it isn't that of the GraphQL type. `has_numeric_ids`: the public id is the row's number.
    `text_key` names what finds a record in place of its id, with its condition; by default the slug, where that is a filter.
    `id_key` is the condition for the record of an id.
    """

    table: str
    visible: Callable[[Scope], Condition | None]
    listed: Callable[[Scope], Condition | None] | None = None
    label: str = ""
    base_condition: str = NOT_DELETED
    filters: Mapping[str, EntityFilter] = field(default_factory=dict)
    sorts: Mapping[str, Sort] = field(default_factory=dict)
    default_sort: str = ""
    has_numeric_ids: bool = False
    text_key: tuple[str, Callable[[str], Condition]] | None = None
    id_key: Callable[[Reference], Condition] = by_id

    def __post_init__(self) -> None:
        """Set the base condition, the key and the sort that have a default."""
        if self.base_condition == NOT_DELETED and not has_column(self.table, "deleted_at"):
            object.__setattr__(self, "base_condition", "")
        if self.text_key is None and "slug" in self.filters:
            object.__setattr__(self, "text_key", ("slug", lambda slug: Condition("t.slug = {}", (slug,))))
        object.__setattr__(self, "default_sort", self.default_sort or next(iter(self.sorts), ""))

    @cached_property
    def in_lists(self) -> Entity:
        """Return the entity with the rows that lists show."""
        return self if self.listed is None else replace(self, visible=self.listed, listed=None)


ColumnSql = str | Callable[[Scope], Condition]


@dataclass(frozen=True, slots=True)
class ToOne:
    """A foreign key of the parent row (`column`) to the child's id."""

    column: str


@dataclass(frozen=True, slots=True)
class ToMany:
    """Child rows that refer to the parent.

    `key` is the SQL expression of the foreign key, `order` the order of a parent's children. `through` replaces the child's table by a join
    with an association table (it must define `t`). `parent` is the referenced column of the parent. `entity` declares which of the rows
    are shown, where these are others than in lists. `match`, in place of `key` and `through` where the rows of one parent are read, is a
    condition on the id in `{parent}` by which an index finds them in their order; for relations with a size.
    """

    key: str
    order: str
    through: str = ""
    where: str = ""
    parent: str = "id"
    entity: Entity | None = None
    match: str = ""


def many_to_many(
    table: str, key: str, target: str, target_key: str, order: str, *, entity: Entity | None = None
) -> ToMany:
    """Return the link to the rows of `target` that the association table names: its `key` is the parent, `target_key` the row.

    In `order` the association table is `l`.
    """
    through = f"{table} l JOIN {target} t ON t.tenant_id = l.tenant_id AND t.id = l.{target_key}"
    return ToMany(f"l.{key}", order, through=through, where="l.tenant_id = {tenant}", entity=entity)


Link = ToOne | ToMany


class Row(dict[str, Any]):
    """A result row: values by field name. Rows of an entity have a `models.reading.row_reads.RelationLoader` per relation."""

    __slots__ = ("loaders",)

    loaders: Mapping[str, Any]

    def related(self, key: str) -> Any:
        """Load the related row or rows: an awaitable, a value that needs no statement, or the error of a caller without access."""
        value = self[key]
        return value if isinstance(value, DomainError) else self.loaders[key].related(value)


# Limits are literals of a few sizes: with a parameter PostgreSQL would plan each execution again, and one text per limit would fill the
# cache of prepared statements. Rows beyond the requested limit are dropped.
_LIMITS = (1, 2, 3, 5, 6, 10, 11, 20, 21, 25, 26, 50, 51, 100, 101, 250, 251, 500, 501, 1001)


def statement_limit(limit: int) -> int:
    """Round a limit up to one of the sizes used in statements."""
    return next((size for size in _LIMITS if size >= limit), limit)


def sort_of(entity: Entity, sort: str | None) -> tuple[Sort, bool]:
    """Return the sort order of the name (default: the entity's), and whether it is descending."""
    name = sort or entity.default_sort
    return entity.sorts[name.lstrip("-")], name.startswith("-")


def order_of(scope: Scope, entity: Entity, sort: str | None) -> Condition:
    """Return the ORDER BY expressions for a caller; ties are broken by the id."""
    if not (sort or entity.default_sort):
        return Condition("t.id")
    order, descending = sort_of(entity, sort)
    direction = " DESC" if descending else ""
    expression = order.expression(scope)
    if expression.sql == "t.id":
        return Condition(f"t.id{direction}")
    return Condition(f"{expression.sql}{direction}, t.id{direction}", expression.params)


def key_columns(scope: Scope, entity: Entity, sort: str | None) -> Condition:
    """Return the columns of a cursor: the sort key and the id."""
    order, _ = sort_of(entity, sort)
    key = order.expression(scope)
    return Condition(f"{key.sql}, t.id", key.params)


def page_of(scope: Scope, entity: Entity, sort: str | None, limit: int, offset: int = 0) -> Condition:
    """Return the end of a list's statement: order, limit and offset."""
    order = order_of(scope, entity, sort)
    sql = f" ORDER BY {order.sql} LIMIT {statement_limit(limit)}"
    return Condition(f"{sql} OFFSET {{}}", (*order.params, offset)) if offset else Condition(sql, order.params)


def plans_for(conditions: Iterable[Condition]) -> Plans:
    """Return how PostgreSQL plans a list with these conditions, and its count."""
    return Plans.FOR_VALUES if any(condition.skewed for condition in conditions) else Plans.AUTOMATIC


# --- common filters ---------------------------------------------------------------------------------------------------


def any_of(column: str, cast: str = "text", *, skewed: bool = False) -> Callable[[Any], Condition]:
    """Return a filter for equality with a value or any of a list; `skewed` as in `Condition`."""

    def build(value: Any) -> Condition:
        values = value if isinstance(value, list) else [value]
        return Condition(f"{column} = ANY({{}}::{cast}[])", (values,), skewed)

    return build


def refers_to(column: str, table: str) -> Callable[[Any], Condition]:
    """Return a filter for rows whose `column` refers to any of the ids (internal ids or UUIDs); unknown ones match nothing."""

    def build(value: Any) -> Condition:
        values = value if isinstance(value, list) else [value]
        numbers, uuids = split_references(values)
        if len(values) == 1:  # a plan for one value, in place of the ten that PostgreSQL expects of an array
            number = f"(SELECT x.id FROM {table} x WHERE x.tenant_id = {{tenant}} AND x.public_id = {{}}::uuid)"
            return Condition(f"{column} = {number if uuids else '{}::bigint'}", (values[0],))
        if not uuids:
            return Condition(f"{column} = ANY({{}}::bigint[])", (numbers,))
        named = has_any_id(column, f"{table} x", "x.id", Condition("x.public_id = ANY({}::uuid[])", (uuids,)))
        if not numbers:
            return named
        return Condition(f"{column} = ANY({{}}::bigint[]) OR {named.sql}", (numbers, *named.params))

    return build


def has_any_id(column: str, source: str, key: str, condition: Condition) -> Condition:
    """Return the condition of rows whose `column` is the `key` of any row of `source` (a table with its alias) that matches.

    The keys are looked up once for each statement, as an array. The planner would join an `IN (SELECT …)`, and in a table that has grown
    since its last ANALYZE look all of them up again for each row.
    """
    tenant = f"{key.partition('.')[0]}.tenant_id"
    keys = f"SELECT {key} FROM {source} WHERE {tenant} = {{tenant}} AND ({condition.sql})"
    return Condition(f"{column} = ANY(ARRAY({keys}))", condition.params)


def by_ids(value: Any) -> Condition:
    """Return the condition for records with any of the ids (internal ids or UUIDs)."""
    values = value if isinstance(value, list) else [value]
    numbers, uuids = split_references(values)
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


# --- What depends on the caller ------------------------------------------------------------------------------------------

T = TypeVar("T")

# Callers cached per statement, enough for a thousand stores in turn; and entries of all caches together (some 150 bytes each), after
# which all caches are cleared.
MAX_CALLERS = 2_048
MAX_ENTRIES = 200_000


class _EntryCounter:
    """Counts the entries of all caches."""

    def __init__(self) -> None:
        self.entries = 0
        self.caches: WeakSet[CallerCache[Any]] = WeakSet()

    def add(self) -> None:
        if self.entries >= MAX_ENTRIES:
            for cache in list(self.caches):
                cache.clear()
            self.entries = 0
        self.entries += 1


_counter = _EntryCounter()


class CallerCache(Generic[T]):
    """Cache of values computed from a scope's store and caller.

    `compute` must not use anything else of the scope. Store and caller are cached objects themselves (`auth.store_resolution`,
    `auth.credential_cache`) that are replaced when anything they depend on changes, so comparing identities is enough.
    """

    __slots__ = ("__weakref__", "_compute", "_counter", "_entries")

    def __init__(self, compute: Callable[[Scope], T]) -> None:
        self._compute = compute
        self._entries: dict[int, tuple[Actor, Store, T]] = {}
        self._counter = _counter
        self._counter.caches.add(self)

    def __del__(self) -> None:
        self._counter.entries -= len(self._entries)

    def clear(self) -> None:
        """Remove all entries."""
        self._entries.clear()

    def __call__(self, scope: Scope) -> T:
        """Return the value for the scope's store and caller."""
        actor = scope.actor
        # The entry references the caller, so its id() can't be reused.
        entry = self._entries.get(id(actor))
        if entry is not None and entry[0] is actor and entry[1] is scope.store:
            return entry[2]
        value = self._compute(scope)
        if entry is not None or len(self._entries) >= MAX_CALLERS:
            del self._entries[id(actor) if entry is not None else next(iter(self._entries))]
        else:
            self._counter.add()
        self._entries[id(actor)] = (actor, scope.store, value)
        return value


class AccessConditions:
    """The SQL conditions that follow from a caller's access, and the statements built with them."""

    __slots__ = ("__weakref__", "params", "statements", "texts")

    def __init__(self, texts: list[str], params: list[Any]) -> None:
        self.texts = tuple(texts)
        self.params = tuple(params)
        self.statements: dict[Any, Any] = {}


class AccessConditionsPool:
    """Interns `AccessConditions`, so that callers with equal access share one object and its statements."""

    __slots__ = ("_interned",)

    def __init__(self) -> None:
        self._interned: WeakValueDictionary[tuple[Any, ...], AccessConditions] = WeakValueDictionary()

    def __call__(self, texts: list[str], params: list[Any]) -> AccessConditions:
        """Return the shared object for these conditions."""
        # The filter of a connection may have a list.
        key = (*texts, *[tuple(value) if isinstance(value, list) else value for value in params])
        conditions = self._interned.get(key)
        if conditions is None:
            conditions = self._interned[key] = AccessConditions(texts, params)
        return conditions
