"""Serve variation groups and their products (docs/reference/legacy.md#variation-groups).

`product_variations` are the products that are in a group, served as products are. A group is addressed by its number or its code.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from aiohttp import web

from kernel.errors import NotFound, ValidationFailed
from kernel.scope import Scope
from resolvers.execute import FacadeOperation, execute
from rest_facade.bodies import read_legacy
from rest_facade.legacy import engine
from rest_facade.legacy.engine import (
    MANAGE,
    Operations,
    Owner,
    authorize_entity,
    execute_mutation,
    render_ids,
)
from rest_facade.legacy.nested_records import change_below, reference_finder, show_below
from rest_facade.legacy.reshape import body_parser, check_required, message_renamer, record_renderer
from rest_facade.legacy.resource import NestedList, Record
from rest_facade.legacy.resources.products import PRODUCTS
from rest_facade.legacy.variation_groups import VARIATION_GROUPS
from rest_facade.responses import json_response
from rest_facade.routing import SCOPE, Credential, Handler, Route

_GROUPS = "product_variations_groups"
_VARIATIONS = "product_variations"
_MEMBERS = "VariationGroupProducts"
_FILTER = "variation_group_id"
_FIELDS = (*VARIATION_GROUPS.fields, *VARIATION_GROUPS.input_fields)

_parse = body_parser(_FIELDS)
_rename = message_renamer(_FIELDS, VARIATION_GROUPS.message_terms)
_render = record_renderer(VARIATION_GROUPS.fields)


def routes(operations: Operations) -> list[Route]:
    """List the routes."""
    return [
        Route(method, f"/api/{path}", handler, Credential.LEGACY_ADMIN, creates=method == "POST")
        for method, path, handler in (*_of_groups(operations), *_of_variations(operations))
    ]


def _of_groups(operations: Operations) -> Iterator[tuple[str, str, Handler]]:
    show, create, update = (operations[f"VariationGroup{action}"] for action in ("Show", "Create", "Update"))
    yield "GET", _GROUPS, engine.list_handler(VARIATION_GROUPS, operations)
    yield "GET", f"{_GROUPS}/{{id}}", engine.show_handler(VARIATION_GROUPS, show)
    yield "DELETE", f"{_GROUPS}/{{id}}", engine.delete_handler(VARIATION_GROUPS, operations["VariationGroupDelete"])
    yield "POST", _GROUPS, _write_group(create, show, status=201)
    yield "PUT", f"{_GROUPS}/{{id}}", _write_group(update, show, status=200)
    members = f"{_GROUPS}/{{id}}/{_VARIATIONS}"
    nested = NestedList(_VARIATIONS, _MEMBERS, PRODUCTS, parent_filter=_FILTER)
    owner = Owner(VARIATION_GROUPS, _FILTER, "id")
    product = operations["ProductUpdate"]
    find = reference_finder(operations, VARIATION_GROUPS, _MEMBERS, PRODUCTS, _FILTER)
    change, delete = (
        engine.update_handler(PRODUCTS, product, operations["ProductShow"], operations["DefaultLanguage"]),
        engine.delete_handler(PRODUCTS, operations["ProductDelete"]),
    )
    for method, path, handler in (
        ("GET", members, engine.nested_handler(VARIATION_GROUPS, nested, operations)),
        ("POST", members, engine.create_handler(PRODUCTS, operations["ProductCreate"], owner)),
        ("GET", f"{members}/{{product_id}}", show_below(operations, VARIATION_GROUPS, PRODUCTS, find)),
        ("PUT", f"{members}/{{product_id}}", change_below(PRODUCTS, product, change, find)),
        ("DELETE", f"{members}/{{product_id}}", change_below(PRODUCTS, product, delete, find)),
    ):
        yield method, path, _with_number(handler, show)


def _of_variations(operations: Operations) -> Iterator[tuple[str, str, Handler]]:
    show, update, language = (operations[name] for name in ("ProductShow", "ProductUpdate", "DefaultLanguage"))
    single = f"{_VARIATIONS}/{{id}}"
    yield "GET", _VARIATIONS, engine.list_handler(PRODUCTS, operations, narrowed={"has_variation_group": True})
    yield "POST", _VARIATIONS, engine.create_handler(PRODUCTS, operations["ProductCreate"])
    yield "GET", single, engine.show_handler(PRODUCTS, show)
    yield "PUT", single, engine.update_handler(PRODUCTS, update, show, language)
    yield "DELETE", single, engine.delete_handler(PRODUCTS, operations["ProductDelete"])
    yield "POST", f"{single}/detach_product_variation", _act(operations["VariationDetach"])
    yield "POST", f"{single}/set_default_product_variation", _act(operations["VariationSetDefault"])
    generate = _generate(operations["VariationsGenerate"], operations["VariationGroupShow"])
    yield "POST", f"{single}/generate_product_variations", generate


def _with_number(handler: Handler, show: FacadeOperation) -> Handler:
    """Return the handler of a path below a group, which may be named by its code."""

    async def serve(request: web.Request) -> web.StreamResponse:
        reference = request.match_info["id"]
        if not reference.isdecimal():
            request.match_info["id"] = str((await _read_group(request[SCOPE], show, reference))["id"])
        return await handler(request)

    return serve


async def _read_group(scope: Scope, show: FacadeOperation, reference: str) -> Record:
    record = (await execute(scope, show, {"id": reference}))["record"]
    if record is None:
        raise NotFound(VARIATION_GROUPS.display_name)
    return _render(record)


async def _answer(scope: Scope, show: FacadeOperation, done: Mapping[str, Any], status: int) -> web.Response:
    group = await _read_group(scope, show, str(done["number"]))
    return json_response({"group": group, "products_status": done["statuses"]}, status=status)


def _write_group(operation: FacadeOperation, show: FacadeOperation, *, status: int) -> Handler:
    async def write(request: web.Request) -> web.Response:
        scope = authorize_entity(request, VARIATION_GROUPS, MANAGE, operation)
        body = await read_legacy(request)
        if status == 201:
            check_required(body, ("product_ids",))
        path = {"id": request.match_info["id"]} if "id" in request.match_info else {}
        done = await execute_mutation(scope, operation, {"input": _parse(body), **path}, _rename, VARIATION_GROUPS)
        return await _answer(scope, show, done, status)

    return write


def _act(operation: FacadeOperation) -> Handler:
    async def act(request: web.Request) -> web.Response:
        scope = authorize_entity(request, PRODUCTS, MANAGE, operation)
        await read_legacy(request)
        done = await execute_mutation(scope, operation, {"id": request.match_info["id"]}, _rename, PRODUCTS)
        return json_response(render_ids(scope, done), status=201)

    return act


def _generate(operation: FacadeOperation, show: FacadeOperation) -> Handler:
    async def generate(request: web.Request) -> web.Response:
        scope = authorize_entity(request, PRODUCTS, MANAGE, operation)
        body = await read_legacy(request)
        check_required(body, ("combinations",))
        combinations = body["combinations"]
        entries = list(combinations.values()) if isinstance(combinations, Mapping) else combinations
        if not isinstance(entries, list) or not all(isinstance(entry, Mapping) for entry in entries):
            raise ValidationFailed(
                "combinations is no list of objects of feature_id to variant_id", field="combinations"
            )
        variables = {"id": request.match_info["id"], "combinations": entries}
        done = await execute_mutation(scope, operation, variables, _rename, PRODUCTS)
        return await _answer(scope, show, done, 201)

    return generate
