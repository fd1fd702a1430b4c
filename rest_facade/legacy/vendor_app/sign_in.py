"""Serve the vendor app's routes without a credential: sign-in, password reset and registration."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from resolvers.execute import FacadeOperation, authorize
from rest_facade.bodies import read_legacy
from rest_facade.legacy.engine import execute_mutation, render_ids
from rest_facade.legacy.reshape import body_parser, check_required, message_renamer
from rest_facade.legacy.resource import RecordField
from rest_facade.legacy.resources.stores import STORES
from rest_facade.legacy.resources.users import USERS
from rest_facade.legacy.value_types import PHONE, TEXT, document
from rest_facade.responses import json_response
from rest_facade.routing import SCOPE, Handler

_SIGN_IN = tuple(RecordField(name, TEXT, name) for name in ("email", "password", "code"))
_NEW_PASSWORD = tuple(RecordField(name, TEXT, name) for name in ("token", "password"))
_RESET_REQUEST = (RecordField("email", TEXT, "email"),)
_SIGN_UP = (
    *(RecordField(name, TEXT, name) for name in ("company", "email", "password", "firstname", "lastname")),
    RecordField("phone", PHONE, "phone"),
    RecordField("CNPJ", document(14), "cnpj"),
)


def sign_in(operation: FacadeOperation) -> Handler:
    """Build the handler that issues a token to a vendor's user."""
    parse, rename = body_parser(_SIGN_IN), message_renamer(_SIGN_IN, {})

    async def handler(request: web.Request) -> web.Response:
        scope = authorize(request[SCOPE], operation)
        variables = parse(await read_legacy(request))
        done = await execute_mutation(scope, operation, variables, rename, USERS)
        result: dict[str, Any] = {
            "token": done["token"],
            "ttl": done["ttl"],
            "user_id": str(done["user_id"]),
            "company_id": str(done["company_id"]),
            "expires_at": str(done["expires_at"]),
        }
        return json_response(result)

    return handler


def reset_password(forgot: FacadeOperation, reset: FacadeOperation) -> Handler:
    """Build the handler that e-mails a password reset token and, with that token, sets the password.

    The first step responds alike for known and unknown addresses, to prevent enumeration.
    """
    parse_email, parse_token = body_parser(_RESET_REQUEST), body_parser(_NEW_PASSWORD)
    rename = message_renamer(_NEW_PASSWORD, {})

    async def handler(request: web.Request) -> web.Response:
        scope = request[SCOPE]
        body = await read_legacy(request)
        if body.get("token") or body.get("password"):
            await execute_mutation(scope, reset, parse_token(body), rename, USERS)
            return json_response({"result": "changed"})
        check_required(body, ("email",))
        await execute_mutation(scope, forgot, parse_email(body), rename, USERS)
        return json_response({"result": "sent"})

    return handler


def sign_up(operation: FacadeOperation) -> Handler:
    """Build the handler that registers a vendor."""
    parse, rename = body_parser(_SIGN_UP), message_renamer(_SIGN_UP, {})

    async def handler(request: web.Request) -> web.Response:
        scope = authorize(request[SCOPE], operation)
        body = await read_legacy(request)
        check_required(body, ("company", "email", "password"))
        done = await execute_mutation(scope, operation, {"input": parse(body)}, rename, STORES)
        ids = {name: done[name] for name in ("company_id", "user_id", "status")}
        return json_response(render_ids(scope, ids), status=201)

    return handler
