"""Serve every entity with five handlers (list, show, create, update, delete), nested lists and single actions.

The engine never asks which entity it serves: all it knows stands in the `Resource`. What it does to each request is the same: is
the caller admitted, what was given, one operation, how is it shown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from aiohttp import web

from kernel.errors import DomainError, Forbidden, InsufficientPrivileges, NotFound, ValidationFailed
from kernel.scope import ActorKind, Scope
from kernel.text import shown as text_shown
from resolvers.execute import FacadeOperation, authorize, execute
from rest_facade.bodies import read_legacy
from rest_facade.legacy.queries import ListQuery, envelope, query_reader
from rest_facade.legacy.reshape import Rename, body_reader, renamer, require, row_shower
from rest_facade.legacy.resource import WAS_THERE, Action, Nested, Record, Resource
from rest_facade.responses import json_response
from rest_facade.routing import Handler, scope_of

Operations: TypeAlias = Mapping[str, FacadeOperation]
Rows: TypeAlias = tuple[list[Record], int]
"""The rows of a page and the number of all."""

VIEW, MANAGE = "view", "manage"


# --- What the handlers share -------------------------------------------------------------------------------------------------


def admit(request: web.Request, resource: Resource, verb: str, operation: FacadeOperation) -> Scope:
    """Give the scope of a caller who may do this with the entity, before anything of the request is read.

    An administrator needs the privilege of the entity's area; a vendor passes where the entity is open to vendors at all, and the
    operation's own rule says the rest.
    """
    return admit_to(request, resource.area, verb, operation, open_to_vendors=resource.open_to_vendors)


def admit_to(
    request: web.Request, area: str, verb: str, operation: FacadeOperation, *, open_to_vendors: bool = False
) -> Scope:
    """Do the same for a route that is of no entity."""
    scope = scope_of(request)
    actor = scope.actor
    if actor.kind is ActorKind.ADMIN:
        privilege = f"{verb}_{area}"
        if not actor.holds(privilege):
            raise InsufficientPrivileges(privilege)
    elif not open_to_vendors:
        raise Forbidden("insufficient permissions")
    authorize(scope, operation)
    return scope


def rights_of(resource: Resource, scope: Scope) -> dict[str, bool]:
    """Give the variables that say which guarded fields the caller sees."""
    return {name: right(scope) for name, right in resource.rights.items()}


def addressed(resource: Resource, request: web.Request, body: Mapping[str, Any] | None = None) -> Record:
    """Give the variables that name the record of a request: from its address, and where the resource says so its query or body."""
    address = request.match_info
    variables: Record = {name: part for name, part in address.items() if name != "id"}
    if "id" in address:
        variables[resource.segment] = address["id"]
    if resource.also and "id" in address:
        given = dict(request.rel_url.query)  # of a repeated parameter the last
        for name in resource.also:
            named = given.get(name) or (body or {}).get(name)
            variables[name] = str(named) if named not in (None, "") else None
    return variables


async def change(
    scope: Scope, operation: FacadeOperation, variables: Mapping[str, Any], rename: Rename, resource: Resource
) -> Record:
    """Execute a mutation and give what was `done`; what it refuses is told in the words of the legacy layer."""
    try:
        data = await execute(scope, operation, variables)
    except ValidationFailed as refusal:
        message = rename(refusal.message)
        raise ValidationFailed(message, fields=refusal.fields, details=refusal.details) from refusal
    except NotFound as refusal:
        raise NotFound(resource.says.get(refusal.thing, refusal.thing)) from refusal
    done: Record | None = data["done"]
    if done is None:
        raise NotFound(resource.thing)
    return done


# --- Lists -------------------------------------------------------------------------------------------------------------------


def list_handler(resource: Resource, operation: FacadeOperation) -> Handler:
    """Make the handler that lists an entity."""
    read_query = query_reader(resource)
    show = row_shower(resource.fields, prepare=resource.prepare)

    async def listed(request: web.Request) -> web.Response:
        scope = admit(request, resource, VIEW, operation)
        asked = read_query(request.rel_url.raw_query_string, scope)
        rows: list[Record] = []
        total = 0
        if not asked.matches_nothing:
            variables = asked.variables | rights_of(resource, scope)
            rows, total = _page(await execute(scope, operation, variables))
        return json_response(envelope(resource, scope, asked, [show(row) for row in rows], total))

    return listed


def nested_handler(owner: Resource, nested: Nested, operation: FacadeOperation) -> Handler:
    """Make the handler that lists what stands below a record; such a list is an array, filtered or not."""
    resource, by = nested.of, nested.by
    read_query = query_reader(resource)
    show = row_shower(resource.fields, prepare=resource.prepare)
    rows_of: Callable[[Mapping[str, Any], ListQuery], Rows]
    rows_of = _slice_of(resource.name) if by is None else lambda data, asked: _page(data)

    async def listed(request: web.Request) -> web.Response:
        scope = admit(request, owner, VIEW, operation)
        asked = read_query(request.rel_url.raw_query_string, scope)
        asked.is_keyed = False
        parent = request.match_info["id"]
        variables = {"id": parent} | rights_of(resource, scope)
        if by is not None:
            asked.filter[by] = [parent]
            variables = asked.variables | variables
        data = await execute(scope, operation, variables)
        if data["parent"] is None:
            raise NotFound(owner.thing)
        rows, total = ([], 0) if asked.matches_nothing else rows_of(data, asked)
        return json_response(envelope(resource, scope, asked, [show(row) for row in rows], total))

    return listed


def _page(data: Mapping[str, Any]) -> Rows:
    page = data["page"]
    return page["items"], page["total"]


def _slice_of(collection: str) -> Callable[[Mapping[str, Any], ListQuery], Rows]:
    def rows_of(data: Mapping[str, Any], asked: ListQuery) -> Rows:
        rows = data["parent"][collection] or []
        start = (asked.page - 1) * asked.size
        return rows[start : start + asked.size], len(rows)

    return rows_of


# --- Single records ----------------------------------------------------------------------------------------------------------


def show_handler(resource: Resource, operation: FacadeOperation) -> Handler:
    """Make the handler that shows one record."""
    fields = (*resource.fields, *resource.single)
    show = row_shower(fields, prepare=resource.prepare, complete=resource.complete)

    async def shown(request: web.Request) -> web.Response:
        scope = admit(request, resource, VIEW, operation)
        variables = {**addressed(resource, request), **rights_of(resource, scope)}
        record = (await execute(scope, operation, variables))["record"]
        if record is None:
            raise NotFound(resource.thing)
        return json_response(show(record))

    return shown


def create_handler(resource: Resource, operation: FacadeOperation) -> Handler:
    """Make the handler that creates a record and answers with its id."""
    return _change_handler(resource, operation, resource.required, status=201)


def update_handler(resource: Resource, operation: FacadeOperation) -> Handler:
    """Make the handler that changes what is given of a record: whatever creation requires may be left out."""
    return _change_handler(resource, operation, {}, status=200)


def _change_handler(
    resource: Resource, operation: FacadeOperation, required: Mapping[str, str], *, status: int
) -> Handler:
    fields = (*resource.fields, *resource.single, *resource.inputs)
    read, rename = body_reader(fields), renamer(fields, resource.says)
    read_vendors = body_reader(each for each in fields if each.name not in resource.kept_from_vendors)

    async def changed(request: web.Request) -> web.Response:
        scope = admit(request, resource, MANAGE, operation)
        body = await read_legacy(request)
        require(body, required)
        # The record's id is there when the address names one; creation's operation has no such variable.
        given = (read_vendors if scope.actor.kind is ActorKind.VENDOR else read)(body)
        variables = {"input": given, **addressed(resource, request, body)}
        try:
            ids = await change(scope, operation, variables, rename, resource)
        except NotFound as absent:
            raise _as_referred(resource, request, body, absent) from absent
        # An operation may say that what should be made was there already: then its id is the answer.
        answered = 200 if ids.pop(WAS_THERE, False) else status
        return json_response({name: str(number) for name, number in ids.items()}, status=answered)

    return changed


def _as_referred(
    resource: Resource, request: web.Request, body: Mapping[str, Any], absent: NotFound
) -> DomainError:
    """Say what isn't there: the record, unless the body alone told it apart by what doesn't fit it (section 1: 400)."""
    below = absent.__cause__
    if below is not None and isinstance(below.__cause__, ValidationFailed):
        for name in resource.also:
            if not request.rel_url.query.get(name) and body.get(name) not in (None, ""):
                message = f"{name} is {text_shown(body[name])}; expected that of the {resource.thing}"
                return ValidationFailed(message, fields={name: "not_found"})
    return absent


def answer_handler(resource: Resource, operation: FacadeOperation) -> Handler:
    """Make the handler of what has no address of its own: it takes a body and answers with the record that came of it."""
    read, rename = body_reader(resource.fields), renamer(resource.fields, resource.says)
    show = row_shower(resource.fields, prepare=resource.prepare)

    async def answered(request: web.Request) -> web.Response:
        scope = admit(request, resource, MANAGE, operation)
        body = await read_legacy(request)
        require(body, resource.required)
        done = await change(scope, operation, {"input": read(body)}, rename, resource)
        return json_response(show(done))

    return answered


def delete_handler(resource: Resource, operation: FacadeOperation) -> Handler:
    """Make the handler that deletes a record and answers with nothing."""
    rename = renamer((*resource.fields, *resource.single), resource.says)

    async def deleted(request: web.Request) -> web.Response:
        scope = admit(request, resource, MANAGE, operation)
        await change(scope, operation, addressed(resource, request), rename, resource)
        return web.Response(status=204)

    return deleted


def action_handler(resource: Resource, action: Action, operation: FacadeOperation) -> Handler:
    """Make the handler of a single route."""
    read, rename = body_reader(action.takes), renamer(action.takes, resource.says)

    async def acted(request: web.Request) -> web.Response:
        scope = admit(request, resource, MANAGE, operation)
        body = await read_legacy(request)
        require(body, action.required)
        address = request.match_info
        named = {variable: address[segment] for variable, segment in action.arguments.items()}
        done = await change(scope, operation, {**read(body), **named}, rename, resource)
        if action.answers is None:
            return web.Response(status=204)
        return json_response(action.answers(done, address), status=action.status)

    return acted
