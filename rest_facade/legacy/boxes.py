"""Serve product boxes and what is said of them: read-only, ids as integers, no paging (contract, Product boxes descriptions)."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from kernel.errors import NotFound
from resolvers.execute import FacadeOperation, execute
from rest_facade.legacy.engine import VIEW, Operations, admit
from rest_facade.legacy.resource import Record, Resource
from rest_facade.legacy.value_types import WEIGHT
from rest_facade.responses import json_response
from rest_facade.routing import Handler, Needs, Route

BOXES = Resource(path="productBoxes", key="box_id", thing="box", area="catalog", does=(), fields=())
_MEASURES = ("height", "width", "length")
_WEIGHTS = ("weight", "max_weight")


def routes(operations: Operations) -> list[Route]:
    """List the routes."""
    declared = (
        ("/api/productBoxes", _lister(operations["BoxList"], "boxes", _box_shown)),
        ("/api/productBoxes/{id}", _box_shower(operations["BoxShow"])),
        ("/api/productBoxesDescriptions", _lister(operations["BoxDescriptionList"], "descriptions", dict)),
        ("/api/productBoxesDescriptions/{id}", _description_shower(operations["BoxDescriptionShow"])),
    )
    return [Route("GET", path, handler, Needs.LEGACY_ADMIN) for path, handler in declared]


def _box_shown(box: Record) -> Record:
    """Show measures in centimetres and weights in kilograms."""
    assert WEIGHT.show is not None
    for name in _MEASURES:
        centimetres, millimetres = divmod(box[name], 10)
        box[name] = f"{centimetres}.{millimetres}"
    for name in _WEIGHTS:
        box[name] = WEIGHT.show(box[name])
    return box


def _lister(operation: FacadeOperation, collection: str, show: Any) -> Handler:
    async def listed(request: web.Request) -> web.Response:
        scope = admit(request, BOXES, VIEW, operation)
        rows = (await execute(scope, operation, {}))["rows"]
        return json_response({collection: [show(row) for row in rows]})

    return listed


def _box_shower(operation: FacadeOperation) -> Handler:
    async def shown(request: web.Request) -> web.Response:
        scope = admit(request, BOXES, VIEW, operation)
        box = (await execute(scope, operation, {"id": request.match_info["id"]}))["record"]
        if box is None:
            raise NotFound("box")
        return json_response(_box_shown(box))

    return shown


def _description_shower(operation: FacadeOperation) -> Handler:
    async def shown(request: web.Request) -> web.Response:
        """Show the description in the language asked for (`lang_code`), else the store's Portuguese, else the first."""
        scope = admit(request, BOXES, VIEW, operation)
        rows = (await execute(scope, operation, {"box_id": [request.match_info["id"]]}))["rows"]
        if not rows:
            raise NotFound("box")
        wanted = (request.query.get("lang_code"), "pt", "pt-BR")
        by_language = {row["lang_code"]: row for row in reversed(rows)}
        named = next((by_language[code] for code in wanted if code in by_language), rows[0])
        return json_response(named)

    return shown
