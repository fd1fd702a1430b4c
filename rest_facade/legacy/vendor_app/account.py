"""Serve the vendor's company and user record; only the fields a vendor may write are accepted.

All other fields are ignored, even if invalid (docs/reference/legacy.md#vendor-app).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from aiohttp import web

from kernel.errors import NotFound
from kernel.scope import Scope
from resolvers.execute import FacadeOperation, authorize, execute
from rest_facade.bodies import read_legacy
from rest_facade.legacy.engine import execute_mutation, render_ids
from rest_facade.legacy.reshape import body_parser, message_renamer, record_renderer
from rest_facade.legacy.resource import RecordField, Resource
from rest_facade.legacy.resources.stores import STORES
from rest_facade.legacy.resources.users import USERS
from rest_facade.legacy.round_trip import changes_of
from rest_facade.responses import json_response
from rest_facade.routing import SCOPE, Handler

_COMPANY_WRITES = frozenset(
    {"company", "email", "phone", "address", "city", "state", "country", "zipcode", "url", "shippings"}
)
_PROFILE_WRITES = frozenset({"email", "password", "firstname", "lastname", "phone"})

COMPANY = STORES.fields


def show_company(operation: FacadeOperation) -> Handler:
    """Build the handler that returns the vendor's company."""
    render = record_renderer(COMPANY)

    async def handler(request: web.Request) -> web.Response:
        scope = authorize(request[SCOPE], operation)
        record = (await execute(scope, operation, {"id": _company_id(scope)}))["record"]
        if record is None:
            raise NotFound("vendor")
        return json_response(render(record))

    return handler


def update_company(operation: FacadeOperation, show: FacadeOperation) -> Handler:
    """Build the handler that updates the writable fields of the vendor's company."""
    return _update_handler(operation, show, _select_fields(COMPANY, _COMPANY_WRITES), "company_id", STORES)


def show_profile(operation: FacadeOperation) -> Handler:
    """Build the handler that returns the caller's user record."""
    render = record_renderer(USERS.fields)

    async def handler(request: web.Request) -> web.Response:
        scope = authorize(request[SCOPE], operation)
        return json_response(render((await execute(scope, operation))["record"]))

    return handler


def update_profile(operation: FacadeOperation, show: FacadeOperation) -> Handler:
    """Build the handler that updates the writable fields of the caller's user record."""
    writable = _select_fields((*USERS.fields, *USERS.input_fields), _PROFILE_WRITES)
    return _update_handler(operation, show, writable, "user_id", USERS)


def _update_handler(
    operation: FacadeOperation,
    show: FacadeOperation,
    writable: tuple[RecordField, ...],
    key: str,
    resource: Resource,
) -> Handler:
    """Build the handler of an update, of which what equals the record that `show` reads changes nothing."""
    parse, rename = body_parser(writable), message_renamer(writable, {})
    render = record_renderer(resource.fields)

    async def handler(request: web.Request) -> web.Response:
        scope = authorize(request[SCOPE], operation)
        body = await read_legacy(request)
        variables: dict[str, Any] = {"id": _company_id(scope) if key == "company_id" else str(scope.actor.user_id)}
        record = (await execute(scope, show, variables))["record"]
        variables["input"] = parse(body if record is None else changes_of(resource, body, render(record)))
        done = await execute_mutation(scope, operation, variables, rename, resource)
        return json_response(render_ids(scope, {key: done[key]}))

    return handler


def _select_fields(fields: Iterable[RecordField], names: frozenset[str]) -> tuple[RecordField, ...]:
    return tuple(field for field in fields if field.name in names)


def _company_id(scope: Scope) -> str:
    return str(scope.actor.vendor_id or 0)
