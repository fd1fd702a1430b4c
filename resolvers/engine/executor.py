"""Execute prepared documents and format errors (docs/reference/graphql.md#errors).

`extensions` always contains `code`, and `field`, `path` and `details` if the error has them. Unexpected errors are reported as `INTERNAL`
and logged with the request id, so that no internals leak.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from inspect import isawaitable
from typing import Any, ClassVar

from graphql import (
    ExecutionResult,
    Executor,
    GraphQLError,
    GraphQLSchema,
    GraphQLSyntaxError,
    get_nullable_type,
    is_input_object_type,
    is_list_type,
    type_from_ast,
)

from kernel.errors import DomainError, TooComplex, ValidationFailed
from kernel.scope import Scope
from kernel.work_queues import WorkQueue
from models.reading.answer_size import AnswerSize, AnswerTooLarge, current_answer, value_size
from models.reading.compiled_reads import CompiledReader
from models.reading.row_reads import relation_loads
from resolvers.engine.conversions import has_many_values
from resolvers.engine.prepare import MAX_ERRORS, PreparedDocument
from resolvers.engine.validation_rules import without_values

log = logging.getLogger("vitrine.graphql")

# The public error codes (docs/reference/graphql.md#errors); a more specific error gets the code of its nearest ancestor with a public code.
CODES = {
    "NOT_FOUND",
    "VALIDATION_FAILED",
    "FORBIDDEN",
    "UNAUTHENTICATED",
    "CONFLICT",
    "EXPIRED",
    "RULE_VIOLATION",
    "RATE_LIMITED",
    "QUERY_TOO_COMPLEX",
    "UNAVAILABLE",
    "TENANT_CLOSED",
    "TOO_LARGE",
    "STORAGE_FULL",
    "INTERNAL",
}


@dataclass(frozen=True, slots=True)
class ReadRecord:
    """A record as the response contains it, read by a compiled reader."""

    data: Any


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the resolver of a mutation returned."""

    result: Any


@dataclass(slots=True)
class ExecutionContext:
    """The context of one execution; `public` if the document was sent by a client.

    The resolver of a compiled mutation has `readers` of the records in its answer, by their member (`resolvers.engine.complete`), and
    leaves to `links` what only the executor needs of its result. With an `outcome` it has already run.
    """

    scope: Scope
    public: bool = True
    extensions: dict[str, Any] = field(default_factory=dict)
    readers: Mapping[str, CompiledReader] | None = None
    links: list[Callable[[], None]] = field(default_factory=list)
    outcome: Outcome | None = None


# Introspection along with other fields.
MAX_MIXED_INTROSPECTION_OBJECTS = 2_000
# Fields that an execution completes before other requests get their turn: about 10 ms.
MAX_FIELDS_AT_ONCE = 2_000
# Lists of more items are completed item by item.
_MAX_ITEMS_AT_ONCE = 50
_VARIABLES = WorkQueue("variables", most_waiting=20)


# Fields of the types of all input objects: Strawberry converts each in a microsecond, those without a value as well. Lists of input objects
# are limited by the domain, to at most 500 objects of 50 fields.
MAX_INPUT_FIELDS = 30_000


class SlicedExecutor(Executor[Any]):
    """Executor that lets other requests be served while it completes a large answer.

    graphql-core completes everything that needs no waiting at once: 50,000 objects block the event loop for seconds.
    """

    is_sliced: ClassVar[bool] = True
    _fields_at_once = 0
    _is_reset_scheduled = False

    def execute_fields(self, parent_type: Any, source: Any, path: Any, fields: Any, *arguments: Any) -> Any:
        """Count the fields of an object, then execute them."""
        self._fields_at_once += 1 + len(fields)
        return super().execute_fields(parent_type, source, path, fields, *arguments)

    def complete_list_value(
        self, return_type: Any, details: Any, info: Any, path: Any, result: Any, *arguments: Any
    ) -> Any:
        """Complete a list; item by item when it is long, or much was completed already."""
        if (
            self.is_sliced
            and isinstance(result, Collection)
            and (len(result) > _MAX_ITEMS_AT_ONCE or self._fields_at_once > MAX_FIELDS_AT_ONCE)
        ):
            result = self._items(result)
        return super().complete_list_value(return_type, details, info, path, result, *arguments)

    async def _items(self, items: Collection[Any]) -> AsyncIterator[Any]:
        for item in items:
            while self._fields_at_once > MAX_FIELDS_AT_ONCE:
                # Lists of one answer share the turn: one reset for each round of the event loop.
                if not self._is_reset_scheduled:
                    self._is_reset_scheduled = True
                    asyncio.get_running_loop().call_soon(self._reset)
                await asyncio.sleep(0)
            yield item

    def _reset(self) -> None:
        self._fields_at_once, self._is_reset_scheduled = 0, False


