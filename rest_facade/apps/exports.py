"""Stream all records of a collection as JSON Lines (docs/reference/apps.md#exports)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

from aiohttp import web

from kernel.scope import Scope
from resolvers.execute import FacadeOperation, authorize, execute_field
from rest_facade import collections
from rest_facade.apps.records import ADMIN
from rest_facade.collections import Collection
from rest_facade.list_parameters import query_of
from rest_facade.responses import to_json
from rest_facade.routing import SCOPE, Credential, Handler, Route
from rest_facade.streaming import send_parts

CONTENT_TYPE = "application/jsonl"
COLLECTIONS = (collections.PRODUCTS, collections.CATEGORIES, collections.ORDERS, collections.USERS)


def path_of(collection: Collection) -> str:
    """Return the path of a collection's export."""
    return f"{ADMIN}/export/{collection.name}.jsonl"


def operation_of(collection: Collection) -> str:
    """Return the name of the operation that reads a page of the export."""
    return f"App{collection.plural}Export"


def routes(operations: Mapping[str, FacadeOperation]) -> list[Route]:
    """List the routes."""
    return [
        Route("GET", path_of(collection), _handler(collection, operations[operation_of(collection)]), Credential.APP)
        for collection in COLLECTIONS
    ]


def _handler(collection: Collection, operation: FacadeOperation) -> Handler:
    async def export(request: web.Request) -> web.StreamResponse:
        """Send all records that match the filters of the list, in the order of their creation."""
        scope = authorize(request[SCOPE], operation)
        variables = {"filter": collection.list_definition.filter(query_of(request), scope.store)}
        # Before the status is sent: what is refused has the error's.
        first = await execute_field(scope, operation, variables)
        return await send_parts(request, CONTENT_TYPE, _lines(scope, operation, variables, first))

    return export


async def _lines(
    scope: Scope, operation: FacadeOperation, variables: Mapping[str, Any], page: Mapping[str, Any]
) -> AsyncIterator[bytes]:
    while True:
        yield b"".join([to_json(edge["node"]) + b"\n" for edge in page["edges"]])
        if not page["page_info"]["has_next_page"]:
            return
        page = await execute_field(scope, operation, {**variables, "after": page["page_info"]["end_cursor"]})
