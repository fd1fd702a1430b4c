"""Shops to import from: a store of this program behind a proxy that misbehaves, and answers kept in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from aiohttp import ClientSession, web
from aiohttp.test_utils import TestServer

from kernel.scope import Store
from server.importers.cscart.http_source import HttpSource, SourceTimeouts
from server.importers.cscart.source import NotOffered

Answer = Callable[[web.Request], Awaitable[web.StreamResponse | None]]
"""Answers a request in the shop's place; None lets the shop answer."""


class FakeClock:
    """A clock that waiting moves on, at once."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.pauses: list[float] = []

    def read(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.seconds += seconds
        await asyncio.sleep(0)

    def timeouts(self, **options: Any) -> SourceTimeouts:
        return SourceTimeouts(sleep=self.sleep, clock=self.read, **options)


@dataclass
class Shop:
    """A server in front of a store, at an address of its own; `answer` may answer in its place."""

    forward: str = ""
    store: Store | None = None
    answer: Answer | None = None
    requests: int = 0
    at_once: int = 0
    most_at_once: int = 0
    paths: list[str] = field(default_factory=list)

    async def __aenter__(self) -> Shop:
        app = web.Application()
        app.router.add_route("GET", "/{path:.*}", self._handle)
        self.server = TestServer(app)
        await self.server.start_server()
        self.session = ClientSession()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.session.close()
        await self.server.close()

    @property
    def url(self) -> str:
        return str(self.server.make_url("/"))

    def source(self, clock: FakeClock | None = None, **timeouts: Any) -> HttpSource:
        return HttpSource(self.url, "owner@shop.example", "key", (clock or FakeClock()).timeouts(**timeouts))

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        self.requests += 1
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        self.paths.append(request.path_qs)
        try:
            answer = await self.answer(request) if self.answer else None
            return answer or await self._forward(request)
        finally:
            self.at_once -= 1

    async def _forward(self, request: web.Request) -> web.Response:
        assert self.store is not None
        headers = {"X-Tenant-ID": str(self.store.public_id), "Authorization": request.headers["Authorization"]}
        async with self.session.get(f"{self.forward}{request.path_qs}", headers=headers) as response:
            body = await response.read()
            return web.Response(body=body, status=response.status, content_type=response.content_type)


@dataclass
class SavedShop:
    """A source whose answers are kept by path, with `?product_id=` where a list is that of a product."""

    answers: Mapping[str, Any]
    asked: list[str] = field(default_factory=list)

    async def fetch(self, path: str, **query: object) -> Any:
        key = f"{path}?product_id={query['product_id']}" if "product_id" in query else path
        self.asked.append(key)
        answer = self.answers.get(key)
        if answer is None or int(str(query.get("page", 1))) > 1:
            raise NotOffered("status 404: Not found")
        if isinstance(answer, Exception):
            raise answer
        return answer
