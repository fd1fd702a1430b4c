"""Serve the admin routes of app credentials: installed apps and storefront keys (docs/reference/current.md#credentials)."""

from __future__ import annotations

from collections.abc import Mapping

from aiohttp import web

from kernel.errors import NotFound, ValidationFailed
from resolvers.execute import FacadeOperation, execute
from rest_facade.authorization import authorized_scope
from rest_facade.bodies import read_json_object
from rest_facade.current.admin import PREFIX
from rest_facade.field_errors import with_field_codes
from rest_facade.list_parameters import ListDefinition
from rest_facade.records import path_uuid
from rest_facade.responses import json_response, page_response
from rest_facade.routing import Credential, Handler, Route

_KEY_FIELDS = ("name", "scopes", "rate_limit", "per_address", "server_side")
_KEY_CODES = {
    "name": "name_invalid",
    "scopes": "scope_unknown",
    "rate_limit": "rate_limit_invalid",
    "per_address": "rate_limit_invalid",
}
_APP_FIELDS = ("scopes", "rate_limit")

_APPS = ListDefinition(filters={}, sorts={"installed_at": "INSTALLED_AT", "name": "NAME", "id": "ID"})
_KEYS = ListDefinition(filters={}, sorts={"created_at": "CREATED_AT", "name": "NAME", "id": "ID"})


def routes(operations: Mapping[str, FacadeOperation]) -> list[Route]:
    """List the routes."""
    apps, keys = f"{PREFIX}/installed-apps", f"{PREFIX}/storefront-keys"
    app, key = f"{apps}/{{id}}", f"{keys}/{{id}}"
    update_app = _update_handler(operations["AdminInstalledAppUpdate"])
    handlers = (
        ("GET", apps, _list_handler(operations["AdminInstalledApps"], _APPS)),
        ("GET", app, _show_handler(operations["AdminInstalledApp"], "installed app")),
        ("PUT", app, update_app),
        ("PATCH", app, update_app),
        ("DELETE", app, _delete_handler(operations["AdminInstalledAppDelete"], "installed app")),
        ("GET", keys, _list_handler(operations["AdminStorefrontKeys"], _KEYS)),
        ("POST", keys, _create_handler(operations["AdminStorefrontKeyCreate"])),
        ("GET", key, _show_handler(operations["AdminStorefrontKey"], "storefront key")),
        ("DELETE", key, _delete_handler(operations["AdminStorefrontKeyDelete"], "storefront key")),
    )
    return [Route(method, path, handler, Credential.ADMIN) for method, path, handler in handlers]


def _list_handler(operation: FacadeOperation, definition: ListDefinition) -> Handler:
    async def list_records(request: web.Request) -> web.Response:
        scope = authorized_scope(request, operation)
        data = await execute(scope, operation, definition.variables(request.query, scope.store))
        return page_response(request, data[operation.fields[0]])

    return list_records


def _show_handler(operation: FacadeOperation, display_name: str) -> Handler:
    async def show(request: web.Request) -> web.Response:
        scope = authorized_scope(request, operation)
        data = await execute(scope, operation, {"id": path_uuid(request, display_name)})
        record = data[operation.fields[0]]
        if record is None:
            raise NotFound(display_name)
        return json_response(record)

    return show


def _update_handler(operation: FacadeOperation) -> Handler:
    async def update(request: web.Request) -> web.Response:
        """Update an installed app: `{rate_limit?, scopes?}`; scopes can only be removed."""
        scope = authorized_scope(request, operation)
        body = await read_json_object(request)
        values = {name: body[name] for name in _APP_FIELDS if name in body}
        try:
            data = await execute(scope, operation, {"id": path_uuid(request, "installed app"), "input": values})
        except ValidationFailed as error:
            raise with_field_codes(error, _KEY_CODES) from error
        record = data[operation.fields[0]]
        if record is None:
            raise NotFound("installed app")
        return json_response(record)

    return update


def _delete_handler(operation: FacadeOperation, display_name: str) -> Handler:
    async def delete(request: web.Request) -> web.Response:
        scope = authorized_scope(request, operation)
        await execute(scope, operation, {"id": path_uuid(request, display_name)})
        return web.Response(status=204)

    return delete


def _create_handler(operation: FacadeOperation) -> Handler:
    async def create(request: web.Request) -> web.Response:
        """Create a storefront key: `{name?, scopes?, rate_limit?, per_address?, server_side?}`; only this response contains the key."""
        scope = authorized_scope(request, operation)
        body = await read_json_object(request)
        values = {name: body[name] for name in _KEY_FIELDS if name in body}
        try:
            data = await execute(scope, operation, {"input": values})
        except ValidationFailed as error:
            raise with_field_codes(error, _KEY_CODES) from error
        created = data[operation.fields[0]]
        record = {"key": created["key"], **created["storefront_key"]}
        return json_response(record, status=201)

    return create
