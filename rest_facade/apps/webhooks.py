"""Be the routes by which apps subscribe to events and rotate their secret, `/api/admin/webhooks` (decisions section 7).

An app needs no scope to manage what is its own; each event it subscribes to needs the scope that reads its subject.
"""

from __future__ import annotations

from collections.abc import Mapping

from aiohttp import web

from resolvers.execute import FacadeOperation, authorize, execute
from rest_facade.bodies import read_json_object
from rest_facade.responses import json_response
from rest_facade.routing import Handler, Needs, Route, scope_of
from rest_facade.webhooks import Endpoints

PATH = "/api/admin/webhooks"

_SECRET_FIELDS = ("client_secret", "immediate")
# A secret must not stay in any cache on the way.
_NOT_STORED = {"Cache-Control": "no-store"}


def routes(operations: Mapping[str, FacadeOperation]) -> list[Route]:
    """List the routes."""
    rotate = _rotation(operations["AppClientSecretRotate"])
    return [
        Route("POST", f"{PATH}/rotate-secret", rotate, Needs.APP),
        *Endpoints(PATH, "App", Needs.APP, operations, size="limit").routes(),
    ]


def _rotation(operation: FacadeOperation) -> Handler:
    async def rotate(request: web.Request) -> web.Response:
        """Give the app a new secret for its present one: `{client_secret, immediate?}`."""
        scope = scope_of(request)
        authorize(scope, operation)
        body = await read_json_object(request)
        given = {name: body[name] for name in _SECRET_FIELDS if body.get(name) is not None}
        data = await execute(scope, operation, given)
        return json_response(data[operation.fields[0]], headers=_NOT_STORED)

    return rotate
