"""Send the bytes of requests to the application on a socket, which records what was answered directly."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from ipaddress import ip_network
from random import Random
from typing import Any

from aiohttp import web

from auth.schemes import authenticate
from auth.store_resolution import CachedStoreResolver
from kernel.settings import Settings
from server.app import create_app
from server.http.connections import DIRECT_ANSWERS, Runner
from server.http.direct_answers import DirectAnswers, DirectConnection
from server.http.direct_queries import KnownHead, RunningQuery
from tests.harness.connections import parse_head
from tests.harness.sample_store import SampleStore

SETTINGS = Settings(ip_rate=0, failed_auth_rate=0, trusted_proxies=(ip_network("127.0.0.0/8"),))


@dataclass
class Answer:
    """A response, read completely."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def lasting(self) -> tuple[int, dict[str, str], bytes]:
        """What is the same each time."""
        changing = ("date", "x-request-id", "x-ratelimit-remaining", "x-ratelimit-reset")
        return self.status, {name: text for name, text in self.headers.items() if name not in changing}, self.body


@dataclass
class Line:
    """A connection to the server."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, *pieces: bytes) -> None:
        for piece in pieces:
            self.writer.write(piece)
            await self.writer.drain()
            if len(pieces) > 1:
                await asyncio.sleep(0.01)  # each in a segment of its own

    async def read(self) -> Answer:
        async with asyncio.timeout(10):
            status, received = parse_head((await self.reader.readuntil(b"\r\n\r\n")).rstrip())
            headers = {name.lower(): text for name, text in received.items()}
            return Answer(status, headers, await self.reader.readexactly(int(headers.get("content-length", 0))))

    async def ask(self, request: bytes) -> Answer:
        await self.send(request)
        return await self.read()


@dataclass
class Site:
    """The application on a socket, with the requests that it answered by their bytes."""

    port: int
    app: web.Application
    runner: Runner | None = None
    by_bytes: list[int] = field(default_factory=list)
    """The status of each request for the catalogue that was answered by its bytes."""
    queries: list[bool] = field(default_factory=list)
    """Of each query that was begun directly, whether it was answered so."""

    def connections(self) -> list[DirectConnection]:
        """Return the server's ends of the open connections."""
        assert self.runner is not None
        assert self.runner.server is not None
        return [each for each in self.runner.server.connections if isinstance(each, DirectConnection)]

    @asynccontextmanager
    async def line(self, **options: Any) -> AsyncIterator[Line]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, **options)
        try:
            yield Line(reader, writer)
        finally:
            writer.close()


@asynccontextmanager
async def served(settings: Settings = SETTINGS, *, is_direct: bool = True) -> AsyncIterator[Site]:
    """Serve the application, without direct answers if it is not `is_direct`."""
    app = create_app(settings, store_resolver=CachedStoreResolver(settings.shared_hosts), authenticate=authenticate)
    site = Site(0, app)
    if is_direct:
        _record(app[DIRECT_ANSWERS], site)
    else:
        del app[DIRECT_ANSWERS]
    runner = site.runner = Runner(app, shutdown_timeout=1.0)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        site.port = runner.addresses[0][1]
        yield site
    finally:
        await runner.cleanup()


def _record(direct: DirectAnswers, site: Site) -> None:
    answer, begin = direct.repeated.answer, direct.queries.begin

    def record(data: bytes, remote: str) -> bytes | None:
        response = answer(data, remote)
        if response is not None:
            site.by_bytes.append(int(response.split()[1]))
        return response

    def record_query(known: KnownHead, data: bytes, remote: str) -> RunningQuery | None:
        query = begin(known, data, remote)
        return None if query is None else query._replace(response=run(query.response))

    async def run(response: Coroutine[Any, Any, bytes]) -> bytes:
        is_answered = False
        try:
            answer = await response
            is_answered = True
        finally:
            site.queries.append(is_answered)
        return answer

    direct.repeated.answer = record  # type: ignore[method-assign]
    direct.queries.begin = record_query  # type: ignore[method-assign]


def http_bytes(sample: SampleStore, target: str, body: Any, headers: Mapping[str, str]) -> bytes:
    """Return the bytes of a request: POST with a body, else GET."""
    content = b"" if body is None else json.dumps(body).encode()
    lines = [
        f"{'GET' if body is None else 'POST'} {target} HTTP/1.1",
        "Host: localhost",
        f"X-Tenant-ID: {sample.store.public_id}",
        f"X-Forwarded-For: {sample.ip}",
        *(f"{name}: {text}" for name, text in headers.items()),
        *([f"Content-Type: application/json\r\nContent-Length: {len(content)}"] if content else []),
    ]
    return "\r\n".join([*lines, "", ""]).encode() + content


async def learn(line: Line, asked: bytes) -> list[Answer]:
    """Send a request until it can be answered directly: of the catalogue it is read, repeated from memory and remembered."""
    return [await line.ask(asked) for _ in range(3)]


async def compare(seed: int, choices: list[bytes], site: Site, plain: Site) -> None:
    """Send generated sequences of requests in generated pieces to both: each must get the same responses."""
    rng = Random(seed)
    sent = [rng.choice(choices) for _ in range(150)]
    async with site.line() as line, plain.line() as other:
        position, was_divided = 0, False
        while position < len(sent):
            batch = sent[position : position + rng.choice((1, 1, 1, 1, 2, 3))]
            position += len(batch)
            pieces = _divided(b"".join(batch), rng) if rng.random() < 0.15 else [b"".join(batch)]
            for each in (line, other):
                await each.send(*pieces)
            for _ in batch:
                assert (await line.read()).lasting == (await other.read()).lasting
            was_divided |= len(batch) > 1 or len(pieces) > 1
            if was_divided and rng.random() < 0.5:  # all that comes on this connection is parsed
                was_divided = False
                line.writer.close()
                line.reader, line.writer = await asyncio.open_connection("127.0.0.1", site.port)


def _divided(content: bytes, rng: Random) -> list[bytes]:
    at = sorted(rng.sample(range(1, len(content)), 2))
    return [content[start:end] for start, end in zip([0, *at], [*at, len(content)], strict=True)]
