"""Serve the collections that the current and app families share: list, show, create, update, delete (decisions section 6).

The families mount these handlers at their own addresses. Whom a route lets in is said by the root field of its operation, and asked
before a body is read. Lists are `{<collection>: [...], total, page, …}`, single records come bare, creation answers 201 and a deletion
204 without a body.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web

from kernel.errors import NotFound, ValidationFailed
from kernel.ids import parse_uuid
from kernel.scope import Scope
from resolvers.execute import FacadeOperation, authorize, execute
from rest_facade.bodies import read_json_object
from rest_facade.collections import Collection
from rest_facade.field_errors import REQUIRED, Codes, translated
from rest_facade.responses import json_response
from rest_facade.routing import Handler, scope_of

# The records of decisions section 6, for the operations of every family that shows them.
FRAGMENTS = Path(__file__).parent / "fragments"

_STATUS_FIELDS = ("status", "reason", "restock", "tracking_code", "carrier")
_STATUS_CODES = {"status": "status_invalid"}


@dataclass(frozen=True, slots=True)
class Records:
    """Serve one collection with the operations of one family, whose names begin with its `prefix`."""

    collection: Collection
    prefix: str
    operations: Mapping[str, FacadeOperation] = field(repr=False)

    async def list(self, request: web.Request) -> web.Response:
        """Answer a page of the list."""
        scope, operation = self._admitted(request, self.collection.plural)
        data = await execute(scope, operation, self.collection.listing.variables(request.query, scope.store))
        return json_response(data[operation.fields[0]])

    async def show(self, request: web.Request) -> web.Response:
        """Answer the record that the address names."""
        scope, operation = self._admitted(request, self.collection.singular)
        data = await execute(scope, operation, {"id": self._id(request)})
        return json_response(self._record(data[operation.fields[0]]))

    async def create(self, request: web.Request) -> web.Response:
        """Make a record of the body, and answer it."""
        scope, operation = self._admitted(request, f"{self.collection.singular}Create")
        given = self.collection.given(await read_json_object(request))
        try:
            record = await self._changed(scope, operation, {"input": given})
        except ValidationFailed as error:
            # A value of a wrong type is refused before the shop looks at the rest; the sender wants to hear of all at once.
            error.fields |= {**self.collection.missing(given), **error.fields} if error.fields else {}
            raise
        return json_response(record, status=201)

    async def update(self, request: web.Request) -> web.Response:
        """Change what the body names, and answer the record."""
        scope, operation = self._admitted(request, f"{self.collection.singular}Update")
        given = self.collection.given(await read_json_object(request))
        return json_response(await self._changed(scope, operation, {"id": self._id(request), "input": given}))

    async def delete(self, request: web.Request) -> web.Response:
        """Delete the record."""
        scope, operation = self._admitted(request, f"{self.collection.singular}Delete")
        await execute(scope, operation, {"id": self._id(request)})
        return web.Response(status=204)

    def _admitted(self, request: web.Request, what: str) -> tuple[Scope, FacadeOperation]:
        scope, operation = scope_of(request), self.operations[f"{self.prefix}{what}"]
        authorize(scope, operation)
        return scope, operation

    async def _changed(self, scope: Scope, operation: FacadeOperation, variables: Mapping[str, Any]) -> Any:
        return self._record(await _executed(scope, operation, variables, self.collection.codes))

    def _id(self, request: web.Request) -> str:
        return public_id(request, self.collection.thing)

    def _record(self, found: Any) -> Any:
        """Give the one record of an answer; some operations give a list of at most one."""
        record = next(iter(found), None) if isinstance(found, list) else found
        if record is None:
            raise NotFound(self.collection.thing)
        return record


def order_status(operation: FacadeOperation) -> Handler:
    """Make the handler of `PUT orders/{id}/status`: `{status, tracking_code?, reason?}`, also `restock` and `carrier`."""

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


async def _executed(
    scope: Scope, operation: FacadeOperation, variables: Mapping[str, Any], codes: Codes
) -> Any:
    """Execute a change; what is wrong with the body comes out in the contract's words."""
    try:
        data = await execute(scope, operation, variables)
    except ValidationFailed as error:
        raise translated(error, codes) from error
    return data[operation.fields[0]]
