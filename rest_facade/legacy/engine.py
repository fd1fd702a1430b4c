"""Build the HTTP handlers of every entity (list, show, create, update, delete), of nested lists and of single actions.

The engine depends only on a `Resource` description. Each handler authorizes the caller, parses the request, executes one GraphQL
operation and renders the result.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, TypeAlias

from aiohttp import web

from kernel.errors import DomainError, Forbidden, InsufficientPrivileges, NotFound, ValidationFailed
from kernel.scope import ActorKind, Scope
from kernel.text import repr_value
from resolvers.execute import FacadeOperation, authorize, execute, with_conversions
from rest_facade.bodies import read_legacy
from rest_facade.legacy.large_lists import LargeList, is_large, stream_list
from rest_facade.legacy.queries import ALL_RECORDS, ListQuery, envelope, query_parser
from rest_facade.legacy.reshape import (
    DialectRenderer,
    RenameMessage,
    body_parser,
    check_required,
    dialect_body_parser,
    dialect_ignored_fields,
    dialect_renderer,
    ignored_fields,
    ignored_header,
    is_cscart,
    message_renamer,
)
from rest_facade.legacy.resource import (
    ALREADY_EXISTS,
    LANG_CODE,
    LANGUAGE,
    ActionRoute,
    NestedList,
    Record,
    Resource,
)
from rest_facade.legacy.round_trip import changes_of
from rest_facade.responses import json_response
from rest_facade.routing import SCOPE, Handler

Operations: TypeAlias = Mapping[str, FacadeOperation]
Rows: TypeAlias = tuple[list[Record], int]
SentBackReader: TypeAlias = Callable[[web.Request, Scope, Mapping[str, Any]], Awaitable[Record | None]]
"""The rows of a page and the total count."""

VIEW, MANAGE = "view", "manage"
IGNORED_FIELDS = "X-Ignored-Fields"
_NOT_FOUND = "not_found"
_OTHER_NAMES = {LANG_CODE.name: LANGUAGE.name}
"""CS-Cart's names of lookup parameters in a query."""
_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Owner:
    """The record below which a new one is created: the input `field` that refers to it, and the path's variable that names it."""

    resource: Resource
    field: str
    variable: str


# --- Shared by the handlers --------------------------------------------------------------------------------------------------


def authorize_entity(request: web.Request, resource: Resource, verb: str, operation: FacadeOperation) -> Scope:
    """Return the scope of a caller authorized for the entity; runs before the request body is read.

    An administrator needs the privilege of the entity's area. A vendor needs an entity open to vendors; the operation's own
    permission check does the rest.
    """
    return authorize_area(request, resource.privilege_area, verb, operation, open_to_vendors=resource.open_to_vendors)


def authorize_area(
    request: web.Request, area: str, verb: str, operation: FacadeOperation, *, open_to_vendors: bool = False
) -> Scope:
    """Return the scope of a caller authorized for a privilege area."""
    scope = request[SCOPE]
    actor = scope.actor
    if actor.kind is ActorKind.ADMIN:
        privilege = f"{verb}_{area}"
        if not actor.has_privilege(privilege):
            raise InsufficientPrivileges(privilege)
    elif not open_to_vendors:
        raise Forbidden("insufficient permissions")
    authorize(scope, operation)
    return scope


def permission_variables(resource: Resource, scope: Scope) -> dict[str, bool]:
    """Return the variables that select which guarded fields the caller sees."""
    return {name: is_granted(scope) for name, is_granted in resource.permissions.items()}


def record_variables(resource: Resource, request: web.Request, body: Mapping[str, Any] | None = None) -> Record:
    """Return the variables that identify the record: from the path and, for `lookup_parameters`, the query or body."""
    path = request.match_info
    variables: Record = {name: value for name, value in path.items() if name != "id"}
    if "id" in path:
        variables[resource.id_variable] = path["id"]
    if resource.lookup_parameters and "id" in path:
        query = dict(request.rel_url.query)  # the last of a repeated parameter wins
        for name in set(resource.lookup_parameters) - path.keys():
            value = query.get(name) or query.get(_OTHER_NAMES.get(name, "")) or (body or {}).get(name)
            variables[name] = str(value) if value not in (None, "") else None
    return variables


