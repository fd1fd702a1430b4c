"""Be the sign-in routes of who has no account yet, or no way into it (decisions section 3, More)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aiohttp import web

from kernel.errors import DomainError, ValidationFailed
from kernel.scope import Scope
from resolvers.execute import FacadeOperation, execute
from rest_facade.bodies import read_json_object
from rest_facade.current.auth import text
from rest_facade.responses import json_response
from rest_facade.routing import Needs, Route, scope_of

_REGISTRATION = ("email", "password", "name", "cpf", "cnpj", "phone")


class Registration:
    """Serve registration, e-mail confirmation and forgotten passwords with the operations of this facade."""

    def __init__(self, operations: Mapping[str, FacadeOperation]) -> None:
        self._register = operations["UserRegister"]
        self._verify = operations["EmailVerify"]
        self._resend = operations["EmailResend"]
        self._forgot = operations["PasswordForgot"]
        self._reset = operations["PasswordReset"]

    def routes(self) -> list[Route]:
        """List the routes."""
        return [
            Route("POST", "/api/v1/auth/register", self.register, Needs.STORE, creates=True),
            Route("POST", "/api/v1/auth/email/verify", self.verify, Needs.STORE),
            Route("POST", "/api/v1/auth/email/resend", self.resend, Needs.STORE),
            Route(
                "POST", "/api/v1/auth/password/forgot", self.forgot, Needs.STORE, attempt="password_forgot"
            ),
            Route("POST", "/api/v1/auth/password/reset", self.reset, Needs.STORE, attempt="password_reset"),
        ]

    async def register(self, request: web.Request) -> web.Response:
        """Register a shopper."""
        body = await read_json_object(request, empty=True)
        given = {name: text(body, name) for name in _REGISTRATION if name in body}
        data = await execute(scope_of(request), self._register, {"input": given})
        return json_response(data["user_register"], status=201)

    async def verify(self, request: web.Request) -> web.Response:
        """Confirm an e-mail with `{token}`."""
        body = await read_json_object(request, empty=True)
        data = await execute(scope_of(request), self._verify, {"token": text(body, "token")})
        return json_response(data["email_verify"])

    async def resend(self, request: web.Request) -> web.Response:
        """Mail another confirmation to `{email}`."""
        body = await read_json_object(request, empty=True)
        data = await execute(scope_of(request), self._resend, {"email": text(body, "email")})
        return json_response(data["email_resend"])

    async def forgot(self, request: web.Request) -> web.Response:
        """Mail a token for a new password to `{email}`."""
        scope = scope_of(request)
        given = await _counted(request, scope, self._forgot, ("email",))
        data = await execute(scope, self._forgot, given)
        return json_response(data["password_forgot"])

    async def reset(self, request: web.Request) -> web.Response:
        """Set a new password with `{token, password}`."""
        scope = scope_of(request)
        given = await _counted(request, scope, self._reset, ("token", "password"))
        data = await execute(scope, self._reset, given)
        return json_response(data["password_reset"])


async def _counted(
    request: web.Request, scope: Scope, operation: FacadeOperation, names: tuple[str, ...]
) -> dict[str, Any]:
    """Give the texts of a body. One that can't be read counts as an attempt like every other, before it is refused."""
    try:
        body = await read_json_object(request, empty=True)
        return {name: text(body, name) for name in names}
    except DomainError:
        try:
            await execute(scope, operation)
        except ValidationFailed:
            pass  # of course: it held nothing. What is wrong with the body is the better answer.
        raise
