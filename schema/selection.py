"""Derive from a GraphQL document what must be read: the `Selection` below a field.

Fragments, `@skip` and `@include`, aliases and arguments are resolved here; the reader sees plain data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from graphql import (
    FieldNode,
    FragmentSpreadNode,
    GraphQLField,
    GraphQLNamedType,
    GraphQLObjectType,
    GraphQLResolveInfo,
    InlineFragmentNode,
    SelectionSetNode,
    get_named_type,
    get_nullable_type,
    is_list_type,
    is_non_null_type,
)
from graphql.execution.values import get_argument_values, get_directive_values
from graphql.type import GraphQLIncludeDirective, GraphQLSkipDirective

from kernel.errors import ValidationFailed
from models.reading import Child, Column, ColumnSql, Selection, ToMany
from models.shapes import Branch, Constant, Item, Leaf, NotCompiled, Part, Shape
from schema.fields import ColumnSource, EmbeddedSource, RelationSource, entity_of, source_of

MAX_RELATION_LIMIT = 100


def selection_below(info: Any, *path: str) -> Selection:
    """Give what is asked of the entity at `path` below the field that is being resolved (`items`, `edges.node`, …).

    `info` is Strawberry's or graphql-core's. Without any field asked there the selection is empty.
    """
    raw: GraphQLResolveInfo[Any] = getattr(info, "_raw_info", info)
    walk = _Walk(raw)
    type_, nodes = get_named_type(raw.return_type), list(raw.field_nodes)
    for name in path:
        nodes, type_ = walk.descend(type_, nodes, name)
    return walk.selection(type_, nodes)


def asked(info: Any, *path: str) -> bool:
    """Tell whether the field at `path` below the one that is being resolved is asked for."""
    raw: GraphQLResolveInfo[Any] = getattr(info, "_raw_info", info)
    walk = _Walk(raw)
    type_, nodes = get_named_type(raw.return_type), list(raw.field_nodes)
    for name in path:
        nodes, type_ = walk.descend(type_, nodes, name)
    return bool(nodes)


class Source(Protocol):
    """Give what a walk needs of an execution: `GraphQLResolveInfo` is one."""

    @property
    def fragments(self) -> Mapping[str, Any]:
        """The document's fragments by name."""
        ...

    @property
    def variable_values(self) -> Any:
        """The coerced variables."""
        ...


def shape_below(
    source: Source, type_: GraphQLNamedType, nodes: Sequence[FieldNode], columns: Nullable
) -> Shape:
    """Give the shape that field nodes ask of a type bound to an entity, in the order of the answer's keys.

    `columns` tells which columns of a table may be null: a non-null field whose value the database does not guarantee is checked.
    """
    return _Walk(source).shape(type_, list(nodes), columns)


def fields_below(
    source: Source, type_: GraphQLObjectType, nodes: Sequence[FieldNode]
) -> dict[str, list[FieldNode]]:
    """Give the fields asked of an object, fragments and directives resolved, by the key of the answer."""
    return _Walk(source).grouped(type_, list(nodes))


