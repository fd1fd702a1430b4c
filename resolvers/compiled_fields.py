"""Root fields of a compiled query: evaluate the arguments, then read rows, pages or connections with compiled readers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

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
from kernel.record_conversion import Conversions
from kernel.scope import Scope
from models import row_reads
from models.caller_cache import CallerCache
from models.compiled_reads import CompiledReader
from models.response_shapes import NotCompiled
from resolvers.cursors import encode_cursors
from resolvers.entity_queries import EntityQuery, ListRequest
from resolvers.variables import constant_arguments
from schema.pagination import page_info
from schema.selection import collect_fields, response_shape


@dataclass(frozen=True, slots=True)
class CompilationValues:
    """The `schema.selection.ExecutionValues` of a compilation."""

    fragments: Mapping[str, FragmentDefinitionNode]
    variable_values: Any
    conversions: Conversions


# The fields of an object around the records in the order of the response: response key, name, and the fields of a nested object.
Layout: TypeAlias = list[tuple[str, str, "Layout | None"]]


class CompiledRootField:
    """A compiled root field, independent of its arguments."""

    __slots__ = (
        "_check_access",
        "_constant_arguments",
        "_field",
        "_has_total",
        "_layout",
        "_node",
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
        self._layout: Layout = []
        if query.kind in ("one", "list"):
            self._reader = _reader(values, type_, nodes, native, (key,))
        else:
            self._layout = self._compile_layout(values, type_, nodes, native, (key,))
        self._has_total = any(name == "total" for _, name, _ in self._layout)

    def _compile_layout(
        self,
        values: CompilationValues,
        type_: GraphQLObjectType,
        nodes: list[FieldNode],
        native: bool,
        path: tuple[str, ...],
    ) -> Layout:
        """Return the layout of a page or connection; one that reads its records under two keys is left to the executor."""
        layout: Layout = []
        for key, group in collect_fields(values, type_, nodes).items():
            name, nested = group[0].name.value, None
            if name == "__typename":
                name = f"={type_.name}"
            elif name in ("items", "node"):
                if self._reader is not None:
                    raise NotCompiled
                self._reader = _reader(values, _object_type(type_, name), group, native, (*path, key))
            elif name in ("edges", "page_info"):
                nested = self._compile_layout(values, _object_type(type_, name), group, native, (*path, key))
            layout.append((key, name, nested))
        return layout

    async def run(self, scope: Scope, variables: VariableValues) -> Any:
        """Read the field's data."""
        query, reader = self._query, self._reader
        request = self._evaluate_arguments(scope, variables)
        if query.kind == "one":
            assert reader is not None
            return None if request is None else await reader.fetch_one(scope, request)
        if query.kind == "connection":
            return await self._connection(scope, request)
        items = None if reader is None else await _read(reader, scope, request)
        if query.kind == "list":
            return items
        total = await row_reads.count_rows(scope, query.entity, request.conditions) if self._has_total else None
        page = {"items": items, "total": total, "page": request.page, "per_page": request.limit}
        return arrange(self._layout, page)

    def _evaluate_arguments(self, scope: Scope, variables: VariableValues) -> Any:
        """Return the condition for the requested record, or the `ListRequest`; errors are left to the executor."""
        query = self._query
        try:
            self._check_access(scope)
            if self._has_total:
                query.entity.visible(scope)
            values = self._argument_values(variables)
            return query.requested(values) if query.kind == "one" else query.evaluate(scope, values)
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

    async def _connection(self, scope: Scope, request: ListRequest) -> dict[str, Any]:
        if self._reader is None:
            raise NotCompiled
        nodes, keys = await self._reader.fetch_with_keys(
            scope, request.conditions, sort=request.sort, limit=request.limit + 1
        )
        cursors = encode_cursors(self._query.entity, request.sort, keys[: request.limit])
        info = page_info(cursors, has_next=len(nodes) > request.limit, has_previous=request.has_cursor)
        edges = [{"cursor": cursor, "node": node} for cursor, node in zip(cursors, nodes, strict=False)]
        return arrange(self._layout, {"edges": edges, "page_info": info})


def arrange(layout: Layout, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the object with the values by name in the order of the response."""
    data: dict[str, Any] = {}
    for key, name, nested in layout:
        if nested is None:
            data[key] = values[name] if name[0] != "=" else name[1:]
        elif isinstance(value := values[name], list):
            data[key] = [arrange(nested, item) for item in value]
        else:
            data[key] = arrange(nested, value)
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
