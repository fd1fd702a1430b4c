"""Be the administrative routes over what programs get in with: installed apps and storefront keys (decisions section 6)."""

from __future__ import annotations

from collections.abc import Mapping

from aiohttp import web

from kernel.errors import NotFound, ValidationFailed
from resolvers.execute import FacadeOperation, authorize, execute
from rest_facade.bodies import read_json_object
from rest_facade.current.admin import PREFIX
from rest_facade.field_errors import translated
from rest_facade.list_parameters import Listing
from rest_facade.records import public_id
from rest_facade.responses import json_response
from rest_facade.routing import Handler, Needs, Route, scope_of

_KEY_FIELDS = ("name", "scopes", "rate_limit", "server_side")
_KEY_CODES = {"name": "name_invalid", "scopes": "scope_unknown", "rate_limit": "rate_limit_invalid"}
_APP_FIELDS = ("scopes", "rate_limit")
# Tokens and keys must not stay in any cache on the way.
_NOT_STORED = {"Cache-Control": "no-store"}

_APPS = Listing(filters={}, sorts={"installed_at": "INSTALLED_AT", "name": "NAME", "id": "ID"})
_KEYS = Listing(filters={}, sorts={"created_at": "CREATED_AT", "name": "NAME", "id": "ID"})


def routes(operations: Mapping[str, FacadeOperation]) -> list[Route]:
    """List the routes."""
    apps, keys = f"{PREFIX}/installed-apps", f"{PREFIX}/storefront-keys"
    return [
        Route("GET", apps, _listed(operations["AdminInstalledApps"], _APPS), Needs.ADMIN),
        Route("GET", f"{apps}/{{id}}", _shown(operations["AdminInstalledApp"], "installed app"), Needs.ADMIN),
        # Both partial (decisions section 6).
        Route("PUT", f"{apps}/{{id}}", _changed(operations["AdminInstalledAppUpdate"]), Needs.ADMIN),
        Route("PATCH", f"{apps}/{{id}}", _changed(operations["AdminInstalledAppUpdate"]), Needs.ADMIN),
        Route(
            "DELETE",
            f"{apps}/{{id}}",
            _ended(operations["AdminInstalledAppDelete"], "installed app"),
            Needs.ADMIN,
        ),
        Route("GET", keys, _listed(operations["AdminStorefrontKeys"], _KEYS), Needs.ADMIN),
        Route("POST", keys, _made(operations["AdminStorefrontKeyCreate"]), Needs.ADMIN),
        Route(
            "GET", f"{keys}/{{id}}", _shown(operations["AdminStorefrontKey"], "storefront key"), Needs.ADMIN
        ),
        Route(
            "DELETE",
            f"{keys}/{{id}}",
            _ended(operations["AdminStorefrontKeyDelete"], "storefront key"),
            Needs.ADMIN,
        ),
    ]


def _listed(operation: FacadeOperation, listing: Listing) -> Handler:
    async def show_list(request: web.Request) -> web.Response:
        scope = scope_of(request)
        authorize(scope, operation)
        data = await execute(scope, operation, listing.variables(request.query, scope.store))
        return json_response(data[operation.fields[0]])

    return show_list


def _shown(operation: FacadeOperation, thing: str) -> Handler:
    async def show(request: web.Request) -> web.Response:
        scope = scope_of(request)
        authorize(scope, operation)
        data = await execute(scope, operation, {"id": public_id(request, thing)})
        record = data[operation.fields[0]]
        if record is None:
            raise NotFound(thing)
        return json_response(record)

    return show


def _changed(operation: FacadeOperation) -> Handler:
    async def change(request: web.Request) -> web.Response:
        """Change an installed app: `{rate_limit?, scopes?}`; of the scopes only fewer."""
        scope = scope_of(request)
        authorize(scope, operation)
        body = await read_json_object(request)
        given = {name: body[name] for name in _APP_FIELDS if name in body}
        try:
            data = await execute(
                scope, operation, {"id": public_id(request, "installed app"), "input": given}
            )
        except ValidationFailed as error:
            raise translated(error, _KEY_CODES) from error
        record = data[operation.fields[0]]
        if record is None:
            raise NotFound("installed app")
        return json_response(record)

    return change


def _ended(operation: FacadeOperation, thing: str) -> Handler:
    async def end(request: web.Request) -> web.Response:
        scope = scope_of(request)
        authorize(scope, operation)
        await execute(scope, operation, {"id": public_id(request, thing)})
        return web.Response(status=204)

    return end


def _made(operation: FacadeOperation) -> Handler:
    async def make(request: web.Request) -> web.Response:
        """Make a storefront key: `{name?, scopes?, rate_limit?, server_side?}`; the answer alone holds the key."""
        scope = scope_of(request)
        authorize(scope, operation)
        body = await read_json_object(request)
        given = {name: body[name] for name in _KEY_FIELDS if name in body}
        try:
            data = await execute(scope, operation, {"input": given})
        except ValidationFailed as error:
            raise translated(error, _KEY_CODES) from error
        made = data[operation.fields[0]]
        record = {"key": made["key"], **made["storefront_key"]}
        return json_response(record, status=201, headers=_NOT_STORED)

    return make
