"""Serve the sign-in routes for callers without an account or password (docs/reference/current.md#registration)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from aiohttp import web

from kernel.errors import DomainError, ValidationFailed
from kernel.scope import Scope
from resolvers.execute import FacadeOperation, execute
from rest_facade.bodies import read_json_object
from rest_facade.current.auth import text_field
from rest_facade.responses import json_response
from rest_facade.routing import Credential, Route, scope_of

_REGISTRATION = ("email", "password", "name", "cpf", "cnpj", "phone")


class RegistrationHandlers:
    """Serve registration, e-mail confirmation and password reset with the operations of this facade."""

    def __init__(self, operations: Mapping[str, FacadeOperation]) -> None:
        self._register = operations["UserRegister"]
        self._verify = operations["EmailVerify"]
        self._resend = operations["EmailResend"]
        self._forgot = operations["PasswordForgot"]
        self._reset = operations["PasswordReset"]

    def routes(self) -> list[Route]:
        """List the routes."""
        post, store = partial(Route, "POST"), Credential.STORE
        return [
            post("/api/v1/auth/register", self.register, store, creates=True),
            post("/api/v1/auth/email/verify", self.verify, store),
            post("/api/v1/auth/email/resend", self.resend, store, attempt_limit="email_resend"),
            post("/api/v1/auth/password/forgot", self.forgot, store, attempt_limit="password_forgot"),
            post("/api/v1/auth/password/reset", self.reset, store, attempt_limit="password_reset"),
        ]

    async def register(self, request: web.Request) -> web.Response:
        """Register a customer."""
        body = await read_json_object(request, empty=True)
        variables = {name: text_field(body, name) for name in _REGISTRATION if name in body}
        data = await execute(scope_of(request), self._register, {"input": variables})
        return json_response(data["user_register"], status=201)

    async def verify(self, request: web.Request) -> web.Response:
        """Confirm an e-mail address with `{token}`."""
        body = await read_json_object(request, empty=True)
        data = await execute(scope_of(request), self._verify, {"token": text_field(body, "token")})
        return json_response(data["email_verify"])

    async def resend(self, request: web.Request) -> web.Response:
        """Resend the confirmation to `{email}`."""
        scope = scope_of(request)
        variables = await _parse_counted(request, scope, self._resend, ("email",))
        data = await execute(scope, self._resend, variables)
        return json_response(data["email_resend"])

    async def forgot(self, request: web.Request) -> web.Response:
        """Send a password reset token to `{email}`."""
        scope = scope_of(request)
        variables = await _parse_counted(request, scope, self._forgot, ("email",))
        data = await execute(scope, self._forgot, variables)
        return json_response(data["password_forgot"])

    async def reset(self, request: web.Request) -> web.Response:
        """Set a new password with `{token, password}`."""
        scope = scope_of(request)
        variables = await _parse_counted(request, scope, self._reset, ("token", "password"))
        data = await execute(scope, self._reset, variables)
        return json_response(data["password_reset"])


async def _parse_counted(
    request: web.Request, scope: Scope, operation: FacadeOperation, names: tuple[str, ...]
) -> dict[str, Any]:
    """Return the text fields of a body; an unreadable body counts as an attempt before it is rejected."""
    try:
        body = await read_json_object(request, empty=True)
        return {name: text_field(body, name) for name in names}
    except DomainError:
        try:
            await execute(scope, operation)
        except ValidationFailed:
            pass  # expected without a body; the body's own error is raised instead
        raise
