"""Answer whole operations that only read, without an executor: compiled once for a document and its variables.

An operation whose root fields are all made by `resolvers.reads` becomes a list of calls: which entity, which conditions, which window,
and a compiled reader of the shape asked for. Running it takes the statements and nothing else. What a call can't answer exactly as
the executor would (a refusal, a null where there must be none, a window out of bounds) raises `NotCompiled`, and the executor
answers: it is the reference, and `tests/graphql/test_differential.py` holds the two side by side.
"""

from __future__ import annotations

import base64
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson
from graphql import (
    FieldNode,
    FragmentDefinitionNode,
    GraphQLError,
    GraphQLField,
    GraphQLObjectType,
    GraphQLSchema,
    NameNode,
    OperationDefinitionNode,
    OperationType,
    get_named_type,
)
from graphql.execution.values import VariableValues, get_argument_values, get_variable_values

from kernel.errors import DomainError
from kernel.ids import Reference
from kernel.scope import Scope
from models import reading
from models.callers import PerCaller
from models.columns import is_nullable
from models.reading import Where, by_reference
from models.shapes import NotCompiled
from models.trees import Reader
from resolvers.inputs import Depends, known_arguments, looks, structural, takes_integers
from resolvers.reads import MAX_PUBLIC, READ, ReadRoot
from schema.documents import Prepared
from schema.fields import declared_field
from schema.filters import conditions_given
from schema.scalars import reference
from schema.selection import fields_below, shape_below

# How many operations are kept, how many tokens their documents may have together (half a kilobyte each), and how large variables
# may be to be kept by.
MOST_KEPT = 2000
MOST_TOKENS = 100_000
LONGEST_VARIABLES = 4096


@dataclass(frozen=True, slots=True)
class _Source:
    """What `schema.selection` needs to know of an execution."""

    fragments: Mapping[str, FragmentDefinitionNode]
    variable_values: Any


@dataclass(frozen=True, slots=True)
class Window:
    """Which part of a list is wanted."""

    limit: int
    offset: int
    sort: str | None
    page: int = 1


@dataclass(frozen=True, slots=True)
class RequestedField:
    """What the arguments of a root field say: which rows, and which part of them."""

    window: Window
    conditions: Sequence[Where]
    is_after: bool


