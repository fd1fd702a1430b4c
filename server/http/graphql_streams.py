"""Execute an operation whose results are sent one after the other: a subscription's, or the only one of a query or mutation.

Server-Sent Events (distinct connections of https://github.com/enisdenjo/graphql-sse) are here, WebSockets in `server.http.graphql_sockets`.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import orjson
from aiohttp import hdrs, web
from graphql import ExecutionResult, OperationDefinitionNode, OperationType

from auth.schemes import MISSING_HEADER
from kernel.errors import DomainError, RateLimited, Unauthenticated, Unavailable
from kernel.scope import ActorKind, Scope, active_scope
from models.reading.answer_size import too_many_bytes
from resolvers.engine.costs import StoreCost, measure_cost
from resolvers.engine.executor import format_document_error, format_error
from resolvers.engine.prepare import PreparedDocument
from resolvers.events import ORDER_UPDATED, PAYMENT_CHANGED, subscribed_arguments
from rest_facade.routing import SCOPE
from schema.types.events import SUBJECTS
from server.http import graphql_view
from server.http.event_streams import RenewScope, open_stream, renewal, start_response
from server.http.event_tails import TailEvent
from server.http.graphql_view import (
    DOCUMENTS,
    EXECUTOR,
    LIMITS,
    USAGE,
    WITHOUT_CREDENTIAL,
    find_body_error,
    formatted,
    malformed,
)

# Every name of a field that reads records as the caller: a text without them gives all callers the same result for an event.
_READS_RECORDS = re.compile(rf"\b({'|'.join((*SUBJECTS, PAYMENT_CHANGED, ORDER_UPDATED))})\b")


class OperationRefused(Exception):
    """Report the errors of an operation that is not executed."""

    def __init__(self, *errors: dict[str, Any]) -> None:
        super().__init__(errors)
        self.errors = list(errors)


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation that a client sent, ready to be executed."""

    prepared: PreparedDocument
    node: OperationDefinitionNode
    variables: Mapping[str, Any]
    cost: StoreCost
    key: object
    """Equal for operations that give all callers the same results; None for another."""

    @property
    def is_subscription(self) -> bool:
        """Return whether it has a result for each event."""
        return self.node.operation is OperationType.SUBSCRIPTION


async def prepare(app: web.Application, scope: Scope, body: Mapping[str, Any]) -> Operation:
    """Validate what a client sent; raises `OperationRefused`, `Unauthenticated` without a credential, and `RateLimited`."""
    if problem := find_body_error(dict(body)):
        raise OperationRefused(malformed(problem))
    variables, name = body.get("variables") or {}, body.get("operationName") or None
    documents = app[DOCUMENTS]
    try:
        text = await graphql_view.document_text(scope, dict(body))
        if text is None:
            raise OperationRefused(
                {"message": "persisted document not found", "extensions": {"code": "PERSISTED_DOCUMENT_NOT_FOUND"}}
            )
        prepared = await graphql_view.prepare(app, scope, text)
        node = prepared.operation(name)
        if scope.actor.kind is ActorKind.ANONYMOUS and not graphql_view.needs_no_credential(
            node, app[WITHOUT_CREDENTIAL]
        ):
            raise Unauthenticated(MISSING_HEADER)
        if prepared.errors:
            raise OperationRefused(*(format_document_error(error, scope) for error in prepared.errors))
        if node is None:
            raise OperationRefused(malformed(graphql_view.operation_error(prepared, name)))
        cost = await measure_cost(scope, documents.schema, prepared, node, variables)
    except (Unauthenticated, RateLimited, Unavailable):
        raise
    except DomainError as error:
        raise OperationRefused(formatted(error)) from error
    app[USAGE].count(scope, prepared.fields_of(name))
    shared = (text, name, orjson.dumps(variables)) if not _READS_RECORDS.search(text) else None
    return Operation(prepared, node, variables, cost, shared)


