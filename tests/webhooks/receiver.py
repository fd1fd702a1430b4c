"""A webhook receiver: a real server that records requests and answers as configured."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer


@dataclass(frozen=True)
class Received:
    path: str
    headers: Any
    raw: bytes

    @property
    def envelope(self) -> dict[str, Any]:
        return json.loads(self.raw)


@dataclass
class Receiver:
    """Records every request; `answer` decides the response and may delay it."""

    answer: Callable[[Received], Awaitable[web.Response]] | None = None
    received: list[Received] = field(default_factory=list)
    in_flight: int = 0
    max_in_flight: int = 0
    server: TestServer | None = None

    async def start(self) -> None:
        app = web.Application()
        app.router.add_post("/{path:.*}", self._receive)
        self.server = TestServer(app, host="127.0.0.1")
        await self.server.start_server()

    async def close(self) -> None:
        if self.server is not None:
            await self.server.close()

    def url(self, path: str = "hook") -> str:
        assert self.server is not None
        return f"http://127.0.0.1:{self.server.port}/{path}"

    async def _receive(self, request: web.Request) -> web.Response:
        delivery = Received(request.path, request.headers.copy(), await request.read())
        self.received.append(delivery)
        self.in_flight += 1
        self.max_in_flight = max(self.max_in_flight, self.in_flight)
        try:
            return await self.answer(delivery) if self.answer else web.Response()
        finally:
            self.in_flight -= 1

    def names(self, path: str | None = None) -> list[str]:
        return [delivery.envelope["event"] for delivery in self.received if path is None or delivery.path == path]

    async def wait_for(self, count: int, seconds: float = 15.0) -> list[Received]:
        """Wait until this many requests were received."""
        await wait_until(lambda: len(self.received) >= count, seconds)
        return self.received


async def wait_until(condition: Callable[[], object], seconds: float = 15.0) -> None:
    async with asyncio.timeout(seconds):
        while True:
            result = condition()
            if asyncio.iscoroutine(result):
                result = await result
            if result:
                return
            await asyncio.sleep(0.01)


def answers(*statuses: int, headers: dict[str, str] | None = None) -> Callable[[Received], Awaitable[web.Response]]:
    """Return an `answer` that uses these statuses in turn, the last one repeatedly."""
    remaining = list(statuses)

    async def answer(_: Received) -> web.Response:
        status = remaining.pop(0) if len(remaining) > 1 else remaining[0]
        return web.Response(status=status, headers=headers)

    return answer
