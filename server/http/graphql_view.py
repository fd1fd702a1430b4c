"""Serve `/graphql` over HTTP: parse the request, execute a prepared document, serialize the response."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from time import perf_counter
from typing import Any, cast
from urllib.parse import parse_qsl

import orjson
from aiohttp import hdrs, web
from graphql import ExecutionResult, FieldNode, OperationDefinitionNode, OperationType

from auth.schemes import MISSING_HEADER
from kernel.accepted_types import accepted_types
from kernel.clock import RFC3339_JSON
from kernel.errors import DomainError, MalformedRequest, RateLimited, Unauthenticated, Unavailable
from kernel.large_json import dumps_in_parts
from kernel.request_bodies import MalformedBody, parse_json
from kernel.request_parts import record_serialization
from kernel.scope import Actor, ActorKind, Scope
from kernel.text import shorten
from models.reading.answer_size import AnswerLimits, LargeAnswer, too_many_bytes
from resolvers import root
from resolvers.catalog_reads import is_catalogue_read
from resolvers.engine.costs import measure_cost
from resolvers.engine.executor import error_extensions, error_of, format_document_error, format_error
from resolvers.engine.limits import INTROSPECTION_FIELDS
from resolvers.engine.prepare import DocumentCache, PreparedDocument
from resolvers.engine.run import OperationExecutor
from resolvers.engine.selected_fields import returns_secret
from resolvers.engine.usage import UsageCounter
from resolvers.persisted_documents import find_document, save_document, trusted_text
from rest_facade.apps.events import EVENT_STREAM
from rest_facade.bodies import MULTIPART, read_raw, whole_body
from rest_facade.responses import BytesResponse, retry_after_of
from rest_facade.routing import SCOPE
from server.http.catalog_cache import CATALOGUE_CACHE, REQUEST_CACHE, is_cacheable
from server.http.graphql_errors import ERROR_FORMAT
from server.http.graphql_forms import NONE, Names, execute_form, misplaced_file
from server.http.graphql_schema import add_schema_routes
from server.http.idempotency import HEADER, handle_once
from server.http.playground import add_asset_routes, playground

DOCUMENTS = web.AppKey("documents", DocumentCache)
EXECUTOR = web.AppKey("executor", OperationExecutor)
USAGE = web.AppKey("usage", UsageCounter)
LIMITS = web.AppKey("limits", AnswerLimits)
WITHOUT_CREDENTIAL = web.AppKey("without_credential", frozenset[str])
"""The root fields that callers without a credential may select."""
SEND_RESULTS: web.AppKey[Callable[[web.Request, dict[str, Any], bool], Awaitable[web.StreamResponse]]] = web.AppKey(
    "send_results"
)
"""The application's function that sends the results of an operation as Server-Sent Events; the last argument allows mutations."""
OPEN_SOCKET: web.AppKey[Callable[[web.Request], Awaitable[web.StreamResponse]]] = web.AppKey("open_socket")
"""The application's function that serves operations over a WebSocket."""
_JSON = "application/json"
_RESPONSE_JSON = "application/graphql-response+json"
_BODY_TYPES = (_JSON, _RESPONSE_JSON, "application/octet-stream", "")
NEEDS_STREAM = "a subscription needs Accept: text/event-stream, or a WebSocket"

_PERSISTED_QUERY_VERSION = 1
_SHA256 = re.compile("[0-9a-fA-F]{64}")
_BODY_FIELDS: Mapping[str, tuple[type, str]] = {
    "query": (str, "a string"),
    "documentId": (str, "a string"),
    "variables": (dict, "an object"),
    "operationName": (str, "a string"),
    "extensions": (dict, "an object"),
}


