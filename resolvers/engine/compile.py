"""Compile queries, and the answers of mutations, to SQL reads that bypass the GraphQL executor, once per document and variables.

A query whose root fields all come from `resolvers.entity_queries`, search products or are declared in `compiled_results` is compiled to a
list of reads: entity, conditions, page bounds, and a compiled reader of the response shape. Running it executes only SQL statements and the
domain's calculations. A mutation with one root field runs its resolver, and a compiled builder makes the answer of its result. Whatever the
compiled query can't answer exactly like the executor (an error, null in a non-null field, invalid page bounds) raises `NotCompiled` and the
executor takes over; the executor is the reference, and `tests/graphql/test_query_compiler.py` compares the two.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar
from uuid import UUID

import orjson
from graphql import (
    ExecutionResult,
    FieldNode,
    FragmentDefinitionNode,
    GraphQLError,
    GraphQLField,
    GraphQLObjectType,
    GraphQLOutputType,
    GraphQLSchema,
    NameNode,
    OperationDefinitionNode,
    OperationType,
    get_named_type,
    located_error,
)
from graphql.execution.values import VariableValues, get_argument_values

from kernel.cache import BoundedCache
from kernel.errors import DomainError
from kernel.scope import Scope
from models.connection import replicas
from models.reading.answer_size import AnswerTooLarge
from models.reading.response_shapes import NotCompiled
from resolvers.engine.compiled_fields import CompilationValues, CompiledRootField, CompiledTypename
from resolvers.engine.compiled_results import OWN_RECORD, RESULT, CompiledOwnRecord, CompiledResult
from resolvers.engine.compiled_search import CompiledSearch
from resolvers.engine.complete import ResultBuilder
from resolvers.engine.conversions import VariableConversion, accepts_integers, conversion_of, structural_variables
from resolvers.engine.costs import StoreCost
from resolvers.engine.executor import ExecutionContext, Outcome, refused
from resolvers.engine.prepare import PreparedDocument, coerced_variables
from resolvers.entity_queries import ENTITY_QUERY
from resolvers.search_requests import SEARCH_FIELD
from schema.fields import strawberry_field
from schema.selection import collect_fields

# Cache bounds: operations, total tokens of their documents (half a kilobyte each), and the length of variables in a cache key.
MAX_CACHED_OPERATIONS = 2000
MAX_CACHED_TOKENS = 100_000
MAX_VARIABLES_LENGTH = 4096
# Of a document, the variables with which its plan is cached, and their length as JSON.
_MAX_CACHED_PLANS, _MAX_CACHED_LENGTH = 50, 1_000
# The stores of which a plan keeps the cost.
_MAX_CACHED_COSTS = 1_000


CompiledField: TypeAlias = CompiledRootField | CompiledSearch | CompiledTypename | CompiledOwnRecord | CompiledResult


class QueryPlan:
    """The compiled root fields of an operation, independent of the root fields' arguments."""

    __slots__ = ("_fields", "writes")

    def __init__(self, fields: list[CompiledField]) -> None:
        self._fields = fields
        self.writes = any(isinstance(field, CompiledResult) and field.writes for field in fields)
        """Whether a field changes what it reads, as one that takes over a cart does."""

    async def run(self, scope: Scope, variables: VariableValues) -> dict[str, Any]:
        """Return the data. Raises `NotCompiled` if the executor must take over."""
        if replicas.active is not None and not self.writes:
            with replicas.replica_read(scope.store.id):
                return {field.key: await field.run(scope, variables) for field in self._fields}
        data = {}  # a comprehension would be a coroutine of its own
        for compiled in self._fields:
            data[compiled.key] = await compiled.run(scope, variables)
        return data


def only_field(schema: GraphQLSchema, operation: OperationDefinitionNode) -> GraphQLField | None:
    """Return the only root field of a mutation; None if the executor must run the operation."""
    selections = operation.selection_set.selections
    # There may be none: graphql-core parses `{}`.
    if len(selections) != 1 or not isinstance(node := selections[0], FieldNode) or node.directives:
        return None
    assert schema.mutation_type is not None
    return schema.mutation_type.fields.get(node.name.value)


