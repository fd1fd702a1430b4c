"""Root fields of a compiled query that are no reads of an entity: the caller's own record, and results that the domain calculates.

A result is built by `resolvers.engine.complete`; the ids of the rows that it refers to `ResultField.link` may set for what is selected.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from graphql import FieldNode, GraphQLError, GraphQLField, GraphQLObjectType, get_named_type
from graphql.execution.values import VariableValues, get_argument_values

from auth.access import Access
from kernel.errors import DomainError
from kernel.scope import Scope
from models.reading.compiled_reads import CompiledReader
from models.reading.queries import Condition
from models.reading.response_shapes import NotCompiled, ResponseShape
from resolvers.engine.compiled_fields import CompilationValues
from resolvers.engine.complete import JoinedRelation, ResultBuilder
from schema.fields import INHERITED, access_of, entity_of
from schema.selection import response_shape

OWN_RECORD = "vitrine.own_record"
RESULT = "vitrine.result"
"""The metadata keys of root fields that are an `OwnRecord` or a `ResultField`."""

_ANY = Condition("true")


@dataclass(frozen=True, slots=True)
class OwnRecord:
    """Marks a root field as the read of the caller's own record; `narrow` turns the selected shape into that of the record."""

    access: Access
    narrow: Callable[[ResponseShape], ResponseShape]


@dataclass(frozen=True, slots=True)
class ResultField:
    """Marks a root field whose result the domain calculates: `load(scope, **arguments)`. Members in `executed` need the executor.

    A `joined` relation is read by the statement of `load`, which gets its column as `column`.
    `link(scope, result, names)` sets the ids of the rows to which the selected members of these names refer. A field that `writes` uses no
    replica.
    """

    access: Access
    load: Callable[..., Awaitable[Any]]
    executed: frozenset[str] = frozenset()
    link: Callable[[Scope, Any, Collection[str]], Awaitable[None]] | None = None
    joined: JoinedRelation | None = None
    writes: bool = False


class CompiledOwnRecord:
    """A compiled read of the caller's own record."""

    __slots__ = ("_access", "_reader", "key")

    def __init__(
        self,
        key: str,
        own: OwnRecord,
        values: CompilationValues,
        type_: GraphQLObjectType,
        nodes: list[FieldNode],
        *,
        native: bool,
    ) -> None:
        self.key = key
        self._access = own.access
        shape = own.narrow(response_shape(values, type_, nodes))
        self._reader = CompiledReader(shape, native=native, conversion=values.conversions.get((key,)))

    async def run(self, scope: Scope, _variables: VariableValues) -> Any:
        """Read the record; errors, a missing record among them, are left to the executor."""
        try:
            self._access.check(scope)
        except DomainError as error:
            raise NotCompiled from error
        record = await self._reader.fetch_one(scope, _ANY)
        if record is None:
            raise NotCompiled
        return record


class CompiledResult:
    """A compiled result, independent of its arguments."""

    __slots__ = ("_builder", "_field", "_node", "_result", "key")

    def __init__(
        self,
        key: str,
        result: ResultField,
        values: CompilationValues,
        type_: GraphQLObjectType,
        field: GraphQLField,
        nodes: list[FieldNode],
        *,
        native: bool,
    ) -> None:
        self.key = key
        self._result = result
        self._field, self._node = field, nodes[0]
        if any(access_of(each) not in (None, INHERITED, result.access) for each in _result_types(type_)):
            raise NotCompiled
        self._builder = ResultBuilder(
            values, field.type, nodes, native=native, executed=result.executed, joined=result.joined
        )
        if self._builder.records or any(path[0] == key for path in values.conversions):
            raise NotCompiled

    @property
    def writes(self) -> bool:
        """Return whether calculating the result writes."""
        return self._result.writes

    async def run(self, scope: Scope, variables: VariableValues) -> Any:
        """Calculate the result, and read what it refers to; errors are left to the executor."""
        try:
            self._result.access.check(scope)
            arguments = get_argument_values(self._field, self._node, variables)
            if self._builder.column is not None:
                arguments["column"] = self._builder.column.bind(scope)
            value = await self._result.load(scope, **arguments)
            if self._result.link is not None:
                await self._result.link(scope, value, self._builder.references)
            return await self._builder.build(scope, value)
        except (DomainError, GraphQLError) as error:
            raise NotCompiled from error


def _result_types(type_: GraphQLObjectType, known: tuple[GraphQLObjectType, ...] = ()) -> Sequence[GraphQLObjectType]:
    """Return the types of a result and of the results in it."""
    known = (*known, type_)
    for field in type_.fields.values():
        target = get_named_type(field.type)
        if isinstance(target, GraphQLObjectType) and entity_of(target) is None and target not in known:
            known = (*_result_types(target, known),)
    return known
