"""Root fields of a compiled query that are no reads of an entity: the caller's own record, and results that the domain calculates.

A result is a record, or a list of records, with the names of its type's fields; for a field that refers to a row it holds the row's id,
which `ResultField.link` may set for what is selected. The records that results refer to take one statement for each relation, however many
results there are.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from graphql import (
    FieldNode,
    GraphQLError,
    GraphQLField,
    GraphQLObjectType,
    GraphQLOutputType,
    get_named_type,
    get_nullable_type,
    is_list_type,
)
from graphql.execution.values import VariableValues, get_argument_values

from auth.access import Access
from kernel.errors import DomainError
from kernel.scope import Scope
from models.reading.answer_size import add_values, current_answer
from models.reading.compiled_reads import CompiledReader, RecordReader
from models.reading.queries import Condition
from models.reading.read_statements import fits_json
from models.reading.related_columns import RelatedColumn
from models.reading.response_shapes import NotCompiled, RelationField, ResponseShape
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
class JoinedRelation:
    """A relation of the results that are a member of the result, as a column of their rows `alias`: JSON in their member `further`."""

    member: str
    name: str
    alias: str
    first_parameter: int


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

    __slots__ = ("_builder", "_field", "_node", "_result", "key")

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
        self._builder = _ResultBuilder(values, field.type, nodes, result)

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
            built = await self._builder.build(scope, _mappings(value, self._builder.names))
        except (DomainError, GraphQLError) as error:
            raise NotCompiled from error
        answer = current_answer()
        if answer is not None:
            add_values(answer, [built])
        return built


def _mappings(result: Any, names: Collection[str]) -> Any:
    """Return a result as a mapping, or a list of them; some are objects with the names of the type's fields."""
    if isinstance(result, list):
        return [_mappings(each, names) for each in result]
    return result if result is None or hasattr(result, "keys") else {name: getattr(result, name) for name in names}


def _result_types(type_: GraphQLObjectType, known: tuple[GraphQLObjectType, ...] = ()) -> Sequence[GraphQLObjectType]:
    """Return the types of a result and of the results in it."""
    known = (*known, type_)
    for field in type_.fields.values():
        target = get_named_type(field.type)
        if isinstance(target, GraphQLObjectType) and entity_of(target) is None and target not in known:
            known = (*_result_types(target, known),)
    return known


class _ResultBuilder:
    """Builds what the response contains of a result: plain values, results in it, and records that it refers to.

    Two functions are compiled of the selection: one returns the ids of the rows that a result refers to, for each relation, the other the
    response, of the result and functions that return the related records.
    """

    __slots__ = ("_build", "_further", "_readers", "_references", "_result", "column", "names", "references")

    def __init__(
        self, values: CompilationValues, type_: GraphQLOutputType, nodes: list[FieldNode], result: ResultField
    ) -> None:
        self._result = result
        self.column: RelatedColumn | None = None
        """The column of the joined relation, if it is selected and PostgreSQL can build it."""
        self.references: set[str] = set()
        """The names of the selected members that refer to rows."""
        self.names: set[str] = set()
        """Those of the members of the result."""
        self._readers: list[RecordReader] = []
        self._references: list[Callable[[Any], list[Any]]] = []
        literal = self._value("r0", "", 0, type_, values, nodes)
        relations = "".join([f", m{index}" for index in range(len(self._readers))])
        self._build: Callable[..., Any] = _compiled(f"lambda r0{relations}: {literal}")

    async def build(self, scope: Scope, result: Any) -> Any:
        """Return what the response contains of a result; records that it refers to take one statement for each relation."""
        related = []
        if self.column is not None:
            self.column.count(self._further(result))
        for reader, references in zip(self._readers, self._references, strict=True):
            related.append((await reader.read_related(scope, references(result))).get)
        return self._build(result, *related)

    def _value(
        self,
        source: str,
        path: str,
        depth: int,
        type_: GraphQLOutputType,
        values: CompilationValues,
        nodes: list[FieldNode],
        member: str = "",
    ) -> str:
        """Return the expression of a result, a list of results, or None, that `source` is; `path` is the loops over the results above."""
        name, nullable, record = f"r{depth}", get_nullable_type(type_), get_named_type(type_)
        assert isinstance(record, GraphQLObjectType)
        if is_list_type(nullable):
            path = f"{path} for {name} in {source} or ()"
            literal = self._object(path, depth, record, values, nodes, member)
            listed = f"[{literal} for {name} in {source}]"
            return listed if nullable is not type_ else f"(None if {source} is None else {listed})"
        path = f"{path} for {name} in ({source},) if {name} is not None"
        literal = self._object(path, depth, record, values, nodes, member)
        return f"(None if ({name} := {source}) is None else {literal})"

    def _object(
        self,
        path: str,
        depth: int,
        type_: GraphQLObjectType,
        values: CompilationValues,
        nodes: list[FieldNode],
        member: str,
    ) -> str:
        members = []
        for key, group in collect_fields(values, type_, nodes).items():
            name = group[0].name.value
            if not depth and name in self._result.executed:
                raise NotCompiled
            if name == "__typename":
                members.append(f"{key!r}: {type_.name!r}")
                continue
            if not depth:
                self.names.add(name)
            value = f"r{depth}[{name!r}]"
            if field_source(type_.fields[name]) is not None:
                self.references.add(name)
                value = self._related(
                    value, path, _relation(values, type_, group), f"{member}.{name}" if depth == 1 else ""
                )
            else:
                target = get_named_type(type_.fields[name].type)
                if isinstance(target, GraphQLObjectType):
                    if entity_of(target) is not None or group[0].arguments:
                        raise NotCompiled
                    value = self._value(value, path, depth + 1, type_.fields[name].type, values, group, name)
                elif target.name == "ID":
                    value = f"text({value})"
            members.append(f"{key!r}: {value}")
        return f"{{{', '.join(members)}}}"

    def _related(self, value: str, path: str, relation: RelationField, name: str) -> str:
        """Return the expression of the record that `value` is the id of."""
        joined = self._result.joined
        if (
            joined is not None
            and self.column is None
            and name == f"{joined.member}.{joined.name}"
            and fits_json(relation)
        ):
            self.column = RelatedColumn(relation, joined.alias, joined.first_parameter)
            self._further: Callable[[Any], list[Any]] = _compiled(f"lambda r0: [r1['further']{path}]")
            return "json(r1['further'])"
        self._readers.append(RecordReader(relation.shape, native=True, whole=True, relation=relation))
        self._references.append(_compiled(f"lambda r0: [{value}{path}]"))
        return f"m{len(self._readers) - 1}({value})"


def _text(value: Any) -> str | None:
    """Return an id as text: orjson doesn't know the UUIDs of the database driver."""
    return None if value is None else str(value)


def _json(text: str | None) -> orjson.Fragment | None:
    return None if text is None else orjson.Fragment(text)


def _compiled(source: str) -> Callable[..., Any]:
    compiled: Callable[..., Any] = eval(source, {"text": _text, "json": _json})  # noqa: S307  # made of names and repr() of keys
    return compiled


def _relation(values: CompilationValues, type_: GraphQLObjectType, group: list[FieldNode]) -> RelationField:
    relation = response_relation(values, type_, group)
    if relation is None or not relation.is_one or relation.guard is not None:
        raise NotCompiled
    return relation