async def execute_mutation(
    scope: Scope, operation: FacadeOperation, variables: Mapping[str, Any], rename: RenameMessage, resource: Resource
) -> Record:
    """Execute a mutation and return its `done`; error messages use the legacy field names."""
    try:
        data = await execute(scope, operation, variables)
    except ValidationFailed as error:
        message = rename(error.message)
        raise ValidationFailed(message, fields=error.fields, details=error.details) from error
    except NotFound as error:
        raise NotFound(resource.message_terms.get(error.resource, error.resource)) from error
    done: Record | None = data["done"]
    if done is None:
        raise NotFound(resource.display_name)
    return done


# --- Lists -------------------------------------------------------------------------------------------------------------------


def list_handler(
    resource: Resource, operations: Operations, path: str = "", *, narrowed: Mapping[str, Any] = _NOTHING
) -> Handler:
    """Build the handler that lists an entity, or of it what the filters `narrowed` select.

    `path` is the alias it is listed by, which names the collection.
    """
    operation = operations[f"{resource.operations}List"]
    large_list = LargeList(resource, operation, operations[f"{resource.operations}Numbers"])
    name = path or resource.name
    parse_query = query_parser(resource)
    renderer = dialect_renderer(resource)
    read = _converted(operation, ("page", "items"), renderer)

    async def list_records(request: web.Request) -> web.StreamResponse:
        scope = authorize_entity(request, resource, VIEW, operation)
        query = parse_query(request.rel_url.raw_query_string, scope)
        query.filter |= narrowed
        permissions, render = permission_variables(resource, scope), renderer(scope)
        if is_large(query):
            return await stream_list(request, scope, large_list, query, permissions, render, name)
        rows: list[Record] = []
        total = 0
        if not query.matches_nothing:
            rows, total = _page(await execute(scope, read(scope), query.variables | permissions))
        return json_response(envelope(resource, scope, query, rows, total, name=name), headers=query.headers)

    return list_records


def nested_handler(owner: Resource, nested: NestedList, operations: Operations) -> Handler:
    """Build the handler of a list below a record; its rows are always an array, filtered or not."""
    resource, parent_filter = nested.resource, nested.parent_filter
    operation = operations[nested.operation]
    large_list = None
    if parent_filter is not None:
        large_list = LargeList(resource, operation, operations[f"{nested.operation}Numbers"])
    parse_query = query_parser(resource)
    renderer = dialect_renderer(resource)
    # Rows below the parent are converted after reading, because they are filtered here.
    read = _converted(operation, ("page", "items"), renderer) if parent_filter is not None else lambda _: operation

    async def list_records(request: web.Request) -> web.StreamResponse:
        scope = authorize_entity(request, owner, VIEW, operation)
        query = parse_query(request.rel_url.raw_query_string, scope)
        query.is_keyed = False
        parent = request.match_info["id"]
        permissions, render = permission_variables(resource, scope), renderer(scope)
        variables = {"id": parent} | permissions
        is_streamed = large_list is not None and is_large(query)
        if parent_filter is not None:
            query.filter[parent_filter] = [parent]
            variables |= query.variables | ({"per_page": 0} if is_streamed else {})
        data = await execute(scope, read(scope), variables)
        if data["parent"] is None:
            raise NotFound(owner.display_name)
        if is_streamed and large_list is not None:
            return await stream_list(
                request, scope, large_list, query, {"id": parent, **permissions}, render, resource.name
            )
        rows: list[Record] = []
        total = 0
        if parent_filter is None:
            every = [render(row) for row in data["parent"][resource.name] or []]
            rows, total = _filter_and_slice(every, query)
        elif not query.matches_nothing:
            rows, total = _page(data)
        return json_response(envelope(resource, scope, query, rows, total), headers=query.headers)

    return list_records


