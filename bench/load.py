"""Send requests over a few connections that are kept open, and measure: no dependency, no event loop, one thread.

Sockets and `epoll` without an event loop, because the load shares its core with the database: what it spends is missing there.
Each connection sends its next request when it has read the whole answer.
"""

from __future__ import annotations

import re
import select
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass

_LENGTH = re.compile(rb"(?i)\r\ncontent-length:[ \t]*(\d+)")
_END = b"\r\n\r\n"
_LAST_CHUNK = b"0\r\n\r\n"
_PATIENCE_SECONDS = 30.0


class WrongAnswer(Exception):
    """Tell that a server didn't answer as it should; the run ends."""


@dataclass(frozen=True)
class Answer:
    """An answer, read whole."""

    status: int
    body: bytes


@dataclass(frozen=True)
class Sample:
    """What one slot of time showed; latencies in milliseconds, `size` the bytes of an answer with its headers."""

    rate: float
    p50: float
    p99: float
    size: int


class _Connection:
    """One connection and the answer it is reading."""

    __slots__ = ("buffer", "sent_at", "socket", "wanted")

    def __init__(self, address: tuple[str, int]) -> None:
        self.socket = socket.create_connection(address, timeout=_PATIENCE_SECONDS)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = bytearray()
        self.wanted = 0
        self.sent_at = 0

    def send(self, request: bytes) -> None:
        self.buffer.clear()
        self.wanted = 0
        self.sent_at = time.perf_counter_ns()
        self.socket.sendall(request)

    def is_complete(self) -> bool:
        """Read what has arrived; tell whether the answer is whole."""
        received = self.socket.recv(262_144)
        if not received:
            raise WrongAnswer(f"the connection was closed after {bytes(self.buffer[:200])!r}")
        self.buffer += received
        if not self.wanted:
            end = self.buffer.find(_END)
            if end < 0:
                return False
            length = _LENGTH.search(self.buffer, 0, end)
            if length is None:  # chunks
                return self.buffer.endswith(_LAST_CHUNK)
            self.wanted = end + len(_END) + int(length[1])
        return len(self.buffer) >= self.wanted

    @property
    def status(self) -> int:
        return int(self.buffer[9:12])


def ask(address: tuple[str, int], request: bytes) -> Answer:
    """Send one request on a connection of its own."""
    connection = _Connection(address)
    try:
        connection.send(request)
        while not connection.is_complete():
            pass
        head, _, body = bytes(connection.buffer).partition(_END)
        return Answer(connection.status, body if _LENGTH.search(head) else _joined(body))
    finally:
        connection.socket.close()


def _joined(chunks: bytes) -> bytes:
    """Put a body together that came in chunks (RFC 9112, section 7.1)."""
    whole = b""
    while True:
        size, _, chunks = chunks.partition(b"\r\n")
        length = int(size.split(b";")[0], 16)
        if not length:
            return whole
        whole, chunks = whole + chunks[:length], chunks[length + 2 :]


def run(
    address: tuple[str, int], requests: Sequence[bytes], *, connections: int, seconds: float, first: int = 0
) -> Sample:
    """Send the requests in turn, from the `first` on, for so many seconds; raises WrongAnswer for any that isn't answered with 2xx."""
    made = [_Connection(address) for _ in range(connections)]
    try:
        return _run(made, requests, seconds, first)
    finally:
        for connection in made:
            connection.socket.close()


def _run(made: list[_Connection], requests: Sequence[bytes], seconds: float, first: int) -> Sample:
    poll = select.epoll()
    by_number = {connection.socket.fileno(): connection for connection in made}
    taken: list[int] = []
    count, number = len(requests), first
    for descriptor, connection in by_number.items():
        poll.register(descriptor, select.EPOLLIN)
        connection.send(requests[number % count])
        number += 1
    begun = now = time.perf_counter_ns()
    deadline = begun + int(seconds * 1e9)
    size = 0
    with poll:
        while now < deadline:
            ready = poll.poll(_PATIENCE_SECONDS)
            if not ready:
                raise WrongAnswer(f"no answer within {_PATIENCE_SECONDS:.0f} s")
            for descriptor, _ in ready:
                connection = by_number[descriptor]
                if not connection.is_complete():
                    continue
                now = time.perf_counter_ns()
                taken.append(now - connection.sent_at)
                if not 200 <= connection.status < 300:
                    raise WrongAnswer(bytes(connection.buffer[:600]).decode("utf-8", errors="replace"))
                size = len(connection.buffer)
                connection.send(requests[number % count])
                number += 1
    taken.sort()
    return Sample(
        rate=len(taken) / ((now - begun) / 1e9),
        p50=taken[len(taken) // 2] / 1e6,
        p99=taken[min(len(taken) - 1, len(taken) * 99 // 100)] / 1e6,
        size=size,
    )
