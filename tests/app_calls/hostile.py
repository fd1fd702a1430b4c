"""An app's server that answers bytes as a test wants, well or badly."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

Answer = Callable[[asyncio.StreamWriter], Awaitable[None]]


@dataclass(frozen=True)
class ReceivedCall:
    headers: dict[str, str]
    raw: bytes

    @property
    def envelope(self) -> dict[str, Any]:
        return json.loads(self.raw)

    @property
    def data(self) -> dict[str, Any]:
        return self.envelope["data"]


class HostileApp:
    """Records each request and writes what `answer` does; `async with` starts and closes it."""

    def __init__(self) -> None:
        self.received: list[ReceivedCall] = []
        self.answer: Answer = status(200, b"{}")
        self.decide: Callable[[ReceivedCall], Answer] | None = None

    async def __aenter__(self) -> HostileApp:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *error: object) -> None:
        self._server.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/calls"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            headers = {
                name.lower(): value.strip()
                for name, _, value in (line.partition(":") for line in head.split("\r\n")[1:] if line)
            }
            call = ReceivedCall(headers, await reader.readexactly(int(headers.get("content-length", "0"))))
            self.received.append(call)
            await (self.decide(call) if self.decide else self.answer)(writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


def status(code: int, body: bytes = b"", headers: str = "") -> Answer:
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(
            f"HTTP/1.1 {code} X\r\nContent-Length: {len(body)}\r\n{headers}Connection: close\r\n\r\n".encode() + body
        )
        await writer.drain()

    return answer


def answers(value: object) -> Answer:
    return status(200, json.dumps(value).encode(), "Content-Type: application/json\r\n")


def raw(content: bytes) -> Answer:
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(content)
        await writer.drain()

    return answer


async def silent(writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(60)


async def one_byte_at_a_time(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 60000\r\n\r\n")
    while True:
        writer.write(b" ")
        await writer.drain()
        await asyncio.sleep(0.05)


async def endless_head(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        writer.write(b"X-More: " + b"a" * 1_000 + b"\r\n")
        await writer.drain()


async def endless_body(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        writer.write(b"1000\r\n" + b" " * 0x1000 + b"\r\n")
        await writer.drain()
