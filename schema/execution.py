"""Execute prepared documents and format errors (docs/reference/graphql.md#errors).

`extensions` always contains `code`, and `field` and `details` if the error has them. Unexpected errors are reported as `INTERNAL` and
logged with the request id, so that no internals leak.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from inspect import isawaitable
from typing import Any

from graphql import ExecutionResult, Executor, GraphQLError, GraphQLSchema, execute

from kernel.errors import DomainError, ValidationFailed
from kernel.scope import Scope
from models.answer_size import AnswerSize, AnswerTooLarge, current_answer, value_size
from models.row_reads import relation_loads
from schema.documents import PreparedDocument

log = logging.getLogger("vitrine.graphql")

# The public error codes (docs/reference/graphql.md#errors); a more specific error gets the code of its nearest ancestor with a public code.
CODES = {
    "NOT_FOUND",
    "VALIDATION_FAILED",
    "FORBIDDEN",
    "UNAUTHENTICATED",
    "CONFLICT",
    "RULE_VIOLATION",
    "RATE_LIMITED",
    "QUERY_TOO_COMPLEX",
    "UNAVAILABLE",
    "TENANT_CLOSED",
    "TOO_LARGE",
    "INTERNAL",
}


@dataclass(slots=True)
class ExecutionContext:
    """The context of one execution; `public` if the document was sent by a client."""

    scope: Scope
    public: bool = True
    extensions: dict[str, Any] = field(default_factory=dict)


# Introspection along with other fields runs on the event loop; this is a tenth of a second.
MAX_MIXED_INTROSPECTION_OBJECTS = 2_000


class LimitedExecutor(Executor[Any]):
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
) -> ExecutionResult:
    """Execute one operation of a prepared document."""
    assert prepared.document is not None
    with relation_loads():
        result = execute(
            schema,
            prepared.document,
            context_value=context,
            variable_values=dict(variables) if variables else None,
            operation_name=operation_name,
            max_coercion_errors=5,
            executor_class=LimitedExecutor if context.public else None,
        )
        if isawaitable(result):
            return await result
        return result


def graphql_error_code(error: DomainError) -> str:
    """Return the GraphQL error code of a domain error."""
    for ancestor in type(error).__mro__:
        code = getattr(ancestor, "code", None)
        if code in CODES:
            return str(code)
    return "INTERNAL"


def error_code(error: GraphQLError) -> str:
    """Return the code of an error: its domain error's, `VALIDATION_FAILED` for an invalid document or variable, else `INTERNAL`."""
    original = error_of(error)
    if original is not None:
        return graphql_error_code(original)
    is_invalid = error.original_error is None or isinstance(error.original_error, GraphQLError)
    return "VALIDATION_FAILED" if is_invalid else "INTERNAL"


def format_error(error: GraphQLError, scope: Scope | None) -> dict[str, Any]:
    """Format an error for the response."""
    original, code = error_of(error), error_code(error)
    extensions: dict[str, Any] = {"code": code}
    message = error.message
    if original is not None:
        message = original.message
        if isinstance(original, ValidationFailed) and original.field:
            extensions["field"] = original.field
        details = dict(original.details)
        if isinstance(original, ValidationFailed) and original.fields:
            details["fields"] = original.fields
        reason = getattr(original, "reason", None)
        if reason:
            details["reason"] = reason
        if details:
            extensions["details"] = details
    elif code == "INTERNAL":
        request_id = scope.request_id if scope else ""
        log.error("unexpected error in GraphQL", exc_info=error.original_error, extra={"request_id": request_id})
        message = "an unexpected error occurred"
    formatted: dict[str, Any] = {"message": message, "extensions": extensions}
    if error.locations:
        formatted["locations"] = [{"line": location.line, "column": location.column} for location in error.locations]
    if error.path:
        formatted["path"] = error.path
    return formatted


def error_of(error: GraphQLError) -> DomainError | None:
    """Return the domain error that caused a GraphQL error, or None."""
    original: BaseException | None = error
    while isinstance(original, GraphQLError):
        original = original.original_error
    return original if isinstance(original, DomainError) else None
