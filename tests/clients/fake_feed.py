"""The event feed as an application behind bad connections serves it: pages, and streams that each end in another way."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

CUT_IN_A_MESSAGE = "cut in a message"
ENDED = "ended"
NO_STREAM = "no stream"
SILENT = "silent"
COMPLETE = "complete"
_TEXT = "Açaí ☕ \u2028\x85"


@dataclass
class FakeFeed:
    """Events numbered from 1 to `count`; each stream makes a few more of them visible before it ends as its turn of `streams` says."""

    count: int
    streams: list[str] = field(default_factory=list)
    page_size: int = 7
    visible: int = 10
    opened: list[str] = field(default_factory=list)
    _failures: Iterator[bool] = field(default_factory=lambda: itertools.chain([False, True], itertools.repeat(False)))

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer `GET /api/admin/events`."""
        if request.query.get("after") == "expired":
            return web.json_response({"error": "cursor_expired", "message": "", "oldest_cursor": "c0"}, status=410)
        assert request.query["types"] == "order.updated"
        if "text/event-stream" in request.headers["Accept"]:
            return await self._stream(request, self._position(request.headers["Last-Event-ID"]))
        if next(self._failures):
            return web.json_response({"error": "request_timeout", "message": "request timeout"}, status=503)
        events, end = self._page(self._position(request.query["after"]))
        return web.json_response({"events": events, "cursor": f"c{end}", "has_more": end < self.visible})

    async def handle_graphql(self, request: web.Request) -> web.StreamResponse:
        """Answer the query of the same pages."""
        variables = (await request.json())["variables"]
        if variables["after"] == "expired":
            error = {"message": "", "extensions": {"code": "EXPIRED", "details": {"oldest_cursor": "c0"}}}
            return web.json_response({"errors": [error], "data": None}, status=410)
        events, end = self._page(self._position(variables["after"]))
        page_info = {"has_next_page": end < self.visible, "end_cursor": f"c{end}"}
        self.visible = min(self.count, self.visible + 5)
        return web.json_response(
            {"data": {"events": {"edges": [{"node": event} for event in events], "page_info": page_info}}}
        )

    def _position(self, cursor: str) -> int:
        return 0 if cursor == "oldest" else int(cursor.removeprefix("c"))

    def _page(self, position: int) -> tuple[list[dict[str, Any]], int]:
        end = min(position + self.page_size, self.visible)
        return [self._event(number) for number in range(position + 1, end + 1)], end

    def _event(self, number: int) -> dict[str, Any]:
        return {
            "id": f"evt_{number}",
            "event": "order.updated",
            "sequence": number,
            "data": {"t": _TEXT},
            "cursor": f"c{number}",
        }

    def _message(self, number: int) -> bytes:
        data = json.dumps(self._event(number), ensure_ascii=False)
        return f"id: c{number}\nevent: order.updated\ndata: {data}\n\n".encode()

    async def _stream(self, request: web.Request, position: int) -> web.StreamResponse:
        kind = self.streams.pop(0) if self.streams else COMPLETE
        self.opened.append(kind)
        if kind == NO_STREAM:
            self.visible = min(self.count, self.visible + 5)
            return web.json_response({"events": [], "cursor": f"c{position}", "has_more": False})
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(f"retry: 1000\nid: c{position}\n\n".encode())
        if kind == SILENT:
            await asyncio.sleep(3600)
        self.visible = self.count if kind == COMPLETE else min(self.count, self.visible + 5)
        content = b"".join(self._message(number) for number in range(position + 1, self.visible + 1))
        if kind == CUT_IN_A_MESSAGE:
            await response.write(content[:-20])
            await asyncio.sleep(0.05)
            assert request.transport is not None
            request.transport.abort()
            return response
        if kind == ENDED:
            content += b'event: end\ndata: {"error": "invalid_token"}\n\n'
        for start in range(0, len(content), 50):  # in the middle of lines and of characters
            await response.write(content[start : start + 50])
        if kind == COMPLETE:
            await response.write(f": \nid: c{self.visible}\n\n".encode())
            await asyncio.sleep(3600)
        return response
