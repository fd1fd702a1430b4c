"""Write refusals in the forms of the current API (contract of the current API, Errors).

simple             {error: <text or code>, …details}              nearly everything
with a code        {error: <code>, message: <text>}               account states, store states, conflicts that have a code
field validation   {error: 'validation_failed', fields: {…}}      a ValidationFailed that names fields
object             {error: {code, message, details}}              `render_object`: checkout refused by a store rule
405                no body
"""

from __future__ import annotations

from typing import Any

from aiohttp import web

from kernel.errors import (
    AccountBarred,
    Conflict,
    DomainError,
    GrantRefused,
    InvalidClient,
    MissingScope,
    NotFound,
    RuleViolation,
    TenantClosed,
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
# An app proves who it is at the token route with its client credentials (RFC 6749, section 2.3.1).
CLIENT_CHALLENGE = 'Basic realm="vitrine"'
UNKNOWN_ROUTE = "route not found"


def render(refusal: DomainError) -> web.Response:
    """Answer a refusal in the form that its class has."""
    return json_response(body_of(refusal), status=refusal.status, headers=headers_of(refusal))


def render_object(refusal: DomainError) -> web.Response:
    """Answer a refusal of the checkout in the object form (decisions section 6, storefront)."""
    code = getattr(refusal, "reason", None) or refusal.code.lower()
    error = {"code": code, "message": refusal.message, "details": refusal.details}
    return json_response({"error": error}, status=refusal.status, headers=headers_of(refusal))


def headers_of(refusal: DomainError) -> dict[str, str]:
    """Give the headers that the refusal carries in this family."""
    if isinstance(refusal, InvalidClient | GrantRefused):
        # RFC 6749, section 5.2: like the tokens, what is said of them stays in no cache.
        return {**refusal_headers(refusal, challenge=CLIENT_CHALLENGE), "Cache-Control": "no-store"}
    return refusal_headers(refusal, challenge=CHALLENGE)


def body_of(refusal: DomainError) -> dict[str, Any]:
    """Give the body of a refusal: its error, then its details at the top level."""
    # The reason of an AccountBarred is its error.
    details = {} if isinstance(refusal, AccountBarred) else refusal.details
    return beside(_own_members(refusal), details)


def unknown_route() -> web.Response:
    """Answer an address that no route has."""
    return json_response({"error": UNKNOWN_ROUTE}, status=NotFound.status)


def accident(caused_by_database: bool) -> web.Response:
    """Answer what nobody foresaw, without a word of it."""
    return json_response({"error": DATABASE_FAILED if caused_by_database else UNEXPECTED}, status=500)


def _own_members(refusal: DomainError) -> dict[str, Any]:
    match refusal:
        case AccountBarred() | TenantClosed():
            return {"error": refusal.reason, "message": refusal.message}
        case MissingScope():
            return {"error": _scope_code(refusal), "detail": refusal.message}
        case ValidationFailed() if refusal.fields:
            return {"error": "validation_failed", "fields": refusal.fields}
        case Conflict() | RuleViolation() if refusal.reason is not None:
            if refusal.reason == refusal.message:
                return {"error": refusal.reason}
            return {"error": refusal.reason, "message": refusal.message}
        case _:
            return {"error": refusal.message}


def _scope_code(refusal: MissingScope) -> str:
    """Tell the contract's word for a storefront key from the one for an app; only a key's scopes begin with `storefront:`."""
    return "missing_scope" if refusal.details["scope"].startswith("storefront:") else "token_scope"


FORM = ErrorForm(
    render=render, unknown_route=unknown_route, not_allowed=method_not_allowed, accident=accident
)