class _Walk:
    def __init__(self, source: Source) -> None:
        self.info = source

    def descend(
        self, type_: GraphQLNamedType, nodes: list[FieldNode], name: str
    ) -> tuple[list[FieldNode], GraphQLNamedType]:
        assert isinstance(type_, GraphQLObjectType)
        found = [node for _, node in self._fields(type_, nodes) if node.name.value == name]
        return found, get_named_type(type_.fields[name].type)

    def selection(self, type_: GraphQLNamedType, nodes: list[FieldNode]) -> Selection:
        assert isinstance(type_, GraphQLObjectType)
        entity = entity_of(type_)
        assert entity is not None, f"{type_.name} is bound to no entity"
        columns: dict[str, Column] = {}
        children: dict[str, Child] = {}
        self._gather(type_, nodes, "", columns, children)
        return Selection(entity, tuple(columns.values()), tuple(children.values()))

    def _gather(
        self,
        type_: GraphQLObjectType,
        nodes: list[FieldNode],
        prefix: str,
        columns: dict[str, Column],
        children: dict[str, Child],
    ) -> None:
        for key, group in self.grouped(type_, nodes).items():
            name = group[0].name.value
            field = type_.fields.get(name)
            if field is None:  # __typename
                continue
            source = source_of(field)
            if isinstance(source, ColumnSource):
                sql = _sql(source, name)
                columns.setdefault(prefix + name, Column(prefix + name, sql, source.guard))
            elif isinstance(source, RelationSource):
                target = get_named_type(field.type)
                limit = self._limit(field, source, group[0])
                children[key] = Child(
                    key, source.link, self.selection(target, group), limit=limit, guard=source.guard
                )
            elif isinstance(source, EmbeddedSource):
                target = get_named_type(field.type)
                assert isinstance(target, GraphQLObjectType)
                self._gather(target, group, f"{target.name}.", columns, children)

    def grouped(self, type_: GraphQLObjectType, nodes: list[FieldNode]) -> dict[str, list[FieldNode]]:
        groups: dict[str, list[FieldNode]] = {}
        for key, node in self._fields(type_, nodes):
            groups.setdefault(key, []).append(node)
        return groups

    def shape(self, type_: GraphQLNamedType, nodes: list[FieldNode], columns: Nullable) -> Shape:
        assert isinstance(type_, GraphQLObjectType)
        entity = entity_of(type_)
        assert entity is not None, f"{type_.name} is bound to no entity"
        return Shape(entity, self._items(type_, nodes, entity.table, columns))

    def _items(
        self, type_: GraphQLObjectType, nodes: list[FieldNode], table: str, columns: Nullable
    ) -> tuple[Item, ...]:
        items: list[Item] = []
        for key, group in self.grouped(type_, nodes).items():
            name = group[0].name.value
            if name == "__typename":
                items.append(Constant(key, type_.name))
                continue
            field = type_.fields[name]
            source, target = source_of(field), get_named_type(field.type)
            if isinstance(source, ColumnSource):
                if target.name in _EXECUTED:
                    raise NotCompiled
                sql = _sql(source, name)
                checked = is_non_null_type(field.type) and not _is_guaranteed(sql, table, columns)
                kind = (
                    "plain"
                    if is_list_type(get_nullable_type(field.type))
                    else _KINDS.get(target.name, "plain")
                )
                items.append(Leaf(key, sql, kind, source.guard, checked))
            elif isinstance(source, RelationSource):
                limit = self._limit(field, source, group[0])
                below = self.shape(target, group, columns)
                items.append(Branch(key, source.link, below, source.single, limit, source.guard))
            elif isinstance(source, EmbeddedSource):
                assert isinstance(target, GraphQLObjectType)
                items.append(Part(key, self._items(target, group, table, columns)))
            else:
                raise NotCompiled
        return tuple(items)

    def _limit(self, field: GraphQLField, source: RelationSource, node: FieldNode) -> int | None:
        if source.sized:
            return _checked_limit(get_argument_values(field, node, self.info.variable_values)["limit"])
        return 1 if source.single and isinstance(source.link, ToMany) else None

    def _fields(self, type_: GraphQLObjectType, nodes: list[FieldNode]) -> Iterator[tuple[str, FieldNode]]:
        seen: set[str] = set()
        for node in nodes:
            if node.selection_set is not None:
                yield from self._in(type_, node.selection_set, seen)

    def _in(
        self, type_: GraphQLObjectType, selection_set: SelectionSetNode, seen: set[str]
    ) -> Iterator[tuple[str, FieldNode]]:
        for node in selection_set.selections:
            if node.directives and not self._included(node):
                continue
            if isinstance(node, FieldNode):
                yield (node.alias or node.name).value, node
            elif isinstance(node, InlineFragmentNode):
                if node.type_condition is None or node.type_condition.name.value == type_.name:
                    yield from self._in(type_, node.selection_set, seen)
            elif isinstance(node, FragmentSpreadNode) and node.name.value not in seen:
                seen.add(node.name.value)
                fragment = self.info.fragments[node.name.value]
                if fragment.type_condition.name.value == type_.name:
                    yield from self._in(type_, fragment.selection_set, seen)

    def _included(self, node: Any) -> bool:
        variables = self.info.variable_values
        skip = get_directive_values(GraphQLSkipDirective, node, variables)
        if skip and skip["if"]:
            return False
        include = get_directive_values(GraphQLIncludeDirective, node, variables)
        return not (include and not include["if"])


# How values of a scalar are written (`models.shapes.Leaf.kind`).
_KINDS = {"ID": "id", "DateTime": "time", "JSON": "json", "Role": "role"}

# What is written otherwise than the database gives it, by the scalar itself.
_EXECUTED = frozenset({"ProcessorParams"})

Nullable = Callable[[str, str], bool]


def _sql(source: ColumnSource, name: str) -> ColumnSql:
    sql = source.sql if source.sql is not None else name
    return f"t.{sql}" if isinstance(sql, str) and sql.isidentifier() else sql


# How expressions begin that are never null.
_NEVER_NULL = (
    "coalesce(",
    "extract(",
    "floor(extract(",
    "ARRAY(",
    "(SELECT count(*)",
    "(SELECT coalesce(",
    "btrim(",
    "t.quantity *",
)


def _is_guaranteed(sql: ColumnSql, table: str, nullable: Nullable) -> bool:
    """Tell whether the database rules null out: a NOT NULL column, or an expression that is never null."""
    if not isinstance(sql, str):
        return True  # amounts that depend on the caller: sums with a coalesce, or NOT NULL columns
    if sql.startswith("t.") and sql[2:].isidentifier():
        return not nullable(table, sql[2:])
    return sql.startswith(_NEVER_NULL) or sql.endswith("IS NOT NULL")


def _checked_limit(limit: int) -> int:
    if not 1 <= limit <= MAX_RELATION_LIMIT:
        raise ValidationFailed(f"limit is {limit}; expected 1 to {MAX_RELATION_LIMIT}", field="limit")
    return limit
