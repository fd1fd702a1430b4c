"""Serve the combinations of one product: list, one, create, a batch, update, delete (contract, Combinations under the versioned base).

They have no description of their own, for two ids name a record here, the position is a number, and a batch is all or nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aiohttp import web

from kernel.errors import NotFound, ValidationFailed
from resolvers.execute import FacadeOperation, execute
from rest_facade.bodies import read_legacy
from rest_facade.legacy.engine import MANAGE, VIEW, Operations, admit
from rest_facade.legacy.queries import envelope, query_reader
from rest_facade.legacy.reshape import body_reader, renamer, require, row_shower
from rest_facade.legacy.resource import Record, RecordField, Resource, id_field
from rest_facade.legacy.resources.options import CHOICES, COMBINATION_WORDS
from rest_facade.legacy.resources.pictures import pair_from, pair_shown
from rest_facade.legacy.value_types import ID, NUMBER, PLAIN, SIGNED_MONEY, SMALL_NUMBER, TEXT, ValueType
from rest_facade.responses import json_response
from rest_facade.routing import Handler, Needs, Route

PATH = "/api/products/{product_id}/options/combinations"
OPERATIONS = ("List", "Show", "Create", "Update", "Delete")
PREFIX = "ProductCombination"
_REQUIRED = {"combination": "combination is required"}


def _take_up_picture(record: Record) -> None:
    """Make one image pair of the columns that hold the picture."""
    image = {name: record.pop(f"image_{name}") for name in ("url", "alt", "width", "height")}
    if not image["url"]:
        record["image_pairs"] = {}
        return
    named = {"number": record["combination_id"], "product_number": record["combination_id"], "position": 0}
    pair = pair_shown({**image, **named})
    pair["detailed"] |= {
        "object_type": "product_option",
        "absolute_path": pair["detailed"]["image_path"],
        "relative_path": pair["detailed"]["image_path"].partition("://")[2].partition("/")[2],
    }
    record["image_pairs"] = pair


COMBINATIONS = Resource(
    path="products/{product_id}/options/combinations",
    collection="combinations",
    key="combination_id",
    thing="combination",
    area="catalog",
    operations=PREFIX,
    fields=(
        id_field("combination_id"),
        RecordField("product_id", ID),
        RecordField("product_code", TEXT, "sku", "sku"),
        RecordField("combination_hash", PLAIN),
        RecordField("combination", CHOICES, "choices"),
        RecordField("amount", NUMBER, "stock", "stock"),
        RecordField("price", SIGNED_MONEY, "price_cents", "price_cents"),
        RecordField(
            "position", ValueType(read=SMALL_NUMBER.read, seek=SMALL_NUMBER.seek), "position", "position"
        ),
        RecordField("image_pairs", ValueType(read=pair_from), "image"),
    ),
    says=COMBINATION_WORDS,
    prepare=_take_up_picture,
    sorts={"position": "POSITION", "product_code": "SKU", "amount": "STOCK", "combination_id": "ID"},
    default_sort=("position", "asc"),
)

_show = row_shower(
    [field for field in COMBINATIONS.fields if field.name != "image_pairs"], prepare=_take_up_picture
)
_read = body_reader(COMBINATIONS.fields)
_rename = renamer(COMBINATIONS.fields, COMBINATIONS.says)
_read_query = query_reader(COMBINATIONS)


def routes(operations: Operations) -> list[Route]:
    """List the routes; the batch's address is mounted before that of a single record."""
    made = {word: operations[f"{PREFIX}{word}"] for word in OPERATIONS}
    declared = (
        ("GET", PATH, _lister(made["List"]), False),
        ("POST", PATH, _creator(made["Create"]), True),
        ("POST", f"{PATH}/batch", _batch(made["Create"]), True),
        ("GET", f"{PATH}/{{id}}", _shower(made["Show"]), False),
        ("PUT", f"{PATH}/{{id}}", _updater(made["Update"]), False),
        ("DELETE", f"{PATH}/{{id}}", _deleter(made["Delete"]), False),
    )
    return [
        Route(method, path, handler, Needs.LEGACY_ADMIN, creates=creates)
        for method, path, handler, creates in declared
    ]


