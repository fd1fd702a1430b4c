"""Serve single records below others: a product of a category, a feature or post of a product, a membership; and orders of one vendor.

They execute the operations of the records themselves, after checking that the record is below the other.
"""

from __future__ import annotations

from collections.abc import Iterator

from aiohttp import web

from kernel.errors import NotFound
from resolvers.execute import execute
from rest_facade.bodies import read_legacy
from rest_facade.legacy import engine
from rest_facade.legacy.engine import MANAGE, VIEW, Operations, authorize_entity, permission_variables, render_ids
from rest_facade.legacy.reshape import body_parser, dialect_renderer, message_renamer, record_renderer
from rest_facade.legacy.resource import Record, Resource
from rest_facade.legacy.resources.categories import CATEGORIES
from rest_facade.legacy.resources.discussions import DISCUSSIONS
from rest_facade.legacy.resources.features import PRODUCT_FEATURES
from rest_facade.legacy.resources.orders import ORDERS
from rest_facade.legacy.resources.products import PRODUCTS
from rest_facade.legacy.resources.stores import STORES
from rest_facade.legacy.resources.users import MEMBERSHIPS, USERS
from rest_facade.responses import json_response
from rest_facade.routing import Credential, Handler, Route

_REMOVED = "F"
"""The status of a membership that was given up."""


def routes(operations: Operations) -> list[Route]:
    """List the routes."""
    return [
        Route(method, f"/api/{path}", handler, Credential.LEGACY_ADMIN, creates=method == "POST")
        for method, path, handler in _routes(operations)
    ]


def _routes(operations: Operations) -> Iterator[tuple[str, str, Handler]]:
    for path in (STORES.path, *STORES.aliases):
        yield "POST", f"{path}/{{vendor_id}}/orders", engine.create_handler(ORDERS, operations["OrderCreate"])
    category = _record_below(operations, CATEGORIES, "CategoryProducts", PRODUCTS, "category_id")
    yield "GET", "categories/{id}/products/{product_id}", category
    post = _record_below(operations, PRODUCTS, "ProductDiscussions", DISCUSSIONS, "product_id")
    yield "GET", "products/{id}/discussions/{post_id}", post
    feature = "products/{id}/features/{feature_id}"
    yield "GET", feature, _show_row(operations, PRODUCTS, "ProductFeatures", PRODUCT_FEATURES, "feature_id")
    yield "PUT", feature, _write_feature(operations)
    yield "DELETE", feature, _delete_feature(operations)
    # The path of the route for changes, which `users` declares.
    membership = "users/{id}/usergroups/{group_id}"
    yield "GET", membership, _show_row(operations, USERS, "UserUsergroups", MEMBERSHIPS, "group_id")
    yield "DELETE", membership, _remove_membership(operations)


def _record_below(
    operations: Operations, owner: Resource, list_operation: str, resource: Resource, parent_filter: str
) -> Handler:
    """Build the handler of a record of `resource` below one of `owner`; the path's second variable names it."""
    rows, show = operations[list_operation], operations[f"{resource.operations}Show"]
    renderer = dialect_renderer(
        (*resource.fields, *resource.detail_fields), prepare=resource.prepare, complete=resource.complete
    )

    async def handler(request: web.Request) -> web.Response:
        scope = authorize_entity(request, owner, VIEW, rows)
        parent, number = request.match_info.values()
        permissions = permission_variables(resource, scope)
        filters = {parent_filter: [parent], resource.number_field.filter_name: [number]}
        page = {"id": parent, "page": 1, "per_page": 0, "filter": filters, "sort": None, **permissions}
        below = await execute(scope, rows, page)
        if below["parent"] is None:
            raise NotFound(owner.display_name)
        if not below["page"]["total"]:
            raise NotFound(resource.display_name)
        record = (await execute(scope, show, {resource.id_variable: number, **permissions}))["record"]
        if record is None:
            raise NotFound(resource.display_name)
        return json_response(renderer(scope)(record))

    return handler


