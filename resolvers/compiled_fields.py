"""Root fields of a compiled query: evaluate the arguments, then read rows, pages or connections with compiled readers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from graphql import (
    FieldNode,
    FragmentDefinitionNode,
    GraphQLError,
    GraphQLField,
    GraphQLObjectType,
    get_named_type,
)
from graphql.execution.values import VariableValues, get_argument_values

from kernel.errors import DomainError
from kernel.ids import Reference
from kernel.record_conversion import Conversions
from kernel.scope import Scope
from models import row_reads
from models.caller_cache import CallerCache
from models.compiled_reads import CompiledReader
from models.cursors import encode_cursors
from models.queries import by_id
from models.response_shapes import NotCompiled
from resolvers.entity_queries import EntityQuery, ListRequest
from resolvers.variables import (
    constant_arguments,
)
from schema.pagination import page_info
from schema.scalars import parse_id
from schema.selection import collect_fields, response_shape


@dataclass(frozen=True, slots=True)
class CompilationValues:
    """The `schema.selection.ExecutionValues` of a compilation."""

    fragments: Mapping[str, FragmentDefinitionNode]
    variable_values: Any
    conversions: Conversions


class CompiledRootField:
    """A compiled root field, independent of its arguments."""

    __slots__ = (
        "_check_access",
        "_constant_arguments",
        "_edge_fields",
        "_field",
        "_item_readers",
        "_layout",
        "_node",
        "_page_info_fields",
        "_query",
        "_reader",
        "key",
    )

    def __init__(
        self,
        key: str,
        query: EntityQuery,
        values: CompilationValues,
        type_: GraphQLObjectType,
        field: GraphQLField,
        nodes: list[FieldNode],
        *,
        native: bool,
    ) -> None:
        self.key = key
        self._query = query
        self._check_access = CallerCache(query.access.check)
        self._field = field
        self._node = nodes[0]
        self._constant_arguments = constant_arguments(field, nodes[0], values.variable_values)
        self._reader: CompiledReader | None = None
        self._layout: list[tuple[str, str]] = []
        self._page_info_fields: list[tuple[str, str, Any]] = []
        self._edge_fields: list[tuple[str, str]] = []
        self._item_readers: dict[str, CompiledReader] = {}
        if query.kind in ("one", "list"):
            self._reader = _reader(values, type_, nodes, native, (key,))
        else:
            self._compile_layout(values, type_, nodes, native)

    def _compile_layout(
        self, values: CompilationValues, type_: GraphQLObjectType, nodes: list[FieldNode], native: bool
    ) -> None:
        """Store the response keys of a page or connection in order; a connection with two `edges` fields is left to the executor."""
        for key, group in collect_fields(values, type_, nodes).items():
            name = group[0].name.value
            if name == "items":
                self._item_readers[key] = _reader(values, _object_type(type_, name), group, native, (self.key, key))
            elif name == "edges":
                self._compile_edges(values, _object_type(type_, name), group, native)
            elif name == "page_info":
                info = collect_fields(values, _object_type(type_, name), group)
                self._page_info_fields += [(key, inner, nodes[0].name.value) for inner, nodes in info.items()]
            self._layout.append((key, name if name != "__typename" else f"={type_.name}"))

    def _compile_edges(
        self, values: CompilationValues, edge: GraphQLObjectType, nodes: list[FieldNode], native: bool
    ) -> None:
        if self._edge_fields:
            raise NotCompiled
        for key, group in collect_fields(values, edge, nodes).items():
            name = group[0].name.value
            if name == "node":
                if self._reader is not None:
                    raise NotCompiled
                self._reader = _reader(values, _object_type(edge, name), group, native, ())
            self._edge_fields.append((key, name if name != "__typename" else f"={edge.name}"))

    async def run(self, scope: Scope, variables: VariableValues) -> Any:
        """Read the field's data."""
        kind = self._query.kind
        if kind == "one":
            assert self._reader is not None
            reference = self._evaluate_id(scope, variables)
            return None if reference is None else await self._reader.fetch_one(scope, by_id(reference))
        request = self._evaluate_arguments(scope, variables)
        if kind == "list":
            assert self._reader is not None
            return await _read(self._reader, scope, request)
        return await (self._page(scope, request) if kind == "page" else self._connection(scope, request))

    def _evaluate_id(self, scope: Scope, variables: VariableValues) -> Reference | None:
        """Return the requested id; None if it is malformed."""
        try:
            self._check_access(scope)
            value = self._argument_values(variables)["id"]
            return parse_id(value, numeric=self._query.entity.has_numeric_ids)
        except (DomainError, GraphQLError) as error:
            raise NotCompiled from error

    def _evaluate_arguments(self, scope: Scope, variables: VariableValues) -> ListRequest:
        """Evaluate the arguments; errors are left to the executor."""
        try:
            self._check_access(scope)
            return self._query.evaluate(scope, self._argument_values(variables))
        except (DomainError, GraphQLError) as error:
            raise NotCompiled from error

    def _argument_values(self, variables: VariableValues) -> Mapping[str, Any]:
        """Return the argument values; most are constants or plain variables."""
        if self._constant_arguments is not None:
            constants, from_variables = self._constant_arguments
            if not from_variables:
                return constants
            coerced = variables.coerced
            values = {name: coerced.get(variable) for name, variable in from_variables}
            # graphql-core handles null and missing variables: a default, or an error.
            if None not in values.values():
                return constants | values if constants else values
        return get_argument_values(self._field, self._node, variables)

    async def _page(self, scope: Scope, request: ListRequest) -> dict[str, Any]:
        data: dict[str, Any] = {}
        for key, name in self._layout:
            if name == "items":
                data[key] = await _read(self._item_readers[key], scope, request)
            elif name == "total":
                data[key] = await self._count(scope, request)
            elif name == "page":
                data[key] = request.page
            elif name == "per_page":
                data[key] = request.limit
            else:
                data[key] = name[1:]
        return data

    async def _count(self, scope: Scope, request: ListRequest) -> int:
        try:
            return await row_reads.count_rows(scope, self._query.entity, request.conditions)
        except DomainError as error:
            raise NotCompiled from error

    async def _connection(self, scope: Scope, request: ListRequest) -> dict[str, Any]:
        if self._reader is None:
            raise NotCompiled
        nodes, keys = await self._reader.fetch_with_keys(
            scope, request.conditions, sort=request.sort, limit=request.limit + 1
        )
        cursors = encode_cursors(self._query.entity, request.sort, keys[: request.limit])
        info = page_info(cursors, has_next=len(nodes) > request.limit, has_previous=request.has_cursor)
        info["__typename"] = "PageInfo"
        data: dict[str, Any] = {}
        for key, name in self._layout:
            if name == "edges":
                data[key] = [
                    {k: node if n == "node" else cursor if n == "cursor" else n[1:] for k, n in self._edge_fields}
                    for node, cursor in zip(nodes, cursors, strict=False)
                ]
            elif name == "page_info":
                data[key] = {inner: info[field] for outer, inner, field in self._page_info_fields if outer == key}
            else:
                data[key] = name[1:]
        return data


async def _read(reader: CompiledReader, scope: Scope, request: ListRequest) -> list[Any]:
    return await reader.fetch_many(
        scope, request.conditions, sort=request.sort, limit=request.limit, offset=request.offset
    )


def _object_type(type_: GraphQLObjectType, name: str) -> GraphQLObjectType:
    target = get_named_type(type_.fields[name].type)
    assert isinstance(target, GraphQLObjectType)
    return target


def _reader(
    values: CompilationValues, type_: GraphQLObjectType, nodes: list[FieldNode], native: bool, path: tuple[str, ...]
) -> CompiledReader:
    conversion = values.conversions.get(path)
    return CompiledReader(response_shape(values, type_, nodes), native=native, conversion=conversion)


@dataclass(frozen=True, slots=True)
class CompiledTypename:
    """`__typename` of the root type."""

    key: str
    name: str

    async def run(self, _scope: Scope, _variables: VariableValues) -> str:
        """Return the name of the root type."""
        return self.name
