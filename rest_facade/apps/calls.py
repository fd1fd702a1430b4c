"""List the routes of the calls that stores make to an app, `/api/admin/calls`: its log and its addresses.

An app needs no scope for what is its own (docs/reference/apps.md#calls-to-apps).
"""

from __future__ import annotations

from collections.abc import Mapping

from aiohttp import web

from resolvers.execute import FacadeOperation, authorize
from rest_facade.bodies import read_json_object
from rest_facade.collections import Collection
from rest_facade.list_parameters import FilterParameter, ListDefinition, choice_parser
from rest_facade.records import CollectionHandlers, execute_with_codes
from rest_facade.responses import json_response
from rest_facade.routing import SCOPE, Credential, Handler, Route

PATH = "/api/admin/calls"
CALL_STATES = ("answered", "refused", "failed")
CALL_KINDS = ("payments", "shipping_rates")
_CODES = dict.fromkeys(CALL_KINDS, "url_invalid")

CALLS = Collection(
    name="calls",
    display_name="call",
    plural="Calls",
    singular="Call",
    list_definition=ListDefinition(
        filters={
            "state": FilterParameter("state", choice_parser("state", CALL_STATES)),
            "call": FilterParameter("call", str),
            "subject_id": FilterParameter("subject_id", str),
        },
        sorts={"id": "ID"},
        size_parameter="limit",
    ),
)


def routes(operations: Mapping[str, FacadeOperation]) -> list[Route]:
    """List the routes."""
    records = CollectionHandlers(CALLS, "App", operations)
    return [
        Route("PUT", f"{PATH}/urls", _urls_handler(operations["AppCallUrlsSet"]), Credential.APP),
        *records.routes(PATH, Credential.APP),
    ]


def _urls_handler(operation: FacadeOperation) -> Handler:
    async def set_urls(request: web.Request) -> web.Response:
        """Change the app's addresses: `{client_secret, payments?, shipping_rates?}`; null removes one."""
        scope = authorize(request[SCOPE], operation)
        body = await read_json_object(request)
        variables = {
            "client_secret": body.get("client_secret"),
            "input": {name: body[name] for name in CALL_KINDS if name in body},
        }
        return json_response(await execute_with_codes(scope, operation, variables, _CODES))

    return set_urls
