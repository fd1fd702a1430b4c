"""Write refusals in the one form of the app integration routes: `{error: <stable code>, message, status, …details}`.

The codes are those of decisions section 6; a program that meets one of them never meets another for the same reason.
"""

from __future__ import annotations

from typing import Any

from aiohttp import web

from kernel.errors import (
    AccountBarred,
    Conflict,
    DomainError,
    Forbidden,
    MalformedRequest,
    MissingScope,
    NotFound,
    RateLimited,
    RuleViolation,
    TenantClosed,
    TenantMismatch,
    TenantNotFound,
    TooComplex,
    TooLarge,
    Unauthenticated,
    Unavailable,
    ValidationFailed,
)
from rest_facade.responses import (
    DATABASE_FAILED,
    UNEXPECTED,
    beside,
    json_response,
    method_not_allowed,
    refusal_headers,
)
from rest_facade.routing import ErrorForm

CHALLENGE = 'Bearer realm="vitrine"'
UNREADABLE_BODY = "invalid request body"

# The code that a class has whatever it says; the nearest class up the tree counts.
CODES: dict[type[DomainError], str] = {
    Unauthenticated: "invalid_token",
    Forbidden: "insufficient_privileges",
    MissingScope: "token_scope",
    TenantMismatch: "tenant_mismatch",
    NotFound: "not_found",
    TenantNotFound: "tenant_not_found",
    TooLarge: "invalid_request_body",
    TooComplex: "invalid_parameter",
    RuleViolation: "rule_violation",
    RateLimited: "rate_limit_exceeded",
    Unavailable: "request_timeout",
}
UNAUTHENTICATED_CODES = {
    "missing authorization header": "missing_authorization_header",
    "invalid authorization format": "invalid_authorization_format",
}


def render(refusal: DomainError) -> web.Response:
    """Answer a refusal with its code."""
    headers = refusal_headers(refusal, challenge=CHALLENGE)
    return json_response(body_of(refusal), status=refusal.status, headers=headers)


def body_of(refusal: DomainError) -> dict[str, Any]:
    """Give the body of a refusal: code, message and status, then the fields and details."""
    own: dict[str, Any] = {"error": code_of(refusal), "message": refusal.message, "status": refusal.status}
    if isinstance(refusal, ValidationFailed) and refusal.fields:
        own["fields"] = refusal.fields
    # The reason of an AccountBarred is its code.
    return beside(own, {} if isinstance(refusal, AccountBarred) else refusal.details)


def code_of(refusal: DomainError) -> str:
    """Give the stable code: what the class has, or what the refusal itself brings."""
    match refusal:
        case Unauthenticated() if refusal.message in UNAUTHENTICATED_CODES:
            return UNAUTHENTICATED_CODES[refusal.message]
        case AccountBarred() | TenantClosed():
            return refusal.reason
        case Conflict():
            return refusal.reason or CODES[RuleViolation]
        case MalformedRequest() if refusal.message == UNREADABLE_BODY:
            return "invalid_request_body"
        case ValidationFailed():
            # What names fields is a body's; a query parameter is told by the message.
            return "validation_failed" if refusal.fields else "invalid_parameter"
        case _:
            return next(
                (CODES[kind] for kind in type(refusal).__mro__ if kind in CODES), refusal.code.lower()
            )


def unknown_route() -> web.Response:
    """Answer an address that no route has."""
    return _plain(404, CODES[NotFound], "route not found")


def accident(caused_by_database: bool) -> web.Response:
    """Answer what nobody foresaw, without a word of it."""
    return _plain(500, "internal_error", DATABASE_FAILED if caused_by_database else UNEXPECTED)


def _plain(status: int, code: str, message: str) -> web.Response:
    return json_response({"error": code, "message": message, "status": status}, status=status)


FORM = ErrorForm(
    render=render, unknown_route=unknown_route, not_allowed=method_not_allowed, accident=accident
)
