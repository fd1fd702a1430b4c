"""Write what is refused before GraphQL runs: the current family's error and the app family's `message` and `status` at once.

`/graphql` is called by clients of both families (decisions section 6). What GraphQL itself refuses stands in `errors[]`, and is
not written here.
"""

from __future__ import annotations

from typing import Any

from aiohttp import web

from kernel.errors import DomainError, NotFound
from rest_facade.current import errors as current
from rest_facade.responses import (
    DATABASE_FAILED,
    UNEXPECTED,
    beside,
    json_response,
    method_not_allowed,
)
from rest_facade.routing import ErrorForm


def render(refusal: DomainError) -> web.Response:
    """Answer a refusal as `{error: <the contract's text>, message, status, …details}`."""
    body = current.body_of(refusal)
    own = {"error": body["error"], "message": body.get("message", refusal.message), "status": refusal.status}
    return json_response(beside(own, body), status=refusal.status, headers=current.headers_of(refusal))


def unknown_route() -> web.Response:
    """Answer an address below `/graphql` that no route has."""
    return json_response(_plain(current.UNKNOWN_ROUTE, NotFound.status), status=NotFound.status)


def accident(caused_by_database: bool) -> web.Response:
    """Answer what nobody foresaw outside of GraphQL, without a word of it."""
    return json_response(_plain(DATABASE_FAILED if caused_by_database else UNEXPECTED, 500), status=500)


def _plain(message: str, status: int) -> dict[str, Any]:
    return {"error": message, "message": message, "status": status}


FORM = ErrorForm(
    render=render, unknown_route=unknown_route, not_allowed=method_not_allowed, accident=accident
)
