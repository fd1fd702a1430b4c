"""Give out Bearer tokens: `POST auth_tokens`, with the error form of its own (legacy contract, Auth tokens and Errors)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aiohttp import web

from kernel.text import Malformed
from resolvers.execute import FacadeOperation, authorize, execute
from rest_facade.bodies import read_legacy
from rest_facade.legacy.value_types import document, text_from
from rest_facade.responses import json_response
from rest_facade.routing import Needs, Route, scope_of

PATH = "/api/auth_tokens"

_CNPJ = document(14)
# What a body calls it, the operation's variable, and how it is read.
_TAKES = (
    ("email", "email", text_from),
    ("CNPJ", "cnpj", _CNPJ.read),
    ("password", "password", text_from),
    ("code", "code", text_from),
)


def route(operations: Mapping[str, FacadeOperation]) -> Route:
    """Describe the route; its family writes refusals in the route's own form."""
    operation = operations["AuthTokenCreate"]

    async def create(request: web.Request) -> web.Response:
        scope = scope_of(request)
        authorize(scope, operation)
        body = await read_legacy(request)
        data = await execute(scope, operation, _given(body))
        return json_response(data["done"], status=201, headers={"Cache-Control": "no-store"})

    return Route("POST", PATH, create, Needs.STORE, attempt="auth_tokens")


def _given(body: Mapping[str, Any]) -> dict[str, Any]:
    given = {}
    for name, variable, read in _TAKES:
        assert read is not None
        try:
            given[variable] = read(body.get(name), name)
        except Malformed:
            given[variable] = None  # as good as not given: the refusal names the field
    return given
