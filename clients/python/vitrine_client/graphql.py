"""Execute GraphQL documents."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from vitrine_client.documents import find_operation
from vitrine_client.operations import new_idempotency_key
from vitrine_client.transport import Request, Transport

PATH = "/graphql"
_ACCEPT = {"Accept": "application/graphql-response+json, application/json;q=0.9"}


async def execute(
    transport: Transport,
    document: str,
    variables: Mapping[str, Any] | None = None,
    *,
    operation_name: str | None = None,
    idempotency_key: str | None = None,
) -> dict[str, Any]:
    """Return the data of a document; raise `GraphQLError`, which holds the data of a partial result.

    Queries are repeated, and so are documents with one mutation, which get an Idempotency-Key, except those that return a secret.
    """
    operation = find_operation(document, operation_name)
    if idempotency_key is None and operation is not None and operation.takes_idempotency_key:
        idempotency_key = new_idempotency_key()
    request = Request(
        "POST",
        PATH,
        json={"query": document, "variables": dict(variables or {}), "operationName": operation_name},
        headers=_ACCEPT,
        idempotency_key=idempotency_key,
        is_repeatable=operation is not None and operation.kind == "query",
    )
    data: dict[str, Any] = (await transport.send(request)).body["data"]
    return data


async def nodes(
    transport: Transport, document: str, variables: Mapping[str, Any] | None, path: Sequence[str]
) -> AsyncIterator[dict[str, Any]]:
    """Yield the nodes of the connection at a path, by default the only root field."""
    if "$after" not in document:
        raise ValueError("the document has no variable $after")
    following = dict(variables or {})
    while True:
        connection: Any = await execute(transport, document, following)
        for name in path or list(connection)[:1]:
            connection = connection[name]
        for edge in connection["edges"]:
            yield edge["node"]
        if not connection["page_info"]["has_next_page"]:
            return
        following["after"] = connection["page_info"]["end_cursor"]
