"""An HTTP client of one server that takes less CPU than aiohttp's: the tests send a hundred thousand requests.

It sends what most tests send, a body of bytes or none, and receives what our server answers. Whatever needs more of a client (streams,
forms, compression) uses aiohttp's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import cast

from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

_WITHOUT_BODY = (204, 304)


class _Connection(asyncio.Protocol):
    """A connection that is kept: it sends a request and receives the response before the next."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._response: asyncio.Future[tuple[int, CIMultiDictProxy[str], bytes]] | None = None
        self._received = bytearray()
        self._is_head = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        if self._response is not None and not self._response.done():
            self._response.set_exception(exc or ConnectionResetError("closed before the end of the response"))

    @property
    def is_open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    async def send(self, request: bytes, *, is_head: bool) -> tuple[int, CIMultiDictProxy[str], bytes]:
        """Send a request; return the response's status, headers and body."""
        assert self._transport is not None
        self._is_head = is_head
        self._received.clear()
        self._response = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._response

    def data_received(self, data: bytes) -> None:
        self._received += data
        if self._response is None or self._response.done():
            return
        try:
            response = self._parse()
        except Exception as error:  # else the test would wait until its time-out
            self._response.set_exception(error)
        else:
            if response is not None:
                self._response.set_result(response)

    def _parse(self) -> tuple[int, CIMultiDictProxy[str], bytes] | None:
        """Return the response once it is complete."""
        end = self._received.find(b"\r\n\r\n")
        if end < 0:
            return None
        status, headers = parse_head(bytes(self._received[:end]))
        body = bytes(self._received[end + 4 :])
        if self._is_head or status in _WITHOUT_BODY:
            length = 0
        elif "Transfer-Encoding" in headers:
            if (whole := _join_chunks(body)) is None:
                return None
            body, length = whole, len(whole)
        else:
            length = int(headers["Content-Length"])
        if len(body) < length:
            return None
        if len(body) > length:
            raise ValueError(f"{len(body) - length} bytes after the response")
        if headers.get("Connection", "").lower() == "close":
            self.close()
        return status, headers, body


def parse_head(head: bytes) -> tuple[int, CIMultiDictProxy[str]]:
    """Return the status and the headers of a response's head."""
    first, *lines = head.decode("utf-8", "surrogateescape").split("\r\n")
    headers = CIMultiDict((name, value.strip()) for name, _, value in (line.partition(":") for line in lines))
    return int(first.split(" ", 2)[1]), CIMultiDictProxy(headers)


def _join_chunks(body: bytes) -> bytes | None:
    """Return the content of a chunked body, or None while it is incomplete."""
    parts: list[bytes] = []
    at = 0
    while (end := body.find(b"\r\n", at)) >= 0:
        size = int(body[at:end], 16)
        if len(body) < end + 2 + size + 2:
            return None
        if size == 0:
            return b"".join(parts)
        parts.append(body[end + 2 : end + 2 + size])
        at = end + 2 + size + 2
    return None


class Connections:
    """The connections to a server, of which as many are open as requests are sent at once."""

    def __init__(self, url: URL) -> None:
        self._host, self._port = url.host or "", url.port or 80
        self._idle: list[_Connection] = []

    async def request(
        self, method: str, url: URL, headers: Mapping[str, str], body: bytes | None
    ) -> tuple[int, CIMultiDictProxy[str], bytes]:
        """Send a request; return the response's status, headers and body."""
        lines = [f"{method} {url.raw_path_qs} HTTP/1.1", f"Host: {self._host}:{self._port}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        names = {name.lower() for name in headers}
        if "accept" not in names:
            lines.append("Accept: */*")
        if body is not None and "content-type" not in names:
            lines.append("Content-Type: application/octet-stream")
        if body is not None or method not in ("GET", "HEAD", "OPTIONS", "DELETE"):
            lines.append(f"Content-Length: {len(body or b'')}")
        head = "\r\n".join([*lines, "\r\n"]).encode("utf-8", "surrogateescape")
        connection = await self._connection()
        try:
            response = await connection.send(head + (body or b""), is_head=method == "HEAD")
        except BaseException:
            connection.close()
            raise
        if connection.is_open:
            self._idle.append(connection)
        return response

    async def _connection(self) -> _Connection:
        while self._idle:
            connection = self._idle.pop()
            if connection.is_open:
                return connection
        loop = asyncio.get_running_loop()
        return (await loop.create_connection(_Connection, self._host, self._port))[1]

    def close(self) -> None:
        for connection in self._idle:
            connection.close()
