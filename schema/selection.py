"""Derive the database `Selection` (or the compiled `ResponseShape`) from the selection set of a GraphQL field.

Fragments, `@skip` and `@include`, aliases and arguments are resolved here. `models.queries` batch-loads the relations of a selection
with one statement per level, like dataloaders, which avoids N+1 queries.
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
from models.queries import ChildSelection, Column, ColumnSql, Selection, ToMany
from models.response_shapes import (
    ConstantField,
    NotCompiled,
    ObjectField,
    RelationField,
    ResponseField,
    ResponseShape,
    ScalarField,
)
from schema.fields import ColumnSource, EmbeddedSource, RelationSource, entity_of, field_source

MAX_RELATION_LIMIT = 100


def build_selection(info: Any, *path: str) -> Selection:
    """Build the selection of the entity at `path` below the resolved field (`items`, `edges.node`, …).

    `info` is Strawberry's or graphql-core's. The selection is empty if the path is not selected.
    """
    raw: GraphQLResolveInfo[Any] = getattr(info, "_raw_info", info)
    collector = _FieldCollector(raw)
    type_, nodes = get_named_type(raw.return_type), list(raw.field_nodes)
    for name in path:
        nodes, type_ = collector.descend(type_, nodes, name)
    return collector.selection(type_, nodes)


def is_requested(info: Any, *path: str) -> bool:
    """Return whether the field at `path` below the resolved field is selected."""
    raw: GraphQLResolveInfo[Any] = getattr(info, "_raw_info", info)
    collector = _FieldCollector(raw)
    type_, nodes = get_named_type(raw.return_type), list(raw.field_nodes)
    for name in path:
        nodes, type_ = collector.descend(type_, nodes, name)
    return bool(nodes)


class ExecutionValues(Protocol):
    """The fragments and variables of an execution; implemented by `GraphQLResolveInfo`."""

    @property
    def fragments(self) -> Mapping[str, Any]:
        """The document's fragments by name."""
        ...

    @property
    def variable_values(self) -> Any:
        """The coerced variables."""
        ...


def build_shape(
    values: ExecutionValues, type_: GraphQLNamedType, nodes: Sequence[FieldNode], is_nullable: IsNullable
) -> ResponseShape:
    """Build the response shape of field nodes on an entity type, in the order of the response keys.

    `is_nullable` returns whether a column of a table is nullable: non-null fields not guaranteed by a constraint are checked at run time.
    """
    return _FieldCollector(values).shape(type_, list(nodes), is_nullable)


def collect_fields(
    values: ExecutionValues, type_: GraphQLObjectType, nodes: Sequence[FieldNode]
) -> dict[str, list[FieldNode]]:
    """Collect the selected fields of an object by response key (CollectFields of the GraphQL specification)."""
    return _FieldCollector(values).group(type_, list(nodes))


