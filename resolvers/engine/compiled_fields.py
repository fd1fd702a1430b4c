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
)
from graphql.execution.values import VariableValues, get_argument_values

from kernel.errors import DomainError
from kernel.record_conversion import Conversions
from kernel.scope import Scope
from models.reading import row_reads
from models.reading.compiled_reads import CompiledReader
from models.reading.queries import CallerCache
from models.reading.response_shapes import NotCompiled
from resolvers.engine.conversions import constant_arguments
from resolvers.entity_queries import ConnectionRequest, EntityQuery, ListRequest
from schema.connections import Layout, arrange, has_cursors
from schema.selection import response_shape, wrapped_records


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
        "_field",
        "_has_cursors",
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
            records, self._layout = wrapped_records(values, type_, nodes)
            if records is not None:
                self._reader = _reader(values, records.type_, records.nodes, native, (key, *records.path))
        self._has_total = any(name in ("total", "total_count") for _, name, _ in self._layout)
        self._has_cursors = has_cursors(self._layout)

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
        """Return the condition for the requested record, or the evaluated request; errors are left to the executor."""
        query = self._query
        try:
            self._check_access(scope)
            if self._has_total:
                query.entity.visible(scope)
            values = self._argument_values(variables)
            if query.kind == "one":
                return query.requested(values)
            is_connection = query.kind == "connection"
            return query.evaluate_connection(scope, values) if is_connection else query.evaluate(scope, values)
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

    async def _connection(self, scope: Scope, request: ConnectionRequest) -> dict[str, Any]:
        if self._reader is None:
            raise NotCompiled
        nodes, keys = await self._reader.fetch_with_keys(
            scope, request.conditions, sort=request.sort, limit=request.limit
        )
        rows = list(zip(nodes, keys, strict=True))
        total = await row_reads.count_rows(scope, self._query.entity, request.filters) if self._has_total else None
        connection = request.page.connection(request.order, rows, with_cursors=self._has_cursors, total_count=total)
        return arrange(self._layout, connection)


async def _read(reader: CompiledReader, scope: Scope, request: ListRequest) -> list[Any]:
    return await reader.fetch_many(
        scope, request.conditions, sort=request.sort, limit=request.limit, offset=request.offset
    )


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
