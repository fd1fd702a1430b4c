"""Open the doors of the vendor app: sign-in, a forgotten password, an application. None of them asks for a credential."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from resolvers.execute import FacadeOperation, authorize
from rest_facade.bodies import read_legacy
from rest_facade.legacy.engine import change
from rest_facade.legacy.reshape import body_reader, renamer, require
from rest_facade.legacy.resource import RecordField
from rest_facade.legacy.resources.stores import STORES
from rest_facade.legacy.resources.users import USERS
from rest_facade.legacy.value_types import PHONE, TEXT, document
from rest_facade.responses import json_response
from rest_facade.routing import Handler, scope_of

_SIGN_IN = tuple(RecordField(name, TEXT, name) for name in ("email", "password", "code"))
_NEW_PASSWORD = tuple(RecordField(name, TEXT, name) for name in ("token", "password"))
_FORGOTTEN = (RecordField("email", TEXT, "email"),)
_SIGN_UP = (
    *(RecordField(name, TEXT, name) for name in ("company", "email", "password", "firstname", "lastname")),
    RecordField("phone", PHONE, "phone"),
    RecordField("CNPJ", document(14), "cnpj"),
)
_NEEDED = {name: f"{name} is required" for name in ("company", "email", "password")}
_SECRET = {"Cache-Control": "no-store"}


def sign_in(operation: FacadeOperation) -> Handler:
    """Make the handler that gives a vendor's user a token."""
    read, rename = body_reader(_SIGN_IN), renamer(_SIGN_IN, {})

    async def handler(request: web.Request) -> web.Response:
        scope = scope_of(request)
        authorize(scope, operation)
        given = read(await read_legacy(request))
        done = await change(scope, operation, given, rename, USERS)
        answer: dict[str, Any] = {
            "token": done["token"],
            "ttl": done["ttl"],
            "user_id": str(done["user_id"]),
            "company_id": str(done["company_id"]),
            "expires_at": str(done["expires_at"]),
        }
        return json_response(answer, headers=_SECRET)

    return handler


def new_password(forgot: FacadeOperation, reset: FacadeOperation) -> Handler:
    """Make the handler that mails a token for a new password and, given that token, sets it.

    Whether the store knows the address is nobody's business: the first step always answers alike.
    """
    read_email, read_token = body_reader(_FORGOTTEN), body_reader(_NEW_PASSWORD)
    rename = renamer(_NEW_PASSWORD, {})

    async def handler(request: web.Request) -> web.Response:
        scope = scope_of(request)
        body = await read_legacy(request)
        if body.get("token") or body.get("password"):
            await change(scope, reset, read_token(body), rename, USERS)
            return json_response({"result": "changed"})
        require(body, {"email": _NEEDED["email"]})
        await change(scope, forgot, read_email(body), rename, USERS)
        return json_response({"result": "sent"})

    return handler


def sign_up(operation: FacadeOperation) -> Handler:
    """Make the handler that takes an application."""
    read, rename = body_reader(_SIGN_UP), renamer(_SIGN_UP, {})

    async def handler(request: web.Request) -> web.Response:
        scope = scope_of(request)
        authorize(scope, operation)
        body = await read_legacy(request)
        require(body, _NEEDED)
        done = await change(scope, operation, {"input": read(body)}, rename, STORES)
        answer = {
            "company_id": str(done["company_id"]),
            "user_id": str(done["user_id"]),
            "status": done["status"],
        }
        return json_response(answer, status=201)

    return handler
