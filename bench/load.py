"""Load generator: requests over a few keep-alive connections, in one thread without dependencies.

It uses `epoll` without an event loop, because it shares its core with the database. Each connection sends its next request when it has
read the complete response.
"""

from __future__ import annotations

import re
import select
import socket
import time
from collections.abc import Container, Sequence
from dataclasses import dataclass

_LENGTH = re.compile(rb"(?i)\r\ncontent-length:[ \t]*(\d+)")
_END = b"\r\n\r\n"
_LAST_CHUNK = b"0\r\n\r\n"
_NOT_MODIFIED = 304
SUCCESS = range(200, 300)
_TIMEOUT_SECONDS = 30.0


class UnexpectedResponse(Exception):
    """A server sent an unexpected response; the run ends."""


@dataclass(frozen=True)
class Response:
    """A complete response."""

    status: int
    body: bytes
    head: bytes = b""

    def header(self, name: str) -> str | None:
        """Return the value of a header, None without it."""
        match = re.search(rb"(?i)\r\n" + name.encode() + rb":[ \t]*([^\r]*)", self.head)
        return match[1].decode() if match else None


@dataclass(frozen=True)
class Sample:
    """The result of one round; latencies in milliseconds, `size` in bytes of a response with its headers.

    `sent` counts the requests, with those whose responses came after the round and aren't in the rate.
    """

    rate: float
    p50: float
    p99: float
    size: int
    sent: int = 0


class _Connection:
    """A connection and the response it is reading."""

    __slots__ = ("buffer", "expected_size", "sent_at", "socket")

    def __init__(self, address: tuple[str, int]) -> None:
        self.socket = socket.create_connection(address, timeout=_TIMEOUT_SECONDS)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = bytearray()
        self.expected_size = 0
        self.sent_at = 0

    def send(self, request: bytes) -> None:
        self.buffer.clear()
        self.expected_size = 0
        self.sent_at = time.perf_counter_ns()
        self.socket.sendall(request)

    def is_complete(self) -> bool:
        """Read available data; return whether the response is complete."""
        received = self.socket.recv(262_144)
        if not received:
            raise UnexpectedResponse(f"the connection was closed after {bytes(self.buffer[:200])!r}")
        self.buffer += received
        if not self.expected_size:
            end = self.buffer.find(_END)
            if end < 0:
                return False
            if self.status == _NOT_MODIFIED:  # never with a body (RFC 9110, section 15.4.5)
                return True
            length = _LENGTH.search(self.buffer, 0, end)
            if length is None:  # chunked
                return self.buffer.endswith(_LAST_CHUNK)
            self.expected_size = end + len(_END) + int(length[1])
        return len(self.buffer) >= self.expected_size

    @property
    def status(self) -> int:
        return int(self.buffer[9:12])


def send_request(address: tuple[str, int], request: bytes) -> Response:
    """Send one request on a new connection."""
    connection = _Connection(address)
    try:
        connection.send(request)
        while not connection.is_complete():
            pass
        head, _, body = bytes(connection.buffer).partition(_END)
        is_whole = connection.status == _NOT_MODIFIED or _LENGTH.search(head)
        return Response(connection.status, body if is_whole else _decode_chunks(body), head)
    finally:
        connection.socket.close()


def _decode_chunks(chunks: bytes) -> bytes:
    """Decode a chunked body (RFC 9112, section 7.1)."""
    body = b""
    while True:
        size, _, chunks = chunks.partition(b"\r\n")
        length = int(size.split(b";")[0], 16)
        if not length:
            return body
        body, chunks = body + chunks[:length], chunks[length + 2 :]


def run(
    address: tuple[str, int],
    requests: Sequence[bytes],
    *,
    connections: int,
    seconds: float,
    first: int = 0,
    statuses: Container[int] = SUCCESS,
) -> Sample:
    """Send the requests in turn, starting at `first`; raise UnexpectedResponse for a status other than those expected."""
    opened = [_Connection(address) for _ in range(connections)]
    try:
        return _run(opened, requests, seconds, first, statuses)
    finally:
        for connection in opened:
            connection.socket.close()


def _run(
    connections: list[_Connection], requests: Sequence[bytes], seconds: float, first: int, statuses: Container[int]
) -> Sample:
    poll = select.epoll()
    by_descriptor = {connection.socket.fileno(): connection for connection in connections}
    latencies: list[int] = []
    count, number = len(requests), first
    for descriptor, connection in by_descriptor.items():
        poll.register(descriptor, select.EPOLLIN)
        connection.send(requests[number % count])
        number += 1
    started_at = now = time.perf_counter_ns()
    deadline = started_at + int(seconds * 1e9)
    size = 0
    open_requests = len(connections)
    with poll:
        while open_requests:
            ready = poll.poll(_TIMEOUT_SECONDS)
            if not ready:
                raise UnexpectedResponse(f"no response within {_TIMEOUT_SECONDS:.0f} s")
            for descriptor, _ in ready:
                connection = by_descriptor[descriptor]
                if not connection.is_complete():
                    continue
                if connection.status not in statuses:
                    raise UnexpectedResponse(bytes(connection.buffer[:600]).decode("utf-8", errors="replace"))
                if now >= deadline:
                    open_requests -= 1  # no new request: the next round finds the server idle
                    continue
                now = time.perf_counter_ns()
                latencies.append(now - connection.sent_at)
                size = len(connection.buffer)
                connection.send(requests[number % count])
                number += 1
    latencies.sort()
    return Sample(
        rate=len(latencies) / ((now - started_at) / 1e9),
        p50=latencies[len(latencies) // 2] / 1e6,
        p99=latencies[min(len(latencies) - 1, len(latencies) * 99 // 100)] / 1e6,
        size=size,
        sent=number - first,
    )
