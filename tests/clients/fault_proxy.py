"""A proxy in front of the application that answers requests in its place, or loses their responses."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from aiohttp import web
from aiohttp.test_utils import TestServer
from yarl import URL

from tests.harness.scopes import unused_ip

LIMITED = "limited"
"""429 with `Retry-After: 1`; the application never sees the request."""
UNAVAILABLE = "unavailable"
"""503 after the application has executed the request."""
LOST = "lost"
"""The connection is cut after the application has executed the request."""
CUT = "cut"
"""The connection is cut while the request is sent; the application never sees it."""
_HOP_BY_HOP = {"host", "connection", "transfer-encoding", "content-length", "content-encoding", "date", "server"}


@dataclass(frozen=True)
class Seen:
    """A request that arrived at the proxy, at a time of the event loop."""

    method: str
    path: str
    at: float
    headers: Any


@dataclass
class FaultProxy:
    """Forwards requests. `faults` are used up one by one by the requests to their paths; `paths` are answered here.

    `stream_messages` are the numbers of messages after which event streams are cut, one after the other.
    """

    target: URL
    faults: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    paths: dict[str, Callable[[web.Request], Any]] = field(default_factory=dict)
    stream_messages: list[int] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)
    _running: dict[asyncio.Task[Any], asyncio.Transport] = field(default_factory=dict)
    _port: int | None = None
    _ip: str = field(default_factory=unused_ip)

    async def start(self) -> None:
        self._http = aiohttp.ClientSession(auto_decompress=True)
        await self._listen()

    async def close(self) -> None:
        await self.kill()
        await self._http.close()

    async def kill(self) -> None:
        """Cut all connections and accept no others, as the end of a process does."""
        for task, transport in list(self._running.items()):
            transport.abort()
            task.cancel()
        await self._server.close()

    async def restart(self) -> None:
        """Accept connections again at the same address."""
        await self._listen()

    async def _listen(self) -> None:
        app = web.Application(client_max_size=2**24)
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._server = TestServer(app, host="127.0.0.1", port=self._port)
        await self._server.start_server()
        self._port = self._server.port

    @property
    def base(self) -> str:
        return str(self._server.make_url("")).rstrip("/")

    def of(self, path: str) -> list[Seen]:
        """Return the requests to a path."""
        return [request for request in self.seen if request.path == path]

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        task, transport = asyncio.current_task(), request.transport
        assert task is not None
        assert transport is not None
        self._running[task] = transport
        try:
            return await self._answer(request)
        finally:
            del self._running[task]

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.seen.append(Seen(request.method, request.path, asyncio.get_running_loop().time(), request.headers.copy()))
        if request.path in self.paths:
            response: web.StreamResponse = await self.paths[request.path](request)
            return response
        faults = self.faults[request.path]
        fault = faults.pop(0) if faults else None
        if fault == LIMITED:
            return web.json_response({"error": "rate limit exceeded"}, status=429, headers={"Retry-After": "1"})
        if fault == CUT:
            return self._cut(request)
        response = await self._forward(request)
        if fault == UNAVAILABLE:
            return web.json_response({"error": "request timeout", "message": "request timeout"}, status=503)
        return self._cut(request) if fault == LOST else response

    async def _forward(self, request: web.Request) -> web.StreamResponse:
        headers = {name: value for name, value in request.headers.items() if name.lower() not in _HOP_BY_HOP}
        headers["X-Forwarded-For"] = self._ip
        body = await request.read()
        url = URL(str(self.target).rstrip("/") + request.raw_path, encoded=True)
        async with self._http.request(
            request.method, url, data=body, headers=headers, allow_redirects=False
        ) as received:
            kept = {name: value for name, value in received.headers.items() if name.lower() not in _HOP_BY_HOP}
            if received.content_type == "text/event-stream":
                return await self._pass_on(request, received, kept)
            return web.Response(status=received.status, headers=kept, body=await received.read())

    async def _pass_on(
        self, request: web.Request, received: aiohttp.ClientResponse, headers: dict[str, str]
    ) -> web.StreamResponse:
        left = self.stream_messages.pop(0) if self.stream_messages else -1
        response = web.StreamResponse(headers=headers)
        await response.prepare(request)
        async for line in received.content:
            left -= line == b"\n"
            if left == 0:
                return self._cut(request)
            await response.write(line)
        return response

    def _cut(self, request: web.Request) -> web.Response:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()