def add_routes(app: web.Application, limits: AnswerLimits, *, anonymous_introspection: bool) -> None:
    """Add `/graphql`, its schema and the playground; documents are prepared against the public schema.

    `anonymous_introspection` answers introspection without a credential (docs/reference/graphql.md#introspection).
    """
    schema = root.public_schema()
    app[DOCUMENTS] = DocumentCache(schema)
    app[LIMITS] = limits
    app[WITHOUT_CREDENTIAL] = root.fields_without_credential().union(
        INTROSPECTION_FIELDS if anonymous_introspection else ()
    )
    app[EXECUTOR] = OperationExecutor(schema, public=True, limits=limits)
    app[USAGE] = UsageCounter(schema)
    app.router.add_post("/graphql", post)
    app.router.add_get("/graphql", get)
    add_schema_routes(app)
    app.router.add_get("/graphql/playground", playground)
    add_asset_routes(app)


async def post(request: web.Request) -> web.StreamResponse:
    """Execute a document sent by POST."""
    if request.headers.get(hdrs.CONTENT_TYPE) != _JSON and request.content_type not in _BODY_TYPES:
        if request.content_type == MULTIPART:
            return await execute_form(request, partial(_execute, request, None), partial(_error_response, request, 400))
        return _error_response(
            request,
            415 if _wants_response_json(request) else 400,
            "the content type must be application/json",
        )
    scope: Scope = request[SCOPE]
    try:
        content = whole_body(request)
        if content is None:
            content = await read_raw(request)
        if _may_be_cached(scope) and (cached := await _find_cached(request, scope, content)) is not None:
            return cached
        body = parse_json(content)
    except MalformedBody as error:
        return _error_response(request, 400, f"invalid request body: {error}")
    if isinstance(body, list):
        return _error_response(request, 400, "batches are not supported; send one operation")
    if not isinstance(body, dict):
        return _error_response(request, 400, "the body must be a JSON object")
    return await _execute(request, content, body, allow_mutations=True)


async def get(request: web.Request) -> web.StreamResponse:
    """Execute a query sent by GET; a mutation is 405. A client that asks for a WebSocket gets one."""
    if request.headers.get(hdrs.UPGRADE, "").lower() == "websocket":
        return await request.app[OPEN_SOCKET](request)
    content, scope = request.rel_url.raw_query_string, request[SCOPE]
    if _may_be_cached(scope) and (cached := await _find_cached(request, scope, content)) is not None:
        return cached
    params: dict[str, Any] = dict(parse_qsl(content, keep_blank_values=True))
    for name in ("variables", "extensions"):
        if name in params:
            try:
                params[name] = parse_json(params[name].encode("utf-8", "surrogatepass")) if params[name] else None
            except MalformedBody as error:
                return _error_response(request, 400, f"{name}: {error}")
    return await _execute(request, content, params, allow_mutations=False)


def _may_be_cached(scope: Scope) -> bool:
    # The texts of a restricted caller are looked up first, so that no cache answers another one.
    return is_cacheable(scope) and not _is_restricted(scope.actor)


def _is_restricted(actor: Actor) -> bool:
    """Return whether the caller's key, also next to a customer's token, accepts trusted documents only."""
    return (actor.key or actor).trusted_documents_only


async def _find_cached(request: web.Request, scope: Scope, content: str | bytes) -> web.StreamResponse | None:
    """Return the cached answer to a request for the catalogue that was sent before, in the same bytes; None without one."""
    if _accepts_only_streams(request):
        return None
    identity = request.app[REQUEST_CACHE].find(scope, content, _wants_response_json(request))
    cached = None if identity is None else await request.app[CATALOGUE_CACHE].find(request, scope, identity)
    if cached is not None:
        text, name, *_ = cast("tuple[str, str | None, bytes, bool]", identity)  # as `_execute` added it
        request.app[USAGE].count(scope, request.app[DOCUMENTS].fields_of(text, name))
    return cached