class RootCall:
    """One root field, without its arguments."""

    __slots__ = (
        "_admit",
        "_arguments",
        "_edges",
        "_field",
        "_items",
        "_layout",
        "_lists",
        "_node",
        "_read",
        "_reader",
        "key",
    )

    def __init__(
        self,
        key: str,
        read: ReadRoot,
        source: _Source,
        type_: GraphQLObjectType,
        field: GraphQLField,
        nodes: list[FieldNode],
        *,
        native: bool,
    ) -> None:
        self.key = key
        self._read = read
        self._admit = PerCaller(read.access.check)
        self._field = field
        self._node = nodes[0]
        self._arguments = known_arguments(field, nodes[0], source.variable_values)
        self._reader: Reader | None = None
        self._layout: list[tuple[str, str]] = []
        self._items: list[tuple[str, str, Any]] = []
        self._edges: list[tuple[str, str]] = []
        self._lists: dict[str, Reader] = {}
        if read.kind in ("one", "list"):
            self._reader = _reader(source, type_, nodes, native)
        else:
            self._lay_out(source, type_, nodes, native)

    def _lay_out(
        self, source: _Source, type_: GraphQLObjectType, nodes: list[FieldNode], native: bool
    ) -> None:
        """Note the keys of a page or connection in their order; a connection asked for its edges twice is left to the executor."""
        for key, group in fields_below(source, type_, nodes).items():
            name = group[0].name.value
            if name == "items":
                self._lists[key] = _reader(source, _object_type(type_, name), group, native)
            elif name == "edges":
                self._lay_out_edges(source, _object_type(type_, name), group, native)
            elif name == "page_info":
                info = fields_below(source, _object_type(type_, name), group)
                self._items += [(key, inner, nodes[0].name.value) for inner, nodes in info.items()]
            self._layout.append((key, name if name != "__typename" else f"={type_.name}"))

    def _lay_out_edges(
        self, source: _Source, edge: GraphQLObjectType, nodes: list[FieldNode], native: bool
    ) -> None:
        if self._edges:
            raise NotCompiled
        for key, group in fields_below(source, edge, nodes).items():
            name = group[0].name.value
            if name == "node":
                self._take(_reader(source, _object_type(edge, name), group, native))
            self._edges.append((key, name if name != "__typename" else f"={edge.name}"))

    def _take(self, reader: Reader) -> None:
        if self._reader is not None:
            raise NotCompiled
        self._reader = reader

    async def run(self, scope: Scope, variables: VariableValues) -> Any:
        """Read what the field asks for."""
        kind = self._read.kind
        if kind == "one":
            assert self._reader is not None
            named = self._named(scope, variables)
            return None if named is None else await self._reader.one(scope, by_reference(named))
        asked = self._asked(scope, variables)
        if kind == "list":
            assert self._reader is not None
            window = asked.window
            return await self._reader.many(
                scope, asked.conditions, sort=window.sort, limit=window.limit, offset=window.offset
            )
        return await (self._page(scope, asked) if kind == "page" else self._connection(scope, asked))

    def _named(self, scope: Scope, variables: VariableValues) -> Reference | None:
        """Read the id of the one record that is asked for; a malformed one names nothing."""
        try:
            self._admit(scope)
            return reference(self._arguments_with(variables)["id"])
        except (DomainError, GraphQLError) as refusal:
            raise NotCompiled from refusal

    def _asked(self, scope: Scope, variables: VariableValues) -> RequestedField:
        """Read the arguments; what the executor would refuse is left to it."""
        try:
            self._admit(scope)
            arguments = self._arguments_with(variables)
            window, is_after = _window_of(self._read, arguments)
            return RequestedField(window, _conditions_of(self._read, arguments), is_after)
        except (DomainError, GraphQLError) as refusal:
            raise NotCompiled from refusal

    def _arguments_with(self, variables: VariableValues) -> Mapping[str, Any]:
        """Give the arguments; most are known, or a variable as it is."""
        if self._arguments is not None:
            known, from_variables = self._arguments
            if not from_variables:
                return known
            coerced = variables.coerced
            given = {name: coerced.get(variable) for name, variable in from_variables}
            # What is null or left out is for graphql-core: a default, or an error.
            if None not in given.values():
                return known | given if known else given
        return get_argument_values(self._field, self._node, variables)

    async def _page(self, scope: Scope, asked: RequestedField) -> dict[str, Any]:
        window = asked.window
        shown: dict[str, Any] = {}
        for key, name in self._layout:
            if name == "items":
                shown[key] = await self._lists[key].many(
                    scope, asked.conditions, sort=window.sort, limit=window.limit, offset=window.offset
                )
            elif name == "total":
                shown[key] = await self._count(scope, asked)
            elif name == "page":
                shown[key] = window.page
            elif name == "per_page":
                shown[key] = window.limit
            else:
                shown[key] = name[1:]
        return shown

    async def _count(self, scope: Scope, asked: RequestedField) -> int:
        try:
            return await reading.count(scope, self._read.entity, asked.conditions)
        except DomainError as refusal:
            raise NotCompiled from refusal

    async def _connection(self, scope: Scope, asked: RequestedField) -> dict[str, Any]:
        window, entity = asked.window, self._read.entity
        if self._reader is None:
            raise NotCompiled
        found, keys = await self._reader.keyed(
            scope, asked.conditions, sort=window.sort, limit=window.limit + 1
        )
        order = window.sort or entity.default_sort
        cursors = [_cursor(order, *key) for key in keys[: window.limit]]
        info = {
            "has_next_page": len(found) > window.limit,
            "has_previous_page": asked.is_after,
            "start_cursor": cursors[0] if cursors else None,
            "end_cursor": cursors[-1] if cursors else None,
            "__typename": "PageInfo",
        }
        shown: dict[str, Any] = {}
        for key, name in self._layout:
            if name == "edges":
                shown[key] = [
                    {k: node if n == "node" else cursor if n == "cursor" else n[1:] for k, n in self._edges}
                    for node, cursor in zip(found, cursors, strict=False)
                ]
            elif name == "page_info":
                shown[key] = {inner: info[of] for outer, inner, of in self._items if outer == key}
            else:
                shown[key] = name[1:]
        return shown


def _object_type(type_: GraphQLObjectType, name: str) -> GraphQLObjectType:
    target = get_named_type(type_.fields[name].type)
    assert isinstance(target, GraphQLObjectType)
    return target