async def execute_once(app: web.Application, scope: Scope, operation: Operation) -> bytes:
    """Return the result of a query or mutation in JSON; raises `OperationRefused` for one whose execution did not begin."""
    result = await app[EXECUTOR].execute(
        scope, operation.prepared, operation.node, operation.variables, cost=operation.cost
    )
    if not graphql_view.has_started(result):
        raise OperationRefused(*(format_error(error, scope) for error in result.errors or ()))
    return await _serialize(app, scope, result, operation.cost.cost)


async def subscribe(
    app: web.Application, scope: Scope, renew: RenewScope, operation: Operation
) -> AsyncGenerator[bytes | None, None]:
    """Yield a result in JSON for each event, None for a heartbeat, until the process stops.

    Raises the errors of `open_stream` before the first value, later that of a credential that has ended.
    """
    asked = subscribed_arguments(app[DOCUMENTS].schema, operation.prepared, operation.node, operation.variables)
    async with open_stream(app, scope, renew, asked.after, asked.types, asked.shoppers, asked.access) as stream:
        yield None
        while not stream.is_stopping:
            batch = await stream.next()
            for event in batch:
                yield await _event_result(app, stream.scope, operation, event)
            if not batch:
                yield None


async def _event_result(app: web.Application, scope: Scope, operation: Operation, event: TailEvent) -> bytes:
    """Return the result of a subscription for an event: the one that another of the same text got, if it does not depend on the caller."""
    known = event.results.get(operation.key) if operation.key is not None else None
    if known is not None:
        return known
    with active_scope(scope):
        result = await app[EXECUTOR].execute_event(
            scope, operation.prepared, operation.node, operation.variables, event.event
        )
    content = await _serialize(app, scope, result)
    if operation.key is not None and not result.errors:
        event.results[operation.key] = content
    return content


async def _serialize(app: web.Application, scope: Scope, result: ExecutionResult, cost: int | None = None) -> bytes:
    body: dict[str, Any] = {"data": result.data}
    if result.errors:
        body["errors"] = [format_error(error, scope) for error in result.errors]
    if cost is not None:
        body["extensions"] = {"cost": cost}
    content = await graphql_view.serialize(app[LIMITS], body)
    if content is None:
        content = orjson.dumps({"data": None, "errors": [formatted(too_many_bytes(app[LIMITS]))]})
    return content


async def send_results(request: web.Request, body: dict[str, Any], allow_mutations: bool) -> web.StreamResponse:
    """Send the results of an operation as Server-Sent Events."""
    app, scope = request.app, request[SCOPE]
    try:
        operation = await prepare(app, scope, body)
        if operation.node.operation is OperationType.MUTATION and not allow_mutations:
            return web.Response(status=405, headers={hdrs.ALLOW: "POST"})
        if operation.is_subscription:
            return await _send_events(request, operation)
        content = await execute_once(app, scope, operation)
    except OperationRefused as error:
        content = orjson.dumps({"errors": error.errors})
    return await _complete(request, await start_response(request), content)


async def _send_events(request: web.Request, operation: Operation) -> web.StreamResponse:
    """Send a result for each event; when the server stops, the missing `complete` makes the client connect again."""
    if request.method == hdrs.METH_HEAD:
        return await start_response(request)
    response: web.StreamResponse | None = None
    try:
        async with aclosing(subscribe(request.app, request[SCOPE], renewal(request), operation)) as produced:
            async for content in produced:
                if response is None:
                    response = await start_response(request)
                await response.write(b":\n\n" if content is None else _NEXT % content)
    except DomainError as error:
        response = response or await start_response(request)
        return await _complete(request, response, orjson.dumps({"errors": [formatted(error)]}))
    assert response is not None
    return response


_NEXT = b"event: next\ndata: %b\n\n"


async def _complete(request: web.Request, response: web.StreamResponse, content: bytes) -> web.StreamResponse:
    if request.method != hdrs.METH_HEAD:
        await response.write(_NEXT % content + b"event: complete\ndata:\n\n")
    return response
