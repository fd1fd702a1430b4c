"""Serve the combinations of a product: list, show, create, batch, update, delete (docs/reference/legacy.md#combinations).

Most have hand-written handlers because two ids identify a record, the position is a number, and a batch is atomic.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import itemgetter
from typing import Any

from aiohttp import web

from kernel.errors import DomainError, NotFound, ValidationFailed
from kernel.json_schema import NULL, one_of
from resolvers.execute import FacadeOperation, execute
from rest_facade.bodies import read_legacy
from rest_facade.legacy.engine import (
    MANAGE,
    VIEW,
    Operations,
    authorize_entity,
    delete_handler,
    render_ids,
    update_handler,
)
from rest_facade.legacy.large_lists import LargeList, is_large, stream_list
from rest_facade.legacy.queries import envelope, query_parser
from rest_facade.legacy.reshape import body_parser, check_required, dialect_renderer, message_renamer
from rest_facade.legacy.resource import Record, RecordField, Resource, id_field
from rest_facade.legacy.resources.images import PAIR, PAIR_INPUT, after_scheme, parse_pair, render_pair
from rest_facade.legacy.resources.options import CHOICES, COMBINATION_TERMS, FREIGHT_FIELDS
from rest_facade.legacy.value_types import BIGINT, ID, JSON_INTEGER, RAW, SIGNED_MONEY, TEXT, ValueType
from rest_facade.responses import json_response
from rest_facade.routing import Credential, Handler, Route

PATH = "/api/products/{product_id}/options/combinations"
OPERATIONS = ("List", "Show", "Before", "Create", "Update", "Delete")
PREFIX = "ProductCombination"
_REQUIRED = ("combination",)


def _build_image_pair(record: Record) -> None:
    """Build the image pair from the columns of the image."""
    image = {name: record.pop(f"image_{name}") for name in ("url", "alt", "width", "height")}
    if not image["url"]:
        record["image_pairs"] = {}
        return
    ids = {"number": record["combination_id"], "product_number": record["combination_id"], "position": 0}
    pair = render_pair({**image, **ids})
    pair["detailed"] |= {
        "object_type": "product_option",
        "absolute_path": image["url"],
        "relative_path": after_scheme(image["url"]).partition("/")[2],
    }
    record["image_pairs"] = pair


COMBINATIONS = Resource(
    path="products/{product_id}/options/combinations",
    collection="combinations",
    key="combination_id",
    display_name="combination",
    privilege_area="catalog",
    operations=PREFIX,
    fields=(
        id_field("combination_id"),
        RecordField("product_id", ID),
        RecordField("product_code", TEXT, "sku", "sku"),
        RecordField("combination_hash", RAW, cscart_id="combination_id"),
        RecordField("combination", CHOICES, "choices"),
        RecordField("amount", BIGINT, "stock", "stock"),
        RecordField("price", SIGNED_MONEY, "price_cents", "price_cents"),
        RecordField("position", JSON_INTEGER, "position", "position"),
        *FREIGHT_FIELDS,
        RecordField(
            "image_pairs", ValueType(parse=parse_pair, schema=PAIR, body_schema=one_of(PAIR_INPUT, NULL)), "image"
        ),
    ),
    message_terms=COMBINATION_TERMS,
    prepare=_build_image_pair,
    sorts={"position": "POSITION", "product_code": "SKU", "amount": "STOCK", "combination_id": "ID"},
    default_sort=("position", "asc"),
)

_renderer = dialect_renderer(COMBINATIONS)
_parse = body_parser(COMBINATIONS.fields)
_rename = message_renamer(COMBINATIONS.fields, COMBINATIONS.message_terms)
_parse_list_query = query_parser(COMBINATIONS)


def routes(operations: Operations) -> list[Route]:
    """List the routes; the batch path is mounted before that of a single record."""
    by_action = {action: operations[f"{PREFIX}{action}"] for action in OPERATIONS}
    declared = (
        ("GET", PATH, _list_handler(by_action["List"], operations["CombinationNumbers"]), False),
        ("POST", PATH, _create_handler(by_action["Create"]), True),
        ("POST", f"{PATH}/batch", _batch_handler(by_action["Create"]), True),
        ("GET", f"{PATH}/{{id}}", _show_handler(by_action["Show"]), False),
        ("PUT", f"{PATH}/{{id}}", update_handler(COMBINATIONS, by_action["Update"], by_action["Before"]), False),
        ("DELETE", f"{PATH}/{{id}}", delete_handler(COMBINATIONS, by_action["Delete"]), False),
    )
    return [
        Route(method, path, handler, Credential.LEGACY_ADMIN, creates=creates)
        for method, path, handler, creates in declared
    ]


def _list_handler(operation: FacadeOperation, numbers: FacadeOperation) -> Handler:
    large_list = LargeList(COMBINATIONS, operation, numbers)

    async def list_combinations(request: web.Request) -> web.StreamResponse:
        scope = authorize_entity(request, COMBINATIONS, VIEW, operation)
        query = _parse_list_query(request.rel_url.raw_query_string, scope)
        query.is_keyed = False
        product, render = request.match_info["product_id"], _renderer(scope)
        query.filter["product_id"] = [product]
        size = {"per_page": 0} if is_large(query) else {}
        data = await execute(scope, operation, {**query.variables, "product_id": product, **size})
        if data["parent"] is None:
            raise NotFound("product")
        if is_large(query):
            variables = {"product_id": product}
            return await stream_list(request, scope, large_list, query, variables, render, COMBINATIONS.name)
        page: Record = {"items": [], "total": 0} if query.matches_nothing else data["page"]
        rows = [render(row) for row in page["items"]]
        return json_response(envelope(COMBINATIONS, scope, query, rows, page["total"]), headers=query.headers)

    return list_combinations


def _show_handler(operation: FacadeOperation) -> Handler:
    async def show(request: web.Request) -> web.Response:
        scope = authorize_entity(request, COMBINATIONS, VIEW, operation)
        path = request.match_info
        filters = {"product_id": [path["product_id"]], "id": [path["id"]]}
        records = (await execute(scope, operation, {"filter": filters}))["records"]
        if not records:
            raise NotFound(COMBINATIONS.display_name)
        return json_response(_renderer(scope)(records[0]))

    return show


def _create_handler(operation: FacadeOperation) -> Handler:
    async def create(request: web.Request) -> web.Response:
        scope = authorize_entity(request, COMBINATIONS, MANAGE, operation)
        body = await read_legacy(request)
        check_required(body, _REQUIRED)
        variables = {"product_id": request.match_info["product_id"], "inputs": [_parse(body)]}
        try:
            [ids] = (await execute(scope, operation, variables))["done"]
        except ValidationFailed as error:
            errors = error.details.get("errors") or [{"message": error.message}]
            message = "; ".join(_rename(error["message"]) for error in errors)
            raise ValidationFailed(message, fields=error.fields) from error
        return json_response(render_ids(scope, ids, COMBINATIONS), status=201)

    return create


def _batch_handler(operation: FacadeOperation) -> Handler:
    async def create(request: web.Request) -> web.Response:
        scope = authorize_entity(request, COMBINATIONS, MANAGE, operation)
        body = await read_legacy(request)
        check_required(body, ("combinations",))
        value = body["combinations"]
        entries = list(value.values()) if isinstance(value, Mapping) else value
        if not isinstance(entries, list):
            raise ValidationFailed("combinations is no list; expected an array", field="combinations")
        inputs, refused = _parse_entries(entries)
        variables = {"product_id": request.match_info["product_id"], "inputs": inputs}
        try:
            created = (await execute(scope, operation, variables))["done"]
        except DomainError as error:
            errors = error.details.get("errors", ())
            if not errors and not refused:
                raise
            raise _batch_error([*refused, *map(_rename_error, errors)]) from error
        return json_response({"combinations": [render_ids(scope, ids, COMBINATIONS) for ids in created]}, status=201)

    return create


def _parse_entries(entries: list[Any]) -> tuple[list[dict[str, Any]], list[Record]]:
    """Return the input of every entry, and the errors of those that can't be parsed, which are marked as refused."""
    inputs: list[dict[str, Any]] = []
    errors: list[Record] = []
    for index, entry in enumerate(entries):
        try:
            if not isinstance(entry, Mapping):
                raise ValidationFailed("a combination is an object", field="combination")
            check_required(entry, _REQUIRED)
            inputs.append(_parse(entry))
        except ValidationFailed as error:
            inputs.append({"refused": True})
            errors.append({"index": index, "field": error.field, "message": error.message})
    return inputs, errors


def _batch_error(errors: Iterable[Record]) -> ValidationFailed:
    all_errors = sorted(errors, key=itemgetter("index"))
    first = all_errors[0]
    return ValidationFailed(
        f"combinations[{first['index']}]: {first['message']}", field="combinations", details={"errors": all_errors}
    )


def _rename_error(error: Mapping[str, Any]) -> Record:
    """Return the error of an entry with legacy field names."""
    field = error["field"].partition(".")[0]
    legacy_name = {"image": "image_pairs", **COMBINATION_TERMS}.get(field, field)
    return {"index": error["index"], "field": legacy_name, "message": _rename(error["message"])}
