"""Answer whole operations that only read, without an executor: compiled once for a document and its variables.

An operation whose root fields are all made by `resolvers.reads` becomes a list of calls: which entity, which conditions, which window,
and a compiled reader of the shape asked for. Running it takes the statements and nothing else. What a call can't answer exactly as
the executor would (a refusal, a null where there must be none, a window out of bounds) raises `NotCompiled`, and the executor
answers: it is the reference, and `tests/graphql/test_differential.py` holds the two side by side.
"""

from __future__ import annotations

import base64
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson
from graphql import (
    FieldNode,
    FragmentDefinitionNode,
    GraphQLObjectType,
    GraphQLSchema,
    NameNode,
    OperationDefinitionNode,
    OperationType,
    get_named_type,
)
from graphql.execution.values import VariableValues, get_argument_values, get_variable_values

from kernel.errors import Refusal
from kernel.scope import Scope
from models import reading
from models.columns import is_nullable
from models.reading import Where, by_reference
from models.shapes import NotCompiled
from models.trees import Reader
from resolvers.reads import MAX_PUBLIC, READ, ReadRoot
from schema.documents import Prepared
from schema.fields import declared_field
from schema.filters import conditions_given
from schema.scalars import reference
from schema.selection import fields_below, shape_below

# How many variants (by variables) of a document are kept, and how large variables may be to be kept by.
VARIANTS = 50
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


class Call:
    """One root field."""

    __slots__ = (
        "_after",
        "_conditions",
        "_edges",
        "_items",
        "_layout",
        "_lists",
        "_read",
        "_reader",
        "_window",
        "key",
    )

    def __init__(
        self,
        key: str,
        read: ReadRoot,
        source: _Source,
        type_: GraphQLObjectType,
        nodes: list[FieldNode],
        arguments: Mapping[str, Any],
        *,
        native: bool,
    ) -> None:
        self.key = key
        self._read = read
        self._window, self._after = _window_of(read, arguments)
        self._conditions = _conditions_of(read, arguments)
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

    async def run(self, scope: Scope) -> Any:
        """Read what the field asks for."""
        try:
            self._read.access.check(scope)
        except Refusal as refusal:
            raise NotCompiled from refusal
        kind = self._read.kind
        if kind == "one":
            if not self._conditions:
                return None
            assert self._reader is not None
            return await self._reader.one(scope, self._conditions[0])
        if kind == "list":
            assert self._reader is not None
            window = self._window
            return await self._reader.many(
                scope, self._conditions, sort=window.sort, limit=window.limit, offset=window.offset
            )
        return await (self._page(scope) if kind == "page" else self._connection(scope))

    async def _page(self, scope: Scope) -> dict[str, Any]:
        window = self._window
        shown: dict[str, Any] = {}
        for key, name in self._layout:
            if name == "items":
                shown[key] = await self._lists[key].many(
                    scope, self._conditions, sort=window.sort, limit=window.limit, offset=window.offset
                )
            elif name == "total":
                shown[key] = await self._count(scope)
            elif name == "page":
                shown[key] = window.page
            elif name == "per_page":
                shown[key] = window.limit
            else:
                shown[key] = name[1:]
        return shown

    async def _count(self, scope: Scope) -> int:
        try:
            return await reading.count(scope, self._read.entity, self._conditions)
        except Refusal as refusal:
            raise NotCompiled from refusal

    async def _connection(self, scope: Scope) -> dict[str, Any]:
        window, entity = self._window, self._read.entity
        if self._reader is None:
            raise NotCompiled
        found, keys = await self._reader.keyed(
            scope, self._conditions, sort=window.sort, limit=window.limit + 1
        )
        order = window.sort or entity.default_sort
        cursors = [_cursor(order, *key) for key in keys[: window.limit]]
        info = {
            "has_next_page": len(found) > window.limit,
            "has_previous_page": self._after,
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
    if read.kind == "one":
        return Window(1, 0, None), False
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
    if read.kind == "one":
        named = reference(arguments["id"])
        return [] if named is None else [by_reference(named)]
    found = conditions_given(read.entity, arguments.get("filter"), arguments.get("status"))
    after = arguments.get("after")
    if after is not None:
        sort = arguments.get("sort")
        try:
            found.append(reading.after_cursor(read.entity, getattr(sort, "value", sort), after))
        except Refusal as refusal:
            raise NotCompiled from refusal
    return found


@dataclass(frozen=True, slots=True)
class TypeName:
    """`__typename` at the root."""

    key: str
    name: str

    async def run(self, _scope: Scope) -> str:
        """Give the name of the root type."""
        return self.name


class Compiled:
    """An operation with its variables, ready to run in any scope."""

    __slots__ = ("_calls",)

    def __init__(self, calls: list[Call | TypeName]) -> None:
        self._calls = calls

    async def run(self, scope: Scope) -> dict[str, Any]:
        """Give the data. Raises `NotCompiled`; nothing was changed then."""
        return {call.key: await call.run(scope) for call in self._calls}


_is_on = True


def switch(on: bool) -> None:
    """Let operations be compiled, or leave them all to the executor (VITRINE_COMPILED_READS)."""
    global _is_on
    _is_on = on


class Compiler:
    """Compile operations of one schema and keep them beside the document, by their variables."""

    def __init__(self, schema: GraphQLSchema, *, native: bool) -> None:
        self._schema = schema
        self._native = native
        self._kept: OrderedDict[tuple[int, str, bytes], tuple[Prepared, Compiled | None]] = OrderedDict()

    def get(
        self, prepared: Prepared, operation: OperationDefinitionNode, variables: Mapping[str, Any] | None
    ) -> Compiled | None:
        """Give the compiled operation, or None for one that is left to the executor."""
        if not _is_on or operation.operation is not OperationType.QUERY:
            return None
        try:
            given = orjson.dumps(variables) if variables else b""
        except TypeError:
            return None
        name = operation.name.value if operation.name else ""
        key = (id(prepared), name, given)
        found = self._kept.get(key)
        # The document is kept beside what was made of it, so its id can't be another's.
        if found is not None and found[0] is prepared:
            self._kept.move_to_end(key)
            return found[1]
        compiled = self._compile(prepared, operation, variables or {})
        if len(given) <= LONGEST_VARIABLES:
            self._kept[key] = (prepared, compiled)
            if len(self._kept) > 2000:
                self._kept.popitem(last=False)
        return compiled

    def _compile(
        self, prepared: Prepared, operation: OperationDefinitionNode, variables: Mapping[str, Any]
    ) -> Compiled | None:
        assert prepared.document is not None
        root = self._schema.query_type
        assert root is not None
        values = get_variable_values(self._schema, operation.variable_definitions or (), dict(variables))
        if not isinstance(values, VariableValues):
            return None
        fragments = {
            node.name.value: node
            for node in prepared.document.definitions
            if isinstance(node, FragmentDefinitionNode)
        }
        source = _Source(fragments, values)
        try:
            return Compiled(self._calls(source, root, operation))
        except (NotCompiled, Refusal):
            return None

    def _calls(
        self, source: _Source, root: GraphQLObjectType, operation: OperationDefinitionNode
    ) -> list[Call | TypeName]:
        asked = FieldNode(name=NameNode(value=""), selection_set=operation.selection_set)
        calls: list[Call | TypeName] = []
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
            arguments = get_argument_values(field, nodes[0], source.variable_values)
            calls.append(Call(key, read, source, target, nodes, arguments, native=self._native))
        return calls