@dataclass(frozen=True, slots=True)
class MutationInfo:
    """What the resolver of a mutation, and Strawberry, read of graphql-core's `GraphQLResolveInfo`."""

    field_name: str
    field_nodes: list[FieldNode]
    return_type: GraphQLOutputType
    fragments: Mapping[str, FragmentDefinitionNode]
    operation: OperationDefinitionNode
    variable_values: VariableValues
    context: ExecutionContext


class MutationPlan:
    """A compiled mutation, independent of its arguments."""

    __slots__ = ("_builder", "_field", "_fragments", "_key", "_node", "_operation")

    def __init__(
        self, schema: GraphQLSchema, operation: OperationDefinitionNode, values: CompilationValues, *, native: bool
    ) -> None:
        [node], field = operation.selection_set.selections, only_field(schema, operation)
        assert isinstance(node, FieldNode)
        assert field is not None
        self._key = (node.alias or node.name).value
        self._operation, self._field, self._node = operation, field, node
        self._fragments = values.fragments
        # Conversions are applied to the data of every mutation, compiled or not.
        self._builder = ResultBuilder(values, field.type, [node], native=native)

    async def run(self, context: ExecutionContext, variables: VariableValues) -> ExecutionResult | None:
        """Run the resolver; return the result, or None when the executor must complete it, whose context then has the outcome."""
        resolve, node = self._field.resolve, self._node
        assert resolve is not None
        info = MutationInfo(
            node.name.value, [node], self._field.type, self._fragments, self._operation, variables, context
        )
        context.readers = self._builder.records
        try:
            result = await resolve(None, info, **get_argument_values(self._field, node, variables))
        except AnswerTooLarge as error:
            return refused(error)
        except Exception as error:
            return ExecutionResult({self._key: None}, [located_error(error, [node], [self._key])])
        try:
            return ExecutionResult({self._key: await self._builder.build(context.scope, result)}, None)
        except AnswerTooLarge as error:
            return refused(error)
        except Exception:
            # What has changed is changed: any failure to show it is the executor's to report, at its path.
            for link in context.links:
                link()
            context.outcome = Outcome(result)
            return None


Plan: TypeAlias = QueryPlan | MutationPlan


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
    """A query plan whose structure and cost don't depend on the variables; `costs` are those of the stores that used it."""

    plan: QueryPlan
    values: VariableConversion
    costs: dict[UUID, StoreCost] = field(default_factory=dict)

    def cost(self, scope: Scope) -> int | None:
        """Return the cost in the scope's store; None if it has to be measured."""
        known = self.costs.get(scope.store.public_id)
        return None if known is None or known.expires_at <= scope.now else known.cost


_NO_VARIABLES = VariableValues({}, {})
# The structural variables, and the conversion of all.
VariableUsage: TypeAlias = tuple[tuple[str, ...], VariableConversion]
_enabled = True


def _no_variables(_: Mapping[str, Any]) -> VariableValues:
    return _NO_VARIABLES


def set_enabled(enabled: bool) -> None:
    """Enable or disable compiled reads (VITRINE_COMPILED_READS); when disabled the executor handles all queries."""
    global _enabled
    _enabled = enabled


_Key, _Value = TypeVar("_Key"), TypeVar("_Value")


def _keep(cached: dict[_Key, _Value], key: _Key, value: _Value, most: int) -> None:
    """Keep a value, in place of the oldest one where there are as many as may be."""
    if key not in cached and len(cached) >= most:
        del cached[next(iter(cached))]
    cached[key] = value


