"""Shared helpers of the event feed's tests: emit events, follow the feed page by page."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import ClientResponse

from tests.harness.http import Client

FEED = "/api/admin/events"


async def page(client: Client, **query: Any) -> Any:
    """Return a page of the feed."""
    response = await client.get(FEED, params={name: str(value) for name, value in query.items()})
    assert response.status == 200, response
    return response.body


async def read_all(client: Client, after: str | None = None, **query: Any) -> list[Any]:
    """Return all events after a cursor, page by page."""
    events: list[Any] = []
    while True:
        body = await page(client, **query, **({} if after is None else {"after": after}))
        events += body["events"]
        after = body["cursor"]
        if not body["has_more"]:
            return events


class Messages:
    """The messages of an open Server-Sent Events response, one at a time: `id`, `event` and parsed `data`."""

    def __init__(self, response: ClientResponse) -> None:
        self.response = response
        self.last_id = ""

    async def next_block(self, seconds: float = 10) -> dict[str, str]:
        """Return the fields of the next block; an empty mapping at the end."""
        fields: dict[str, str] = {}
        async with asyncio.timeout(seconds):
            while line := await self.response.content.readline():
                text = line.decode().rstrip("\n")
                if not text:
                    break
                name, _, value = text.partition(":")
                fields[name] = value.removeprefix(" ")
        self.last_id = fields.get("id", self.last_id)
        return fields

    async def next(self, seconds: float = 10) -> dict[str, Any] | None:
        """Return the next message with data; None at the end."""
        while fields := await self.next_block(seconds):
            if "data" in fields:
                return {
                    "id": self.last_id,
                    "event": fields.get("event", "message"),
                    "data": json.loads(fields["data"] or "null"),
                }
        return None

    async def take(self, count: int) -> list[Any]:
        """Return the data of the next messages."""
        events: list[Any] = []
        for position in range(count):
            message = await self.next()
            assert message is not None, (position, events)
            events.append(message["data"])
        return events


@asynccontextmanager
async def follow(client: Client, *, last_id: str | None = None, **query: Any) -> AsyncIterator[Messages]:
    """Open the feed as Server-Sent Events."""
    headers = {
        "X-Tenant-ID": str(client.store.public_id),
        "X-Forwarded-For": client.ip,
        "Accept": "text/event-stream",
        **client.credentials,
    }
    if last_id is not None:
        headers["Last-Event-ID"] = last_id
    async with client.http.get(FEED, headers=headers, params=query) as response:
        assert response.status == 200, await response.read()
        assert response.headers["Content-Type"] == "text/event-stream"
        yield Messages(response)
