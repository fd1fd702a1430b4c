"""A proxy between Vitrine and PostgreSQL whose connections can be slowed, silenced and cut."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path

_CHUNK = 65_536
# Vitrine's listening connections say so in their startup message (`models/connection/notices.py`).
_LISTENING = b"(listening)"


class DatabaseProxy:
    """Forward TCP connections on a loopback port to PostgreSQL's Unix socket."""

    def __init__(self, target: Callable[[], Path | None]) -> None:
        """Set the function that names the socket at each connection; None while there is no server."""
        self._target = target
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._listening_flows = asyncio.Event()
        self._listening_flows.set()
        self._refuses = False
        self.delay = 0.0
        """Seconds each chunk of data waits, in both directions."""
        self.port = 0

    async def start(self) -> None:
        """Listen on a port the system chooses."""
        self._server = await asyncio.start_server(self._forward, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Stop listening and cut what is connected."""
        if self._server is not None:
            self._server.close()
        self.restore()
        self._abort_all()
        await asyncio.sleep(0)

    def cut(self) -> None:
        """Cut every connection and refuse new ones until `restore`."""
        self._refuses = True
        self._abort_all()

    def silence(self) -> None:
        """Hold data back in both directions until `restore`, as a network that drops packets does."""
        self._flowing.clear()

    def silence_notifications(self) -> None:
        """Hold back the data of the listening connections alone, until `restore`."""
        self._listening_flows.clear()

    def restore(self) -> None:
        """Forward again, without delay."""
        self._refuses = False
        self.delay = 0.0
        self._flowing.set()
        self._listening_flows.set()

    @property
    def connections(self) -> int:
        """Return the number of connections from Vitrine."""
        return len(self._open) // 2

    def _abort_all(self) -> None:
        for writer in self._open:
            writer.transport.abort()

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        target = None if self._refuses else self._target()
        if target is None:
            writer.transport.abort()
            return
        try:
            database_reader, database_writer = await asyncio.open_unix_connection(str(target))
        except OSError:
            writer.transport.abort()
            return
        pair = (writer, database_writer)
        self._open.update(pair)
        first = await reader.read(_CHUNK)
        flowing = (self._flowing, self._listening_flows) if _LISTENING in first else (self._flowing,)
        copies = [
            asyncio.ensure_future(self._copy(reader, database_writer, flowing, first)),
            asyncio.ensure_future(self._copy(database_reader, writer, flowing)),
        ]
        try:
            await asyncio.wait(copies, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for copy in copies:
                copy.cancel()
            for each in pair:
                self._open.discard(each)
                with contextlib.suppress(OSError):
                    each.close()

    async def _copy(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        flowing: Sequence[asyncio.Event],
        first: bytes = b"",
    ) -> None:
        with contextlib.suppress(OSError):
            while data := first or await reader.read(_CHUNK):
                first = b""
                if self.delay:
                    await asyncio.sleep(self.delay)
                for each in flowing:
                    await each.wait()
                writer.write(data)
                await writer.drain()
