"""Be the administrative routes over the shop's records, `/api/v1/admin` (decisions section 6).

Lists are `{<collection>: [...], total, page, per_page}`, single records come bare, creation answers 201 and a deletion 204 without
a body. Each collection is described by what it is called, how it is listed and what a body may hold; the handlers serve them all.
Whom a route lets in, administrators and apps alike, is said by the root field of its operation, and asked before a body is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from kernel.errors import NotFound, ValidationFailed
from kernel.ids import parse_uuid
from kernel.scope import Scope
from resolvers.execute import Operation, authorize, execute
from rest_facade.bodies import read_json_object
from rest_facade.current.collections import COLLECTIONS, Collection
from rest_facade.current.field_errors import REQUIRED, Codes, translated
from rest_facade.responses import json_response
from rest_facade.routing import Handler, Needs, Route, scope_of

PREFIX = "/api/v1/admin"

_STATUS_FIELDS = ("status", "reason", "restock", "tracking_code", "carrier")
_STATUS_CODES = {"status": "status_invalid"}


def routes(operations: Mapping[str, Operation]) -> list[Route]:
    """List the routes of every collection."""
    found: list[Route] = []
    for collection in COLLECTIONS:
        found += Records(collection, operations).routes()
    return [*found, Route("PUT", f"{PREFIX}/orders/{{id}}/status", order_status(operations), Needs.ADMIN)]


@dataclass(frozen=True, slots=True)
class Records:
    """Serve one collection."""

    collection: Collection
    operations: Mapping[str, Operation] = field(repr=False)

    def routes(self) -> list[Route]:
        """List the routes: lists and single records always, changes where the collection takes them."""
        all_, single = f"{PREFIX}/{self.collection.name}", f"{PREFIX}/{self.collection.name}/{{id}}"
        reads = [Route("GET", all_, self._list, Needs.ADMIN), Route("GET", single, self._show, Needs.ADMIN)]
        if not self.collection.body:
            return reads
        return [
            *reads,
            Route("POST", all_, self._create, Needs.ADMIN, creates=True),
            # Both partial (decisions section 6).
            Route("PUT", single, self._update, Needs.ADMIN),
            Route("PATCH", single, self._update, Needs.ADMIN),
            Route("DELETE", single, self._delete, Needs.ADMIN),
        ]

    async def _list(self, request: web.Request) -> web.Response:
        scope, operation = self._admitted(request, self.collection.plural)
        data = await execute(scope, operation, self.collection.listing.variables(request.query))
        return json_response(data[operation.fields[0]])

    async def _show(self, request: web.Request) -> web.Response:
        scope, operation = self._admitted(request, self.collection.singular)
        data = await execute(scope, operation, {"id": self._id(request)})
        return json_response(self._record(data[operation.fields[0]]))

    async def _create(self, request: web.Request) -> web.Response:
        scope, operation = self._admitted(request, f"{self.collection.singular}Create")
        given = self.collection.given(await read_json_object(request))
        record = await self._changed(scope, operation, {"input": given})
        return json_response(record, status=201)

    async def _update(self, request: web.Request) -> web.Response:
        scope, operation = self._admitted(request, f"{self.collection.singular}Update")
        given = self.collection.given(await read_json_object(request))
        return json_response(await self._changed(scope, operation, {"id": self._id(request), "input": given}))

    async def _delete(self, request: web.Request) -> web.Response:
        scope, operation = self._admitted(request, f"{self.collection.singular}Delete")
        await execute(scope, operation, {"id": self._id(request)})
        return web.Response(status=204)

    def _admitted(self, request: web.Request, what: str) -> tuple[Scope, Operation]:
        scope, operation = scope_of(request), self.operations[f"Admin{what}"]
        authorize(scope, operation)
        return scope, operation

    async def _changed(self, scope: Scope, operation: Operation, variables: Mapping[str, Any]) -> Any:
        return self._record(await _executed(scope, operation, variables, self.collection.codes))

    def _id(self, request: web.Request) -> str:
        return public_id(request, self.collection.thing)

    def _record(self, found: Any) -> Any:
        """Give the one record of an answer; some operations give a list of at most one."""
        record = next(iter(found), None) if isinstance(found, list) else found
        if record is None:
            raise NotFound(self.collection.thing)
        return record


def order_status(operations: Mapping[str, Operation]) -> Handler:
    """Make the handler of `PUT orders/{id}/status`: `{status, tracking_code?, reason?}`, also `restock` and `carrier`."""
    operation = operations["AdminOrderSetStatus"]

    async def set_status(request: web.Request) -> web.Response:
        scope = scope_of(request)
        authorize(scope, operation)
        body = await read_json_object(request)
        given = {name: body[name] for name in _STATUS_FIELDS if body.get(name) is not None}
        if given.get("status", "") == "":
            raise ValidationFailed("status is required", fields={"status": REQUIRED})
        variables = {"id": public_id(request, "order"), **given}
        record = await _executed(scope, operation, variables, _STATUS_CODES)
        if record is None:
            raise NotFound("order")
        return json_response(record)

    return set_status


def public_id(request: web.Request, thing: str) -> str:
    """Give the UUID in the address; any other text names nothing (decisions section 1, Malformed id)."""
    found = parse_uuid(request.match_info["id"])
    if found is None:
        raise NotFound(thing)
    return str(found)


async def _executed(scope: Scope, operation: Operation, variables: Mapping[str, Any], codes: Codes) -> Any:
    """Execute a change; what is wrong with the body comes out in the contract's words."""
    try:
        data = await execute(scope, operation, variables)
    except ValidationFailed as error:
        raise translated(error, codes) from error
    return data[operation.fields[0]]
