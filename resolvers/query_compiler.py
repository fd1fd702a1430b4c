"""Compile read-only queries to SQL reads that bypass the GraphQL executor, once per document and variables.

A query whose root fields all come from `resolvers.entity_queries` is compiled to a list of reads: entity, conditions, page bounds, and a
compiled reader of the response shape. Running it executes only SQL statements. Whatever the compiled query can't answer exactly like
the executor (an error, null in a non-null field, invalid page bounds) raises `NotCompiled` and the executor takes over; the executor is
the reference, and `tests/graphql/test_query_compiler.py` compares the two.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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
from models import queries
from models.caller_cache import CallerCache
from models.columns import is_nullable
from models.compiled_reads import CompiledReader
from models.queries import Condition, Row, by_id
from models.response_shapes import NotCompiled
from resolvers.entity_queries import ENTITY_QUERY, EntityQuery
from resolvers.variables import (
    VariableUsage,
    accepts_integers,
    constant_arguments,
    structural_variables,
    type_checks_of,
)
from schema.documents import PreparedDocument
from schema.fields import strawberry_field
from schema.filters import build_conditions_from_values
from schema.pagination import MAX_PAGE_SIZE
from schema.scalars import parse_id
from schema.selection import build_shape, collect_fields

# Cache bounds: operations, total tokens of their documents (half a kilobyte each), and the length of variables in a cache key.
MAX_CACHED_OPERATIONS = 2000
MAX_CACHED_TOKENS = 100_000
MAX_VARIABLES_LENGTH = 4096


@dataclass(frozen=True, slots=True)
class _Values:
    """The `schema.selection.ExecutionValues` of a compilation."""

    fragments: Mapping[str, FragmentDefinitionNode]
    variable_values: Any


@dataclass(frozen=True, slots=True)
class PageBounds:
    """The requested part of a list and its sort order."""

    limit: int
    offset: int
    sort: str | None
    page: int = 1


@dataclass(frozen=True, slots=True)
class RootFieldArguments:
    """The evaluated arguments of a root field; `has_cursor` if `after` was passed."""

    bounds: PageBounds
    conditions: Sequence[Condition]
    has_cursor: bool


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
        values: _Values,
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
            self._reader = _reader(values, type_, nodes, native)
        else:
            self._compile_layout(values, type_, nodes, native)

    def _compile_layout(
        self, values: _Values, type_: GraphQLObjectType, nodes: list[FieldNode], native: bool
    ) -> None:
        """Store the response keys of a page or connection in order; a connection with two `edges` fields is left to the executor."""
        for key, group in collect_fields(values, type_, nodes).items():
            name = group[0].name.value
            if name == "items":
                self._item_readers[key] = _reader(values, _object_type(type_, name), group, native)
            elif name == "edges":
                self._compile_edges(values, _object_type(type_, name), group, native)
            elif name == "page_info":
                info = collect_fields(values, _object_type(type_, name), group)
                self._page_info_fields += [(key, inner, nodes[0].name.value) for inner, nodes in info.items()]
            self._layout.append((key, name if name != "__typename" else f"={type_.name}"))

    def _compile_edges(
        self, values: _Values, edge: GraphQLObjectType, nodes: list[FieldNode], native: bool
    ) -> None:
        if self._edge_fields:
            raise NotCompiled
        for key, group in collect_fields(values, edge, nodes).items():
            name = group[0].name.value
            if name == "node":
                if self._reader is not None:
                    raise NotCompiled
                self._reader = _reader(values, _object_type(edge, name), group, native)
            self._edge_fields.append((key, name if name != "__typename" else f"={edge.name}"))

    async def run(self, scope: Scope, variables: VariableValues) -> Any:
        """Read the field's data."""
        kind = self._query.kind
        if kind == "one":
            assert self._reader is not None
            reference = self._evaluate_id(scope, variables)
            return None if reference is None else await self._reader.fetch_one(scope, by_id(reference))
        arguments = self._evaluate_arguments(scope, variables)
        if kind == "list":
            assert self._reader is not None
            bounds = arguments.bounds
            return await self._reader.fetch_many(
                scope, arguments.conditions, sort=bounds.sort, limit=bounds.limit, offset=bounds.offset
            )
        return await (self._page(scope, arguments) if kind == "page" else self._connection(scope, arguments))

    def _evaluate_id(self, scope: Scope, variables: VariableValues) -> Reference | None:
        """Return the requested id; None if it is malformed."""
        try:
            self._check_access(scope)
            return parse_id(self._argument_values(variables)["id"])
        except (DomainError, GraphQLError) as error:
            raise NotCompiled from error

    def _evaluate_arguments(self, scope: Scope, variables: VariableValues) -> RootFieldArguments:
        """Evaluate the arguments; errors are left to the executor."""
        try:
            self._check_access(scope)
            values = self._argument_values(variables)
            has_cursor = values.get("after") is not None
            return RootFieldArguments(
                _page_bounds(self._query, values), _conditions(self._query, values), has_cursor
            )
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

    async def _page(self, scope: Scope, arguments: RootFieldArguments) -> dict[str, Any]:
        bounds = arguments.bounds
        data: dict[str, Any] = {}
        for key, name in self._layout:
            if name == "items":
                data[key] = await self._item_readers[key].fetch_many(
                    scope, arguments.conditions, sort=bounds.sort, limit=bounds.limit, offset=bounds.offset
                )
            elif name == "total":
                data[key] = await self._count(scope, arguments)
            elif name == "page":
                data[key] = bounds.page
            elif name == "per_page":
                data[key] = bounds.limit
            else:
                data[key] = name[1:]
        return data

    async def _count(self, scope: Scope, arguments: RootFieldArguments) -> int:
        try:
            return await queries.count_rows(scope, self._query.entity, arguments.conditions)
        except DomainError as error:
            raise NotCompiled from error

    async def _connection(self, scope: Scope, arguments: RootFieldArguments) -> dict[str, Any]:
        bounds, entity = arguments.bounds, self._query.entity
        if self._reader is None:
            raise NotCompiled
        nodes, keys = await self._reader.fetch_with_keys(
            scope, arguments.conditions, sort=bounds.sort, limit=bounds.limit + 1
        )
        sort = bounds.sort or entity.default_sort
        cursors = [
            queries.encode_cursor(sort, Row({"@key": key, "@id": number}))
            for key, number in keys[: bounds.limit]
        ]
        info = {
            "has_next_page": len(nodes) > bounds.limit,
            "has_previous_page": arguments.has_cursor,
            "start_cursor": cursors[0] if cursors else None,
            "end_cursor": cursors[-1] if cursors else None,
            "__typename": "PageInfo",
        }
        data: dict[str, Any] = {}
        for key, name in self._layout:
            if name == "edges":
                data[key] = [
                    {
                        k: node if n == "node" else cursor if n == "cursor" else n[1:]
                        for k, n in self._edge_fields
                    }
                    for node, cursor in zip(nodes, cursors, strict=False)
                ]
            elif name == "page_info":
                data[key] = {
                    inner: info[field] for outer, inner, field in self._page_info_fields if outer == key
                }
            else:
                data[key] = name[1:]
        return data


