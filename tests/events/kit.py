"""Shared helpers of the event feed's tests: emit events, follow the feed page by page."""

from __future__ import annotations

from typing import Any

from tests.harness.http import Client

FEED = "/api/admin/events"


async def page(client: Client, **query: Any) -> Any:
    """Return a page of the feed."""
    response = await client.get(FEED, params={name: str(value) for name, value in query.items()})
    assert response.status == 200, response
    return response.body


async def read_all(client: Client, after: str | None = None, **query: Any) -> list[Any]:
    """Return all events after a cursor, page by page."""
    found: list[Any] = []
    while True:
        body = await page(client, **query, **({} if after is None else {"after": after}))
        found += body["events"]
        after = body["cursor"]
        if not body["has_more"]:
            return found
