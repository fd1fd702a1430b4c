"""Derive the shape of a read from the selection set of a GraphQL field: one walk, for compiled reads and for the executor.

Fragments, `@skip` and `@include`, aliases and arguments are resolved here. The keys of a compiled read's shape are those of the response.
Those of an executor's shape name what is read, so that a row answers several aliases: the field, or `field(limit)`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter
from typing import Any, Protocol, TypeAlias

from graphql import (
    FieldNode,
    FragmentSpreadNode,
    GraphQLError,
    GraphQLField,
    GraphQLNamedType,
    GraphQLObjectType,
    GraphQLResolveInfo,
    InlineFragmentNode,
    NamedTypeNode,
    SelectionSetNode,
    get_named_type,
    get_nullable_type,
    is_list_type,
    is_non_null_type,
)
from graphql.execution.values import get_argument_values, get_directive_values
from graphql.type import GraphQLIncludeDirective, GraphQLSkipDirective

from kernel.errors import ValidationFailed
from kernel.scope import Scope
from models.reading.columns import is_nullable
from models.reading.queries import Guard, ToMany
from models.reading.response_shapes import (
    CalculatedField,
    Calculation,
    ConstantField,
    NotCompiled,
    ObjectField,
    RelationField,
    ResponseField,
    ResponseShape,
    ScalarField,
)
from schema.connections import Layout, PageRequest, related_connection
from schema.fields import (
    UNSET,
    CalculatedSource,
    ColumnSource,
    RelationSource,
    class_of,
    entity_of,
    field_source,
    row_key,
)
from schema.pagination import node_type

MAX_RELATION_LIMIT = 100


def requested_shape(info: Any, *path: str) -> ResponseShape:
    """Build the executor's shape of the entity at `path` below the resolved field (`items`, `edges.node`, …).

    `info` is Strawberry's or graphql-core's. The shape is empty if the path is not selected.
    """
    collector, type_, nodes = _descend(info, path)
    return collector.shape(type_, nodes)


def requested_record(info: Any, type_: GraphQLNamedType) -> ResponseShape:
    """Build the executor's shape of the resolved field, an interface, for a record of a type that implements it."""
    collector, _, nodes = _descend(info, ())
    return collector.shape(type_, nodes)


def requested_types(info: Any) -> set[str]:
    """Return the names of the types, or interfaces, whose fragments are selected of the resolved field."""
    raw: GraphQLResolveInfo[Any] = getattr(info, "_raw_info", info)
    names: set[str] = set()
    selections = [
        selection for node in raw.field_nodes if node.selection_set for selection in node.selection_set.selections
    ]
    for selection in selections:
        fragment = raw.fragments[selection.name.value] if isinstance(selection, FragmentSpreadNode) else selection
        condition = getattr(fragment, "type_condition", None)
        if condition is not None:
            names.add(condition.name.value)
    return names


def is_requested(info: Any, *path: str) -> bool:
    """Return whether the field at `path` below the resolved field is selected."""
    return bool(_descend(info, path)[2])


def selected_relations(info: Any, *path: str) -> list[RelationField]:
    """Return the relations selected of the objects at `path` below the resolved field: results that hold ids of records."""
    collector, type_, nodes = _descend(info, path)
    return collector.relations(type_, nodes)


def _descend(info: Any, path: Sequence[str]) -> tuple[_FieldCollector, GraphQLNamedType, list[FieldNode]]:
    raw: GraphQLResolveInfo[Any] = getattr(info, "_raw_info", info)
    collector = _FieldCollector(raw, by_response_key=False)
    type_, nodes = get_named_type(raw.return_type), list(raw.field_nodes)
    for name in path:
        assert isinstance(type_, GraphQLObjectType)
        nodes = [node for _, node in collector.fields(type_, nodes) if node.name.value == name]
        type_ = get_named_type(type_.fields[name].type)
    return collector, type_, nodes


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


def response_shape(values: ExecutionValues, type_: GraphQLNamedType, nodes: Sequence[FieldNode]) -> ResponseShape:
    """Build the shape of field nodes on an entity type, with the keys of the response."""
    return _FieldCollector(values, by_response_key=True).shape(type_, list(nodes))


def record_shape(values: ExecutionValues, type_: GraphQLNamedType, nodes: Sequence[FieldNode]) -> ResponseShape:
    """Build the executor's shape of field nodes on an entity type; the guard of a relation with an invalid argument raises its error."""
    return _FieldCollector(values, by_response_key=False).shape(type_, list(nodes))


