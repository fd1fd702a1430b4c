"""A redis-server for tests."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.system.redis_server import PROGRAM, RedisServer

__all__ = ["RedisServer", "needs_redis", "redis_server"]

needs_redis = pytest.mark.skipif(PROGRAM is None, reason="redis-server is not installed: apt-get install redis-server")


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
