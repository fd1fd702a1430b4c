"""Start, suspend, kill and restart a redis-server."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import signal
import subprocess
from pathlib import Path

from redis.asyncio import Redis

from bench.servers import stable_port

PROGRAM = shutil.which("redis-server")
_START_SECONDS = 20


class RedisServer:
    """A server without persistence; `url` stays the same across restarts."""

    def __init__(self, folder: Path, *options: str) -> None:
        self._folder = folder
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None
        self.port = stable_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"

    async def start(self) -> None:
        """Start the server and wait until it responds."""
        assert PROGRAM is not None
        address = ["--bind", "127.0.0.1", "--port", str(self.port)]
        self._process = subprocess.Popen(
            [PROGRAM, *address, "--save", "", "--dir", str(self._folder), *self._options],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        client = Redis.from_url(self.url)
        try:
            async with asyncio.timeout(_START_SECONDS):
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
        """Continue the suspended server."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)
