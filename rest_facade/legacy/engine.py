"""Serve every entity with five handlers (list, show, create, update, delete), nested lists and single actions.

The engine never asks which entity it serves: all it knows stands in the `Resource`. What it does to each request is the same: is
the caller admitted, what was given, one operation, how is it shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from kernel.errors import Forbidden, InsufficientPrivileges, NotFound, ValidationFailed
from kernel.scope import ActorKind, Scope
from resolvers.execute import Operation, authorize, execute
from rest_facade.bodies import read_legacy
from rest_facade.legacy.queries import ReadQuery, envelope, query_reader
from rest_facade.legacy.reshape import body_reader, renamer, require, row_shower
from rest_facade.legacy.resource import Action, Nested, Record, Resource
from rest_facade.responses import json_response
from rest_facade.routing import Handler, scope_of

Operations = Mapping[str, Operation]
VIEW, MANAGE = "view", "manage"


def admit(request: web.Request, resource: Resource, verb: str, operation: Operation) -> Scope:
    """Give the scope of a caller who may do this with the entity, before anything of the request is read.

    An administrator needs the privilege of the entity's area; a vendor passes where the entity is open to vendors at all, and the
    operation's own rule says the rest.
    """
    scope = scope_of(request)
    actor = scope.actor
    if actor.kind is ActorKind.ADMIN:
        privilege = f"{verb}_{resource.area}"
        if not actor.holds(privilege):
            raise InsufficientPrivileges(privilege)
    elif not resource.open_to_vendors:
        raise Forbidden("insufficient permissions")
    authorize(scope, operation)
    return scope


def answer_of(done: Any, thing: str) -> Record:
    """Write the ids that a change answers with; the operation's aliases name them."""
    if done is None:
        raise NotFound(thing)
    return {name: str(value) for name, value in done.items()}


@dataclass(frozen=True, slots=True)
class Lists:
    """List an entity: all of it, or what stands below a record of another (`nested`)."""

    resource: Resource
    operation: Operation
    admitted_by: Resource
    nested: Nested | None = None

    def handler(self) -> Handler:
        """Make the handler."""
        resource, nested = self.resource, self.nested
        read_query = query_reader(resource)
        show = row_shower(resource.fields, prepare=resource.prepare)
        rows_of = _rows_within(resource.name) if nested is not None and nested.by is None else _rows_of_page
        return self._handler(read_query, show, rows_of)

    def _handler(self, read_query: ReadQuery, show: Any, rows_of: Any) -> Handler:
        resource, operation, nested = self.resource, self.operation, self.nested

        async def listed(request: web.Request) -> web.Response:
            scope = admit(request, self.admitted_by, VIEW, operation)
            asked = read_query(request.rel_url.raw_query_string, scope)
            if asked.matches_nothing and nested is None:
                return json_response(envelope(resource, scope, asked, [], 0))
            variables = asked.variables | rights_of(resource, scope)
            if nested is not None:
                variables |= _below(request, nested, asked.filter)
            data = await execute(scope, operation, variables)
            if nested is not None:
                if data["parent"] is None:
                    raise NotFound(self.admitted_by.thing)
                asked.is_keyed = False  # lists below a record are arrays, filtered or not
            rows, total = ([], 0) if asked.matches_nothing else rows_of(data, asked)
            return json_response(envelope(resource, scope, asked, [show(row) for row in rows], total))

        return listed


def rights_of(resource: Resource, scope: Scope) -> dict[str, bool]:
    """Give the variables that say which guarded fields the caller sees."""
    return {name: right(scope) for name, right in resource.rights.items()}


def _below(request: web.Request, nested: Nested, given: Mapping[str, Any]) -> dict[str, Any]:
    parent = request.match_info["id"]
    if nested.by is None:
        return {"id": parent}
    return {"id": parent, "filter": {**given, nested.by: [parent]}}


def _rows_of_page(data: Mapping[str, Any], _asked: Any) -> tuple[list[Record], int]:
    page = data["page"]
    return page["items"], page["total"]


def _rows_within(collection: str) -> Any:
    def rows_of(data: Mapping[str, Any], asked: Any) -> tuple[list[Record], int]:
        rows = data["parent"][collection] or []
        start = (asked.page - 1) * asked.size
        return rows[start : start + asked.size], len(rows)

    return rows_of


def show_handler(resource: Resource, operation: Operation) -> Handler:
    """Make the handler that shows one record."""
    show = row_shower(
        (*resource.fields, *resource.single), prepare=resource.prepare, complete=resource.complete
    )

    async def shown(request: web.Request) -> web.Response:
        scope = admit(request, resource, VIEW, operation)
        variables = {"id": request.match_info["id"], **rights_of(resource, scope)}
        record = (await execute(scope, operation, variables))["record"]
        if record is None:
            raise NotFound(resource.thing)
        return json_response(show(record))

    return shown


def change_handler(resource: Resource, operation: Operation, *, creates: bool) -> Handler:
    """Make the handler that creates or changes a record; what creation requires, a partial change may leave out."""
    fields = (*resource.fields, *resource.single, *resource.inputs)
    read = body_reader(fields)
    rename = renamer(fields, resource.says)

    async def changed(request: web.Request) -> web.Response:
        scope = admit(request, resource, MANAGE, operation)
        body = await read_legacy(request)
        if creates:
            require(body, resource.required)
        variables: dict[str, Any] = {"input": read(body)}
        if not creates:
            variables["id"] = request.match_info["id"]
        try:
            data = await execute(scope, operation, variables)
        except ValidationFailed as refusal:
            raise rename(refusal) from refusal
        return json_response(answer_of(data["done"], resource.thing), status=201 if creates else 200)

    return changed


def delete_handler(resource: Resource, operation: Operation) -> Handler:
    """Make the handler that deletes a record and answers with nothing."""

    async def deleted(request: web.Request) -> web.Response:
        scope = admit(request, resource, MANAGE, operation)
        await execute(scope, operation, {"id": request.match_info["id"]})
        return web.Response(status=204)

    return deleted


def action_handler(resource: Resource, action: Action, operation: Operation) -> Handler:
    """Make the handler of a single route."""
    read = body_reader(action.takes)
    rename = renamer(action.takes, resource.says)

    async def acted(request: web.Request) -> web.Response:
        scope = admit(request, resource, MANAGE, operation)
        body = await read_legacy(request)
        require(body, action.required)
        named = {variable: request.match_info[segment] for variable, segment in action.arguments.items()}
        try:
            data = await execute(scope, operation, {**read(body), **named})
        except ValidationFailed as refusal:
            raise rename(refusal) from refusal
        if data["done"] is None:
            raise NotFound(resource.thing)
        return json_response(action.answers(data["done"], request.match_info), status=action.status)

    return acted
