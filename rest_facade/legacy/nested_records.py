"""Serve single records below others: a product of a category, a feature or post of a product, a membership; and orders of one vendor.

They execute the operations of the records themselves, after checking that the record is below the other.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any, TypeAlias
from uuid import UUID

from aiohttp import hdrs, web

from kernel.errors import NotFound
from kernel.ids import parse_reference
from kernel.scope import ActorKind, Scope
from resolvers.execute import FacadeOperation, execute
from rest_facade.bodies import read_legacy
from rest_facade.legacy import engine
from rest_facade.legacy.engine import (
    MANAGE,
    VIEW,
    Operations,
    Owner,
    authorize_entity,
    permission_variables,
    render_ids,
)
from rest_facade.legacy.reshape import (
    body_parser,
    dialect_renderer,
    has_cscart_dialect,
    message_renamer,
    record_renderer,
)
from rest_facade.legacy.resource import Record, Resource
from rest_facade.legacy.resources.categories import CATEGORIES
from rest_facade.legacy.resources.content import LANGUAGE_VARIABLES, LANGUAGES
from rest_facade.legacy.resources.discussions import DISCUSSIONS
from rest_facade.legacy.resources.features import PRODUCT_FEATURES
from rest_facade.legacy.resources.orders import ORDERS
from rest_facade.legacy.resources.products import PRODUCTS
from rest_facade.legacy.resources.stores import STORES
from rest_facade.legacy.resources.users import MEMBERSHIPS, USERS
from rest_facade.responses import json_response
from rest_facade.routing import SCOPE, Credential, Handler, Route

RowFinder: TypeAlias = Callable[[web.Request, Scope], Awaitable[Record]]
ReferenceFinder: TypeAlias = Callable[[web.Request, Scope], Awaitable[str]]

_REMOVED = "F"
"""The status of a membership that was given up."""


def routes(operations: Operations) -> list[Route]:
    """List the routes."""
    return [
        Route(method, f"/api/{path}", handler, Credential.LEGACY_ADMIN, creates=method == "POST", serves=serves)
        for serves, listed in ((None, _routes), (has_cscart_dialect, _cscart_routes))
        for method, path, handler in listed(operations)
    ]


def _routes(operations: Operations) -> Iterator[tuple[str, str, Handler]]:
    for path in (STORES.path, *STORES.aliases):
        vendor = Owner(STORES, "vendor_id", "vendor_id")
        yield "POST", f"{path}/{{vendor_id}}/orders", engine.create_handler(ORDERS, operations["OrderCreate"], vendor)
    category = _record_below(operations, CATEGORIES, "CategoryProducts", PRODUCTS, "category_id")
    yield "GET", "categories/{id}/products/{product_id}", category
    post = _record_below(operations, PRODUCTS, "ProductDiscussions", DISCUSSIONS, "product_id")
    yield "GET", "products/{id}/discussions/{post_id}", post
    feature = "products/{id}/features/{feature_id}"
    find = _row_finder(operations, PRODUCTS, "ProductFeatures", PRODUCT_FEATURES, "feature_id")
    yield "GET", feature, _show_row(PRODUCTS, operations["ProductFeatures"], find)
    yield "PUT", feature, _write_feature(operations)
    yield "DELETE", feature, _delete_row(PRODUCTS, operations["ProductUpdate"], find, _without_feature)
    variables, variable = "languages/{id}/langvars", "languages/{id}/langvars/{name}"
    show = operations["LanguageVariableShow"]
    for method, path, handler in (
        ("POST", variables, engine.create_handler(LANGUAGE_VARIABLES, operations["LanguageVariableCreate"])),
        ("GET", variable, engine.show_handler(LANGUAGE_VARIABLES, show)),
        ("PUT", variable, engine.update_handler(LANGUAGE_VARIABLES, operations["LanguageVariableUpdate"], show)),
        ("DELETE", variable, engine.delete_handler(LANGUAGE_VARIABLES, operations["LanguageVariableDelete"])),
    ):
        yield method, path, _in_language(operations["LanguageShow"], handler)
    # The path of the route for changes, which `users` declares.
    membership = "users/{id}/usergroups/{group_id}"
    find = _row_finder(operations, USERS, "UserUsergroups", MEMBERSHIPS, "group_id")
    yield "GET", membership, _show_row(USERS, operations["UserUsergroups"], find)
    yield "DELETE", membership, _delete_row(USERS, operations["UsergroupMembershipSet"], find, _without_membership)


def _cscart_routes(operations: Operations) -> Iterator[tuple[str, str, Handler]]:
    """Yield the methods that these addresses have in CS-Cart's dialect only."""
    for path in (STORES.path, *STORES.aliases):
        create = engine.create_handler(PRODUCTS, operations["ProductCreate"], Owner(STORES, "vendor_id", "id"))
        yield "POST", f"{path}/{{id}}/products", _below_own_vendor(operations["StoreShow"], create)
    posts = "products/{id}/discussions"
    create = engine.create_handler(DISCUSSIONS, operations["DiscussionCreate"], Owner(PRODUCTS, "product_id", "id"))
    yield "POST", posts, create
    find = reference_finder(operations, PRODUCTS, "ProductDiscussions", DISCUSSIONS, "product_id")
    update, delete = operations["DiscussionUpdate"], operations["DiscussionDelete"]
    for method, operation, handler in (
        ("PUT", update, engine.update_handler(DISCUSSIONS, update, operations["DiscussionShow"])),
        ("DELETE", delete, engine.delete_handler(DISCUSSIONS, delete)),
    ):
        yield method, f"{posts}/{{post_id}}", change_below(DISCUSSIONS, operation, handler, find)


