"""Render errors raised before GraphQL executes, combining the current family's `error` with `message` and `status` of the apps family.

`/graphql` has clients of both families (docs/reference/graphql.md#errors). Errors of the execution go into `errors[]` instead.
"""

from __future__ import annotations

from typing import Any

from aiohttp import web

from kernel.errors import DomainError, NotFound, Unauthenticated
from rest_facade.current import errors as current
from rest_facade.responses import DATABASE_ERROR, UNEXPECTED_ERROR, json_response, merge_details, method_not_allowed
from rest_facade.routing import ErrorFormat


def render(error: DomainError) -> web.Response:
    """Render an error as `{error, message, status, …details}`; a 401 has `errors` too."""
    body = current.body_of(error)
    own: dict[str, Any] = {
        "error": body["error"],
        "message": body.get("message", error.message),
        "status": error.status,
    }
    if isinstance(error, Unauthenticated):
        # GraphQL clients find the error in `errors`, whatever the status.
        own["errors"] = [{"message": own["message"], "extensions": {"code": Unauthenticated.code}}]
    return json_response(merge_details(own, body), status=error.status, headers=current.headers_of(error))


def route_not_found() -> web.Response:
    """Return 404 for an unknown path below `/graphql`."""
    return json_response(_error_body(current.UNKNOWN_ROUTE, NotFound.status), status=NotFound.status)


def internal_error(caused_by_database: bool) -> web.Response:
    """Return 500 without details for an unexpected error outside GraphQL."""
    return json_response(_error_body(DATABASE_ERROR if caused_by_database else UNEXPECTED_ERROR, 500), status=500)


def _error_body(message: str, status: int) -> dict[str, Any]:
    return {"error": message, "message": message, "status": status}


ERROR_FORMAT = ErrorFormat(
    render=render, route_not_found=route_not_found, method_not_allowed=method_not_allowed, internal_error=internal_error
)