def _converted(
    operation: FacadeOperation, path: tuple[str, ...], renderer: DialectRenderer
) -> Callable[[Scope], FacadeOperation]:
    """Return the function that returns the operation whose records at the path have the form of the store's dialect."""
    contract = with_conversions(operation, {path: renderer.contract})
    cscart = contract
    if renderer.cscart is not renderer.contract:
        cscart = with_conversions(operation, {path: renderer.cscart})
    return lambda scope: cscart if is_cscart(scope) else contract


def _page(data: Mapping[str, Any]) -> Rows:
    page = data["page"]
    return page["items"], page["total"]


def _filter_and_slice(rows: list[Record], query: ListQuery) -> Rows:
    """Return the requested page of rows that were read whole, and the number of those that match the filters."""
    if query.matches_nothing:
        return [], 0
    if query.size == ALL_RECORDS:
        query = replace(query, page=1, size=len(rows))
    wanted = {name: value if isinstance(value, list) else [value] for name, value in query.echo.items()}
    matching = [row for row in rows if all(row.get(name) in values for name, values in wanted.items())]
    start = (query.page - 1) * query.size
    return matching[start : start + query.size], len(matching)


# --- Single records ----------------------------------------------------------------------------------------------------------


def show_handler(resource: Resource, operation: FacadeOperation) -> Handler:
    """Build the handler that returns one record."""
    renderer = dialect_renderer(resource, single=True)
    read = _converted(operation, ("record",), renderer)

    async def show(request: web.Request) -> web.Response:
        scope = authorize_entity(request, resource, VIEW, operation)
        variables = {**record_variables(resource, request), **permission_variables(resource, scope)}
        record = (await execute(scope, read(scope), variables))["record"]
        if record is None:
            raise NotFound(resource.display_name)
        return json_response(record)

    return show


def create_handler(resource: Resource, operation: FacadeOperation, owner: Owner | None = None) -> Handler:
    """Build the handler that creates a record, below its `owner` if there is one, and returns its id."""
    return _write_handler(resource, operation, is_new=True, owner=owner)


def update_handler(
    resource: Resource,
    operation: FacadeOperation,
    show: FacadeOperation | None = None,
    language: FacadeOperation | None = None,
) -> Handler:
    """Build the handler that partially updates a record; no field is required.

    `show` reads it, to know what a body changes, `language` the language of its texts.
    """
    return _write_handler(resource, operation, is_new=False, show=show, language=language)


