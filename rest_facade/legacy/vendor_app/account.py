"""Show and change who the vendor is: its company and its own user, of each only what the vendor may write.

Every other field is ignored, however wrong its value (decisions-legacy section 4).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from aiohttp import web

from kernel.errors import NotFound
from kernel.scope import Scope
from resolvers.execute import FacadeOperation, authorize, execute
from rest_facade.bodies import read_legacy
from rest_facade.legacy.engine import change
from rest_facade.legacy.reshape import body_reader, renamer, row_shower
from rest_facade.legacy.resource import RecordField, Resource
from rest_facade.legacy.resources.stores import STORES
from rest_facade.legacy.resources.users import USERS
from rest_facade.responses import json_response
from rest_facade.routing import Handler, scope_of

_COMPANY_WRITES = frozenset(
    {
        "company",
        "email",
        "phone",
        "address",
        "city",
        "state",
        "country",
        "zipcode",
        "url",
        "shippings",
    }
)
_PROFILE_WRITES = frozenset({"email", "password", "firstname", "lastname", "phone"})

COMPANY = STORES.fields


def show_company(operation: FacadeOperation) -> Handler:
    """Make the handler that shows the vendor's company."""
    show = row_shower(COMPANY)

    async def handler(request: web.Request) -> web.Response:
        scope = _admitted(request, operation)
        record = (await execute(scope, operation, {"id": _company_of(scope)}))["record"]
        if record is None:
            raise NotFound("vendor")
        return json_response(show(record))

    return handler


def change_company(operation: FacadeOperation) -> Handler:
    """Make the handler that changes what the vendor may write of its company."""
    return _change_handler(operation, _written(COMPANY, _COMPANY_WRITES), "company_id", STORES)


def show_profile(operation: FacadeOperation) -> Handler:
    """Make the handler that shows the caller's own user record."""
    show = row_shower(USERS.fields)

    async def handler(request: web.Request) -> web.Response:
        scope = _admitted(request, operation)
        return json_response(show((await execute(scope, operation))["record"]))

    return handler


def change_profile(operation: FacadeOperation) -> Handler:
    """Make the handler that changes what the caller may write of its own user record."""
    written = _written((*USERS.fields, *USERS.inputs), _PROFILE_WRITES)
    return _change_handler(operation, written, "user_id", USERS)


def _change_handler(
    operation: FacadeOperation, written: tuple[RecordField, ...], key: str, resource: Resource
) -> Handler:
    read, rename = body_reader(written), renamer(written, {})

    async def handler(request: web.Request) -> web.Response:
        scope = _admitted(request, operation)
        given: dict[str, Any] = {"input": read(await read_legacy(request))}
        given["id"] = _company_of(scope) if key == "company_id" else str(scope.actor.user_id)
        done = await change(scope, operation, given, rename, resource)
        return json_response({key: str(done[key])})

    return handler


def _written(fields: Iterable[RecordField], names: frozenset[str]) -> tuple[RecordField, ...]:
    return tuple(field for field in fields if field.name in names)


def _admitted(request: web.Request, operation: FacadeOperation) -> Scope:
    scope = scope_of(request)
    authorize(scope, operation)
    return scope


def _company_of(scope: Scope) -> str:
    return str(scope.actor.company_id or 0)
