"""Follow a GraphQL subscription over Server-Sent Events (graphql-sse, distinct connections; docs/clients.md#subscriptions)."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any

from vitrine_client import graphql
from vitrine_client.documents import find_operation
from vitrine_client.errors import ApiError, ConnectionFailed, error_of
from vitrine_client.events import RECONNECTION_SECONDS, StreamParser, pause_after_outage
from vitrine_client.transport import Request, Transport

_END_OF_FEED = 'query EndOfFeed { events(after: "latest", first: 1) { page_info { end_cursor } } }'


async def subscribe(
    transport: Transport,
    document: str,
    variables: Mapping[str, Any] | None,
    *,
    operation_name: str | None,
    idle_seconds: float,
) -> AsyncGenerator[dict[str, Any], None]:
    """Yield the data of a subscription's results without end; `$after` moves with the `cursor` of each."""
    operation = find_operation(document, operation_name)
    if operation is None or operation.kind != "subscription":
        raise ValueError("the document has no such subscription")
    if "$after" not in document:
        raise ValueError("the document has no variable $after")
    following, outages = dict(variables or {}), 0
    while True:
        pause = 0.0
        try:
            if following.get("after") in (None, "latest"):
                # From a cursor on nothing is lost while there is no stream yet.
                end = await graphql.execute(transport, _END_OF_FEED)
                following["after"] = end["events"]["page_info"]["end_cursor"]
            body = {"query": document, "variables": following, "operationName": operation_name}
            async with aclosing(_results(transport, body, idle_seconds)) as results:
                async for data in results:
                    outages = 0
                    following["after"] = _cursor(data)
                    yield data
        except (ApiError, ConnectionFailed) as error:
            pause = pause_after_outage(error, outages)
            outages += 1
        await asyncio.sleep(pause + random.uniform(0, RECONNECTION_SECONDS))


async def _results(
    transport: Transport, body: dict[str, Any], idle_seconds: float
) -> AsyncGenerator[dict[str, Any], None]:
    """Yield the data of results until the stream ends: the connection or the credential did, or the server stopped."""
    request = Request("POST", graphql.PATH, json=body, headers={"Accept": "text/event-stream"})
    parser, is_first = StreamParser(), True
    async with transport.stream(request, idle_seconds=idle_seconds) as response:
        async for content in response.aiter_bytes():
            for message in parser.feed(content):
                if message.event != "next":
                    continue
                result = json.loads(message.data)
                if errors := result.get("errors"):
                    code = (errors[0].get("extensions") or {}).get("code")
                    if code == "UNAUTHENTICATED" and not is_first:
                        return  # the next stream renews the credential, or has its refusal as an error
                    raise error_of(graphql.PATH, 200, result, request_id="", retry_after=None)
                is_first = False
                yield result["data"]


def _cursor(data: dict[str, Any]) -> str:
    event = next(iter(data.values()))
    if not isinstance(event, dict) or "cursor" not in event:
        raise ValueError("the subscription does not select `cursor`")
    return str(event["cursor"])