def _write_handler(
    resource: Resource,
    operation: FacadeOperation,
    *,
    is_new: bool,
    show: FacadeOperation | None = None,
    language: FacadeOperation | None = None,
    owner: Owner | None = None,
) -> Handler:
    fields = (*resource.single_fields, *resource.input_fields)
    parser, rename = dialect_body_parser(fields), message_renamer(fields, resource.message_terms)
    read_sent_back = None if show is None else sent_back_reader(resource, show)
    of_vendors = [field for field in fields if field.name not in resource.protected_from_vendors]
    parse_vendors, ignored, ignored_of_vendors = (
        body_parser(of_vendors),
        dialect_ignored_fields(fields),
        ignored_fields(of_vendors),
    )

    async def write(request: web.Request) -> web.Response:
        scope = authorize_entity(request, resource, MANAGE, operation)
        body = await read_legacy(request)
        foreign: list[str] = []
        if (
            language is not None
            and show is not None
            and await _is_in_other_language(resource, request, scope, body, show, language)
        ):
            foreign = [name for name in body if name in resource.texts]
            body = {name: value for name, value in body.items() if name not in foreign}
        if is_new:
            body = _with_cscart_defaults(resource, scope, _with_language(resource, request, body))
            required = (
                name for name in resource.required if not (is_cscart(scope) and name in resource.cscart_defaults)
            )
            check_required(body, required, fields)
        elif read_sent_back is not None:
            record = await read_sent_back(request, scope, body)
            body = body if record is None else _changes(resource, scope, body, record)
        is_vendor = scope.actor.kind is ActorKind.VENDOR
        values = (parse_vendors if is_vendor else parser(scope))(body)
        names = (ignored_of_vendors if is_vendor else ignored(scope))(body)
        names = [*foreign, *(name for name in names if name not in resource.lookup_parameters)]
        headers = ignored_header(IGNORED_FIELDS, names)
        if owner is not None:
            values[owner.field] = request.match_info[owner.variable]
        variables = {"input": values, **record_variables(resource, request, body)}
        variables |= _cscart_variables(resource, scope, "create" if is_new else "update")
        try:
            ids = await execute_mutation(scope, operation, variables, rename, resource)
        except NotFound as error:
            raise _not_found_error(resource, request, body, error) from error
        except ValidationFailed as error:
            if owner is not None and error.fields.get(owner.field) == _NOT_FOUND:
                raise NotFound(owner.resource.display_name) from error
            raise
        status = 200 if ids.pop(ALREADY_EXISTS, False) or not is_new else 201
        return json_response(render_ids(scope, ids, resource), status=status, headers=headers)

    return write


def sent_back_reader(resource: Resource, show: FacadeOperation) -> SentBackReader:
    """Build the reader of the record before an update whose body may be one that was read, or hold parts of one.

    It returns None for other bodies, and where there is no record, or none that the caller may read.
    """
    number, renderer = resource.number_field.name, dialect_renderer(resource, single=True)

    async def read(request: web.Request, scope: Scope, body: Mapping[str, Any]) -> Record | None:
        if number not in body and not _holds_objects(body):
            return None
        variables = {**record_variables(resource, request, body), **permission_variables(resource, scope)}
        try:
            row = (await execute(scope, show, variables))["record"]
        except DomainError:
            return None
        return None if row is None else renderer(scope)(row)

    return read


def _holds_objects(body: Mapping[str, Any]) -> bool:
    return any(isinstance(value, dict | list) for value in body.values())


def _changes(resource: Resource, scope: Scope, body: Mapping[str, Any], record: Record) -> dict[str, Any]:
    """Return what the body changes of the record."""
    changes = changes_of(resource, body, record)
    if resource.cscart_update is not None and is_cscart(scope):
        changes = resource.cscart_update(changes, record)
    return changes if resource.complete_update is None else resource.complete_update(changes, record)


def _with_language(resource: Resource, request: web.Request, body: dict[str, Any]) -> dict[str, Any]:
    """Return the body of a new record, with the language of the path, or where the body names none with that of the query."""
    name, in_path = resource.language_field, request.match_info.get(LANG_CODE.name)
    language = in_path or body.get(name) or request.rel_url.query.get(LANGUAGE.name)
    return {**body, name: language} if name and language else body


async def _is_in_other_language(
    resource: Resource,
    request: web.Request,
    scope: Scope,
    body: Mapping[str, Any],
    show: FacadeOperation,
    language: FacadeOperation,
) -> bool:
    """Return whether the update is in another language than the texts of the record, of which CS-Cart has one for each language.

    They are in the store's first language, or in that of the record where it has one, which a body may change.
    """
    has_own, query = bool(resource.language_field), request.rel_url.query
    code = query.get(LANGUAGE.name) or query.get(LANG_CODE.name) or (None if has_own else body.get(LANG_CODE.name))
    if not (code and resource.texts and is_cscart(scope)):
        return False
    if has_own:
        variables = {**record_variables(resource, request, body), **permission_variables(resource, scope)}
        own = (await execute(scope, show, variables))["record"]
        return own is not None and bool(str(code).lower() != own[resource.language_field])
    return bool(str(code).lower() != (await execute(scope, language, {}))["code"])