def _reader(source: _Source, type_: GraphQLObjectType, nodes: list[FieldNode], native: bool) -> Reader:
    return Reader(shape_below(source, type_, nodes, is_nullable), native=native)


def _cursor(order: str, key: Any, number: int) -> str:
    if isinstance(key, datetime):
        key = key.isoformat()
    return base64.urlsafe_b64encode(orjson.dumps([order, key, number])).rstrip(b"=").decode()


def _window_of(read: ReadRoot, arguments: Mapping[str, Any]) -> tuple[Window, bool]:
    size = arguments[{"list": "limit", "page": "per_page", "connection": "first"}[read.kind]]
    page, offset = arguments.get("page", 1), arguments.get("offset", 0)
    if size is None or page is None or offset is None:
        raise NotCompiled
    if not 0 <= size <= MAX_PUBLIC or not 0 <= offset < 2**31 or not 0 <= page < 2**31:
        raise NotCompiled
    page = max(page, 1)
    sort = arguments.get("sort")
    return (
        Window(
            size, (page - 1) * size if read.kind == "page" else offset, getattr(sort, "value", sort), page
        ),
        arguments.get("after") is not None,
    )


def _conditions_of(read: ReadRoot, arguments: Mapping[str, Any]) -> list[Where]:
    found = conditions_given(read.entity, arguments.get("filter"), arguments.get("status"))
    after = arguments.get("after")
    if after is not None:
        sort = arguments.get("sort")
        try:
            found.append(reading.after_cursor(read.entity, getattr(sort, "value", sort), after))
        except DomainError as refusal:
            raise NotCompiled from refusal
    return found


@dataclass(frozen=True, slots=True)
class TypeName:
    """`__typename` at the root."""

    key: str
    name: str

    async def run(self, _scope: Scope, _variables: VariableValues) -> str:
        """Give the name of the root type."""
        return self.name


class Structure:
    """An operation without its root fields' arguments: what is the same for all who send the document."""

    __slots__ = ("_calls",)

    def __init__(self, calls: list[RootCall | TypeName]) -> None:
        self._calls = calls

    async def run(self, scope: Scope, variables: VariableValues) -> dict[str, Any]:
        """Give the data. Raises `NotCompiled`; nothing was changed then."""
        return {call.key: await call.run(scope, variables) for call in self._calls}


@dataclass(frozen=True, slots=True)
class Compiled:
    """An operation with its variables, ready to run in any scope."""

    structure: Structure
    variables: VariableValues

    async def run(self, scope: Scope) -> dict[str, Any]:
        """Give the data. Raises `NotCompiled`; nothing was changed then."""
        return await self.structure.run(scope, self.variables)


@dataclass(frozen=True, slots=True)
class Ready:
    """An operation whose structure and cost are the same whatever its variables: all that is left is a look at each of them."""

    structure: Structure
    looks: tuple[tuple[str, Callable[[Any], bool]], ...]
    cost: int

    def values(self, variables: Mapping[str, Any]) -> VariableValues | None:
        """Give the variables' values; None where graphql-core has to say what they are."""
        coerced = {}
        for name, look in self.looks:
            value = variables.get(name)
            if not look(value):
                return None
            coerced[name] = value
        return VariableValues({}, coerced)


_NO_VARIABLES = VariableValues({}, {})
_is_on = True


def switch(on: bool) -> None:
    """Let operations be compiled, or leave them all to the executor (VITRINE_COMPILED_READS)."""
    global _is_on
    _is_on = on