def _show_row(
    operations: Operations, owner: Resource, list_operation: str, resource: Resource, variable: str
) -> Handler:
    """Build the handler of one of the rows that are read with their record."""
    operation = operations[list_operation]
    render = record_renderer(resource.fields, prepare=resource.prepare)

    async def handler(request: web.Request) -> web.Response:
        scope = authorize_entity(request, owner, VIEW, operation)
        parent = (await execute(scope, operation, {"id": request.match_info["id"]}))["parent"]
        if parent is None:
            raise NotFound(owner.display_name)
        row = _row(map(render, parent[resource.name] or []), resource, request.match_info[variable])
        return json_response(row)

    return handler


def _row(rows: Iterator[Record], resource: Resource, number: str) -> Record:
    row = next((row for row in rows if row[resource.key] == number), None)
    if row is None:
        raise NotFound(resource.display_name)
    return row


def _write_feature(operations: Operations) -> Handler:
    operation, show = operations["ProductUpdate"], operations["FeatureShow"]
    parse_product = body_parser(PRODUCTS.fields)
    rename = message_renamer((*PRODUCTS.fields, *PRODUCTS.detail_fields), PRODUCTS.message_terms)

    async def write(request: web.Request) -> web.Response:
        scope = authorize_entity(request, PRODUCTS, MANAGE, operation)
        feature = request.match_info["feature_id"]
        body = {name: value for name, value in (await read_legacy(request)).items() if name != "feature_id"}
        if (await execute(scope, show, {"id": feature}))["record"] is None:
            raise NotFound(PRODUCT_FEATURES.display_name)
        values = parse_product({"product_features": {feature: body}})["features"]
        variables = {"id": request.match_info["id"], "input": {"features": values}}
        await engine.execute_mutation(scope, operation, variables, rename, PRODUCTS)
        return json_response(render_ids(scope, {"feature_id": int(feature) if feature.isdigit() else feature}))

    return write


def _delete_feature(operations: Operations) -> Handler:
    rows, operation = operations["ProductFeatures"], operations["ProductUpdate"]
    rename = message_renamer(PRODUCTS.fields, PRODUCTS.message_terms)
    render = record_renderer(PRODUCT_FEATURES.fields, prepare=PRODUCT_FEATURES.prepare)

    async def delete(request: web.Request) -> web.Response:
        scope = authorize_entity(request, PRODUCTS, MANAGE, operation)
        product, feature = request.match_info["id"], request.match_info["feature_id"]
        parent = (await execute(scope, rows, {"id": product}))["parent"]
        if parent is None:
            raise NotFound(PRODUCTS.display_name)
        _row(map(render, parent["features"]), PRODUCT_FEATURES, feature)
        variables = {"id": product, "input": {"features": [{"feature_id": feature, "value": None}]}}
        await engine.execute_mutation(scope, operation, variables, rename, PRODUCTS)
        return web.Response(status=204)

    return delete


def _remove_membership(operations: Operations) -> Handler:
    rows, operation = operations["UserUsergroups"], operations["UsergroupMembershipSet"]
    rename = message_renamer(USERS.fields, USERS.message_terms)
    render = record_renderer(MEMBERSHIPS.fields)

    async def remove(request: web.Request) -> web.Response:
        scope = authorize_entity(request, USERS, MANAGE, operation)
        user, group = request.match_info["id"], request.match_info["group_id"]
        parent = (await execute(scope, rows, {"id": user}))["parent"]
        if parent is None:
            raise NotFound(USERS.display_name)
        _row(map(render, parent["usergroups"]), MEMBERSHIPS, group)
        variables = {"user_id": user, "usergroup_id": group, "status": _REMOVED}
        await engine.execute_mutation(scope, operation, variables, rename, USERS)
        return web.Response(status=204)

    return remove