def _with_cscart_defaults(resource: Resource, scope: Scope, body: dict[str, Any]) -> dict[str, Any]:
    """Return the body of a new record, in CS-Cart's dialect with the defaults of what the other dialect requires."""
    if not is_cscart(scope):
        return body
    absent = {name for name in resource.cscart_defaults if body.get(name) in (None, "")}
    defaults = {name: value for name, value in resource.cscart_defaults.items() if name in absent and value is not None}
    body = {name: value for name, value in body.items() if name not in absent} | defaults
    return body if resource.cscart_new is None else resource.cscart_new(body)


def _cscart_variables(resource: Resource, scope: Scope, action: str) -> Mapping[str, Any]:
    return resource.cscart_variables.get(action, _NOTHING) if is_cscart(scope) else _NOTHING


def render_ids(scope: Scope, ids: Mapping[str, Any], resource: Resource | None = None) -> Record:
    """Render the ids of a written record: decimal strings, in CS-Cart's dialect JSON integers; other members stay."""
    if is_cscart(scope):
        fields = () if resource is None else resource.fields
        return {**ids, **{field.name: ids[field.cscart_id] for field in fields if field.cscart_id}}
    absent = () if resource is None else resource.cscart_answer
    return {name: str(value) if isinstance(value, int) else value for name, value in ids.items() if name not in absent}


def _not_found_error(resource: Resource, request: web.Request, body: Mapping[str, Any], error: NotFound) -> DomainError:
    """Return the 404, or a 400 when only a lookup parameter of the body didn't match the record."""
    cause = error.__cause__
    if cause is not None and isinstance(cause.__cause__, ValidationFailed):
        for name in resource.lookup_parameters:
            if not request.rel_url.query.get(name) and body.get(name) not in (None, ""):
                message = f"{name} is {repr_value(body[name])}; expected that of the {resource.display_name}"
                return ValidationFailed(message, fields={name: "not_found"})
    return error


def body_handler(resource: Resource, operation: FacadeOperation) -> Handler:
    """Build the handler of an entity addressed by its body: it executes the mutation and returns the record."""
    parse = body_parser(resource.fields)
    rename = message_renamer(resource.fields, resource.message_terms)
    renderer = dialect_renderer(resource)

    async def execute_body(request: web.Request) -> web.Response:
        scope = authorize_entity(request, resource, MANAGE, operation)
        body = await read_legacy(request)
        check_required(body, resource.required)
        done = await execute_mutation(scope, operation, {"input": parse(body)}, rename, resource)
        return json_response(renderer(scope)(done))

    return execute_body


def delete_handler(resource: Resource, operation: FacadeOperation) -> Handler:
    """Build the handler that deletes a record and returns 204."""
    rename = message_renamer(resource.single_fields, resource.message_terms)

    async def delete(request: web.Request) -> web.Response:
        scope = authorize_entity(request, resource, MANAGE, operation)
        variables = {**record_variables(resource, request), **_cscart_variables(resource, scope, "delete")}
        await execute_mutation(scope, operation, variables, rename, resource)
        return web.Response(status=204)

    return delete


def action_handler(resource: Resource, action: ActionRoute, operation: FacadeOperation) -> Handler:
    """Build the handler of a single action."""
    parse = body_parser(action.body_fields)
    rename = message_renamer(action.body_fields, resource.message_terms)

    async def act(request: web.Request) -> web.Response:
        scope = authorize_entity(request, resource, MANAGE, operation)
        body = await read_legacy(request)
        check_required(body, action.required)
        path = request.match_info
        arguments = {variable: path[segment] for variable, segment in action.path_arguments.items()}
        done = await execute_mutation(scope, operation, {**parse(body), **arguments}, rename, resource)
        if action.render_result is None:
            return web.Response(status=204)
        return json_response(render_ids(scope, action.render_result(done, path)), status=action.status)

    return act