def response_relation(
    values: ExecutionValues, type_: GraphQLObjectType, group: Sequence[FieldNode]
) -> RelationField | None:
    """Return the relation that field nodes of one response key select of a result; None for another field."""
    return _FieldCollector(values, by_response_key=True).relation(type_, list(group))


def collect_fields(
    values: ExecutionValues, type_: GraphQLObjectType, nodes: Sequence[FieldNode]
) -> dict[str, list[FieldNode]]:
    """Collect the selected fields of an object by response key (CollectFields of the GraphQL specification)."""
    return _FieldCollector(values, by_response_key=True).group(type_, list(nodes))


@dataclass(frozen=True, slots=True)
class WrappedRecords:
    """The records in a page or connection: the response keys that lead to them, their type, and what is selected."""

    path: tuple[str, ...]
    type_: GraphQLObjectType
    nodes: list[FieldNode]


def wrapped_records(
    values: ExecutionValues, type_: GraphQLObjectType, nodes: Sequence[FieldNode]
) -> tuple[WrappedRecords | None, Layout]:
    """Return the records in a page or connection and the layout of the objects around them; raise `NotCompiled` as they may require."""
    return _FieldCollector(values, by_response_key=True).wrapped_records(type_, list(nodes))


@dataclass(frozen=True, slots=True)
class _Refusal:
    """Guards a relation with an invalid argument: the executor reports its error at the field, as that of a caller without access."""

    error: ValidationFailed
    guard: Guard | None

    def check(self, scope: Scope) -> None:
        if self.guard is not None:
            self.guard.check(scope)
        raise self.error


