"""A receiver of events: a real server that keeps what it is sent and answers as it is told."""

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
    """Keeps every post; `answer` decides what is answered, and may take its time."""

    answer: Callable[[Received], Awaitable[web.Response]] | None = None
    got: list[Received] = field(default_factory=list)
    under_way: int = 0
    most_under_way: int = 0
    server: TestServer | None = None

    async def start(self) -> None:
        app = web.Application()
        app.router.add_post("/{path:.*}", self._take)
        self.server = TestServer(app, host="127.0.0.1")
        await self.server.start_server()

    async def close(self) -> None:
        if self.server is not None:
            await self.server.close()

    def url(self, path: str = "hook") -> str:
        assert self.server is not None
        return f"http://127.0.0.1:{self.server.port}/{path}"

    async def _take(self, request: web.Request) -> web.Response:
        received = Received(request.path, request.headers.copy(), await request.read())
        self.got.append(received)
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            return await self.answer(received) if self.answer else web.Response()
        finally:
            self.under_way -= 1

    def names(self, path: str | None = None) -> list[str]:
        return [each.envelope["event"] for each in self.got if path is None or each.path == path]

    async def until(self, count: int, seconds: float = 15.0) -> list[Received]:
        """Wait until so many have come."""
        await until(lambda: len(self.got) >= count, seconds)
        return self.got


async def until(condition: Callable[[], object], seconds: float = 15.0) -> None:
    async with asyncio.timeout(seconds):
        while True:
            result = condition()
            if asyncio.iscoroutine(result):
                result = await result
            if result:
                return
            await asyncio.sleep(0.01)


def answers(
    *statuses: int, headers: dict[str, str] | None = None
) -> Callable[[Received], Awaitable[web.Response]]:
    """Answer with these, one after the other, the last one from then on."""
    left = list(statuses)

    async def answer(_: Received) -> web.Response:
        status = left.pop(0) if len(left) > 1 else left[0]
        return web.Response(status=status, headers=headers)

    return answer
