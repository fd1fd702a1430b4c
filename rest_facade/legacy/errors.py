"""Render errors of the legacy API: `{status, message, …details}`, also for unknown routes and 405.

The route `auth_tokens` differs: `{error}` or `{message}` without a status (`TOKEN_ERROR_FORMAT`); docs/reference/legacy.md#errors.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from aiohttp import web

from kernel import errors
from kernel.errors import DomainError
from kernel.ids import ShownId
from rest_facade.responses import (
    DATABASE_ERROR,
    UNEXPECTED_ERROR,
    allow_header,
    error_headers,
    json_response,
    merge_details,
)
from rest_facade.routing import ErrorFormat

CHALLENGE = 'Basic realm="vitrine"'
ADMIN_ONLY = "Forbidden: admin scope required"
# The wording of `kernel.scope` and `auth` for the other families.
WRONG_USER_TYPE = "insufficient permissions"


def render(error: DomainError, challenge: str = CHALLENGE) -> web.Response:
    """Render an error with its status repeated in the body."""
    own, headers = {"status": error.status, "message": message_of(error)}, error_headers(error, challenge=challenge)
    return json_response(merge_details(own, _details_of(error)), status=error.status, headers=headers)


def message_of(error: DomainError) -> str:
    """Return the legacy message of an error."""
    match error:
        case errors.TenantNotFound():
            return error.message
        case errors.NotFound():
            return f"{error.resource[:1].upper()}{error.resource[1:]} not found"
        case errors.TenantClosed():
            return error.reason
        case errors.InsufficientPrivileges() if error.any_of:
            return f"Forbidden: privilege {' or '.join(error.any_of)} required"
        case errors.MissingScope():
            return f"Forbidden: scope {error.details['scope']} required"
        case errors.TenantMismatch() | errors.InsufficientPrivileges():
            return f"Forbidden: {error.message}"
        case errors.Forbidden() if error.message == WRONG_USER_TYPE:
            return ADMIN_ONLY
        case _:
            return error.message


def route_not_found() -> web.Response:
    """Render the 404 of an unknown route."""
    return _render_plain(404, "Route not found")


def method_not_allowed(methods: Iterable[str]) -> web.Response:
    """Render a 405; unlike the other families, with a body."""
    return _render_plain(405, "Method not allowed", allow_header(methods))


def internal_error(caused_by_database: bool) -> web.Response:
    """Render a 500 without details of the cause."""
    return _render_plain(500, DATABASE_ERROR if caused_by_database else UNEXPECTED_ERROR)


def render_for_tokens(error: DomainError) -> web.Response:
    """Render an error of `auth_tokens`: `{message}` for account states, else `{error}`."""
    return json_response(_token_body_of(error), status=error.status, headers=error_headers(error, challenge=CHALLENGE))


def _token_body_of(error: DomainError) -> dict[str, Any]:
    match error:
        case errors.SignInDenied():
            return {"message": error.message}
        case errors.MalformedRequest():
            return merge_details({"error": "invalid JSON"}, error.details)
        case errors.TenantClosed():
            return {"error": error.reason, "message": error.message}
        case errors.Conflict() if error.reason is not None:
            return merge_details({"error": error.reason}, error.details)
        case _:
            return merge_details({"error": error.message}, error.details)


def _token_internal_error(caused_by_database: bool) -> web.Response:
    return json_response({"error": DATABASE_ERROR if caused_by_database else UNEXPECTED_ERROR}, status=500)


def _details_of(error: DomainError) -> dict[str, Any]:
    if isinstance(error, errors.InsufficientPrivileges | errors.MissingScope):
        return {}  # the message names them
    if isinstance(error, errors.TenantClosed) and error.message != error.reason:
        return {**error.details, "detail": error.message}
    details: dict[str, Any] = _with_numbers(error.details)
    return details


def _with_numbers(value: Any) -> Any:
    """Return details with the numbers of records in place of their public ids."""
    if isinstance(value, ShownId):
        return str(value.number)
    if isinstance(value, Mapping):
        return {name: _with_numbers(item) for name, item in value.items()}
    return [_with_numbers(item) for item in value] if isinstance(value, list) else value


def _render_plain(status: int, message: str, headers: dict[str, str] | None = None) -> web.Response:
    return json_response({"status": status, "message": message}, status=status, headers=headers)


ERROR_FORMAT = ErrorFormat(
    render=render, route_not_found=route_not_found, method_not_allowed=method_not_allowed, internal_error=internal_error
)
TOKEN_ERROR_FORMAT = ErrorFormat(
    render=render_for_tokens,
    route_not_found=route_not_found,
    method_not_allowed=method_not_allowed,
    internal_error=_token_internal_error,
)