class QueryCompiler:
    """Compile operations of one schema; plans are cached per document and structural variables (LRU)."""

    def __init__(self, schema: GraphQLSchema, *, native: bool) -> None:
        self._schema = schema
        self._native = native
        self._plans: BoundedCache[tuple[int, str, bytes], tuple[PreparedDocument, Plan | None]] = BoundedCache(
            MAX_CACHED_OPERATIONS, max_weight=MAX_CACHED_TOKENS, weigh=lambda entry: entry[0].size
        )
        self._variable_usage: BoundedCache[str, tuple[PreparedDocument, VariableUsage]] = BoundedCache(
            MAX_CACHED_OPERATIONS
        )

    def compile_query(
        self, prepared: PreparedDocument, operation: OperationDefinitionNode, variables: Mapping[str, Any] | None
    ) -> CompiledQuery | None:
        """Return the compiled query, or None if the executor must run the operation."""
        if not _enabled or operation.operation is not OperationType.QUERY:
            return None
        values = self._values(prepared, operation, variables or {})
        if values is None:
            return None
        plan = self._plan(prepared, operation, values)
        return CompiledQuery(plan, values) if isinstance(plan, QueryPlan) else None

    def compile_mutation(
        self, prepared: PreparedDocument, operation: OperationDefinitionNode, variables: Mapping[str, Any] | None
    ) -> tuple[MutationPlan, VariableValues] | None:
        """Return the plan of a mutation and its variables, or None if the executor must run the operation."""
        if not _enabled or only_field(self._schema, operation) is None:
            return None
        values = self._values(prepared, operation, variables or {})
        plan = None if values is None else self._plan(prepared, operation, values)
        return (plan, values) if isinstance(plan, MutationPlan) and values is not None else None

    def cached_plan(
        self, prepared: PreparedDocument, name: str | None, variables: Mapping[str, Any]
    ) -> tuple[ReusablePlan, VariableValues] | None:
        """Return the plan cached for the document's only operation, if a request names that or none, and the variables' values."""
        if not _enabled:
            return None
        plan: ReusablePlan | None = prepared.reusable_plans.get(name)
        if plan is not None and (values := plan.values(variables)) is not None:
            return plan, values
        if not prepared.plans_by_variables or not (name is None or name in prepared.operations):
            return None
        cached: tuple[ReusablePlan, VariableValues] | None = prepared.plans_by_variables.get(orjson.dumps(variables))
        return cached

    def cache_plan(
        self,
        scope: Scope,
        prepared: PreparedDocument,
        operation: OperationDefinitionNode,
        compiled: CompiledQuery,
        cost: StoreCost,
        variables: Mapping[str, Any] | None,
    ) -> None:
        """Cache the plan of a document's only operation with the document, for these variables alone if they affect plan or cost.

        `cost` is that of the scope's store.
        """
        if len(prepared.operations) != 1:
            return
        name = operation.name.value if operation.name else None
        structural, conversion = self._usage(prepared, operation, name or "")
        # An integer variable may be a list size and thus affect the cost.
        if not structural and not accepts_integers(operation):
            plan = prepared.reusable_plans.get(name) or ReusablePlan(compiled.plan, conversion)
            prepared.reusable_plans.update({None: plan, name: plan})
            _keep(plan.costs, scope.store.public_id, cost, _MAX_CACHED_COSTS)
            return
        key = orjson.dumps(variables or {})
        if len(key) <= _MAX_CACHED_LENGTH:
            cached = prepared.plans_by_variables
            plan, values = cached.get(key) or (ReusablePlan(compiled.plan, _no_variables), compiled.variables)
            _keep(plan.costs, scope.store.public_id, cost, _MAX_CACHED_COSTS)
            _keep(cached, key, (plan, values), _MAX_CACHED_PLANS)

    def _values(
        self, prepared: PreparedDocument, operation: OperationDefinitionNode, variables: Mapping[str, Any]
    ) -> VariableValues | None:
        if not operation.variable_definitions:
            return _NO_VARIABLES
        convert = self._usage(prepared, operation, operation.name.value if operation.name else "")[1]
        return convert(variables) or coerced_variables(self._schema, prepared, operation, variables)

    def _plan(
        self, prepared: PreparedDocument, operation: OperationDefinitionNode, values: VariableValues
    ) -> Plan | None:
        """Return the cached or newly compiled plan; None if the executor must always run the operation."""
        name = operation.name.value if operation.name else ""
        structural = self._usage(prepared, operation, name)[0]
        # A variable that is left out has the default of its argument, null hasn't.
        given = {variable: values.coerced[variable] for variable in structural if variable in values.coerced}
        try:
            variables = orjson.dumps(given) if given else b""
        except TypeError:
            return None
        key = (id(prepared), name, variables)
        cached = self._plans.find(key)
        # The entry references the document, so that its id can't be reused by another one.
        if cached is not None and cached[0] is prepared:
            return cached[1]
        plan = self._compile(prepared, operation, values)
        if len(variables) <= MAX_VARIABLES_LENGTH:
            self._plans.keep(key, (prepared, plan))
        return plan

    def _usage(self, prepared: PreparedDocument, operation: OperationDefinitionNode, name: str) -> VariableUsage:
        """Return the structural variables and the conversion of all variables."""
        if not operation.variable_definitions:
            return (), _no_variables
        key = name + str(id(prepared))
        cached = self._variable_usage.find(key)
        if cached is not None and cached[0] is prepared:
            return cached[1]
        usage = (structural_variables(prepared, operation), conversion_of(self._schema, operation))
        self._variable_usage.keep(key, (prepared, usage))
        return usage

    def __len__(self) -> int:
        """Return the number of cached plans."""
        return len(self._plans)

    def _compile(
        self, prepared: PreparedDocument, operation: OperationDefinitionNode, values: VariableValues
    ) -> Plan | None:
        root = self._schema.query_type
        assert root is not None
        compilation = CompilationValues(prepared.fragments, values, prepared.conversions)
        try:
            if operation.operation is OperationType.MUTATION:
                return MutationPlan(self._schema, operation, compilation, native=self._native)
            return QueryPlan(self._root_fields(compilation, root, operation))
        except (NotCompiled, DomainError, GraphQLError):  # null in an argument or a directive that takes none
            return None

    def _root_fields(
        self, values: CompilationValues, root: GraphQLObjectType, operation: OperationDefinitionNode
    ) -> list[CompiledField]:
        root_node = FieldNode(name=NameNode(value=""), selection_set=operation.selection_set)
        compiled: list[CompiledField] = []
        for key, nodes in collect_fields(values, root, [root_node]).items():
            if nodes[0].name.value == "__typename":
                compiled.append(CompiledTypename(key, root.name))
                continue
            field = root.fields.get(nodes[0].name.value)
            declared = strawberry_field(field) if field is not None else None
            metadata = declared.metadata if declared is not None else {}
            target = get_named_type(field.type) if field is not None else None
            if field is None or not isinstance(target, GraphQLObjectType):
                raise NotCompiled
            compiled.append(self._root_field(key, metadata, values, target, field, nodes))
        return compiled

    def _root_field(
        self,
        key: str,
        metadata: Mapping[object, Any],
        values: CompilationValues,
        target: GraphQLObjectType,
        field: GraphQLField,
        nodes: list[FieldNode],
    ) -> CompiledField:
        query, search = metadata.get(ENTITY_QUERY), metadata.get(SEARCH_FIELD)
        if query is not None:
            return CompiledRootField(key, query, values, target, field, nodes, native=self._native)
        if search is not None:
            return CompiledSearch(key, search, values, target, field, nodes, native=self._native)
        own, result = metadata.get(OWN_RECORD), metadata.get(RESULT)
        if own is not None:
            return CompiledOwnRecord(key, own, values, target, nodes, native=self._native)
        if result is not None:
            return CompiledResult(key, result, values, target, field, nodes, native=self._native)
        raise NotCompiled
