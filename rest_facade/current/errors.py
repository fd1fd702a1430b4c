"""Render errors of the current API (docs/reference/current.md#errors).

simple             {error: <text or code>, …details}              the default
OAuth              {error, error_description, detail?}            `render_for_client`: the token routes (RFC 6749, section 5.2)
with a code        {error: <code>, message: <text>}               account and store states, conflicts with a code
field validation   {error: 'validation_failed', fields: {…}}      a ValidationFailed with fields
object             {error: {code, message, details}}              `render_object`: checkout rejected by a store rule
405                no body
"""

from __future__ import annotations

import re
from typing import Any
from unicodedata import combining, normalize

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
# At the token route an app authenticates with its client credentials (RFC 6749, section 2.3.1).
CLIENT_CHALLENGE = 'Basic realm="vitrine"'
UNKNOWN_ROUTE = "route not found"
_NOT_DESCRIPTIVE = re.compile(r'[^ -~]|["\\]')


def render(error: DomainError) -> web.Response:
    """Render an error in the format of its class."""
    return json_response(body_of(error), status=error.status, headers=headers_of(error))


def render_for_client(error: DomainError) -> web.Response:
    """Render an error of the OAuth token routes: each has an `error_description`, where clients look for the cause."""
    body = body_of(error)
    description = _description(str(body.get("detail") or error.message))
    return json_response(
        {"error": body["error"], "error_description": description} | body,
        status=error.status,
        headers=headers_of(error),
    )


def render_object(error: DomainError) -> web.Response:
    """Render a checkout error in the object format (docs/reference/current.md#checkout)."""
    code = getattr(error, "reason", None) or error.code.lower()
    body = {"code": code, "message": error.message, "details": error.details}
    return json_response({"error": body}, status=error.status, headers=headers_of(error))


def headers_of(error: DomainError) -> dict[str, str]:
    """Return the headers of an error in this family."""
    is_of_client = isinstance(error, errors.InvalidClient | errors.OAuthError)
    return error_headers(error, challenge=CLIENT_CHALLENGE if is_of_client else CHALLENGE)


def body_of(error: DomainError) -> dict[str, Any]:
    """Return the body of an error: its own members, then its details."""
    # The reason of a SignInDenied is its error.
    details = {} if isinstance(error, errors.SignInDenied) else error.details
    return merge_details(_own_members(error), details)


def route_not_found() -> web.Response:
    """Render the 404 of an unknown route."""
    return json_response({"error": UNKNOWN_ROUTE}, status=errors.NotFound.status)


def internal_error(caused_by_database: bool) -> web.Response:
    """Render a 500 without details of the cause."""
    return json_response({"error": DATABASE_ERROR if caused_by_database else UNEXPECTED_ERROR}, status=500)


def _own_members(error: DomainError) -> dict[str, Any]:
    match error:
        case errors.InvalidClient() | errors.OAuthError():
            return {"error": error.message, "error_description": _description(str(error.details["detail"]))}
        case errors.SignInDenied() | errors.TenantClosed():
            return {"error": error.reason, "message": error.message}
        case errors.MissingScope():
            return {"error": _scope_code(error), "detail": error.message}
        case errors.ValidationFailed() if error.fields:
            return {"error": "validation_failed", "fields": error.fields}
        case errors.Conflict() | errors.RuleViolation() if error.reason is not None:
            if error.reason == error.message:
                return {"error": error.reason}
            return {"error": error.reason, "message": error.message}
        case _:
            return {"error": error.message}


def _description(text: str) -> str:
    """Return a text with the characters that RFC 6749 allows in an `error_description` (section 5.2); letters lose their accents."""
    plain = "".join(character for character in normalize("NFKD", text) if not combining(character))
    return _NOT_DESCRIPTIVE.sub("'", plain)


def _scope_code(error: errors.MissingScope) -> str:
    """Return the code for a storefront key, whose scopes begin with `storefront:`, or for an app."""
    return "missing_scope" if error.details["scope"].startswith("storefront:") else "token_scope"


ERROR_FORMAT = ErrorFormat(
    render=render, route_not_found=route_not_found, method_not_allowed=method_not_allowed, internal_error=internal_error
)
