"""Render errors of the app integration routes: `{error: <stable code>, message, status, …details}`.

Codes are documented in docs/reference/shared.md#error-codes and don't depend on the message.
"""

from __future__ import annotations

from typing import Any

from aiohttp import web

from kernel import errors
from kernel.errors import DomainError
from rest_facade.responses import (
    DATABASE_ERROR,
    UNEXPECTED_ERROR,
    error_headers,
    json_response,
    merge_details,
    method_not_allowed,
)
from rest_facade.routing import ErrorFormat

CHALLENGE = 'Bearer realm="vitrine"'
UNREADABLE_BODY = "invalid request body"

# Error code by class; the nearest base class counts.
CODES: dict[type[DomainError], str] = {
    errors.Unauthenticated: "invalid_token",
    errors.Forbidden: "insufficient_privileges",
    errors.MissingScope: "token_scope",
    errors.TenantMismatch: "tenant_mismatch",
    errors.NotFound: "not_found",
    errors.TenantNotFound: "tenant_not_found",
    errors.TooLarge: "invalid_request_body",
    errors.TooComplex: "invalid_parameter",
    errors.Expired: "cursor_expired",
    errors.RuleViolation: "rule_violation",
    errors.RateLimited: "rate_limit_exceeded",
    errors.Unavailable: "request_timeout",
}
UNAUTHENTICATED_CODES = {
    "missing authorization header": "missing_authorization_header",
    "invalid authorization format": "invalid_authorization_format",
}


def render(error: DomainError) -> web.Response:
    """Render an error with its code."""
    headers = error_headers(error, challenge=CHALLENGE)
    return json_response(body_of(error), status=error.status, headers=headers)


def body_of(error: DomainError) -> dict[str, Any]:
    """Return the body of an error: code, message and status, then fields and details."""
    body: dict[str, Any] = {"error": code_of(error), "message": error.message, "status": error.status}
    if isinstance(error, errors.ValidationFailed) and error.fields:
        body["fields"] = error.fields
    if isinstance(error, errors.RuleViolation) and error.reason:
        body["reason"] = error.reason
    # The reason of a SignInDenied is its code.
    return merge_details(body, {} if isinstance(error, errors.SignInDenied) else error.details)


def code_of(error: DomainError) -> str:
    """Return the stable code of an error, from its class or instance."""
    match error:
        case errors.Unauthenticated() if error.message in UNAUTHENTICATED_CODES:
            return UNAUTHENTICATED_CODES[error.message]
        case errors.SignInDenied() | errors.TenantClosed():
            return error.reason
        case errors.Conflict():
            return error.reason or CODES[errors.RuleViolation]
        case errors.MalformedRequest() if error.message == UNREADABLE_BODY:
            return "invalid_request_body"
        case errors.ValidationFailed():
            # Errors with fields are about the body, others about a query parameter.
            return "validation_failed" if error.fields else "invalid_parameter"
        case _:
            return next((CODES[cls] for cls in type(error).__mro__ if cls in CODES), error.code.lower())


def route_not_found() -> web.Response:
    """Render the 404 of an unknown route."""
    return _render_plain(404, CODES[errors.NotFound], "route not found")


def internal_error(caused_by_database: bool) -> web.Response:
    """Render a 500 without details of the cause."""
    return _render_plain(500, "internal_error", DATABASE_ERROR if caused_by_database else UNEXPECTED_ERROR)


def _render_plain(status: int, code: str, message: str) -> web.Response:
    return json_response({"error": code, "message": message, "status": status}, status=status)


ERROR_FORMAT = ErrorFormat(
    render=render, route_not_found=route_not_found, method_not_allowed=method_not_allowed, internal_error=internal_error
)
