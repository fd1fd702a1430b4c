"""Build what the response contains of a result: an object that the domain calculates, a list of them, a plain value, or a record.

Values are those of the executor; whatever it would answer with an error raises `NotCompiled`. A member of a result is

* a plain value, or a result;
* a relation (`schema.fields.relation`): the result holds the row's id, and the related records of all results take one statement for
  each relation;
* another record, which the resolver reads (`load_member`) by the reader of its name in `records`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import orjson
from graphql import (
    FieldNode,
    GraphQLField,
    GraphQLObjectType,
    GraphQLOutputType,
    get_named_type,
    get_nullable_type,
    is_list_type,
    is_non_null_type,
)

from kernel.errors import Forbidden
from kernel.scope import Scope
from models.reading import row_reads
from models.reading.answer_size import add_values, current_answer
from models.reading.compiled_reads import CompiledReader, RecordReader
from models.reading.queries import by_id
from models.reading.read_statements import fits_json
from models.reading.related_columns import RelatedColumn
from models.reading.response_shapes import NotCompiled, RelationField
from resolvers.engine.compiled_fields import CompilationValues
from resolvers.engine.executor import ReadRecord
from schema.fields import entity_of, field_source, strawberry_field
from schema.selection import (
    collect_fields,
    is_requested,
    requested_shape,
    response_relation,
    response_shape,
    shows_null,
)

# Their values are in the response as they are.
_PLAIN = frozenset({"String", "Boolean", "Int", "Float", "BigInt"})


@dataclass(frozen=True, slots=True)
class JoinedRelation:
    """A relation of the results that are a member of the result, as a column of their rows `alias`: JSON in their member `further`."""

    member: str
    name: str
    alias: str
    first_parameter: int


class ResultBuilder:
    """Builds the response of results of one type.

    Functions are compiled of the selection: one for each relation returns the ids of the rows that a result refers to, another the
    response, of the result and functions that return the related records. `native` leaves times to `orjson`.
    """

    __slots__ = (
        "_build",
        "_executed",
        "_further",
        "_joined",
        "_names",
        "_native",
        "_readers",
        "_references",
        "_values",
        "column",
        "records",
        "references",
    )

    def __init__(
        self,
        values: CompilationValues,
        type_: GraphQLOutputType,
        nodes: list[FieldNode],
        *,
        native: bool,
        executed: frozenset[str] = frozenset(),
        joined: JoinedRelation | None = None,
    ) -> None:
        self._values, self._native = values, native
        self._executed, self._joined = executed, joined
        self.column: RelatedColumn | None = None
        """The column of the joined relation, if it is selected and PostgreSQL can build it."""
        self.references: set[str] = set()
        """The names of the selected members that refer to rows."""
        self.records: dict[str, CompiledReader] = {}
        """The readers of the records that the resolver reads, by the member's name; the whole result has none."""
        self._names: dict[str, Any] = {**_NAMES, "json": _fragment if native else _parse}
        self._readers: list[RecordReader] = []
        self._references: list[Callable[[Any], list[Any]]] = []
        literal = self._value("r0", "", 0, type_, nodes)
        relations = "".join([f", m{index}" for index in range(len(self._readers))])
        self._build = self._compiled(f"lambda r0{relations}: {literal}")

    async def build(self, scope: Scope, result: Any) -> Any:
        """Return what the response contains of a result; records that it refers to take one statement for each relation."""
        related = []
        if self.column is not None:
            self.column.count(self._further(result))
        for reader, references in zip(self._readers, self._references, strict=True):
            related.append((await reader.read_related(scope, references(result))).get)
        built = self._build(result, *related)
        answer = current_answer()
        if answer is not None and not self.records:  # which their readers have counted
            add_values(answer, [built])
        return built

    def _compiled(self, source: str) -> Callable[..., Any]:
        compiled: Callable[..., Any] = eval(source, self._names)  # noqa: S307  # made of names and repr() of keys
        return compiled

    # --- compiling: `source` is the expression of a value, `path` the loops over the results above it ---------------------

    def _value(
        self, source: str, path: str, depth: int, type_: GraphQLOutputType, nodes: list[FieldNode], member: str = ""
    ) -> str:
        """Return the expression of what the response contains of a value; `member` is its name in the result."""
        target = get_named_type(type_)
        if not isinstance(target, GraphQLObjectType):
            return self._leaf(source, type_)
        if entity_of(target) is not None:
            return self._record(source, depth, type_, nodes, member)
        name, is_nullable = f"r{depth}", not is_non_null_type(type_)
        if is_list_type(get_nullable_type(type_)):
            literal = self._object(f"{path} for {name} in items({source} or ())", depth, target, nodes, member)
            listed = f"[{literal} for {name} in items({source})]"
            return f"(None if {source} is None else {listed})" if is_nullable else listed
        literal = self._object(f"{path} for {name} in present({source})", depth, target, nodes, member)
        known = "optional" if is_nullable else "object"
        return f"(None if ({name} := {known}({source})) is None else {literal})"

    def _leaf(self, source: str, type_: GraphQLOutputType) -> str:
        if is_list_type(nullable := get_nullable_type(type_)):
            value = f"[{self._leaf('i', nullable.of_type)} for i in %s]"
        else:
            convert = self._conversion(get_named_type(type_))
            value = f"{convert}(%s)" if convert else "%s"
        if is_non_null_type(type_):
            return value % f"required({source})"
        return source if value == "%s" else f"(None if (v := {source}) is None else {value % 'v'})"

    def _conversion(self, type_: Any) -> str:
        """Return the name of the function that converts values of a leaf type; empty for none."""
        if type_.name in _PLAIN or (type_.name == "DateTime" and self._native):
            return ""
        if type_.name == "ID":
            return "text"
        name = f"to_{type_.name}"
        self._names[name] = type_.coerce_output_value
        return name

    def _record(self, source: str, depth: int, type_: GraphQLOutputType, nodes: list[FieldNode], member: str) -> str:
        if depth > 1 or member in self.records or is_list_type(get_nullable_type(type_)):
            raise NotCompiled
        shape = response_shape(self._values, get_named_type(type_), nodes)
        self.records[member] = CompiledReader(shape, native=self._native)
        return f"required(read({source}))" if is_non_null_type(type_) else f"read({source})"

    def _object(self, path: str, depth: int, type_: GraphQLObjectType, nodes: list[FieldNode], member: str) -> str:
        members = []
        for key, group in collect_fields(self._values, type_, nodes).items():
            name = group[0].name.value
            if name == "__typename":
                members.append(f"{key!r}: {type_.name!r}")
            else:
                members.append(f"{key!r}: {self._member(path, depth, type_, group, member)}")
        return f"{{{', '.join(members)}}}"

    def _member(self, path: str, depth: int, type_: GraphQLObjectType, group: list[FieldNode], member: str) -> str:
        name, field = group[0].name.value, type_.fields[group[0].name.value]
        source = f"r{depth}[{name!r}]"
        if field_source(field) is not None:
            self.references.add(name)
            related = self._related(
                source, path, self._relation(type_, group), f"{member}.{name}" if depth == 1 else ""
            )
            return f"required({related})" if is_non_null_type(field.type) else related
        if (not depth and name in self._executed) or group[0].arguments or _is_resolved(field):
            raise NotCompiled
        if shows_null(field):
            source = f"({source} or None)"
        return self._value(source, path, depth + 1, field.type, group, name if not depth else "")

    def _related(self, source: str, path: str, relation: RelationField, name: str) -> str:
        """Return the expression of the record that `source` is the id of."""
        joined = self._joined
        if (
            joined is not None
            and self.column is None
            and name == f"{joined.member}.{joined.name}"
            and fits_json(relation)
        ):
            self.column = RelatedColumn(relation, joined.alias, joined.first_parameter)
            self._further: Callable[[Any], list[Any]] = self._compiled(f"lambda r0: [r1['further']{path}]")
            return "json(r1['further'])"
        self._readers.append(RecordReader(relation.shape, native=self._native, whole=True, relation=relation))
        self._references.append(self._compiled(f"lambda r0: [{source}{path}]"))
        return f"m{len(self._readers) - 1}({source})"

    def _relation(self, type_: GraphQLObjectType, group: list[FieldNode]) -> RelationField:
        relation = response_relation(self._values, type_, group)
        if relation is None or not relation.is_one or relation.guard is not None:
            raise NotCompiled
        return relation