def _object_type(type_: GraphQLObjectType, name: str) -> GraphQLObjectType:
    target = get_named_type(type_.fields[name].type)
    assert isinstance(target, GraphQLObjectType)
    return target


def _reader(
    values: _Values, type_: GraphQLObjectType, nodes: list[FieldNode], native: bool
) -> CompiledReader:
    return CompiledReader(build_shape(values, type_, nodes, is_nullable), native=native)


def _page_bounds(query: EntityQuery, arguments: Mapping[str, Any]) -> PageBounds:
    size = arguments[{"list": "limit", "page": "per_page", "connection": "first"}[query.kind]]
    page, offset = arguments.get("page", 1), arguments.get("offset", 0)
    if size is None or page is None or offset is None:
        raise NotCompiled
    if not 0 <= size <= MAX_PAGE_SIZE or not 0 <= offset < 2**31 or not 0 <= page < 2**31:
        raise NotCompiled
    page = max(page, 1)
    sort = arguments.get("sort")
    return PageBounds(
        size, (page - 1) * size if query.kind == "page" else offset, getattr(sort, "value", sort), page
    )


def _conditions(query: EntityQuery, arguments: Mapping[str, Any]) -> list[Condition]:
    conditions = build_conditions_from_values(query.entity, arguments.get("filter"), arguments.get("status"))
    after = arguments.get("after")
    if after is not None:
        sort = arguments.get("sort")
        conditions.append(queries.after_cursor(query.entity, getattr(sort, "value", sort), after))
    return conditions