class LimitedExecutor(SlicedExecutor):
    """Executor that counts the objects and bytes of the answer; the first `AnswerTooLarge` ends the execution."""

    _answer: AnswerSize | None = None
    _exceeded: AnswerTooLarge | None = None
    _introspected = 0
    max_introspection_objects = MAX_MIXED_INTROSPECTION_OBJECTS

    def execute_operation(self, serially: bool | None = None) -> Any:
        """Execute the operation; the result has no data when the answer is over a limit."""
        self._answer = current_answer()
        result = super().execute_operation(serially)
        if not isawaitable(result):
            return self._without_excess(result)

        async def await_result() -> Any:
            return self._without_excess(await result)

        return await_result()

    def _without_excess(self, result: Any) -> Any:
        errors = result.errors or () if isinstance(result, ExecutionResult) else ()
        exceeded = self._exceeded or next(
            (original for error in errors if isinstance(original := error_of(error), AnswerTooLarge)), None
        )
        return refused(exceeded) if exceeded is not None else result

    def collect_and_execute_subfields(self, return_type: Any, *arguments: Any) -> Any:
        """Count an object, then execute its fields."""
        if self._exceeded is not None:
            raise self._exceeded
        try:
            if return_type.name.startswith("__"):
                self._introspected += 1
                if self._introspected > self.max_introspection_objects:
                    raise AnswerTooLarge(f"introspection has more than {self.max_introspection_objects} objects")
            elif self._answer is not None:
                self._answer.add(1, 0)
        except AnswerTooLarge as error:
            self._exceeded = error
            raise
        return super().collect_and_execute_subfields(return_type, *arguments)

    def complete_leaf_value(self, return_type: Any, result: Any) -> Any:  # type: ignore[override]
        """Count the bytes of a value."""
        value = Executor.complete_leaf_value(return_type, result)
        if self._answer is not None and isinstance(value, str | dict | list):
            try:
                self._answer.add(0, value_size(value))
            except AnswerTooLarge as error:
                self._exceeded = error
                raise
        return value


class OffLoopExecutor(LimitedExecutor):
    """Executor of introspection alone, in a thread: at most twice the objects of the standard introspection query."""

    is_sliced = False
    max_introspection_objects = 20_000


def refused(error: DomainError) -> ExecutionResult:
    """Return the result of an operation that is refused as a whole."""
    return ExecutionResult(None, [GraphQLError(error.message, original_error=error)])


async def execute_document(
    schema: GraphQLSchema,
    prepared: PreparedDocument,
    context: ExecutionContext,
    variables: Mapping[str, Any] | None = None,
    operation_name: str | None = None,
    root_value: Any = None,
) -> ExecutionResult:
    """Execute one operation of a prepared document; the root value of a subscription is the event that it shows."""
    assert prepared.document is not None
    executor_class: type[SlicedExecutor] = LimitedExecutor if context.public else SlicedExecutor
    build = partial(
        executor_class.build,
        schema,
        prepared.document,
        root_value=root_value,
        context_value=context,
        raw_variable_values=dict(variables) if variables else None,
        operation_name=operation_name,
        max_coercion_errors=MAX_ERRORS,
    )
    if has_many_values(variables):
        executor, fields = await _VARIABLES.run(partial(_build_and_count, build))
        if fields > MAX_INPUT_FIELDS:
            message = f"the input objects of the variables have {fields} fields; at most {MAX_INPUT_FIELDS} are allowed"
            return refused(TooComplex(message))
    else:
        executor = build()
    if not isinstance(executor, Executor):
        return ExecutionResult(None, executor)
    with relation_loads():
        result: Any = executor.execute_operation()
        if isawaitable(result):
            result = await result
    assert isinstance(result, ExecutionResult)  # nothing is deferred or streamed
    return result