class Compiler:
    """Compile operations of one schema and keep their structures beside the document."""

    def __init__(self, schema: GraphQLSchema, *, native: bool) -> None:
        self._schema = schema
        self._native = native
        self._kept: OrderedDict[tuple[int, str, bytes], tuple[Prepared, Structure | None]] = OrderedDict()
        self._structurals: dict[str, tuple[Prepared, Depends]] = {}
        self._tokens = 0

    def get(
        self, prepared: Prepared, operation: OperationDefinitionNode, variables: Mapping[str, Any] | None
    ) -> Compiled | None:
        """Give the compiled operation, or None for one that is left to the executor."""
        if not _is_on or operation.operation is not OperationType.QUERY:
            return None
        values = self._values(prepared, operation, variables or {})
        if values is None:
            return None
        structure = self._structure(prepared, operation, values)
        return None if structure is None else Compiled(structure, values)

    def make_ready(
        self, prepared: Prepared, operation: OperationDefinitionNode, compiled: Compiled, cost: int
    ) -> None:
        """Keep with the document what answers its only operation, where no variable decides more than arguments."""
        depends, looks = self._depends(prepared, operation, operation.name.value if operation.name else "")
        # A whole number among the variables may be the size of a list, and so part of the cost.
        if (
            len(prepared.operations) == 1
            and not depends
            and looks is not None
            and not takes_integers(operation)
        ):
            prepared.ready[None] = Ready(compiled.structure, looks, cost)

    def _values(
        self, prepared: Prepared, operation: OperationDefinitionNode, variables: Mapping[str, Any]
    ) -> VariableValues | None:
        if not operation.variable_definitions:
            return _NO_VARIABLES
        looks = self._depends(prepared, operation, operation.name.value if operation.name else "")[1]
        if looks is not None and all(look(variables.get(name)) for name, look in looks):
            return VariableValues({}, {name: variables[name] for name, _ in looks})
        values = get_variable_values(self._schema, operation.variable_definitions, dict(variables))
        return values if isinstance(values, VariableValues) else None

    def _structure(
        self, prepared: Prepared, operation: OperationDefinitionNode, values: VariableValues
    ) -> Structure | None:
        """Give the structure, kept or made; None where the executor is asked every time."""
        name = operation.name.value if operation.name else ""
        depends = self._depends(prepared, operation, name)[0]
        try:
            given = orjson.dumps([values.coerced.get(each) for each in depends]) if depends else b""
        except TypeError:
            return None
        key = (id(prepared), name, given)
        found = self._kept.get(key)
        # The document is kept beside what was made of it, so its id can't be another's.
        if found is not None and found[0] is prepared:
            self._kept.move_to_end(key)
            return found[1]
        structure = self._compile(prepared, operation, values)
        if len(given) <= LONGEST_VARIABLES:
            self._keep(key, prepared, structure)
        return structure

    def _depends(self, prepared: Prepared, operation: OperationDefinitionNode, name: str) -> Depends:
        """Give the variables the structure depends on, and the looks that the variables need."""
        if not operation.variable_definitions:
            return (), ()
        known = self._structurals.get(name + str(id(prepared)))
        if known is None or known[0] is not prepared:
            if len(self._structurals) > MOST_KEPT:
                self._structurals.clear()
            known = self._structurals[name + str(id(prepared))] = (
                prepared,
                (structural(prepared, operation), looks(operation)),
            )
        return known[1]

    def _keep(self, key: tuple[int, str, bytes], prepared: Prepared, structure: Structure | None) -> None:
        self._kept[key] = (prepared, structure)
        self._tokens += prepared.size
        while len(self._kept) > MOST_KEPT or (self._tokens > MOST_TOKENS and len(self._kept) > 1):
            _, (left, _) = self._kept.popitem(last=False)
            self._tokens -= left.size

    def __len__(self) -> int:
        """Give how many operations are kept."""
        return len(self._kept)

    def _compile(
        self, prepared: Prepared, operation: OperationDefinitionNode, values: VariableValues
    ) -> Structure | None:
        assert prepared.document is not None
        root = self._schema.query_type
        assert root is not None
        fragments = {
            node.name.value: node
            for node in prepared.document.definitions
            if isinstance(node, FragmentDefinitionNode)
        }
        source = _Source(fragments, values)
        try:
            return Structure(self._calls(source, root, operation))
        except (NotCompiled, DomainError):
            return None

    def _calls(
        self, source: _Source, root: GraphQLObjectType, operation: OperationDefinitionNode
    ) -> list[RootCall | TypeName]:
        asked = FieldNode(name=NameNode(value=""), selection_set=operation.selection_set)
        calls: list[RootCall | TypeName] = []
        for key, nodes in fields_below(source, root, [asked]).items():
            if nodes[0].name.value == "__typename":
                calls.append(TypeName(key, root.name))
                continue
            field = root.fields.get(nodes[0].name.value)
            declared = declared_field(field) if field is not None else None
            read = declared.metadata.get(READ) if declared is not None else None
            if field is None or read is None:
                raise NotCompiled
            target = get_named_type(field.type)
            assert isinstance(target, GraphQLObjectType)
            calls.append(RootCall(key, read, source, target, field, nodes, native=self._native))
        return calls
