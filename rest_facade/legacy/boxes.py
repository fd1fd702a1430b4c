"""Serve product boxes and their descriptions: read-only, integer ids, no pagination (docs/reference/legacy.md#product-boxes)."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from kernel.errors import NotFound
from resolvers.execute import FacadeOperation, execute
from rest_facade.legacy.engine import VIEW, Operations, authorize_entity
from rest_facade.legacy.resource import Record, Resource
from rest_facade.legacy.value_types import LENGTH, WEIGHT
from rest_facade.responses import json_response
from rest_facade.routing import Credential, Handler, Route

BOXES = Resource(path="productBoxes", key="box_id", display_name="box", privilege_area="catalog", actions=(), fields=())
_MEASURES = ("height", "width", "length")
_WEIGHTS = ("weight", "max_weight")


def routes(operations: Operations) -> list[Route]:
    """List the routes."""
    declared = (
        ("/api/productBoxes", _list_handler(operations["BoxList"], "boxes", _render_box)),
        ("/api/productBoxes/{id}", _box_handler(operations["BoxShow"])),
        ("/api/productBoxesDescriptions", _list_handler(operations["BoxDescriptionList"], "descriptions", dict)),
        ("/api/productBoxesDescriptions/{id}", _description_handler(operations["BoxDescriptionShow"])),
    )
    return [Route("GET", path, handler, Credential.LEGACY_ADMIN) for path, handler in declared]


def _render_box(box: Record) -> Record:
    """Render dimensions in centimetres and weights in kilograms."""
    assert LENGTH.render is not None
    assert WEIGHT.render is not None
    for name in _MEASURES:
        box[name] = LENGTH.render(box[name])
    for name in _WEIGHTS:
        box[name] = WEIGHT.render(box[name])
    return box


def _list_handler(operation: FacadeOperation, collection: str, render: Any) -> Handler:
    async def list_rows(request: web.Request) -> web.Response:
        scope = authorize_entity(request, BOXES, VIEW, operation)
        rows = (await execute(scope, operation, {}))["rows"]
        return json_response({collection: [render(row) for row in rows]})

    return list_rows


def _box_handler(operation: FacadeOperation) -> Handler:
    async def show(request: web.Request) -> web.Response:
        scope = authorize_entity(request, BOXES, VIEW, operation)
        box = (await execute(scope, operation, {"id": request.match_info["id"]}))["record"]
        if box is None:
            raise NotFound("box")
        return json_response(_render_box(box))

    return show


def _description_handler(operation: FacadeOperation) -> Handler:
    async def show(request: web.Request) -> web.Response:
        scope = authorize_entity(request, BOXES, VIEW, operation)
        rows = (await execute(scope, operation, {"box_id": [request.match_info["id"]]}))["rows"]
        if not rows:
            raise NotFound("box")
        languages = (request.query.get("lang_code"), request.query.get("sl"), "pt", "pt-BR")
        by_language = {row["lang_code"]: row for row in reversed(rows)}
        description = next((by_language[code] for code in languages if code in by_language), rows[0])
        return json_response(description)

    return show
