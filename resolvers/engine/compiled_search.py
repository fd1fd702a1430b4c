"""The product search as a root field of a compiled query: one statement for page and facets, then a compiled reader of the records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphql import FieldNode, GraphQLError, GraphQLField, GraphQLObjectType, get_named_type
from graphql.execution.values import VariableValues, get_argument_values

from domain.search.products import find_products
from kernel.errors import DomainError
from kernel.scope import Scope
from models.reading.answer_size import current_answer
from models.reading.compiled_reads import CompiledReader
from models.reading.queries import by_ids
from models.reading.response_shapes import NotCompiled
from resolvers.engine.compiled_fields import CompilationValues
from resolvers.search_requests import SearchField, facet_values, search_page
from schema.connections import Layout, arrange
from schema.fields import field_source
from schema.selection import collect_fields, response_shape


class CompiledSearch:
    """A compiled search, independent of its arguments. Records that facets refer to are left to the executor."""

    __slots__ = ("_field", "_layout", "_node", "_reader", "_search", "_selected", "key")

    def __init__(
        self,
        key: str,
        search: SearchField,
        values: CompilationValues,
        type_: GraphQLObjectType,
        field: GraphQLField,
        nodes: list[FieldNode],
        *,
        native: bool,
    ) -> None:
        self.key = key
        self._search = search
        self._field, self._node = field, nodes[0]
        self._reader: CompiledReader | None = None
        self._layout = self._compile(values, type_, nodes, native, (key,))
        facets = [layout for _, name, layout in self._layout if name == "facets" and layout]
        self._selected = {name for layout in (self._layout, *facets) for _, name, _ in layout}

    def _compile(
        self,
        values: CompilationValues,
        type_: GraphQLObjectType,
        nodes: list[FieldNode],
        native: bool,
        path: tuple[str, ...],
    ) -> Layout:
        layout: Layout = []
        for key, group in collect_fields(values, type_, nodes).items():
            name = group[0].name.value
            if name == "__typename":
                layout.append((key, f"={type_.name}", None))
                continue
            field = type_.fields[name]
            target, nested = get_named_type(field.type), None
            if name in ("node", "items"):
                if self._reader is not None:
                    raise NotCompiled
                shape, conversion = response_shape(values, target, group), values.conversions.get((*path, key))
                self._reader = CompiledReader(shape, native=native, conversion=conversion)
            elif field_source(field) is not None:
                raise NotCompiled
            elif isinstance(target, GraphQLObjectType):
                nested = self._compile(values, target, group, native, (*path, key))
            layout.append((key, name, nested))
        return layout

    async def run(self, scope: Scope, variables: VariableValues) -> Any:
        """Read the field's data; errors are left to the executor."""
        try:
            self._search.access.check(scope)
            arguments: Mapping[str, Any] = get_argument_values(self._field, self._node, variables)
            search = self._search.request(scope, arguments, self._selected)
            result = await find_products(scope, search, arguments.get("query"))
        except (DomainError, GraphQLError) as error:
            raise NotCompiled from error
        ids = [number for _, number in result.page[: search.limit]]
        records: dict[int, Any] = {}
        if self._reader is not None and ids:
            nodes, keys = await self._reader.fetch_with_keys(scope, [by_ids(ids)], sort="id", limit=len(ids))
            records = {number: node for (_, number), node in zip(keys, nodes, strict=True)}
        values = search_page(self._search, search, result, arguments, records if self._reader is not None else None)
        if result.facets is not None:
            values["facets"] = facet_values(result.facets)
            answer = current_answer()
            if answer is not None:
                answer.add(*result.facets.least_size)
        return arrange(self._layout, values)