class _FieldCollector:
    def __init__(self, values: ExecutionValues, *, by_response_key: bool) -> None:
        self._values = values
        self._by_response_key = by_response_key

    def shape(self, type_: GraphQLNamedType, nodes: list[FieldNode]) -> ResponseShape:
        assert isinstance(type_, GraphQLObjectType)
        entity = entity_of(type_)
        assert entity is not None, f"{type_.name} is bound to no entity"
        return ResponseShape(entity, self._shape_fields(type_, nodes, entity.table))

    def _shape_fields(self, type_: GraphQLObjectType, nodes: list[FieldNode], table: str) -> tuple[ResponseField, ...]:
        fields: list[ResponseField] = []
        for key, group in self.group(type_, nodes).items():
            name = group[0].name.value
            if name == "__typename":
                fields.append(ConstantField(key, type_.name))
                continue
            field = type_.fields[name]
            source, target = field_source(field), get_named_type(field.type)
            if isinstance(source, ColumnSource):
                arguments = self._arguments(field, group[0]) if field.args else {}
                fields.append(_scalar(key, field, source, name, table, arguments))
            elif isinstance(source, RelationSource):
                fields.append(self._relation(key, field, source, group))
            elif isinstance(source, CalculatedSource):
                calculate: Calculation = partial(source.calculate, **self._arguments(field, group[0]))
                is_object = isinstance(target, GraphQLObjectType)
                if is_object and self._by_response_key:
                    calculate = partial(_calculate_response, calculate, _builder(self._result_shape(target, group)))
                fields.append(CalculatedField(key, source.columns, calculate, not is_object, source.guard))
            else:
                assert source is not None, f"{type_.name}.{name} has no source"
                assert isinstance(target, GraphQLObjectType)
                fields.append(ObjectField(key, self._shape_fields(target, group, table)))
        return tuple(fields)

    def _result_shape(self, type_: GraphQLNamedType, nodes: list[FieldNode]) -> _ResultShape:
        """Return the fields of a result by response key; only plain values and nested results are supported."""
        assert isinstance(type_, GraphQLObjectType)
        shape: _ResultShape = {}
        for key, group in self.group(type_, nodes).items():
            name = group[0].name.value
            if name == "__typename":
                shape[key] = (type_.name, None)
                continue
            target = get_named_type(type_.fields[name].type)
            nested = self._result_shape(target, group) if isinstance(target, GraphQLObjectType) else {}
            shape[key] = (name, _NULL_IF_EMPTY if shows_null(type_.fields[name]) else nested)
        return shape

    def relations(self, type_: GraphQLNamedType, nodes: list[FieldNode]) -> list[RelationField]:
        assert isinstance(type_, GraphQLObjectType)
        groups = self.group(type_, nodes)
        relations = [self.relation(type_, group, key) for key, group in groups.items()]
        return [relation for relation in relations if relation is not None]

    def relation(self, type_: GraphQLObjectType, group: list[FieldNode], key: str = "") -> RelationField | None:
        field = type_.fields.get(group[0].name.value)
        source = field_source(field) if field is not None else None
        if field is None or not isinstance(source, RelationSource):
            return None
        return self._relation(key, field, source, group)

    def _relation(self, key: str, field: GraphQLField, source: RelationSource, group: list[FieldNode]) -> RelationField:
        try:
            return self._valid_relation(key, field, source, group)
        except ValidationFailed as error:
            if self._by_response_key:
                raise  # left to the executor
            type_ = get_named_type(field.type)
            assert isinstance(type_, GraphQLObjectType)
            entity = entity_of(type_ if source.own_order is None else node_type(type_))
            assert entity is not None
            return RelationField(key, source.link, ResponseShape(entity, ()), guard=_Refusal(error, source.guard))

    def _valid_relation(
        self, key: str, field: GraphQLField, source: RelationSource, group: list[FieldNode]
    ) -> RelationField:
        if source.own_order is not None:
            return self._connection(key, field, source, group)
        limit = self._limit(field, source, group[0])
        shape = _related_shape(source, self.shape(get_named_type(field.type), group))
        return RelationField(key, source.link, shape, source.single, limit, source.guard)

    def _connection(
        self, key: str, field: GraphQLField, source: RelationSource, group: list[FieldNode]
    ) -> RelationField:
        arguments = self._arguments(field, group[0])
        source = source.asked(arguments)
        type_ = get_named_type(field.type)
        assert isinstance(type_, GraphQLObjectType)
        records, layout = self.wrapped_records(type_, group)
        node = node_type(type_)
        shape = _related_shape(source, self.shape(node, records.nodes if records is not None else []))
        request = PageRequest.of(arguments, MAX_RELATION_LIMIT)
        assert source.own_order is not None
        page = related_connection(class_of(node), shape.entity, source.own_order, request, arguments)
        page = replace(page, layout=layout) if self._by_response_key else page
        return RelationField(key, source.link, shape, limit=request.limit + 1, guard=source.guard, page=page)

    def wrapped_records(self, type_: GraphQLObjectType, nodes: list[FieldNode]) -> tuple[WrappedRecords | None, Layout]:
        """Return the records in a page or connection, as far as they are selected, and the layout of the objects around them.

        Raise `NotCompiled` when the response has the records under two keys.
        """
        records: list[WrappedRecords] = []
        layout = self._layout(type_, nodes, (), records)
        if len(records) > 1:
            raise NotCompiled
        return records[0] if records else None, layout

    def _layout(
        self, type_: GraphQLObjectType, nodes: list[FieldNode], path: tuple[str, ...], records: list[WrappedRecords]
    ) -> Layout:
        layout: Layout = []
        for key, group in self.group(type_, nodes).items():
            name, nested = group[0].name.value, None
            if name == "__typename":
                name = f"={type_.name}"
            elif isinstance(target := get_named_type(type_.fields[name].type), GraphQLObjectType):
                if entity_of(target) is not None:
                    records.append(WrappedRecords((*path, key), target, group))
                else:
                    nested = self._layout(target, group, (*path, key), records)
            layout.append((key, name, nested))
        return layout

    def group(self, type_: GraphQLObjectType, nodes: list[FieldNode]) -> dict[str, list[FieldNode]]:
        groups: dict[str, list[FieldNode]] = {}
        for key, node in self.fields(type_, nodes):
            if not self._by_response_key:
                try:
                    key = self._row_key(type_, node)
                except GraphQLError:
                    continue  # null in an argument that takes none, which the executor reports at the field
            groups.setdefault(key, []).append(node)
        return groups

    def _row_key(self, type_: GraphQLObjectType, node: FieldNode) -> str:
        name = node.name.value
        field = type_.fields.get(name)
        return row_key(name, self._arguments(field, node)) if field else name

    def _arguments(self, field: GraphQLField, node: FieldNode) -> dict[str, Any]:
        return get_argument_values(field, node, self._values.variable_values)

    def _limit(self, field: GraphQLField, source: RelationSource, node: FieldNode) -> int | None:
        if source.limited:
            limit: int = self._arguments(field, node)[source.limited]
            _check_limit(limit, source.limited)
            return limit
        return 1 if source.single and isinstance(source.link, ToMany) else None

    def fields(self, type_: GraphQLObjectType, nodes: list[FieldNode]) -> Iterator[tuple[str, FieldNode]]:
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
                if node.type_condition is None or _applies(node.type_condition, type_):
                    yield from self._expand(type_, node.selection_set, seen)
            elif isinstance(node, FragmentSpreadNode) and node.name.value not in seen:
                seen.add(node.name.value)
                fragment = self._values.fragments[node.name.value]
                if _applies(fragment.type_condition, type_):
                    yield from self._expand(type_, fragment.selection_set, seen)

    def _is_included(self, node: Any) -> bool:
        variables = self._values.variable_values
        try:
            skip = get_directive_values(GraphQLSkipDirective, node, variables)
            include = get_directive_values(GraphQLIncludeDirective, node, variables)
        except GraphQLError:
            if self._by_response_key:
                raise
            return False  # null in place of the condition, which the executor reports at the object
        return not (skip and skip["if"]) and not (include and not include["if"])


