"""Serve `POST auth_tokens`, which issues Bearer tokens and has its own error format (docs/reference/legacy.md#auth-tokens)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aiohttp import web

from kernel.text import InvalidValue
from resolvers.execute import FacadeOperation, authorize, execute
from rest_facade.bodies import read_legacy
from rest_facade.legacy.value_types import document, parse_text
from rest_facade.responses import json_response
from rest_facade.routing import SCOPE, Credential, Route

PATH = "/api/auth_tokens"

_CNPJ = document(14)
# Body field, operation variable, parser.
_FIELDS = (
    ("email", "email", parse_text),
    ("CNPJ", "cnpj", _CNPJ.parse),
    ("password", "password", parse_text),
    ("code", "code", parse_text),
)


def route(operations: Mapping[str, FacadeOperation]) -> Route:
    """Describe the route."""
    operation = operations["AuthTokenCreate"]

    async def create(request: web.Request) -> web.Response:
        scope = authorize(request[SCOPE], operation)
        body = await read_legacy(request)
        data = await execute(scope, operation, _variables(body))
        return json_response(data["done"], status=201)

    return Route("POST", PATH, create, Credential.STORE, attempt_limit="auth_tokens")


def _variables(body: Mapping[str, Any]) -> dict[str, Any]:
    variables: dict[str, Any] = {}
    for name, variable, parse in _FIELDS:
        assert parse is not None
        try:
            variables[variable] = parse(body.get(name), name)
        except InvalidValue:
            variables[variable] = None  # treated as missing: the error names the field
    return variables
