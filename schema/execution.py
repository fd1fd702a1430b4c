"""Execute prepared documents and give errors their form.

`GraphQLError.extensions` always holds `code`; `field` and `details` where a refusal has them. What was not expected is shown as
`INTERNAL` and logged with the request id: nothing internal leaks.
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
from schema.documents import Prepared

log = logging.getLogger("vitrine.graphql")

# Codes that GraphQL shows (decisions, section 8); a finer class of refusal shows the code of its nearest ancestor here.
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
    """The context of one execution. `public` says that the document came from a client."""

    scope: Scope
    public: bool = True
    extensions: dict[str, Any] = field(default_factory=dict)


async def run(
    schema: GraphQLSchema,
    prepared: Prepared,
    call: ExecutionContext,
    variables: Mapping[str, Any] | None = None,
    operation_name: str | None = None,
) -> ExecutionResult:
    """Execute one operation of a prepared document."""
    assert prepared.document is not None
    result = execute(
        schema,
        prepared.document,
        context_value=call,
        variable_values=dict(variables) if variables else None,
        operation_name=operation_name,
        max_coercion_errors=5,
    )
    if isawaitable(result):
        return await result
    return result


def graphql_code(refusal: DomainError) -> str:
    """Give the code that GraphQL shows for a refusal."""
    for ancestor in type(refusal).__mro__:
        code = getattr(ancestor, "code", None)
        if code in CODES:
            return str(code)
    return "INTERNAL"


def formatted(error: GraphQLError, scope: Scope | None) -> dict[str, Any]:
    """Write an error as the response shows it."""
    original = error_of(error)
    shown: dict[str, Any]
    if original is not None:
        extensions: dict[str, Any] = {"code": graphql_code(original)}
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
        shown = {"message": original.message, "extensions": extensions}
    elif error.original_error is None or isinstance(error.original_error, GraphQLError):
        shown = {"message": error.message, "extensions": {"code": "VALIDATION_FAILED"}}
    else:
        request_id = scope.request_id if scope else ""
        log.error(
            "unexpected error in GraphQL", exc_info=error.original_error, extra={"request_id": request_id}
        )
        shown = {"message": "an unexpected error occurred", "extensions": {"code": "INTERNAL"}}
    if error.locations:
        shown["locations"] = [{"line": place.line, "column": place.column} for place in error.locations]
    if error.path:
        shown["path"] = error.path
    return shown


def error_of(error: GraphQLError) -> DomainError | None:
    """Give the refusal behind an error, or None."""
    original: BaseException | None = error
    while isinstance(original, GraphQLError):
        original = original.original_error
    return original if isinstance(original, DomainError) else None
