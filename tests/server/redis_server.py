"""Start, suspend, kill and restart a redis-server for tests."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from redis.asyncio import Redis

PROGRAM = shutil.which("redis-server")
needs_redis = pytest.mark.skipif(PROGRAM is None, reason="redis-server is not installed: apt-get install redis-server")


class RedisServer:
    """A server without persistence; `url` stays the same across restarts."""

    def __init__(self, folder: Path, *options: str) -> None:
        self._folder = folder
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None
        with socket.socket() as free_socket:
            free_socket.bind(("127.0.0.1", 0))
            self.port = int(free_socket.getsockname()[1])
        self.url = f"redis://127.0.0.1:{self.port}/0"

    async def start(self) -> None:
        assert PROGRAM is not None
        self._process = subprocess.Popen(
            [
                PROGRAM,
                "--bind",
                "127.0.0.1",
                "--port",
                str(self.port),
                "--save",
                "",
                "--dir",
                str(self._folder),
            ]
            + list(self._options),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        client = Redis.from_url(self.url)
        try:
            async with asyncio.timeout(20):
                while True:
                    with contextlib.suppress(Exception):
                        await client.ping()
                        return
                    await asyncio.sleep(0.02)
        finally:
            await client.aclose()

    def kill(self) -> None:
        """Kill the server, losing its data."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(10)
            self._process = None

    def freeze(self) -> None:
        """Suspend the server, so that it doesn't respond."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)


@contextlib.asynccontextmanager
async def redis_server(*options: str) -> AsyncIterator[RedisServer]:
    """Yield a running server."""
    with tempfile.TemporaryDirectory() as folder:
        server = RedisServer(Path(folder), *options)
        await server.start()
        try:
            yield server
        finally:
            server.kill()