def _record_below(
    operations: Operations, owner: Resource, list_operation: str, resource: Resource, parent_filter: str
) -> Handler:
    """Build the handler of a record of `resource` below one of `owner`; the path's second variable names it."""
    find = reference_finder(operations, owner, list_operation, resource, parent_filter)
    return show_below(operations, owner, resource, find)


def reference_finder(
    operations: Operations, owner: Resource, list_operation: str, resource: Resource, parent_filter: str
) -> ReferenceFinder:
    """Build the function that returns the reference of a record below another, or raises NotFound for either."""
    rows = operations[list_operation]

    async def find(request: web.Request, scope: Scope) -> str:
        parent, number = request.match_info.values()
        filters = {parent_filter: [parent], resource.number_field.filter_name: [number]}
        page = {"id": parent, "page": 1, "per_page": 0, "filter": filters, "sort": None}
        below = await execute(scope, rows, {**page, **permission_variables(resource, scope)})
        if below["parent"] is None:
            raise NotFound(owner.display_name)
        if not below["page"]["total"]:
            raise NotFound(resource.display_name)
        return str(number)

    return find


def change_below(
    resource: Resource,
    operation: FacadeOperation,
    handler: Handler,
    find: ReferenceFinder,
) -> Handler:
    """Build the handler of a change of a record below another: `handler` is that of the record itself."""

    async def change(request: web.Request) -> web.StreamResponse:
        scope = authorize_entity(request, resource, MANAGE, operation)
        request.match_info["id"] = await find(request, scope)
        return await handler(request)

    return change


def show_below(
    operations: Operations,
    owner: Resource,
    resource: Resource,
    find: ReferenceFinder,
) -> Handler:
    """Build the handler that returns a record below another."""
    show = operations[f"{resource.operations}Show"]
    renderer = dialect_renderer(resource, single=True)

    async def handler(request: web.Request) -> web.Response:
        scope = authorize_entity(request, owner, VIEW, show)
        number = await find(request, scope)
        permissions = permission_variables(resource, scope)
        record = (await execute(scope, show, {resource.id_variable: number, **permissions}))["record"]
        if record is None:
            raise NotFound(resource.display_name)
        return json_response(renderer(scope)(record))

    return handler


def _below_own_vendor(show: FacadeOperation, handler: Handler) -> Handler:
    """Build the handler of a new product below a vendor: for a vendor, whose products are its own, there is no other one."""

    async def handle(request: web.Request) -> web.StreamResponse:
        scope = request[SCOPE]
        if scope.actor.kind is ActorKind.VENDOR:
            vendor = (await execute(scope, show, {"id": request.match_info["id"]}))["record"]
            if vendor is None:
                raise NotFound(STORES.display_name)
        return await handler(request)

    return handle