def _lister(operation: FacadeOperation) -> Handler:
    async def listed(request: web.Request) -> web.Response:
        scope = admit(request, COMBINATIONS, VIEW, operation)
        asked = _read_query(request.rel_url.raw_query_string, scope)
        asked.is_keyed = False
        product = request.match_info["product_id"]
        asked.filter["product_id"] = [product]
        data = await execute(scope, operation, {**asked.variables, "product_id": product})
        if data["parent"] is None:
            raise NotFound("product")
        page: Record = {"items": [], "total": 0} if asked.matches_nothing else data["page"]
        rows = [_show(row) for row in page["items"]]
        return json_response(envelope(COMBINATIONS, scope, asked, rows, page["total"]))

    return listed


def _shower(operation: FacadeOperation) -> Handler:
    async def shown(request: web.Request) -> web.Response:
        scope = admit(request, COMBINATIONS, VIEW, operation)
        address = request.match_info
        wanted = {"product_id": [address["product_id"]], "id": [address["id"]]}
        found = (await execute(scope, operation, {"filter": wanted}))["records"]
        if not found:
            raise NotFound(COMBINATIONS.thing)
        return json_response(_show(found[0]))

    return shown


def _creator(operation: FacadeOperation) -> Handler:
    async def created(request: web.Request) -> web.Response:
        scope = admit(request, COMBINATIONS, MANAGE, operation)
        body = await read_legacy(request)
        require(body, _REQUIRED)
        variables = {"product_id": request.match_info["product_id"], "inputs": [_read(body)]}
        try:
            [made] = (await execute(scope, operation, variables))["done"]
        except ValidationFailed as refusal:
            errors = refusal.details.get("errors") or [{"message": refusal.message}]
            message = "; ".join(_rename(error["message"]) for error in errors)
            raise ValidationFailed(message, fields=refusal.fields) from refusal
        return json_response(_ids(made), status=201)

    return created


def _batch(operation: FacadeOperation) -> Handler:
    async def created(request: web.Request) -> web.Response:
        scope = admit(request, COMBINATIONS, MANAGE, operation)
        body = await read_legacy(request)
        require(body, {"combinations": "combinations is required"})
        given = body["combinations"]
        entries = list(given.values()) if isinstance(given, Mapping) else given
        if not isinstance(entries, list):
            raise ValidationFailed("combinations is no list; expected an array", field="combinations")
        variables = {"product_id": request.match_info["product_id"], "inputs": _inputs(entries)}
        try:
            made = (await execute(scope, operation, variables))["done"]
        except ValidationFailed as refusal:
            if "errors" not in refusal.details:
                raise
            raise _refused(_told(error) for error in refusal.details["errors"]) from refusal
        return json_response({"combinations": [_ids(each) for each in made]}, status=201)

    return created


def _inputs(entries: list[Any]) -> list[dict[str, Any]]:
    """Read every entry, or tell of each that can't be read."""
    inputs: list[dict[str, Any]] = []
    errors: list[Record] = []
    for index, entry in enumerate(entries):
        try:
            if not isinstance(entry, Mapping):
                raise ValidationFailed("a combination is an object", field="combination")
            require(entry, _REQUIRED)
            inputs.append(_read(entry))
        except ValidationFailed as refusal:
            errors.append({"index": index, "field": refusal.field, "message": refusal.message})
    if errors:
        raise _refused(errors)
    return inputs


def _refused(errors: Any) -> ValidationFailed:
    told = list(errors)
    first = told[0]
    return ValidationFailed(
        f"combinations[{first['index']}]: {first['message']}", field="combinations", details={"errors": told}
    )


def _told(error: Mapping[str, Any]) -> Record:
    """Tell of a wrong entry in the words of the legacy layer."""
    field = error["field"].partition(".")[0]
    named = {"image": "image_pairs", **COMBINATION_WORDS}.get(field, field)
    return {"index": error["index"], "field": named, "message": _rename(error["message"])}


def _updater(operation: FacadeOperation) -> Handler:
    async def updated(request: web.Request) -> web.Response:
        scope = admit(request, COMBINATIONS, MANAGE, operation)
        body = await read_legacy(request)
        variables = {**request.match_info, "input": _read(body)}
        try:
            done = (await execute(scope, operation, variables))["done"]
        except ValidationFailed as refusal:
            raise ValidationFailed(_rename(refusal.message), fields=refusal.fields) from refusal
        return json_response(_ids(done))

    return updated


def _deleter(operation: FacadeOperation) -> Handler:
    async def deleted(request: web.Request) -> web.Response:
        scope = admit(request, COMBINATIONS, MANAGE, operation)
        await execute(scope, operation, dict(request.match_info))
        return web.Response(status=204)

    return deleted


def _ids(made: Record) -> Record:
    return {"combination_id": str(made["combination_id"]), "combination_hash": made["combination_hash"]}