@dataclass(frozen=True, slots=True)
class CompiledTypename:
    """`__typename` of the root type."""

    key: str
    name: str

    async def run(self, _scope: Scope, _variables: VariableValues) -> str:
        """Return the name of the root type."""
        return self.name


class QueryPlan:
    """The compiled root fields of an operation, independent of the root fields' arguments."""

    __slots__ = ("_fields",)

    def __init__(self, fields: list[CompiledRootField | CompiledTypename]) -> None:
        self._fields = fields

    async def run(self, scope: Scope, variables: VariableValues) -> dict[str, Any]:
        """Return the data. Raises `NotCompiled` if the executor must take over."""
        return {field.key: await field.run(scope, variables) for field in self._fields}


@dataclass(frozen=True, slots=True)
class CompiledQuery:
    """A query plan with its variables, executable in any scope."""

    plan: QueryPlan
    variables: VariableValues

    async def run(self, scope: Scope) -> dict[str, Any]:
        """Return the data. Raises `NotCompiled` if the executor must take over."""
        return await self.plan.run(scope, self.variables)


@dataclass(frozen=True, slots=True)
class ReusablePlan:
    """A query plan whose structure and cost don't depend on the variables, which only need a type check per request."""

    plan: QueryPlan
    type_checks: tuple[tuple[str, Callable[[Any], bool]], ...]
    cost: int

    def values(self, variables: Mapping[str, Any]) -> VariableValues | None:
        """Return the variable values; None if graphql-core must coerce them."""
        coerced = {}
        for name, check in self.type_checks:
            value = variables.get(name)
            if not check(value):
                return None
            coerced[name] = value
        return VariableValues({}, coerced)


_NO_VARIABLES = VariableValues({}, {})
_enabled = True


def set_enabled(enabled: bool) -> None:
    """Enable or disable compiled reads (VITRINE_COMPILED_READS); when disabled the executor handles all queries."""
    global _enabled
    _enabled = enabled


