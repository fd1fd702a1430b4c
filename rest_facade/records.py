"""Serve the collections shared by the current and app families: list, show, create, update, delete.

The families mount these handlers at their own paths. The root field of the operation authorizes the caller before the body is read.
Lists are `{<collection>: [...], total, page, …}`, single records have no envelope; creation returns 201, deletion 204
(docs/reference/current.md#admin-records).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web

from kernel.errors import NotFound, ValidationFailed
from kernel.ids import parse_uuid
from kernel.scope import Scope
from resolvers.execute import FacadeOperation, authorize, execute, execute_field
from rest_facade.bodies import read_json_object
from rest_facade.collections import Collection
from rest_facade.field_errors import REQUIRED, FieldCodes, with_field_codes
from rest_facade.list_parameters import query_of
from rest_facade.responses import json_response, page_response
from rest_facade.routing import SCOPE, Credential, Handler, Route

# Fragments shared by the operations of both families.
FRAGMENTS = Path(__file__).parent / "fragments"

_STATUS_FIELDS = ("status", "reason", "restock", "tracking_code", "carrier")
_STATUS_CODES = {"status": "status_invalid"}


@dataclass(frozen=True, slots=True)
class CollectionHandlers:
    """Serve one collection with the operations of one family, whose names begin with `prefix`."""

    collection: Collection
    prefix: str
    operations: Mapping[str, FacadeOperation] = field(repr=False)

    def routes(self, path: str, credential: Credential) -> Sequence[Route]:
        """List the routes below a path: reads, and writes if the collection has writable fields."""
        single = f"{path}/{{id}}"
        reads = (Route("GET", path, self.list, credential), Route("GET", single, self.show, credential))
        if not self.collection.body:
            return reads
        return (
            *reads,
            Route("POST", path, self.create, credential, creates=True),
            # Both are partial updates.
            Route("PUT", single, self.update, credential),
            Route("PATCH", single, self.update, credential),
            Route("DELETE", single, self.delete, credential),
        )

    async def list(self, request: web.Request) -> web.Response:
        """Return a page of the list."""
        scope, operation = self._authorize(request, self.collection.plural)
        data = await execute(
            scope, operation, self.collection.list_definition.variables(query_of(request), scope.store)
        )
        return page_response(request, data[operation.fields[0]])

    async def show(self, request: web.Request) -> web.Response:
        """Return the record with the id in the path."""
        scope, _ = self._authorize(request, self.collection.singular)
        return json_response(await self._read(scope, self._record_id(request)))

    async def create(self, request: web.Request) -> web.Response:
        """Create a record and return it."""
        return json_response(await self.create_record(request), status=201)

    async def create_record(self, request: web.Request) -> Any:
        """Create a record of the body and return the result of the operation."""
        scope, operation = self._authorize(request, f"{self.collection.singular}Create")
        values = self._known_fields(await read_json_object(request))
        return await self._write(scope, operation, values, {"input": values}, creating=True)

    async def update(self, request: web.Request) -> web.Response:
        """Update the fields sent and return the record."""
        scope, operation = self._authorize(request, f"{self.collection.singular}Update")
        values = self._known_fields(await read_json_object(request))
        variables = {"id": self._record_id(request), "input": values}
        return json_response(await self._write(scope, operation, values, variables, creating=False))

    async def delete(self, request: web.Request) -> web.Response:
        """Delete the record."""
        scope, operation = self._authorize(request, f"{self.collection.singular}Delete")
        await execute(scope, operation, {"id": self._record_id(request)})
        return web.Response(status=204)

    def _authorize(self, request: web.Request, suffix: str) -> tuple[Scope, FacadeOperation]:
        operation = self.operations[f"{self.prefix}{suffix}"]
        return authorize(request[SCOPE], operation), operation

    def _known_fields(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the known fields of a body; unknown ones are ignored."""
        known = self.collection.body.items()
        return {name: body[name] if convert is None else convert(body[name]) for name, convert in known if name in body}

    async def _read(self, scope: Scope, record_id: str) -> Any:
        operation = self.operations[f"{self.prefix}{self.collection.singular}"]
        data = await execute(scope, operation, {"id": record_id})
        return self._only_record(data[operation.fields[0]])

    async def _write(
        self,
        scope: Scope,
        operation: FacadeOperation,
        values: Mapping[str, Any],
        variables: Mapping[str, Any],
        *,
        creating: bool,
    ) -> Any:
        """Execute a mutation and return its record; an error names every wrong field."""
        try:
            return self._only_record(await execute_with_codes(scope, operation, variables, self.collection.field_codes))
        except ValidationFailed as error:
            # Type errors are raised before the other checks; report all at once.
            if error.fields:
                error.fields = {**self.collection.field_errors(values, creating=creating), **error.fields}
            raise

    def _record_id(self, request: web.Request) -> str:
        return path_uuid(request, self.collection.display_name)

    def _only_record(self, result: Any) -> Any:
        """Return the single record of a result; some operations return a list of at most one."""
        record = next(iter(result), None) if isinstance(result, list) else result
        if record is None:
            raise NotFound(self.collection.display_name)
        return record


def order_status_handler(operation: FacadeOperation) -> Handler:
    """Build the handler of `PUT orders/{id}/status`: `{status, tracking_code?, reason?, restock?, carrier?}`."""

    async def set_status(request: web.Request) -> web.Response:
        scope = authorize(request[SCOPE], operation)
        body = await read_json_object(request)
        values = {name: body[name] for name in _STATUS_FIELDS if body.get(name) is not None}
        if values.get("status", "") == "":
            raise ValidationFailed("status is required", fields={"status": REQUIRED})
        variables = {"id": path_uuid(request, "order"), **values}
        record = await execute_with_codes(scope, operation, variables, _STATUS_CODES)
        if record is None:
            raise NotFound("order")
        return json_response(record)

    return set_status


def path_uuid(request: web.Request, display_name: str, variable: str = "id") -> str:
    """Return the UUID in the path; raises NotFound for any other text (docs/reference/shared.md#ids)."""
    record_id = parse_uuid(request.match_info[variable])
    if record_id is None:
        raise NotFound(display_name)
    return str(record_id)


async def execute_with_codes(
    scope: Scope, operation: FacadeOperation, variables: Mapping[str, Any], codes: FieldCodes
) -> Any:
    """Execute an operation and return its first field; validation errors get specific field codes."""
    try:
        return await execute_field(scope, operation, variables)
    except ValidationFailed as error:
        raise with_field_codes(error, codes) from error