async def _execute(
    request: web.Request,
    content: str | bytes | None,
    body: dict[str, Any],
    *,
    allow_mutations: bool,
    files: Names = NONE,
) -> web.StreamResponse:
    """Execute a document; `content` is what the body was parsed from, None for a form, and `files` the variables that contain a file."""
    if not files and _accepts_only_streams(request):
        return await request.app[SEND_RESULTS](request, body, allow_mutations)
    scope = request[SCOPE]
    if problem := find_body_error(body):
        return _error_response(request, 400, problem)
    try:
        text = await document_text(scope, body)
    except DomainError as error:
        return _domain_error_response(request, error)
    if text is None:
        return _document_not_found(request, is_apollo=body.get("documentId") is None)
    variables: dict[str, Any] = body.get("variables") or {}
    name = body.get("operationName") or None
    try:
        prepared = await prepare(request.app, scope, text)
    except DomainError as error:
        return _refused(request, scope, error)
    if files and (problem := misplaced_file(prepared, name, files)):
        return _error_response(request, 400, problem)
    if _is_subscription(prepared, name) and _accepts(request, EVENT_STREAM):
        return await request.app[SEND_RESULTS](request, body, allow_mutations)
    request.app[USAGE].count(scope, prepared.fields_of(name))

    async def respond() -> web.StreamResponse:
        return await _execute_prepared(request, scope, prepared, name, variables, allow_mutations=allow_mutations)

    if is_cacheable(scope) and _is_catalogue_read(request, prepared, name):
        form = _wants_response_json(request)
        asked = (text, name, orjson.dumps(variables, option=orjson.OPT_SORT_KEYS), form)
        if content is not None:
            request.app[REQUEST_CACHE].add(scope, content, form, asked)
        return await request.app[CATALOGUE_CACHE].respond(request, scope, asked, respond)
    return await respond()


def _accepts_only_streams(request: web.Request) -> bool:
    """Return whether the client wants the results of any operation as a stream: not one that accepts JSON as well."""
    if not _accepts(request, EVENT_STREAM):
        return False
    others = accepted_types(request.headers[hdrs.ACCEPT])
    return "*/*" not in others and not any("json" in name for name in others)


def _accepts(request: web.Request, media_type: str) -> bool:
    """Return whether the client names a media type; few do, so that the header of the others is not parsed."""
    accept = request.headers.get(hdrs.ACCEPT, "").lower()
    return media_type in accept and media_type in accepted_types(accept)


def _is_subscription(prepared: PreparedDocument, name: str | None) -> bool:
    operation = None if prepared.errors else prepared.operation(name)
    return operation is not None and operation.operation is OperationType.SUBSCRIPTION


def _is_catalogue_read(request: web.Request, prepared: PreparedDocument, name: str | None) -> bool:
    operation = None if prepared.errors else prepared.operation(name)
    return operation is not None and is_catalogue_read(request.app[DOCUMENTS].schema, prepared, operation)


async def _execute_prepared(
    request: web.Request,
    scope: Scope,
    prepared: PreparedDocument,
    name: str | None,
    variables: dict[str, Any],
    *,
    allow_mutations: bool,
) -> web.StreamResponse:
    """Execute an operation, by its plan where the document has one that fits."""
    documents, executor = request.app[DOCUMENTS], request.app[EXECUTOR]
    is_anonymous = scope.actor.kind is ActorKind.ANONYMOUS
    try:
        if not is_anonymous and prepared.has_plans:
            answer = await executor.execute_cached_plan(scope, prepared, name, variables)
            if answer is not None:
                return await _respond_with_data(request, answer, 200)
        operation = prepared.operation(name)
        if is_anonymous and not needs_no_credential(operation, request.app[WITHOUT_CREDENTIAL]):
            raise Unauthenticated(MISSING_HEADER)
        if prepared.errors:
            problems = [format_document_error(error, scope) for error in prepared.errors]
            return _respond(request, 200, {"errors": problems}, 400)
        if operation is None:
            return _error_response(request, 400, operation_error(prepared, name))
        if operation.operation is OperationType.SUBSCRIPTION:
            return _error_response(request, 400, NEEDS_STREAM)
        if operation.operation.value == "mutation" and not allow_mutations:
            return web.Response(status=405, headers={"Allow": "POST"})
        cost = await measure_cost(scope, documents.schema, prepared, operation, variables)
    except DomainError as error:
        return _refused(request, scope, error)
    is_idempotent = (
        operation.operation.value == "mutation"
        and HEADER in request.headers
        and not returns_secret(documents.schema, operation, prepared.fragments)
    )

    async def respond() -> web.StreamResponse:
        if is_idempotent and len(operation.selection_set.selections) != 1:
            return _error_response(request, 400, "with an Idempotency-Key a document holds one mutation")
        result = await executor.execute(scope, prepared, operation, variables, cost=cost)
        return await _result_response(request, scope, result, cost.cost)

    if is_idempotent:
        return await handle_once(request, scope, ERROR_FORMAT, respond, takes_files=True)
    return await respond()