class QueryCompiler:
    """Compile operations of one schema; plans are cached per document and structural variables (LRU)."""

    def __init__(self, schema: GraphQLSchema, *, native: bool) -> None:
        self._schema = schema
        self._native = native
        self._plans: OrderedDict[tuple[int, str, bytes], tuple[PreparedDocument, QueryPlan | None]] = (
            OrderedDict()
        )
        self._variable_usage: dict[str, tuple[PreparedDocument, VariableUsage]] = {}
        self._tokens = 0

    def get(
        self,
        prepared: PreparedDocument,
        operation: OperationDefinitionNode,
        variables: Mapping[str, Any] | None,
    ) -> CompiledQuery | None:
        """Return the compiled query, or None if the executor must run the operation."""
        if not _enabled or operation.operation is not OperationType.QUERY:
            return None
        values = self._values(prepared, operation, variables or {})
        if values is None:
            return None
        plan = self._plan(prepared, operation, values)
        return None if plan is None else CompiledQuery(plan, values)

    def cache_plan(
        self,
        prepared: PreparedDocument,
        operation: OperationDefinitionNode,
        compiled: CompiledQuery,
        cost: int,
    ) -> None:
        """Cache the plan of a document's only operation with the document if no variable affects its structure."""
        structural, checks = self._usage(prepared, operation, operation.name.value if operation.name else "")
        # An integer variable may be a list size and thus affect the cost.
        if (
            len(prepared.operations) == 1
            and not structural
            and checks is not None
            and not accepts_integers(operation)
        ):
            prepared.reusable_plan[None] = ReusablePlan(compiled.plan, checks, cost)

    def _values(
        self, prepared: PreparedDocument, operation: OperationDefinitionNode, variables: Mapping[str, Any]
    ) -> VariableValues | None:
        if not operation.variable_definitions:
            return _NO_VARIABLES
        checks = self._usage(prepared, operation, operation.name.value if operation.name else "")[1]
        if checks is not None and all(check(variables.get(name)) for name, check in checks):
            return VariableValues({}, {name: variables[name] for name, _ in checks})
        values = get_variable_values(self._schema, operation.variable_definitions, dict(variables))
        return values if isinstance(values, VariableValues) else None

    def _plan(
        self, prepared: PreparedDocument, operation: OperationDefinitionNode, values: VariableValues
    ) -> QueryPlan | None:
        """Return the cached or newly compiled plan; None if the executor must always run the operation."""
        name = operation.name.value if operation.name else ""
        structural = self._usage(prepared, operation, name)[0]
        try:
            variables = (
                orjson.dumps([values.coerced.get(variable) for variable in structural]) if structural else b""
            )
        except TypeError:
            return None
        key = (id(prepared), name, variables)
        cached = self._plans.get(key)
        # The entry references the document, so that its id can't be reused by another one.
        if cached is not None and cached[0] is prepared:
            self._plans.move_to_end(key)
            return cached[1]
        plan = self._compile(prepared, operation, values)
        if len(variables) <= MAX_VARIABLES_LENGTH:
            self._store(key, prepared, plan)
        return plan

    def _usage(
        self, prepared: PreparedDocument, operation: OperationDefinitionNode, name: str
    ) -> VariableUsage:
        """Return the structural variables and the type checks of all variables."""
        if not operation.variable_definitions:
            return (), ()
        key = name + str(id(prepared))
        cached = self._variable_usage.get(key)
        if cached is None or cached[0] is not prepared:
            if len(self._variable_usage) > MAX_CACHED_OPERATIONS:
                self._variable_usage.clear()
            usage = (structural_variables(prepared, operation), type_checks_of(operation))
            cached = self._variable_usage[key] = (prepared, usage)
        return cached[1]

    def _store(self, key: tuple[int, str, bytes], prepared: PreparedDocument, plan: QueryPlan | None) -> None:
        self._plans[key] = (prepared, plan)
        self._tokens += prepared.size
        while len(self._plans) > MAX_CACHED_OPERATIONS or (
            self._tokens > MAX_CACHED_TOKENS and len(self._plans) > 1
        ):
            _, (evicted, _) = self._plans.popitem(last=False)
            self._tokens -= evicted.size

    def __len__(self) -> int:
        """Return the number of cached plans."""
        return len(self._plans)

    def _compile(
        self, prepared: PreparedDocument, operation: OperationDefinitionNode, values: VariableValues
    ) -> QueryPlan | None:
        assert prepared.document is not None
        root = self._schema.query_type
        assert root is not None
        fragments = {
            node.name.value: node
            for node in prepared.document.definitions
            if isinstance(node, FragmentDefinitionNode)
        }
        try:
            return QueryPlan(self._root_fields(_Values(fragments, values), root, operation))
        except (NotCompiled, DomainError):
            return None

    def _root_fields(
        self, values: _Values, root: GraphQLObjectType, operation: OperationDefinitionNode
    ) -> list[CompiledRootField | CompiledTypename]:
        root_node = FieldNode(name=NameNode(value=""), selection_set=operation.selection_set)
        compiled: list[CompiledRootField | CompiledTypename] = []
        for key, nodes in collect_fields(values, root, [root_node]).items():
            if nodes[0].name.value == "__typename":
                compiled.append(CompiledTypename(key, root.name))
                continue
            field = root.fields.get(nodes[0].name.value)
            declared = strawberry_field(field) if field is not None else None
            query = declared.metadata.get(ENTITY_QUERY) if declared is not None else None
            if field is None or query is None:
                raise NotCompiled
            target = get_named_type(field.type)
            assert isinstance(target, GraphQLObjectType)
            compiled.append(CompiledRootField(key, query, values, target, field, nodes, native=self._native))
        return compiled
