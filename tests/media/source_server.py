"""A server of pictures: the sources that a worker fetches from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from aiohttp import web
from aiohttp.test_utils import TestServer

Answer: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]


class SourceServer:
    """Serves what `contents` has by path, with an ETag; `answers` decide about their paths themselves. Counts requests."""

    def __init__(self) -> None:
        self.contents: dict[str, bytes] = {}
        self.answers: dict[str, Answer] = {}
        self.requests: Counter[str] = Counter()
        self.running: Counter[str] = Counter()
        self.most_running: Counter[str] = Counter()
        app = web.Application()
        app.router.add_get("/{path:.*}", self._receive)
        self._server = TestServer(app, host="127.0.0.1")

    async def start(self) -> None:
        await self._server.start_server()

    async def close(self) -> None:
        await self._server.close()

    def url(self, path: str, host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self._server.port}/{path}"

    def add(self, path: str, content: bytes) -> str:
        """Serve a content and return its URL."""
        self.contents[path] = content
        return self.url(path)

    async def _receive(self, request: web.Request) -> web.StreamResponse:
        path, host = request.match_info["path"], request.host
        self.requests[path] += 1
        self.running[host] += 1
        self.most_running[host] = max(self.most_running[host], self.running[host])
        try:
            return await self.answers.get(path, self._answer)(request)
        finally:
            self.running[host] -= 1

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        content = self.contents.get(request.match_info["path"])
        if content is None:
            return web.Response(status=404)
        etag = f'"{hash(content):x}"'
        if request.headers.get("If-None-Match") == etag:
            return web.Response(status=304)
        return web.Response(body=content, content_type="application/octet-stream", headers={"ETag": etag})
