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

from graphql import ExecutionResult, GraphQLError, GraphQLSchema, execute

from kernel.errors import DomainError, ValidationFailed
from kernel.scope import Scope
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


async def execute_document(
    schema: GraphQLSchema,
    prepared: PreparedDocument,
    context: ExecutionContext,
    variables: Mapping[str, Any] | None = None,
    operation_name: str | None = None,
) -> ExecutionResult:
    """Execute one operation of a prepared document."""
    assert prepared.document is not None
    result = execute(
        schema,
        prepared.document,
        context_value=context,
        variable_values=dict(variables) if variables else None,
        operation_name=operation_name,
        max_coercion_errors=5,
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
        log.error(
            "unexpected error in GraphQL", exc_info=error.original_error, extra={"request_id": request_id}
        )
        message = "an unexpected error occurred"
    formatted: dict[str, Any] = {"message": message, "extensions": extensions}
    if error.locations:
        formatted["locations"] = [
            {"line": location.line, "column": location.column} for location in error.locations
        ]
    if error.path:
        formatted["path"] = error.path
    return formatted


def error_of(error: GraphQLError) -> DomainError | None:
    """Return the domain error that caused a GraphQL error, or None."""
    original: BaseException | None = error
    while isinstance(original, GraphQLError):
        original = original.original_error
    return original if isinstance(original, DomainError) else None
