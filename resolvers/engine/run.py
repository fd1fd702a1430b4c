"""Execute prepared operations, for `/graphql` and for the facades.

A query is answered by its compiled reads where they exist, a mutation by its resolver and a compiled answer; everything else by the
GraphQL executor (ARCHITECTURE.md, "Reads"). A mutation of a request with an Idempotency-Key is committed in one transaction with the key
(docs/reference/shared.md#idempotency), which is executed again after a conflict with a concurrent one; without a key each mutation field
repeats its own (`schema.fields.root_field`). A mutation that calls another server (`calls_out`) runs in no transaction: its own ones are
repeated by the domain, which recognizes its key, and the key is completed in one more.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

from graphql import ExecutionResult, GraphQLError, GraphQLSchema, OperationDefinitionNode, OperationType

from domain.idempotency import IN_PROGRESS, KeyClaim, complete, current_claim, release
from kernel import tracing
from kernel.record_conversion import convert_records
from kernel.scope import Scope
from models.connection.database import CONFLICTS, retry_conflicts, transaction
from models.reading.answer_size import AnswerLimits, AnswerSize, AnswerTooLarge, limited_answer
from models.reading.response_shapes import NotCompiled
from resolvers.engine.compile import QueryCompiler, only_field
from resolvers.engine.conversions import has_many_values
from resolvers.engine.costs import StoreCost
from resolvers.engine.executor import ExecutionContext, error_code, error_of, execute_document, refused
from resolvers.engine.introspection import Introspector, is_introspection
from resolvers.engine.prepare import PreparedDocument
from schema.fields import CALLS_OUT, strawberry_field

# Errors that a retry may not meet, so the idempotency key is released.
_TRANSIENT_CODES = {"UNAUTHENTICATED", "FORBIDDEN", "RATE_LIMITED", "TENANT_CLOSED", "UNAVAILABLE", "INTERNAL"}


class _RolledBack(Exception):
    """Roll back the transaction of a failed mutation."""


class OperationExecutor:
    """Execute operations of one schema; `public` if clients send the documents, whose data is then serialized without processing.

    `limits` apply to each answer (docs/reference/shared.md#graphql-limits).
    """

    def __init__(self, schema: GraphQLSchema, *, public: bool, limits: AnswerLimits | None = None) -> None:
        self._schema = schema
        self._public = public
        self._limited: Callable[[], AbstractContextManager[AnswerSize | None]]
        self._limited = nullcontext if limits is None else partial(limited_answer, limits)
        self._compiler = QueryCompiler(schema, native=public)
        self._introspector = Introspector(schema)

    def execute_cached_plan(
        self, scope: Scope, prepared: PreparedDocument, name: str | None, variables: Mapping[str, Any]
    ) -> Awaitable[dict[str, Any] | None]:
        """Return the response, data and cost, by the cached plan of a document's only operation; None without a plan or its cost here.

        Raise `AnswerTooLarge` for an answer over its limits.
        """
        run = self._execute_cached_plan(scope, prepared, name, variables)
        return run if tracing.active is None else tracing.active.operation("query", name or "", run)

    async def _execute_cached_plan(
        self, scope: Scope, prepared: PreparedDocument, name: str | None, variables: Mapping[str, Any]
    ) -> dict[str, Any] | None:
        planned = self._compiler.cached_plan(prepared, name, variables)
        if planned is None:
            return None
        plan, values = planned
        cost = plan.cost(scope)
        if cost is None:
            return None
        with self._limited() as size:
            try:
                data = await plan.plan.run(scope, values)
            except NotCompiled:
                return None
        return {"data": data if size is None else size.mark(data), "extensions": {"cost": cost}}

    def execute(
        self,
        scope: Scope,
        prepared: PreparedDocument,
        operation: OperationDefinitionNode,
        variables: Mapping[str, Any] | None,
        *,
        cost: StoreCost | None = None,
    ) -> Awaitable[ExecutionResult]:
        """Execute an operation and convert its records; with its `cost`, its plan is cached with the document."""
        run = self._execute_prepared(scope, prepared, operation, variables, cost)
        if tracing.active is None:
            return run
        name = operation.name.value if operation.name else ""
        return tracing.active.operation(operation.operation.value, name, run)

    async def _execute_prepared(
        self,
        scope: Scope,
        prepared: PreparedDocument,
        operation: OperationDefinitionNode,
        variables: Mapping[str, Any] | None,
        cost: StoreCost | None,
    ) -> ExecutionResult:
        if self._public and is_introspection(operation):
            return await self._introspector.execute(prepared, operation, variables)
        compiled = None if has_many_values(variables) else self._compiler.compile_query(prepared, operation, variables)
        if compiled is not None:
            try:
                with self._limited() as size:
                    data = await compiled.run(scope)
                    data = size.mark(data) if size is not None else data
            except NotCompiled:
                pass  # the executor handles the query and its errors
            except AnswerTooLarge as error:
                return refused(error)
            else:
                if cost is not None:
                    self._compiler.cache_plan(scope, prepared, operation, compiled, cost, variables)
                return ExecutionResult(data, None)
        result = await self._execute_uncompiled(scope, prepared, operation, variables)
        if result.data is not None and prepared.conversions:
            convert_records(result.data, prepared.conversions)
        return result

    async def execute_event(
        self,
        scope: Scope,
        prepared: PreparedDocument,
        operation: OperationDefinitionNode,
        variables: Mapping[str, Any] | None,
        event: Any,
    ) -> ExecutionResult:
        """Execute a subscription for one event."""
        return await self._execute(scope, prepared, operation, variables, event)

    async def _execute_uncompiled(
        self,
        scope: Scope,
        prepared: PreparedDocument,
        operation: OperationDefinitionNode,
        variables: Mapping[str, Any] | None,
    ) -> ExecutionResult:
        execution = partial(self._execute, scope, prepared, operation, variables)
        if operation.operation is not OperationType.MUTATION:
            return await execution()
        claim = current_claim()
        if claim is None:
            return await execution()
        if claim.result is not None:
            return ExecutionResult(dict(claim.result), None)
        if self._calls_out(operation):
            return await self._execute_outside(scope, execution, claim)
        return await self._execute_once(scope, execution, claim)

    def _calls_out(self, operation: OperationDefinitionNode) -> bool:
        field = only_field(self._schema, operation)
        declared = None if field is None else strawberry_field(field)
        return declared is not None and bool(declared.metadata.get(CALLS_OUT))

    async def _execute(
        self,
        scope: Scope,
        prepared: PreparedDocument,
        operation: OperationDefinitionNode,
        variables: Mapping[str, Any] | None,
        root_value: Any = None,
    ) -> ExecutionResult:
        context = ExecutionContext(scope, public=self._public)
        result = None
        if operation.operation is OperationType.MUTATION and not has_many_values(variables):
            compiled = self._compiler.compile_mutation(prepared, operation, variables)
            if compiled is not None:
                with self._limited() as size:
                    result = await compiled[0].run(context, compiled[1])
        if result is None:
            name = operation.name.value if operation.name else None
            with self._limited() as size:
                result = await execute_document(self._schema, prepared, context, variables, name, root_value)
        if size is not None and result.data is not None:
            result.data = size.mark(result.data)
        return result

    async def _execute_once(
        self, scope: Scope, execution: Callable[[], Awaitable[ExecutionResult]], claim: KeyClaim
    ) -> ExecutionResult:
        """Commit the effect and the key in one transaction; a failed mutation changes nothing."""

        async def execute_and_complete() -> ExecutionResult:
            result = ExecutionResult(None, None)
            try:
                async with transaction(scope):
                    result = await execution()
                    if result.errors or result.data is None:
                        raise _RolledBack
                    await complete(scope, claim, result.data)
            except _RolledBack:
                pass
            return result

        result = await retry_conflicts(execute_and_complete, conflict_in=_conflict_in)
        await _release_transient(scope, claim, result)
        return result

    async def _execute_outside(
        self, scope: Scope, execution: Callable[[], Awaitable[ExecutionResult]], claim: KeyClaim
    ) -> ExecutionResult:
        """Run a mutation in transactions of its own, and mark the key done after it."""
        result = await execution()
        if not result.errors and result.data is not None:
            data = result.data

            async def complete_key() -> None:
                async with transaction(scope):
                    await complete(scope, claim, data)

            await retry_conflicts(complete_key)
        await _release_transient(scope, claim, result)
        return result


async def _release_transient(scope: Scope, claim: KeyClaim, result: ExecutionResult) -> None:
    """Free the key after an error that a retry may not meet."""
    if any(_is_transient(error) for error in result.errors or ()):
        await release(scope, claim)
        claim.is_released = True


def _is_transient(error: GraphQLError) -> bool:
    return error_code(error) in _TRANSIENT_CODES or getattr(error_of(error), "reason", None) == IN_PROGRESS


def _conflict_in(result: ExecutionResult) -> Exception | None:
    for error in result.errors or ():
        cause: BaseException | None = error
        while isinstance(cause, GraphQLError):
            cause = cause.original_error
        if isinstance(cause, CONFLICTS):
            return cause
    return None
