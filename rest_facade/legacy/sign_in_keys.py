"""Serve `POST auth`, which creates a one-time sign-in of a user (docs/reference/legacy.md#auth)."""

from __future__ import annotations

from collections.abc import Mapping

from aiohttp import web

from kernel.errors import ValidationFailed
from kernel.text import InvalidValue
from resolvers.execute import FacadeOperation, execute
from rest_facade.bodies import read_legacy
from rest_facade.legacy.engine import MANAGE, authorize_area
from rest_facade.legacy.value_types import parse_text
from rest_facade.responses import json_response
from rest_facade.routing import Credential, Route

PATH = "/api/auth"
# Of the current API, which exchanges a key for a session (docs/reference/current.md#sign-in).
_EXCHANGE = "/api/v1/auth/key"


def route(operations: Mapping[str, FacadeOperation]) -> Route:
    """Describe the route."""
    operation = operations["SignInKeyCreate"]

    async def create(request: web.Request) -> web.Response:
        scope = authorize_area(request, "users", MANAGE, operation)
        body = await read_legacy(request)
        try:
            email = parse_text(body.get("email"), "email")
        except InvalidValue as error:
            raise ValidationFailed(str(error), field="email", code="email_invalid") from error
        done = (await execute(scope, operation, {"email": email}))["done"]
        content = {"key": done["key"], "link": done["page"] or _link(request, done["key"])}
        return json_response(content, status=201)

    return Route("POST", PATH, create, Credential.LEGACY_ADMIN)


def _link(request: web.Request, key: str) -> str:
    """Return the address that exchanges the key, at the host of the request."""
    address = request.url.origin().with_path(_EXCHANGE).with_query(key=key)
    # Only the caller, who has the key anyway, reads the answer: the header need not be a trusted proxy's.
    is_https = request.headers.get("X-Forwarded-Proto", "").partition(",")[0].strip().lower() == "https"
    return str(address.with_scheme("https") if is_https else address)
