"""HAProxy in front of several servers, as docs/deploy.md configures it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.system.haproxy import PROGRAM, HAProxy

needs_haproxy = pytest.mark.skipif(PROGRAM is None, reason="haproxy is not installed: apt-get install haproxy")


@asynccontextmanager
async def running_haproxy(folder: Path, servers: Sequence[int] | Mapping[str, Sequence[int]]) -> AsyncIterator[HAProxy]:
    """Yield an HAProxy that distributes requests among the ports, of one deployment or several cells."""
    haproxy = HAProxy(folder, servers)
    await haproxy.start()
    try:
        yield haproxy
    finally:
        await haproxy.kill()
