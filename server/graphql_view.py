"""Serve `/graphql`: bytes in, a prepared document executed, bytes out."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

import orjson
from aiohttp import hdrs, web
from graphql import OperationDefinitionNode

from domain.idempotency import current_claim, finish, release
from kernel.errors import DomainError, MalformedRequest, Unauthenticated
from kernel.json_bodies import MalformedBody, load_value
from kernel.scope import Actor, ActorKind, Scope, Store
from models.database import transaction
from models.shapes import NotCompiled
from resolvers import root
from resolvers.compiled import Compiler, Ready
from resolvers.persisted import find_document, keep_document
from rest_facade.bodies import read_raw
from rest_facade.responses import WholeResponse
from rest_facade.routing import Needs, scope_of
from schema.documents import Documents, Prepared, check_cost, cost_of
from schema.execution import ExecutionContext, formatted, graphql_code, run
from schema.secrecy import answers_secret
from server.graphql_errors import FORM
from server.middleware.authentication import Authenticate
from server.middleware.idempotency import HEADER, once
from server.playground import add_asset_routes, playground

DOCUMENTS = web.AppKey("documents", Documents)
COMPILER = web.AppKey("compiler", Compiler)
# As `kernel.clock.rfc3339` writes moments.
_AS_SHOWN = orjson.OPT_UTC_Z | orjson.OPT_OMIT_MICROSECONDS
_JSON = "application/json"
_RESPONSE_JSON = "application/graphql-response+json"


def add_routes(app: web.Application, *, compiled: bool = True) -> None:
    """Mount `/graphql`, its schema and the playground; documents are prepared against the public schema.

    `compiled` lets operations that only read go without an executor.
    """
    schema = root.public_schema()
    app[DOCUMENTS] = Documents(schema)
    if compiled:
        app[COMPILER] = Compiler(schema, native=True)
    app.router.add_post("/graphql", post)
    app.router.add_get("/graphql", get, allow_head=False)
    app.router.add_get("/graphql/schema", schema_text)
    app.router.add_get("/graphql/playground", playground)
    add_asset_routes(app)


async def post(request: web.Request) -> web.StreamResponse:
    """Answer a document sent by POST."""
    if request.content_type not in (
        _JSON,
        "application/graphql-response+json",
        "application/octet-stream",
        "",
    ):
        return _refused(
            request,
            415 if _wants_response_json(request) else 400,
            "the content type must be application/json",
        )
    try:
        body = load_value(await read_raw(request))
    except MalformedBody as problem:
        return _refused(request, 400, f"invalid request body: {problem}")
    if isinstance(body, list):
        return _refused(request, 400, "batches are not supported; send one operation")
    if not isinstance(body, dict):
        return _refused(request, 400, "the body must be a JSON object")
    return await _answer(request, body, mutations=True)


async def get(request: web.Request) -> web.StreamResponse:
    """Answer a query sent by GET; a mutation is 405."""
    given: dict[str, Any] = dict(parse_qsl(request.rel_url.raw_query_string, keep_blank_values=True))
    for name in ("variables", "extensions"):
        if name in given:
            try:
                given[name] = (
                    load_value(given[name].encode("utf-8", "surrogatepass")) if given[name] else None
                )
            except MalformedBody as problem:
                return _refused(request, 400, f"{name}: {problem}")
    return await _answer(request, given, mutations=False)


async def schema_text(_request: web.Request) -> web.Response:
    """Show the public schema in SDL."""
    return web.Response(text=root.public().as_str(), content_type="text/plain")


async def _answer(request: web.Request, body: dict[str, Any], *, mutations: bool) -> web.StreamResponse:
    scope = scope_of(request)
    problem = _malformed(body)
    if problem:
        return _refused(request, 400, problem)
    try:
        text = await _text_of(scope, body)
    except DomainError as refusal:
        return _shown_refusal(request, refusal)
    if text is None:
        return _respond(
            request,
            200,
            {
                "errors": [
                    {
                        "message": "persisted document not found",
                        "extensions": {"code": "PERSISTED_DOCUMENT_NOT_FOUND"},
                    }
                ]
            },
            400,
        )
    documents = request.app[DOCUMENTS]
    variables: dict[str, Any] = body.get("variables") or {}
    try:
        name = body.get("operationName") or None
        prepared = documents.get(text, variables, name)
        if prepared.ready and name is None:
            answer = await _answer_ready(request, scope, prepared.ready[None], variables)
            if answer is not None:
                return answer
        if prepared.errors:
            return _respond(
                request, 200, {"errors": [formatted(error, scope) for error in prepared.errors]}, 400
            )
        operation = prepared.operation(name)
        if scope.actor.kind is ActorKind.ANONYMOUS and not _only_introspects(operation):
            raise Unauthenticated("missing authorization header")
        if operation is None:
            return _refused(request, 400, _no_operation(prepared, name))
        if operation.operation.value == "mutation" and not mutations:
            return web.Response(status=405, headers={"Allow": "POST"})
        cost = cost_of(documents.schema, prepared, operation, variables)
        check_cost(cost)
    except Unauthenticated:
        raise
    except DomainError as refusal:
        return _shown_refusal(request, refusal)
    compiled = request.app[COMPILER].get(prepared, operation, variables) if COMPILER in request.app else None
    if compiled is not None:
        try:
            data = await compiled.run(scope)
        except NotCompiled:
            pass  # the executor answers, errors and all
        else:
            request.app[COMPILER].make_ready(prepared, operation, compiled, cost)
            return _respond(request, 200, {"data": data, "extensions": {"cost": cost}}, 200)
    if (
        operation.operation.value == "mutation"
        and HEADER in request.headers
        and not answers_secret(documents.schema, prepared, operation)
    ):
        return await once(
            request, scope, FORM, lambda: _mutate_once(request, prepared, operation, variables, name, cost)
        )
    result = await run(documents.schema, prepared, ExecutionContext(scope), variables, name)
    shown: dict[str, Any] = {}
    if result.errors:
        shown["errors"] = [formatted(error, scope) for error in result.errors]
    started = result.data is not None or not result.errors or any(error.path for error in result.errors)
    if started:
        shown["data"] = result.data
    shown["extensions"] = {"cost": cost}
    return _respond(request, 200, shown, 200 if started else 400)


async def _answer_ready(
    request: web.Request, scope: Scope, ready: Ready, variables: dict[str, Any]
) -> web.Response | None:
    """Answer an operation that was answered before; None where that takes another look at it."""
    values = ready.values(variables)
    if values is None:
        return None
    try:
        data = await ready.structure.run(scope, values)
    except NotCompiled:
        return None
    return _respond(request, 200, {"data": data, "extensions": {"cost": ready.cost}}, 200)


def open_introspection(authenticate: Authenticate) -> Authenticate:
    """Let callers without any credential into `/graphql` as nobody: they may ask about the schema and nothing else.

    For development servers that only this machine can reach (decisions, section 2).
    """

    async def admit(store: Store, needs: str, headers: Mapping[str, str], /, **asked: Any) -> Actor:
        if needs == Needs.GRAPHQL and hdrs.AUTHORIZATION not in headers and "X-API-Key" not in headers:
            return Actor(ActorKind.ANONYMOUS, credential=f"ip:{asked['client_ip']}")
        return await authenticate(store, needs, headers, **asked)

    return admit


class _Undone(Exception):
    """Roll back a mutation that was refused."""


# Refusals that the next try may not meet, and which are therefore not kept for the key.
_PASSING = {"UNAUTHENTICATED", "FORBIDDEN", "RATE_LIMITED", "UNAVAILABLE", "INTERNAL"}


async def _mutate_once(
    request: web.Request,
    prepared: Prepared,
    operation: OperationDefinitionNode,
    variables: dict[str, Any],
    name: str | None,
    cost: int,
) -> web.Response:
    """Execute one mutation that bears an Idempotency-Key, effect and key in one transaction."""
    scope, claim = scope_of(request), current_claim()
    assert claim is not None
    if len(operation.selection_set.selections) != 1:
        return _refused(request, 400, "with an Idempotency-Key a document holds one mutation")
    if claim.result is not None:
        return _respond(request, 200, {"data": dict(claim.result), "extensions": {"cost": cost}}, 200)
    result = None
    try:
        async with transaction(scope):
            result = await run(
                request.app[DOCUMENTS].schema, prepared, ExecutionContext(scope), variables, name
            )
            if result.errors or result.data is None:
                raise _Undone
            await finish(scope, claim, result.data)
    except _Undone:
        assert result is not None
        shown = [formatted(error, scope) for error in result.errors or ()]
        answer = _respond(
            request, 200, {"errors": shown, "data": result.data, "extensions": {"cost": cost}}, 200
        )
        if any(error["extensions"]["code"] in _PASSING for error in shown):
            await release(scope, claim)
            claim.is_released = True
        return answer
    return _respond(request, 200, {"data": result.data, "extensions": {"cost": cost}}, 200)


def _only_introspects(operation: OperationDefinitionNode | None) -> bool:
    """Tell whether an operation asks about the schema alone; a development server answers that to anybody."""
    if operation is None:
        return False
    names = [getattr(node, "name", None) for node in operation.selection_set.selections]
    return all(name is not None and name.value in ("__schema", "__type") for name in names)


_MEMBERS: Mapping[str, tuple[type, str]] = {
    "query": (str, "a string"),
    "documentId": (str, "a string"),
    "variables": (dict, "an object"),
    "operationName": (str, "a string"),
    "extensions": (dict, "an object"),
}


def _malformed(body: dict[str, Any]) -> str | None:
    for name, value in body.items():
        expected = _MEMBERS.get(name)
        if expected is not None and value is not None and not isinstance(value, expected[0]):
            return f"{name} must be {expected[1]}"
    if not body.get("query") and not body.get("documentId"):
        return "query or documentId is required"
    return None


async def _text_of(scope: Scope, body: dict[str, Any]) -> str | None:
    """Give the document's text: sent, or registered before. A text sent with its true id is registered."""
    query, document_id = body.get("query"), body.get("documentId")
    if document_id is None:
        return str(query)
    if not query:
        return await find_document(scope, document_id)
    if document_id != "sha256:" + hashlib.sha256(query.encode()).hexdigest():
        raise MalformedRequest("documentId is not the SHA-256 of the query")
    await keep_document(scope, document_id, query)
    return str(query)