def _build_and_count(
    build: Callable[[], Executor[Any] | list[GraphQLError]],
) -> tuple[Executor[Any] | list[GraphQLError], int]:
    executor = build()
    return executor, _count_input_fields(executor)


def _count_input_fields(executor: Executor[Any] | list[GraphQLError]) -> int:
    """Count the fields of the types of all input objects in the coerced variables; 0 when there are errors instead."""
    if not isinstance(executor, Executor):
        return 0
    values = executor.variable_values.coerced
    pending: list[tuple[Any, Any]] = [
        (type_from_ast(executor.schema, node.type), values.get(node.variable.name.value))
        for node in executor.operation.variable_definitions or ()
    ]
    count = 0
    while pending:
        type_, value = pending.pop()
        type_ = get_nullable_type(type_)
        if isinstance(value, list) and is_list_type(type_):
            pending += [(type_.of_type, item) for item in value]
        elif isinstance(value, dict) and is_input_object_type(type_):
            count += len(type_.fields)
            pending += [(type_.fields[name].type, item) for name, item in value.items() if name in type_.fields]
    return count


def graphql_error_code(error: DomainError) -> str:
    """Return the GraphQL error code of a domain error."""
    for ancestor in type(error).__mro__:
        code = getattr(ancestor, "code", None)
        if code in CODES:
            return str(code)
    return "INTERNAL"


def error_extensions(error: DomainError) -> dict[str, Any]:
    """Return the `extensions` of a domain error: `code`, `field` and `details`, where it has them."""
    extensions: dict[str, Any] = {"code": graphql_error_code(error)}
    details = dict(error.details)
    if isinstance(error, ValidationFailed):
        if error.field:
            extensions["field"] = error.field
        if error.fields:
            details["fields"] = error.fields
    if reason := getattr(error, "reason", None):
        details["reason"] = reason
    if details:
        extensions["details"] = details
    return extensions


def error_code(error: GraphQLError) -> str:
    """Return the code of an error of an execution: its domain error's, `VALIDATION_FAILED` for an invalid variable, else `INTERNAL`."""
    original = error_of(error)
    if original is not None:
        return graphql_error_code(original)
    is_invalid = error.original_error is None or isinstance(error.original_error, GraphQLError)
    return "VALIDATION_FAILED" if is_invalid else "INTERNAL"


def format_error(error: GraphQLError, scope: Scope | None) -> dict[str, Any]:
    """Format an error for the response."""
    original, code = error_of(error), error_code(error)
    extensions: dict[str, Any] = {"code": code}
    message = without_values(error.message)
    if original is not None:
        message, extensions = original.message, error_extensions(original)
    elif code == "INTERNAL":
        request_id = scope.request_id if scope else ""
        log.error("unexpected error in GraphQL", exc_info=error.original_error, extra={"request_id": request_id})
        message = "an unexpected error occurred"
    if error.path:
        extensions["path"] = error.path
    formatted: dict[str, Any] = {"message": message, "extensions": extensions}
    if error.locations:
        formatted["locations"] = [{"line": location.line, "column": location.column} for location in error.locations]
    if error.path:
        formatted["path"] = error.path
    return formatted


def format_document_error(error: GraphQLError, scope: Scope | None) -> dict[str, Any]:
    """Format an error of parsing or validation; a literal that its type refuses is the domain's error, like a variable."""
    formatted = format_error(error, scope)
    if error_of(error) is None:
        formatted["extensions"]["code"] = (
            "GRAPHQL_PARSE_FAILED" if isinstance(error, GraphQLSyntaxError) else "GRAPHQL_VALIDATION_FAILED"
        )
    return formatted


def error_of(error: GraphQLError) -> DomainError | None:
    """Return the domain error that caused a GraphQL error, or None."""
    original: BaseException | None = error
    while isinstance(original, GraphQLError):
        original = original.original_error
    return original if isinstance(original, DomainError) else None