def _is_resolved(field: GraphQLField) -> bool:
    """Return whether a field has a resolver of its own."""
    declared = strawberry_field(field)
    return declared is None or not declared.is_basic_field


# --- records that resolvers read --------------------------------------------------------------------------------------


async def load_record(info: Any, number: int) -> Any:
    """Load the changed record with the mutation's selection; None for a caller who may change but not see it.

    The change is committed, so it must not be answered with an error.
    """
    try:
        return await load_member(info, "", number)
    except Forbidden:
        return None


async def load_member(info: Any, member: str, number: int) -> Any:
    """Load the record that a member of the mutation's result is, as far as it is selected; None for a record that the caller sees not."""
    scope, readers = info.context.scope, info.context.readers
    path = (member,) if member else ()
    if readers is None and not is_requested(info, *path):
        return None
    if readers is not None:
        if member not in readers:
            return None
        with suppress(NotCompiled):  # also for a caller who may not see the record, which is refused below
            record = await readers[member].fetch_one(scope, by_id(number))
            return None if record is None else ReadRecord(record)
    shape = requested_shape(info, *path)
    shape.entity.visible(scope)
    return await row_reads.fetch_one(scope, shape, number)


# --- functions of the expressions -------------------------------------------------------------------------------------


class _Members:
    """The attributes of an object as members of a mapping."""

    __slots__ = ("_of",)

    def __init__(self, of: object) -> None:
        self._of = of

    def __getitem__(self, name: str) -> Any:
        return getattr(self._of, name)


def _object(value: Any) -> Any:
    """Return a result as a mapping; some are objects with the names of the type's fields."""
    if isinstance(value, dict):
        return value
    if value is None or isinstance(value, Exception):
        raise NotCompiled
    return value if hasattr(value, "keys") else _Members(value)


def _optional(value: Any) -> Any:
    return None if value is None else _object(value)


def _present(value: Any) -> tuple[Any, ...]:
    return () if value is None else (_object(value),)


def _items(values: Any) -> Iterable[Any]:
    if values is None or isinstance(values, Exception):
        raise NotCompiled
    return map(_object, values)


def _required(value: Any) -> Any:
    if value is None:
        raise NotCompiled
    return value


def _read(record: Any) -> Any:
    """Return a record that the resolver has read by a compiled reader."""
    if record is None:
        return None
    if not isinstance(record, ReadRecord):
        raise NotCompiled
    return record.data


def _fragment(text: str | None) -> orjson.Fragment | None:
    return None if text is None else orjson.Fragment(text)


def _parse(text: str | None) -> Any:
    return None if text is None else orjson.loads(text)


_NAMES: dict[str, Any] = {
    "items": _items,
    "object": _object,
    "optional": _optional,
    "present": _present,
    "read": _read,
    "required": _required,
    "text": str,  # orjson doesn't know the UUIDs of the database driver
}