def _no_operation(prepared: Prepared, name: str | None) -> str:
    if name:
        return f"the document has no operation named {name}"
    if not prepared.operations:
        return "the document has no operation"
    return "operationName is required: the document has several operations"


def _wants_response_json(request: web.Request) -> bool:
    return _RESPONSE_JSON in request.headers.get("Accept", "")


def _respond(
    request: web.Request, status: int, shown: dict[str, Any], response_json_status: int
) -> web.Response:
    body = orjson.dumps(shown, option=_AS_SHOWN)
    if _wants_response_json(request):
        return WholeResponse(body, status=response_json_status, content_type=_RESPONSE_JSON)
    return WholeResponse(body, status=status)


def _refused(request: web.Request, status: int, message: str) -> web.Response:
    """Say that the request is no well-formed GraphQL request."""
    return _respond(
        request,
        status,
        {"errors": [{"message": message, "extensions": {"code": "VALIDATION_FAILED"}}]},
        status,
    )


def _shown_refusal(request: web.Request, refusal: DomainError) -> web.Response:
    extensions: dict[str, Any] = {"code": graphql_code(refusal)}
    if refusal.details:
        extensions["details"] = refusal.details
    return _respond(
        request, 200, {"errors": [{"message": refusal.message, "extensions": extensions}]}, refusal.status
    )
