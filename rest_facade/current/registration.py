"""Serve the sign-in routes for callers without an account or password (docs/reference/current.md#registration)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from aiohttp import web

from resolvers.execute import FacadeOperation, execute
from rest_facade.bodies import read_json_object
from rest_facade.current.auth import text_field, text_handler
from rest_facade.responses import json_response
from rest_facade.routing import SCOPE, Credential, Handler, Route

_REGISTRATION = ("email", "password", "name", "cpf", "cnpj", "phone")


def routes(operations: Mapping[str, FacadeOperation]) -> list[Route]:
    """List the routes of registration, e-mail confirmation and password reset."""
    post, store, counted = partial(Route, "POST"), Credential.STORE, partial(text_handler, counts_attempts=True)
    verify = text_handler(operations["EmailVerify"], "token")
    resend = counted(operations["EmailResend"], "email")
    forgot = counted(operations["PasswordForgot"], "email")
    reset = counted(operations["PasswordReset"], "token", "password")
    return [
        post("/api/v1/auth/register", _register_handler(operations["UserRegister"]), store, creates=True),
        post("/api/v1/auth/email/verify", verify, store),
        post("/api/v1/auth/email/resend", resend, store, attempt_limit="email_resend"),
        post("/api/v1/auth/password/forgot", forgot, store, attempt_limit="password_forgot"),
        post("/api/v1/auth/password/reset", reset, store, attempt_limit="password_reset"),
    ]


def _register_handler(operation: FacadeOperation) -> Handler:
    async def register(request: web.Request) -> web.Response:
        """Register a customer."""
        body = await read_json_object(request, empty=True)
        variables = {name: text_field(body, name) for name in _REGISTRATION if name in body}
        data = await execute(request[SCOPE], operation, {"input": variables})
        return json_response(data["user_register"], status=201)

    return register