class _FieldCollector:
    def __init__(self, values: ExecutionValues) -> None:
        self.values = values

    def descend(
        self, type_: GraphQLNamedType, nodes: list[FieldNode], name: str
    ) -> tuple[list[FieldNode], GraphQLNamedType]:
        assert isinstance(type_, GraphQLObjectType)
        children = [node for _, node in self._fields(type_, nodes) if node.name.value == name]
        return children, get_named_type(type_.fields[name].type)

    def selection(self, type_: GraphQLNamedType, nodes: list[FieldNode]) -> Selection:
        assert isinstance(type_, GraphQLObjectType)
        entity = entity_of(type_)
        assert entity is not None, f"{type_.name} is bound to no entity"
        columns: dict[str, Column] = {}
        children: dict[str, ChildSelection] = {}
        self._collect(type_, nodes, "", columns, children)
        return Selection(entity, tuple(columns.values()), tuple(children.values()))

    def _collect(
        self,
        type_: GraphQLObjectType,
        nodes: list[FieldNode],
        prefix: str,
        columns: dict[str, Column],
        children: dict[str, ChildSelection],
    ) -> None:
        for key, group in self.group(type_, nodes).items():
            name = group[0].name.value
            field = type_.fields.get(name)
            if field is None:  # __typename
                continue
            source = field_source(field)
            if isinstance(source, ColumnSource):
                sql = _sql(source, name)
                columns.setdefault(prefix + name, Column(prefix + name, sql, source.guard))
            elif isinstance(source, RelationSource):
                target = get_named_type(field.type)
                limit = self._limit(field, source, group[0])
                children[key] = ChildSelection(
                    key, source.link, self.selection(target, group), limit=limit, guard=source.guard
                )
            elif isinstance(source, EmbeddedSource):
                target = get_named_type(field.type)
                assert isinstance(target, GraphQLObjectType)
                self._collect(target, group, f"{target.name}.", columns, children)

    def group(self, type_: GraphQLObjectType, nodes: list[FieldNode]) -> dict[str, list[FieldNode]]:
        groups: dict[str, list[FieldNode]] = {}
        for key, node in self._fields(type_, nodes):
            groups.setdefault(key, []).append(node)
        return groups

    def shape(self, type_: GraphQLNamedType, nodes: list[FieldNode], is_nullable: IsNullable) -> ResponseShape:
        assert isinstance(type_, GraphQLObjectType)
        entity = entity_of(type_)
        assert entity is not None, f"{type_.name} is bound to no entity"
        return ResponseShape(entity, self._response_fields(type_, nodes, entity.table, is_nullable))

    def _response_fields(
        self, type_: GraphQLObjectType, nodes: list[FieldNode], table: str, is_nullable: IsNullable
    ) -> tuple[ResponseField, ...]:
        fields: list[ResponseField] = []
        for key, group in self.group(type_, nodes).items():
            name = group[0].name.value
            if name == "__typename":
                fields.append(ConstantField(key, type_.name))
                continue
            field = type_.fields[name]
            source, target = field_source(field), get_named_type(field.type)
            if isinstance(source, ColumnSource):
                if target.name in _NOT_COMPILED:
                    raise NotCompiled
                sql = _sql(source, name)
                requires_value = is_non_null_type(field.type) and not _is_guaranteed(sql, table, is_nullable)
                value_type = (
                    "text" if is_list_type(get_nullable_type(field.type)) else _VALUE_TYPES.get(target.name, "plain")
                )
                fields.append(ScalarField(key, sql, value_type, source.guard, requires_value))
            elif isinstance(source, RelationSource):
                limit = self._limit(field, source, group[0])
                shape = self.shape(target, group, is_nullable)
                fields.append(RelationField(key, source.link, shape, source.single, limit, source.guard))
            elif isinstance(source, EmbeddedSource):
                assert isinstance(target, GraphQLObjectType)
                fields.append(ObjectField(key, self._response_fields(target, group, table, is_nullable)))
            else:
                raise NotCompiled
        return tuple(fields)

    def _limit(self, field: GraphQLField, source: RelationSource, node: FieldNode) -> int | None:
        if source.limited:
            return _check_limit(get_argument_values(field, node, self.values.variable_values)["limit"])
        return 1 if source.single and isinstance(source.link, ToMany) else None

    def _fields(self, type_: GraphQLObjectType, nodes: list[FieldNode]) -> Iterator[tuple[str, FieldNode]]:
        seen: set[str] = set()
        for node in nodes:
            if node.selection_set is not None:
                yield from self._expand(type_, node.selection_set, seen)

    def _expand(
        self, type_: GraphQLObjectType, selection_set: SelectionSetNode, seen: set[str]
    ) -> Iterator[tuple[str, FieldNode]]:
        for node in selection_set.selections:
            if node.directives and not self._is_included(node):
                continue
            if isinstance(node, FieldNode):
                yield (node.alias or node.name).value, node
            elif isinstance(node, InlineFragmentNode):
                if node.type_condition is None or node.type_condition.name.value == type_.name:
                    yield from self._expand(type_, node.selection_set, seen)
            elif isinstance(node, FragmentSpreadNode) and node.name.value not in seen:
                seen.add(node.name.value)
                fragment = self.values.fragments[node.name.value]
                if fragment.type_condition.name.value == type_.name:
                    yield from self._expand(type_, fragment.selection_set, seen)

    def _is_included(self, node: Any) -> bool:
        variables = self.values.variable_values
        skip = get_directive_values(GraphQLSkipDirective, node, variables)
        if skip and skip["if"]:
            return False
        include = get_directive_values(GraphQLIncludeDirective, node, variables)
        return not (include and not include["if"])


# The value type of each scalar (`models.response_shapes.ScalarField.value_type`).
_VALUE_TYPES = {"String": "text", "ID": "id", "DateTime": "time", "JSON": "json", "Role": "role"}

# Scalars with Python serialization, which compiled reads do not support.
_NOT_COMPILED = frozenset({"ProcessorParams"})

IsNullable = Callable[[str, str], bool]


def _sql(source: ColumnSource, name: str) -> ColumnSql:
    sql = source.sql if source.sql is not None else name
    return f"t.{sql}" if isinstance(sql, str) and sql.isidentifier() else sql


# Prefixes of SQL expressions that are never null.
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


def _is_guaranteed(sql: ColumnSql, table: str, is_nullable: IsNullable) -> bool:
    """Return whether the value can't be null: a NOT NULL column, or an expression that is never null."""
    if not isinstance(sql, str):
        return True  # caller-dependent amounts: sums with a coalesce, or NOT NULL columns
    if sql.startswith("t.") and sql[2:].isidentifier():
        return not is_nullable(table, sql[2:])
    return sql.startswith(_NEVER_NULL) or sql.endswith("IS NOT NULL")


def _check_limit(limit: int) -> int:
    if not 1 <= limit <= MAX_RELATION_LIMIT:
        raise ValidationFailed(f"limit is {limit}; expected 1 to {MAX_RELATION_LIMIT}", field="limit")
    return limit
