"""List the routes by which apps manage webhook endpoints and rotate their secret, `/api/admin/webhooks`.

Managing its own endpoints needs no scope; each subscribed event needs the scope to read its subject
(docs/reference/apps.md#webhooks).
"""

from __future__ import annotations

from collections.abc import Mapping

from aiohttp import web

from resolvers.execute import FacadeOperation, authorize, execute
from rest_facade.bodies import read_json_object
from rest_facade.responses import json_response
from rest_facade.routing import SCOPE, Credential, Handler, Route
from rest_facade.webhooks import WebhookEndpointHandlers

PATH = "/api/admin/webhooks"

_SECRET_FIELDS = ("client_secret", "immediate")


def routes(operations: Mapping[str, FacadeOperation]) -> list[Route]:
    """List the routes."""
    rotate = _rotation_handler(operations["AppClientSecretRotate"])
    return [
        Route("POST", f"{PATH}/rotate-secret", rotate, Credential.APP),
        *WebhookEndpointHandlers(PATH, "App", Credential.APP, operations, size_parameter="limit").routes(),
    ]


def _rotation_handler(operation: FacadeOperation) -> Handler:
    async def rotate(request: web.Request) -> web.Response:
        """Replace the app's secret: `{client_secret, immediate?}`."""
        scope = authorize(request[SCOPE], operation)
        body = await read_json_object(request)
        values = {name: body[name] for name in _SECRET_FIELDS if body.get(name) is not None}
        data = await execute(scope, operation, values)
        return json_response(data[operation.fields[0]])

    return rotate
