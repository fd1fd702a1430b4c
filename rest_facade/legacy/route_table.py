"""List the routes of the legacy API: those of every resource, the hand-written ones and the vendor app's.

Each is declared once, subroute `/api`; `server.http.routes` adds the other base paths (`/api/v1.0`, `/api/2.0`, `/api/2`), the trailing
slash, HEAD and 405 responses (docs/reference/legacy.md#addresses).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from resolvers.execute import FacadeOperation
from rest_facade.legacy import (
    auth_tokens,
    boxes,
    engine,
    nested_records,
    notifications,
    product_combinations,
    quotes,
    sign_in_keys,
    variations,
    version,
)
from rest_facade.legacy.engine import Operations
from rest_facade.legacy.reshape import has_cscart_dialect
from rest_facade.legacy.resource import NestedList, Resource
from rest_facade.legacy.resource_operations import load_legacy_operations
from rest_facade.legacy.resources import RESOURCES
from rest_facade.legacy.vendor_app import routes as vendor_app
from rest_facade.routing import Credential, Handler, Route

BASE = "/api"
SINGLE = "/{id}"

# Each action of `Resource.actions`: its method, path suffix and handler factory. The operation is named
# `<Resource.operations><Word>`.
_ACTIONS: Mapping[str, tuple[str, str, Callable[[Resource, FacadeOperation], Handler]]] = {
    "show": ("GET", SINGLE, engine.show_handler),
    "create": ("POST", "", engine.create_handler),
    "update": ("PUT", SINGLE, engine.update_handler),
    "delete": ("DELETE", SINGLE, engine.delete_handler),
    "set": ("PUT", "", engine.body_handler),
    "ask": ("POST", "", engine.body_handler),
}
_MANUAL_ROUTES = (auth_tokens, notifications, sign_in_keys, version)


def all_routes() -> list[Route]:
    """Load the operations and list every route; raises InvalidOperation for one that doesn't match the schema."""
    operations = load_legacy_operations()
    routes = [module.route(operations) for module in _MANUAL_ROUTES]
    for resource in RESOURCES:
        for path in (resource.path, *resource.aliases):
            routes += _routes_of(resource, path, operations)
    return [
        *routes,
        *vendor_app.routes(operations),
        *product_combinations.routes(operations),
        *nested_records.routes(operations),
        *variations.routes(operations),
        *boxes.routes(operations),
        *quotes.routes(operations),
    ]


def _routes_of(resource: Resource, name: str, operations: Operations) -> Iterator[Route]:
    path = f"{BASE}/{name}"
    if "list" in resource.actions:
        alias = name if name in resource.aliases else ""
        yield Route("GET", path, engine.list_handler(resource, operations, alias), Credential.LEGACY_ADMIN)
    for action in (*resource.actions, *resource.cscart_actions):
        if action == "list":
            continue
        method, suffix, build_handler = _ACTIONS[action]
        operation = operations[f"{resource.operations}{action.capitalize()}"]
        if action == "update" and "show" in resource.actions:
            show, language = operations[f"{resource.operations}Show"], operations["DefaultLanguage"]
            handler = engine.update_handler(resource, operation, show, language)
        else:
            handler = build_handler(resource, operation)
        serves = has_cscart_dialect if action in resource.cscart_actions else None
        yield Route(
            method, f"{path}{suffix}", handler, Credential.LEGACY_ADMIN, creates=action == "create", serves=serves
        )
    for subroute in resource.subroutes:
        if isinstance(subroute, NestedList):
            method, handler = "GET", engine.nested_handler(resource, subroute, operations)
        else:
            operation = operations[subroute.operation]
            method, handler = subroute.method, engine.action_handler(resource, subroute, operation)
        creates = method == "POST"
        yield Route(method, f"{path}{SINGLE}/{subroute.path}", handler, Credential.LEGACY_ADMIN, creates=creates)
