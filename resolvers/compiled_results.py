"""Root fields of a compiled query that are no reads of an entity: the caller's own record, and results that the domain calculates.

A result is a record, or a list of records, with the names of its type's fields; for a field that refers to a row it holds the row's id,
which `ResultField.link` may set for what is selected. The records that results refer to take one statement for each relation, however many
results there are.
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
from models.answer_size import add_values, current_answer
from models.compiled_reads import CompiledReader, RecordReader
from models.queries import Condition
from models.response_shapes import NotCompiled, ResponseShape
from resolvers.compiled_fields import CompilationValues
from schema.fields import INHERITED, access_of, entity_of, field_source
from schema.selection import collect_fields, response_relation, response_shape

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

    `link(scope, result, names)` sets the ids of the rows to which the selected members of these names refer. A field that `writes` uses no
    replica.
    """

    access: Access
    load: Callable[..., Awaitable[Any]]
    executed: frozenset[str] = frozenset()
    link: Callable[[Scope, Any, Collection[str]], Awaitable[None]] | None = None
    writes: bool = False


class CompiledOwnRecord:
    """A compiled read of the caller's own record."""

    __slots__ = ("_access", "_reader", "key")

    def __init__(
        self, key: str, own: OwnRecord, values: CompilationValues, type_: GraphQLObjectType, nodes: list[FieldNode]
    ) -> None:
        self.key = key
        self._access = own.access
        self._reader = CompiledReader(own.narrow(response_shape(values, type_, nodes)), native=True)

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

    __slots__ = ("_field", "_level", "_node", "_result", "key")

    def __init__(
        self,
        key: str,
        result: ResultField,
        values: CompilationValues,
        type_: GraphQLObjectType,
        field: GraphQLField,
        nodes: list[FieldNode],
    ) -> None:
        self.key = key
        self._result = result
        self._field, self._node = field, nodes[0]
        if any(access_of(each) not in (None, INHERITED, result.access) for each in _result_types(type_)):
            raise NotCompiled
        self._level = _Level(values, type_, nodes, result.executed)

    @property
    def writes(self) -> bool:
        """Return whether calculating the result writes."""
        return self._result.writes

    async def run(self, scope: Scope, variables: VariableValues) -> Any:
        """Calculate the result, and read what it refers to; errors are left to the executor."""
        try:
            self._result.access.check(scope)
            arguments = get_argument_values(self._field, self._node, variables)
            value = await self._result.load(scope, **arguments)
            if self._result.link is not None:
                await self._result.link(scope, value, self._level.references)
            built = await self._level.values(scope, [value])
        except (DomainError, GraphQLError) as error:
            raise NotCompiled from error
        answer = current_answer()
        if answer is not None:
            add_values(answer, built)
        return built[0]


def _result_types(type_: GraphQLObjectType, known: tuple[GraphQLObjectType, ...] = ()) -> Sequence[GraphQLObjectType]:
    """Return the types of a result and of the results in it."""
    known = (*known, type_)
    for field in type_.fields.values():
        target = get_named_type(field.type)
        if isinstance(target, GraphQLObjectType) and entity_of(target) is None and target not in known:
            known = (*_result_types(target, known),)
    return known


class _Level:
    """The selected fields of a result: plain values, results in it, and records that it refers to."""

    __slots__ = ("_fields", "references")

    def __init__(
        self,
        values: CompilationValues,
        type_: GraphQLObjectType,
        nodes: list[FieldNode],
        executed: frozenset[str] = frozenset(),
    ) -> None:
        self.references: set[str] = set()
        self._fields: list[tuple[str, str, _Level | RecordReader | type[str] | None]] = []
        for key, group in collect_fields(values, type_, nodes).items():
            name = group[0].name.value
            if name in executed:
                raise NotCompiled
            if name == "__typename":
                self._fields.append((key, f"={type_.name}", None))
                continue
            field = type_.fields[name]
            target = get_named_type(field.type)
            inner: _Level | RecordReader | type[str] | None = None
            if field_source(field) is not None:
                inner = _record_reader(values, type_, group)
                self.references.add(name)
            elif isinstance(target, GraphQLObjectType):
                if entity_of(target) is not None or group[0].arguments:
                    raise NotCompiled
                inner = _Level(values, target, group)
                self.references |= inner.references
            elif target.name == "ID":
                inner = str  # orjson doesn't know the UUIDs of the database driver
            self._fields.append((key, name, inner))

    async def values(self, scope: Scope, results: Sequence[Any]) -> list[Any]:
        """Return what the response contains of results, each of them a record, a list of records, or None."""
        records = [record for result in results for record in (result if isinstance(result, list) else [result])]
        built = iter(await self._objects(scope, [record for record in records if record is not None]))
        return [
            [next(built) for _ in result] if isinstance(result, list) else None if result is None else next(built)
            for result in results
        ]

    async def _objects(self, scope: Scope, records: Sequence[Any]) -> list[dict[str, Any]]:
        if not records:
            return []
        columns: list[Sequence[Any]] = []
        for _, name, inner in self._fields:
            if name[0] == "=":
                shown: Sequence[Any] = [name[1:]] * len(records)
            else:
                shown = [_member(record, name) for record in records]
            if isinstance(inner, RecordReader):
                known = await inner.read_related(scope, list(shown))
                shown = [known.get(number) for number in shown]
            elif isinstance(inner, _Level):
                shown = await inner.values(scope, shown)
            elif inner is not None:
                shown = [value if value is None else inner(value) for value in shown]
            columns.append(shown)
        keys = [key for key, _, _ in self._fields]
        return [dict(zip(keys, values, strict=True)) for values in zip(*columns, strict=True)]


def _record_reader(values: CompilationValues, type_: GraphQLObjectType, group: list[FieldNode]) -> RecordReader:
    relation = response_relation(values, type_, group)
    if relation is None or not relation.is_one or relation.guard is not None:
        raise NotCompiled
    return RecordReader(relation.shape, native=True, whole=True, relation=relation)


def _member(record: Any, name: str) -> Any:
    # isinstance() takes longer for an abstract class.
    return record[name] if hasattr(record, "keys") else getattr(record, name)
