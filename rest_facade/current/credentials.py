"""Serve the admin routes of app credentials: installed apps and storefront keys (docs/reference/current.md#credentials)."""

from __future__ import annotations

from collections.abc import Mapping

from aiohttp import web

from resolvers.execute import FacadeOperation
from rest_facade.collections import Collection, array
from rest_facade.current.admin import PREFIX
from rest_facade.list_parameters import ListDefinition
from rest_facade.records import CollectionHandlers
from rest_facade.responses import json_response
from rest_facade.routing import Credential, Handler, Route

_CODES = {
    "name": "name_invalid",
    "scopes": "scope_unknown",
    "rate_limit": "rate_limit_invalid",
    "per_address": "rate_limit_invalid",
}
# Scopes of an installed app can only be removed.
INSTALLED_APPS = Collection(
    name="installed-apps",
    display_name="installed app",
    plural="InstalledApps",
    singular="InstalledApp",
    list_definition=ListDefinition(filters={}, sorts={"installed_at": "INSTALLED_AT", "name": "NAME", "id": "ID"}),
    body={"scopes": array, "rate_limit": None},
    field_codes=_CODES,
)
STOREFRONT_KEYS = Collection(
    name="storefront-keys",
    display_name="storefront key",
    plural="StorefrontKeys",
    singular="StorefrontKey",
    list_definition=ListDefinition(filters={}, sorts={"created_at": "CREATED_AT", "name": "NAME", "id": "ID"}),
    body={"name": None, "scopes": array, "rate_limit": None, "per_address": None, "server_side": None},
    field_codes=_CODES,
)


def routes(operations: Mapping[str, FacadeOperation]) -> list[Route]:
    """List the routes."""
    app_records = CollectionHandlers(INSTALLED_APPS, "Admin", operations)
    key_records = CollectionHandlers(STOREFRONT_KEYS, "Admin", operations)
    apps, keys = f"{PREFIX}/{INSTALLED_APPS.name}", f"{PREFIX}/{STOREFRONT_KEYS.name}"
    app, key = f"{apps}/{{id}}", f"{keys}/{{id}}"
    handlers = (
        ("GET", apps, app_records.list),
        ("GET", app, app_records.show),
        ("PUT", app, app_records.update),
        ("PATCH", app, app_records.update),
        ("DELETE", app, app_records.delete),
        ("GET", keys, key_records.list),
        ("POST", keys, _create_key_handler(key_records)),
        ("GET", key, key_records.show),
        ("DELETE", key, key_records.delete),
    )
    return [Route(method, path, handler, Credential.ADMIN) for method, path, handler in handlers]


def _create_key_handler(records: CollectionHandlers) -> Handler:
    async def create(request: web.Request) -> web.Response:
        """Create a storefront key; only this response contains the key."""
        created = await records.create_record(request)
        return json_response({"key": created["key"], **created["storefront_key"]}, status=201)

    return create