def shows_null(field: GraphQLField) -> bool:
    """Return whether a field of the public schema is null in place of an empty text."""
    return bool(field.extensions.get(UNSET))


def _applies(condition: NamedTypeNode, type_: GraphQLObjectType) -> bool:
    """Return whether a fragment on a type applies to objects of a type: the same one, or one that implements it."""
    name = condition.name.value
    return name == type_.name or any(interface.name == name for interface in type_.interfaces)


# The fields of a result by response key: the name and the fields of a nested result; None for a constant.
_ResultShape: TypeAlias = dict[str, tuple[str, "_ResultShape | None"]]
# In place of the fields of a nested result: of a text that is null where it is empty.
_NULL_IF_EMPTY: _ResultShape = {"": ("", None)}


async def _calculate_response(
    calculate: Calculation, build: Callable[[Any], Any], scope: Scope, values: list[Any]
) -> list[Any]:
    """Return results as the response contains them, in place of a failed one its error."""
    return [build(result) for result in await calculate(scope, values)]


def _related_shape(source: RelationSource, shape: ResponseShape) -> ResponseShape:
    """Return the shape of related records: a list leaves out what lists leave out, unless its link says otherwise."""
    if not isinstance(source.link, ToMany) or source.single:
        return shape
    return shape.of(source.link.entity or shape.entity.in_lists)


def _builder(shape: _ResultShape) -> Callable[[Any], Any]:
    """Return the function that turns a result, or a list of results, into what the response contains; anything else it returns as it is."""
    if len(shape) > 1 and all(nested == {} for _, nested in shape.values()):
        keys, take = tuple(shape), itemgetter(*[name for name, _ in shape.values()])

        def build_object(result: dict[str, Any]) -> dict[str, Any]:
            return dict(zip(keys, take(result), strict=True))
    else:
        members = [(key, _reader(name, nested)) for key, (name, nested) in shape.items()]

        def build_object(result: dict[str, Any]) -> dict[str, Any]:
            return {key: read(result) for key, read in members}

    def build(result: Any) -> Any:
        if isinstance(result, list):
            return [build(item) for item in result]
        return build_object(result) if isinstance(result, dict) else result

    return build


def _reader(name: str, nested: _ResultShape | None) -> Callable[[dict[str, Any]], Any]:
    if nested is None:
        return lambda _: name
    if not nested:
        return itemgetter(name)
    if nested is _NULL_IF_EMPTY:
        return lambda result: result[name] or None
    build = _builder(nested)
    return lambda result: build(result[name])


# The value type of each scalar (`models.reading.response_shapes.ScalarField.value_type`); only the executor decrypts and masks parameters.
_VALUE_TYPES = {
    "String": "text",
    "ID": "id",
    "DateTime": "time",
    "JSON": "json",
    "Role": "role",
    "ProcessorParams": "python",
    "RateParams": "python",
}


def _scalar(
    key: str, field: GraphQLField, source: ColumnSource, name: str, table: str, arguments: Mapping[str, Any]
) -> ScalarField:
    sql = source.sql if source.sql is not None else name
    if source.sql_of is not None:
        sql = source.sql_of(**arguments)
    never_null = source.never_null
    if isinstance(sql, str) and sql.isidentifier():
        never_null = not is_nullable(table, sql)
        sql = f"t.{sql}"
    if shows_null(field):
        sql, never_null = f"nullif({sql}, '')", False
    requires_value = is_non_null_type(field.type) and not never_null
    is_list = is_list_type(get_nullable_type(field.type))
    value_type = "text" if is_list else _VALUE_TYPES.get(get_named_type(field.type).name, "plain")
    return ScalarField(key, sql, value_type, source.guard, requires_value)


def _check_limit(limit: int, argument: str) -> None:
    if not 1 <= limit <= MAX_RELATION_LIMIT:
        raise ValidationFailed(f"{argument} is {limit}; expected 1 to {MAX_RELATION_LIMIT}", field=argument)