async def prepare(app: web.Application, scope: Scope, text: str) -> PreparedDocument:
    """Return the prepared document of a caller; one without a credential gets little and leaves nothing behind."""
    documents = app[DOCUMENTS]
    if scope.actor.kind is ActorKind.ANONYMOUS:
        return await documents.prepare_once(text)
    return await documents.prepare(text)


def _refused(request: web.Request, scope: Scope, error: DomainError) -> web.Response:
    """Return the error of a refused document; to a caller without a credential, every refusal is the missing one."""
    if isinstance(error, Unauthenticated | RateLimited | Unavailable):
        raise error
    if scope.actor.kind is ActorKind.ANONYMOUS:
        raise Unauthenticated(MISSING_HEADER) from error
    return _domain_error_response(request, error)


async def _result_response(request: web.Request, scope: Scope, result: ExecutionResult, cost: int) -> web.Response:
    """Serialize a result; only a request whose execution did not begin is 400 where status codes matter."""
    body: dict[str, Any] = {}
    if result.errors:
        body["errors"] = [format_error(error, scope) for error in result.errors]
    started = has_started(result)
    if started:
        body["data"] = result.data
    body["extensions"] = {"cost": cost}
    response = await _respond_with_data(request, body, 200 if started else 400)
    if waits := [seconds for error in result.errors or () if (seconds := retry_after_of(error_of(error))) is not None]:
        response.headers[hdrs.RETRY_AFTER] = str(max(waits))
    return response


def has_started(result: ExecutionResult) -> bool:
    """Return whether the execution of an operation began: without it there is no data, not even null (GraphQL specification, 7.1)."""
    return result.data is not None or not result.errors or any(error.path for error in result.errors)


def find_body_error(body: dict[str, Any]) -> str | None:
    """Return what is wrong with the members of a request; None for nothing."""
    for name, value in body.items():
        expected = _BODY_FIELDS.get(name)
        if expected is not None and value is not None and not isinstance(value, expected[0]):
            return f"{name} must be {expected[1]}"
    persisted = (body.get("extensions") or {}).get("persistedQuery")
    if persisted is not None and not _is_persisted_query(persisted):
        return "extensions.persistedQuery must be {version: 1, sha256Hash: <64 hexadecimal digits>}"
    if not body.get("query") and not body.get("documentId") and persisted is None:
        return "query or documentId is required"
    return None


def _is_persisted_query(value: Any) -> bool:
    """Return whether a value has Apollo's form of a persisted query."""
    return (
        isinstance(value, dict)
        and value.get("version") == _PERSISTED_QUERY_VERSION
        and isinstance(value.get("sha256Hash"), str)
        and _SHA256.fullmatch(value["sha256Hash"]) is not None
    )


def needs_no_credential(operation: OperationDefinitionNode | None, names: frozenset[str]) -> bool:
    """Return whether an operation selects nothing but root fields of the given names."""
    selections = operation.selection_set.selections if operation is not None else ()
    # Fields only: a fragment may be named like one of them.
    return bool(selections) and all(isinstance(node, FieldNode) and node.name.value in names for node in selections)


