"""Derive from a GraphQL document what must be read: the `Selection` below a field.

Fragments, `@skip` and `@include`, aliases and arguments are resolved here; the reader sees plain data.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from graphql import (
    FieldNode,
    FragmentSpreadNode,
    GraphQLNamedType,
    GraphQLObjectType,
    GraphQLResolveInfo,
    InlineFragmentNode,
    SelectionSetNode,
    get_named_type,
)
from graphql.execution.values import get_argument_values, get_directive_values
from graphql.type import GraphQLIncludeDirective, GraphQLSkipDirective

from kernel.errors import ValidationFailed
from models.reading import Child, Column, Selection, ToMany
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


class _Walk:
    def __init__(self, info: GraphQLResolveInfo[Any]) -> None:
        self.info = info

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
        groups: dict[str, list[FieldNode]] = {}
        for key, node in self._fields(type_, nodes):
            groups.setdefault(key, []).append(node)
        for key, group in groups.items():
            name = group[0].name.value
            field = type_.fields.get(name)
            if field is None:  # __typename
                continue
            source = source_of(field)
            if isinstance(source, ColumnSource):
                sql = source.sql if source.sql is not None else name
                if isinstance(sql, str) and sql.isidentifier():
                    sql = f"t.{sql}"
                columns.setdefault(prefix + name, Column(prefix + name, sql, source.guard))
            elif isinstance(source, RelationSource):
                target = get_named_type(field.type)
                limit = None
                if source.sized:
                    limit = _checked_limit(
                        get_argument_values(field, group[0], self.info.variable_values)["limit"]
                    )
                elif source.single and isinstance(source.link, ToMany):
                    limit = 1
                children[key] = Child(
                    key, source.link, self.selection(target, group), limit=limit, guard=source.guard
                )
            elif isinstance(source, EmbeddedSource):
                target = get_named_type(field.type)
                assert isinstance(target, GraphQLObjectType)
                self._gather(target, group, f"{target.name}.", columns, children)

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


def _checked_limit(limit: int) -> int:
    if not 1 <= limit <= MAX_RELATION_LIMIT:
        raise ValidationFailed(f"limit is {limit}; expected 1 to {MAX_RELATION_LIMIT}", field="limit")
    return limit