def _in_language(show: FacadeOperation, handler: Handler) -> Handler:
    """Build the handler of language variables below a language, which the path names by code, number or UUID."""

    async def handle(request: web.Request) -> web.StreamResponse:
        path = request.match_info
        verb = VIEW if request.method in (hdrs.METH_GET, hdrs.METH_HEAD) else MANAGE
        scope = authorize_entity(request, LANGUAGES, verb, show)
        language = (await execute(scope, show, {"id": path.pop("id")}))["record"]
        if language is None:
            raise NotFound(LANGUAGES.display_name)
        # The handler of the variables finds the language and the variable where it looks for them.
        path["lang_code"] = language["lang_code"]
        if "name" in path:
            path["id"] = path.pop("name")
        return await handler(request)

    return handle


def _show_row(owner: Resource, operation: FacadeOperation, find: RowFinder) -> Handler:
    """Build the handler of one of the rows that are read with their record."""

    async def handler(request: web.Request) -> web.Response:
        scope = authorize_entity(request, owner, VIEW, operation)
        return json_response(await find(request, scope))

    return handler


def _row_finder(
    operations: Operations, owner: Resource, list_operation: str, resource: Resource, variable: str
) -> RowFinder:
    """Build the function that reads a row of a record, which the variable of the path names; it raises NotFound."""
    operation, show = operations[list_operation], operations[f"{resource.display_name.capitalize()}Show"]
    render = record_renderer(resource.fields, prepare=resource.prepare)

    async def find(request: web.Request, scope: Scope) -> Record:
        variables = {"id": request.match_info["id"], **permission_variables(resource, scope)}
        parent = (await execute(scope, operation, variables))["parent"]
        if parent is None:
            raise NotFound(owner.display_name)
        reference = parse_reference(request.match_info[variable])
        if isinstance(reference, UUID):  # which the rows don't have
            record = (await execute(scope, show, {"id": str(reference)}))["record"]
            reference = None if record is None else int(record[resource.key])
        for row in map(render, parent[resource.name] or []):
            if row[resource.key] == str(reference):
                return row
        raise NotFound(resource.display_name)

    return find


def _write_feature(operations: Operations) -> Handler:
    operation, show = operations["ProductUpdate"], operations["FeatureShow"]
    parse_product = body_parser(PRODUCTS.fields)
    rename = message_renamer(PRODUCTS.single_fields, PRODUCTS.message_terms)

    async def write(request: web.Request) -> web.Response:
        scope = authorize_entity(request, PRODUCTS, MANAGE, operation)
        feature = request.match_info["feature_id"]
        body = {name: value for name, value in (await read_legacy(request)).items() if name != "feature_id"}
        record = (await execute(scope, show, {"id": feature}))["record"]
        if record is None:
            raise NotFound(PRODUCT_FEATURES.display_name)
        values = parse_product({"product_features": {feature: body}})["features"]
        variables = {"id": request.match_info["id"], "input": {"features": values}}
        await engine.execute_mutation(scope, operation, variables, rename, PRODUCTS)
        return json_response(render_ids(scope, {"feature_id": int(record["feature_id"])}))

    return write


def _delete_row(
    owner: Resource,
    operation: FacadeOperation,
    find: RowFinder,
    variables: Callable[[Mapping[str, str]], dict[str, Any]],
) -> Handler:
    """Build the handler that removes a row of a record by an operation on the record, with the `variables` of a path."""
    rename = message_renamer(owner.fields, owner.message_terms)

    async def delete(request: web.Request) -> web.Response:
        scope = authorize_entity(request, owner, MANAGE, operation)
        await find(request, scope)
        await engine.execute_mutation(scope, operation, variables(request.match_info), rename, owner)
        return web.Response(status=204)

    return delete


def _without_feature(path: Mapping[str, str]) -> dict[str, Any]:
    return {"id": path["id"], "input": {"features": [{"feature_id": path["feature_id"], "value": None}]}}


def _without_membership(path: Mapping[str, str]) -> dict[str, Any]:
    return {"user_id": path["id"], "usergroup_id": path["group_id"], "status": _REMOVED}