async def document_text(scope: Scope, body: dict[str, Any]) -> str | None:
    """Return the document's text, sent or persisted. A text sent with its SHA-256, in either form, is persisted.

    Raises `MalformedRequest` for a hash of another text, and `Forbidden` where the caller's key accepts trusted documents only.
    """
    query, document_id = body.get("query"), body.get("documentId")
    if _is_restricted(scope.actor):
        persisted = (body.get("extensions") or {}).get("persistedQuery") or {}
        return await trusted_text(scope, query, document_id or f"sha256:{persisted.get('sha256Hash', '').lower()}")
    mismatch = "documentId is not the SHA-256 of the query"
    if document_id is None:
        persisted = (body.get("extensions") or {}).get("persistedQuery")
        if persisted is None:
            return str(query)
        document_id = f"sha256:{persisted['sha256Hash'].lower()}"
        mismatch = "provided sha does not match query"  # the words of Apollo's servers
    if not query:
        return await find_document(scope, document_id)
    if document_id != "sha256:" + hashlib.sha256(query.encode()).hexdigest():
        raise MalformedRequest(mismatch)
    # A store keeps a limited number of documents: callers without a credential don't replace those of others.
    if scope.actor.kind is not ActorKind.ANONYMOUS:
        await save_document(scope, document_id, query)
    return str(query)


def _document_not_found(request: web.Request, *, is_apollo: bool) -> web.Response:
    """Return the error of an unknown document; in Apollo's form clients send the text when they see it, whatever they accept: 200."""
    message, code, status = (
        ("PersistedQueryNotFound", "PERSISTED_QUERY_NOT_FOUND", 200)
        if is_apollo
        else ("persisted document not found", "PERSISTED_DOCUMENT_NOT_FOUND", 400)
    )
    return _respond(request, 200, {"errors": [{"message": message, "extensions": {"code": code}}]}, status)


def operation_error(prepared: PreparedDocument, name: str | None) -> str:
    """Return why a document has no operation to execute."""
    if name:
        return f"the document has no operation named {shorten(name, 60)}"
    if not prepared.operations:
        return "the document has no operation"
    return "operationName is required: the document has several operations"


def _wants_response_json(request: web.Request) -> bool:
    return _accepts(request, _RESPONSE_JSON)


async def _respond_with_data(request: web.Request, body: dict[str, Any], response_json_status: int) -> web.Response:
    """Serialize the result of an execution; an error instead when it is over the limit of bytes."""
    limits = request.app[LIMITS]
    content = await serialize(limits, body)
    if content is None:
        return _domain_error_response(request, too_many_bytes(limits))
    response = _respond_bytes(request, 200, content, response_json_status)
    return _not_cached(response) if "errors" in body else response


async def serialize(limits: AnswerLimits, body: Mapping[str, Any]) -> bytes | None:
    """Serialize the result of an execution; None when it is over the limit of bytes."""
    started = perf_counter()
    if isinstance(body.get("data"), LargeAnswer):
        content = await dumps_in_parts(body, option=RFC3339_JSON, max_bytes=limits.max_bytes)
    else:
        content = orjson.dumps(body, option=RFC3339_JSON)
    record_serialization(perf_counter() - started)
    return content if content is not None and len(content) <= limits.max_bytes else None


def _respond(request: web.Request, status: int, body: dict[str, Any], response_json_status: int) -> web.Response:
    """Return an answer without data."""
    content = orjson.dumps(body, option=RFC3339_JSON)
    return _not_cached(_respond_bytes(request, status, content, response_json_status))


def _not_cached(response: web.Response) -> web.Response:
    """Mark an answer with errors, which may be another the next time."""
    response.headers[hdrs.CACHE_CONTROL] = "no-store"
    return response


def _respond_bytes(request: web.Request, status: int, content: bytes, response_json_status: int) -> web.Response:
    if _wants_response_json(request):
        return BytesResponse(content, status=response_json_status, content_type=_RESPONSE_JSON)
    return BytesResponse(content, status=status)


def _error_response(request: web.Request, status: int, message: str) -> web.Response:
    """Return an error for a malformed GraphQL request."""
    return _respond(request, status, {"errors": [malformed(message)]}, status)


def malformed(message: str) -> dict[str, Any]:
    """Return the error of a malformed request."""
    return {"message": message, "extensions": {"code": "VALIDATION_FAILED"}}


def _domain_error_response(request: web.Request, error: DomainError) -> web.Response:
    return _respond(request, 200, {"errors": [formatted(error)]}, error.status)


def formatted(error: DomainError) -> dict[str, Any]:
    """Return a domain error that is not of a field."""
    return {"message": error.message, "extensions": error_extensions(error)}
