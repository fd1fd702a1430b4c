"""Write refusals in the form of the legacy layer: `{status, message, …details}`, on 404 of unknown routes and 405 too.

The route `auth_tokens` is the contract's exception: `{error}` or `{message}` without a status (`TOKEN_FORM`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from aiohttp import web

from kernel.errors import (
    AccountBarred,
    Conflict,
    DomainError,
    Forbidden,
    InsufficientPrivileges,
    MalformedRequest,
    MissingScope,
    NotFound,
    TenantClosed,
    TenantMismatch,
    TenantNotFound,
)
from rest_facade.responses import (
    DATABASE_FAILED,
    UNEXPECTED,
    allow_header,
    beside,
    json_response,
    refusal_headers,
)
from rest_facade.routing import ErrorForm

CHALLENGE = 'Basic realm="vitrine"'
ADMIN_ONLY = "Forbidden: admin scope required"
# How `kernel.scope` and `auth` say it in the other families.
WRONG_USER_TYPE = "insufficient permissions"


def render(refusal: DomainError) -> web.Response:
    """Answer a refusal with its status repeated in the body."""
    own = {"status": refusal.status, "message": message_of(refusal)}
    return json_response(
        beside(own, _details_of(refusal)), status=refusal.status, headers=_headers_of(refusal)
    )


def message_of(refusal: DomainError) -> str:
    """Give the sentence that the legacy layer says for a refusal."""
    match refusal:
        case TenantNotFound():
            return refusal.message
        case NotFound():
            return f"{refusal.thing[:1].upper()}{refusal.thing[1:]} not found"
        case TenantClosed():
            return refusal.reason
        case InsufficientPrivileges() if refusal.any_of:
            return f"Forbidden: privilege {' or '.join(refusal.any_of)} required"
        case MissingScope():
            return f"Forbidden: scope {refusal.details['scope']} required"
        case TenantMismatch() | InsufficientPrivileges():
            return f"Forbidden: {refusal.message}"
        case Forbidden() if refusal.message == WRONG_USER_TYPE:
            return ADMIN_ONLY
        case _:
            return refusal.message


def unknown_route() -> web.Response:
    """Answer an address that no route has."""
    return _plain(404, "Route not found")


def not_allowed(methods: Iterable[str]) -> web.Response:
    """Answer a method that the address doesn't take; unlike the other families, with a body."""
    return _plain(405, "Method not allowed", allow_header(methods))


def accident(caused_by_database: bool) -> web.Response:
    """Answer what nobody foresaw, without a word of it."""
    return _plain(500, DATABASE_FAILED if caused_by_database else UNEXPECTED)


def render_for_tokens(refusal: DomainError) -> web.Response:
    """Answer a refusal on `auth_tokens`: `{message}` for account states, `{error}` for the rest."""
    return json_response(_token_body_of(refusal), status=refusal.status, headers=_headers_of(refusal))


def _token_body_of(refusal: DomainError) -> dict[str, Any]:
    match refusal:
        case AccountBarred():
            return {"message": refusal.message}
        case MalformedRequest():
            return beside({"error": "invalid JSON"}, refusal.details)
        case TenantClosed():
            return {"error": refusal.reason, "message": refusal.message}
        case Conflict() if refusal.reason is not None:
            return beside({"error": refusal.reason}, refusal.details)
        case _:
            return beside({"error": refusal.message}, refusal.details)


def _token_accident(caused_by_database: bool) -> web.Response:
    return json_response({"error": DATABASE_FAILED if caused_by_database else UNEXPECTED}, status=500)


def _details_of(refusal: DomainError) -> dict[str, Any]:
    if isinstance(refusal, InsufficientPrivileges | MissingScope):
        return {}  # the message names them
    if isinstance(refusal, TenantClosed) and refusal.message != refusal.reason:
        return {**refusal.details, "detail": refusal.message}
    return refusal.details


def _headers_of(refusal: DomainError) -> dict[str, str]:
    return refusal_headers(refusal, challenge=CHALLENGE)


def _plain(status: int, message: str, headers: dict[str, str] | None = None) -> web.Response:
    return json_response({"status": status, "message": message}, status=status, headers=headers)


FORM = ErrorForm(render=render, unknown_route=unknown_route, not_allowed=not_allowed, accident=accident)
TOKEN_FORM = ErrorForm(
    render=render_for_tokens, unknown_route=unknown_route, not_allowed=not_allowed, accident=_token_accident
)
